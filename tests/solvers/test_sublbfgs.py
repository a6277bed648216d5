"""Subgradient quasi-Newton methods, on the examples of [Yu10] (2.1.1, E.1 to E.3) and on ours."""

import numpy as np
import pytest
from catalogue import problem_for
from scipy.optimize import minimize_scalar

import fenchel
from fenchel import losses
from fenchel.result import Status
from fenchel.solvers import GD, SubBFGS, SubGD, SubLBFGS
from fenchel.solvers._direction import descent_direction
from reproduction import toys


class PlainBFGS(SubBFGS):
    """BFGS as if there were no kinks: the direction is -B g for any subgradient g."""

    def direction(self, problem, point, g, B, bound):
        return -B.times(g)


def run(toy, solver, w0, **options):
    return fenchel.minimize(toys.problem(toy), solver, w0=np.array(w0, dtype=float), **options)


@pytest.mark.parametrize("solver", [SubBFGS(), SubLBFGS()])
def test_the_valley_is_left_in_two_steps(solver):
    """[Yu10] figure 3, right: the first step ends on the kink x = 0, the second at the optimum."""
    result = run(toys.VALLEY, solver, [1, 1])
    assert [record.objective for record in result.history[:2]] == pytest.approx([11.0, 0.9])
    assert abs(result.history[2].objective) <= 1e-12
    assert np.allclose(result.w, 0, atol=1e-12)


def test_plain_bfgs_gets_stuck_in_the_valley():
    """[Yu10] section 2.1.1: it fails after the first step."""
    result = run(toys.VALLEY, PlainBFGS(), [1, 1])
    assert result.status is Status.STALLED
    assert result.objective == pytest.approx(0.9)


def exact_numerically(along, value, eta=1.0):
    """An exact line search on any function, however steep."""
    found = minimize_scalar(
        lambda eta: along(eta)[0], bounds=(0, 10), method="bounded", options={"xatol": 1e-12}
    )
    return found.x


def test_steepest_descent_converges_to_a_point_that_is_no_minimum(monkeypatch):
    """[Yu10] figure 23: Wolfe's function, from (2, 1)."""
    sub = run(toys.Wolfe(), SubBFGS(), [2, 1])
    assert sub.status is Status.UNBOUNDED
    monkeypatch.setattr("fenchel.solvers.sublbfgs.search", exact_numerically)
    descent = run(toys.Wolfe(), GD(), [2, 1], max_iterations=12)
    assert descent.status is not Status.CONVERGED
    assert 0 < descent.objective < 1e-4  # and it falls by the same factor each time


def test_steepest_subgradient_descent_zigzags_to_a_point_that_is_no_minimum():
    """[Yu10] figure 24: it oscillates between two kinks; subBFGS finds the flat part at -100."""
    zigzag = run(toys.BOUNDED, SubGD(), [1, 3], max_iterations=15)
    assert zigzag.status is Status.MAX_ITERATIONS
    assert 0 < zigzag.objective < 1e-3
    sub = run(toys.BOUNDED, SubBFGS(), [1, 3])
    assert sub.objective == pytest.approx(-100) and sub.iterations == 3


def test_the_flat_part_of_a_function_certifies_itself():
    sub = run(toys.BOUNDED, SubBFGS(), [1, 3])
    assert sub.converged and sub.lower_bound == pytest.approx(-100)


def test_a_function_without_a_minimum_is_said_to_be_unbounded():
    """[Yu10] figure 25: plain BFGS lands on a kink and fails; subBFGS goes down for ever."""
    plain = run(toys.UNBOUNDED, PlainBFGS(), [3, 1])
    assert plain.status is Status.STALLED and plain.objective == pytest.approx(-0.5)
    sub = run(toys.UNBOUNDED, SubBFGS(), [3, 1])
    assert sub.status is Status.UNBOUNDED and sub.iterations == 3


# Direction finding (algorithm 2).


