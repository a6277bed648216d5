"""The primal-dual hybrid gradient method: its dual step, minima, rounds, restarts and states."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from catalogue import LOSSES, data_for, ids, problem_for, sample_weights
from scipy.optimize import minimize_scalar

import fenchel
from fenchel import _kernels, losses
from fenchel.losses.scalar_rows import is_built_in, twin
from fenchel.regularizers import L1, L2, Boxed, ElasticNet, Entropy, GroupL1, Quadratic
from fenchel.risks.views.prox_functions import prox_function
from fenchel.solvers import PDHG, pdhg

BUILT_IN = [loss for loss in LOSSES if is_built_in(loss) and loss.has_conjugate]
REGULARIZERS = [
    L2(),
    L1(),
    ElasticNet(0.4),
    Entropy(),
    GroupL1([0, 0, 1, 1]),
    Quadratic(np.diag([0.5, 1.0, 2.0, 3.0]) + 0.2),
    Boxed(L2(), lower=0.0, upper=0.3),
]


def stepped(loss, z, a, z_next, y, kappa, *, s=None, fixed=None, b=0.0, ahead=0.0, share=1.0):
    out = [np.empty_like(z) for _ in range(3)]
    means = np.zeros_like(z), np.zeros_like(z)
    rows = twin(loss), y, s, fixed, z, a, *means, z_next
    return _kernels.saddle_step(*rows, b, ahead, kappa, share, *out), out


@pytest.mark.parametrize("kappa", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("loss", BUILT_IN, ids=ids)
def test_the_dual_step_minimises(loss, kappa):
    """u = argmin l*(u) - u z + kappa/2 (u - a)^2, against a search that knows the conjugate."""
    rng = np.random.default_rng(0)
    _, y = data_for(loss, n=12)
    z, z_next = rng.normal(size=(2, len(y)))
    a = loss.feasible(rng.normal(size=len(y)), y)
    s, fixed = rng.uniform(0.0, 2.0, size=len(y)), rng.normal(size=len(y))
    s[3] = 0.0
    sums, (u, mean_z, mean_a) = stepped(
        loss, z, a, z_next, y, kappa, s=s, fixed=fixed, b=0.3, ahead=0.5, share=0.25
    )
    ahead = 2 * z_next - z + 0.5 + fixed
    lowest, highest = loss.domain(y)
    for i in range(len(y)):

        def value(v, i=i):
            conjugate = loss.conjugate(np.array([v]), y[i : i + 1])[0]
            return conjugate - v * ahead[i] + kappa / 2 * (v - a[i]) ** 2

        assert lowest[i] - 1e-12 <= u[i] <= highest[i] + 1e-12
        u[i] = min(max(u[i], lowest[i]), highest[i])
        low, high = max(lowest[i], u[i] - 1.0), min(highest[i], u[i] + 1.0)
        found = minimize_scalar(
            value, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
        )
        assert value(u[i]) <= min(found.fun, value(low), value(high)) + 1e-7
    assert sums[0] == pytest.approx(s @ loss.value(z_next + fixed + 0.3, y))
    assert sums[1] == pytest.approx(s @ (u - a) ** 2)
    assert sums[2] == pytest.approx(s @ u)
    assert np.allclose(mean_z, 0.25 * z_next) and np.allclose(mean_a, 0.25 * u)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=ids)
@pytest.mark.parametrize(
    "loss", [losses.Hinge(), losses.Quantile(0.8), losses.Logistic(), losses.Huber()], ids=ids
)
def test_the_minimum_is_that_of_another_solver(loss, regularizer, intercept):
    X, y = data_for(loss)
    problem = fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=regularizer,
        strength=0.05,
        intercept=intercept,
        sample_weight=sample_weights(len(y)),
        offset=0.1 * np.cos(np.arange(len(y))),
    )
    found = fenchel.minimize(problem, PDHG(), gap=1e-5, max_iterations=20_000)
    assert found.converged
    other = fenchel.minimize(problem, "auto", gap=1e-7, max_iterations=300)
    scale = abs(other.objective)
    assert found.lower_bound <= other.objective + 1e-12 * scale
    assert other.lower_bound <= found.objective + 1e-12 * scale
    assert fenchel.verify(found, problem).gap <= 1.1e-5


@pytest.mark.parametrize("prox", ["own", "columns", "whitened"])
def test_it_converges_in_any_geometry(prox):
    problem = problem_for(losses.Hinge(), intercept=True)
    assert fenchel.minimize(problem, PDHG(prox), gap=1e-4, max_iterations=20_000).converged


def test_two_passes_a_step_and_one_more_for_each_that_is_tried_again():
    problem = problem_for(losses.Hinge())
    steps = PDHG().iterate(problem, np.zeros(problem.risk.n_parameters))
    next(steps)
    before = problem.risk.passes
    n = sum(1 for _ in itertools.islice(steps, 200))
    passes = problem.risk.passes - before
    assert 2 * n <= passes <= 2.3 * n and passes % 2 == 0


def test_whitening_needs_fewer_passes_where_columns_have_different_scales():
    X, y = data_for(losses.Hinge(), n=200)
    problem = fenchel.problem(X * [1e-3, 1.0, 30.0, 1e3], y, loss="hinge", strength=1e-9)
    passes = {
        prox: fenchel.minimize(problem, PDHG(prox), gap=1e-3, max_iterations=3000).passes
        for prox in ("own", "whitened")
    }
    assert passes["whitened"] < 0.3 * passes["own"]


@pytest.mark.parametrize("intercept", [False, True])
def test_a_run_goes_on_from_its_state(intercept):
    problem = problem_for(losses.Quantile(0.7), intercept=intercept)
    w = np.zeros(problem.risk.n_parameters)
    steps = list(itertools.islice(PDHG().iterate(problem, w), 120))
    state = steps[-1].state()
    later = list(itertools.islice(PDHG().iterate(problem, w, state), 120))
    assert later[0].objective <= steps[0].objective
    best = max(step.lower_bound for step in steps)
    assert max(step.lower_bound for step in later) >= best - 1e-3 * abs(best)


def test_a_w_that_does_not_move_leaves_steps_and_weights_within_bounds():
    problem = problem_for(losses.Hinge())
    run = pdhg._Epochs(problem, prox_function(problem, "own"))
    run.begin(run.look(run.saddle.start(np.zeros(problem.risk.n_parameters))))
    w, _, _ = run._trial()
    for tiny in (1e-320, 1e-200):
        moved = replace(w, w=run.origin.w + tiny, b=run.origin.b)
        run._reweigh(moved)
        assert 0 < run.weight <= 1e100


def test_one_row_with_all_the_weight_leaves_round_off_for_second_moments():
    problem = fenchel.problem(
        [[-1315.9360519266118], [-0.0009131973316188172]],
        [12904.07, 12936.56],
        loss="epsilon_insensitive",
        epsilon=0.1,
        strength=3.4e-7,
        intercept=True,
        sample_weight=[1699.3701109505016, 0.0],
    )
    result = fenchel.minimize(problem, PDHG(prox="whitened"), max_iterations=500)
    assert np.isfinite(result.w).all()
    fenchel.verify(result, problem)


def test_it_refuses_what_it_cannot_do():
    with pytest.raises(fenchel.Incompatible, match="quadratic"):
        fenchel.minimize(problem_for(losses.Hinge(), L1()), PDHG("whitened"))
    with pytest.raises(fenchel.Incompatible, match="one score a row"):
        problem = fenchel.problem(np.eye(3), [0, 1, 2], loss="softmax", strength=0.1)
        fenchel.minimize(problem, "pdhg")
    with pytest.raises(fenchel.InvalidData, match="prox"):
        PDHG("best")