@pytest.mark.parametrize("seed", range(20))
def test_the_direction_descends_or_zero_is_a_subgradient(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 4)) + (2.0 if seed % 2 else 0.0) * np.eye(4)[0]
    root = rng.normal(size=(4, 4))
    B = root @ root.T + 0.1 * np.eye(4)
    found = descent_direction(G[0], B.__matmul__, lambda p: G[np.argmax(G @ p)])
    least = smallest(G, B)
    if found is None:
        assert least <= 1e-10
    else:
        p, slope, _ = found
        assert slope == pytest.approx(np.max(G @ p)) and slope < 0


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12])
def test_no_subgradient_is_looked_at_twice(condition):
    """At a minimiser the programme's value is 0: what it leaves of the gap is all round-off."""
    rng = np.random.default_rng(0)
    G = rng.normal(size=(12, 5))
    G -= G.mean(axis=0)  # 0 is in their hull
    root = rng.normal(size=(5, 5)) * np.geomspace(1, condition**0.5, 5)
    B, asked = root @ root.T, []

    def support(p):
        asked.append(int(np.argmax(G @ p)))
        return G[asked[-1]]

    descent_direction(G[0], B.__matmul__, support)
    assert len(set(asked[:-1])) == len(asked[:-1])


@pytest.mark.parametrize(("seed", "solver"), [(2, SubLBFGS()), (0, SubBFGS())], ids=repr)
def test_a_direction_at_a_minimiser_takes_few_steps(seed, solver, monkeypatch):
    """It took a hundred programmes of 100,000 steps, 12 seconds, on 40 x 5 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5))
    y = np.where(X @ rng.normal(size=5) + 0.5 * rng.normal(size=40) > 0, 1, -1)
    problem = fenchel.problem(X, y, loss="hinge", strength=0, engine="serial")
    found, asked = [], []

    def counted(g, B, support, **options):
        asked.clear()
        direction = descent_direction(g, B, lambda p: asked.append(p) or support(p), **options)
        found.append(len(asked))
        return direction

    monkeypatch.setattr("fenchel.solvers.sublbfgs.descent_direction", counted)
    result = fenchel.minimize(problem, solver, gap=1e-9)
    assert result.status is Status.STALLED and max(found) <= 25


def smallest(G, B):
    """min over the hull of G of 1/2 g'B g, by a generic solver."""
    import cvxpy as cp

    share = cp.Variable(len(G), nonneg=True)
    root = np.linalg.cholesky(B)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(root.T @ (G.T @ share))), [cp.sum(share) == 1]
    )
    return problem.solve(solver="CLARABEL")


# On real objectives.


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.AbsoluteError(), losses.Quantile()])
@pytest.mark.parametrize("solver", [SubLBFGS(), SubBFGS()], ids=["sublbfgs", "subbfgs"])
def test_objectives_never_rise_and_passes_are_two_an_iteration(loss, solver):
    problem = problem_for(loss, n=80, strength=1e-2)
    values = []
    result = fenchel.minimize(
        problem, solver, gap=1e-8, callback=lambda record: values.append(record.objective)
    )
    assert result.converged
    assert np.all(np.diff(values) <= 1e-15)
    # And of every fifth point a dual polish: two products, and sweeps over the rows near kinks.
    polishes = result.iterations // 5
    assert result.passes <= 2 * result.iterations + 2 + (2 + 2 * 20) * polishes
    longer = fenchel.minimize(problem, solver, gap=1e-30, max_iterations=4)
    assert longer.passes <= 2 * longer.iterations + 2


def test_a_loss_that_hides_its_kinks_is_refused():
    class Hidden(losses.Hinge):
        def pieces(self, y):
            return None

    with pytest.raises(fenchel.Incompatible, match="where the loss has kinks"):
        fenchel.minimize(problem_for(Hidden()), "sublbfgs")


def test_hybrid_shows_its_switch_in_the_history():
    problem = problem_for(losses.Hinge(), n=300, d=30, strength=1e-4)
    result = fenchel.minimize(problem, "hybrid", gap=1e-5)
    phases = [record.phase for record in result.history]
    assert result.converged and phases == sorted(phases)
    assert set(phases) == {0, 1}
