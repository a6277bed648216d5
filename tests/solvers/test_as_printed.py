"""The algorithms as the papers print them, where ours depart: options of the solvers."""

import threading

import numpy as np
import pytest
from test_sublbfgs import smallest

import fenchel
from fenchel.solvers._direction import one_step_direction
from fenchel.solvers._lbfgs_memory import LBFGSMemory
from fenchel.solvers._line_search import backtracking
from reproduction import toys

PRINTED = {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"}
KINKED = [
    ("sublbfgs", PRINTED),
    ("sublbfgs", PRINTED | {"seed": 3}),
    ("sublbfgs", PRINTED | {"first": "unit"}),
    ("sublbfgs", PRINTED | {"tolerance_at_0": 1.0}),
    ("sublbfgs", {"search": "inexact"}),
    ("subbfgs", PRINTED),
    ("bmrm", {"step": 1.0, "inner": 0.5}),
]
SPARSE = [
    ("owlqn", {"form": "printed"}),
    ("owlqn-star", {"form": "printed"}),
    ("owlqn-star", {"seed": 3}),
    ("kt-split", {"burst": None}),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    return X, np.where(X @ rng.normal(size=6) + rng.normal(size=120) > 0, 1.0, -1.0)


@pytest.mark.parametrize(("name", "options"), KINKED, ids=str)
def test_a_kinked_loss_comes_to_the_same_minimum(rows, name, options):
    problem = fenchel.problem(*rows, loss="hinge", strength=0.01)
    least = fenchel.minimize(problem, gap=1e-9).objective
    result = fenchel.minimize(problem, fenchel.solver(name, **options), gap=1e-3)
    assert result.converged and fenchel.verify(result, problem).gap <= 1e-3
    assert result.objective == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize(("name", "options"), SPARSE, ids=str)
def test_a_sparse_model_comes_to_the_same_minimum(rows, name, options):
    problem = fenchel.problem(*rows, loss="logistic", regularizer="l1", strength=0.05)
    least = fenchel.minimize(problem, gap=1e-9).objective
    result = fenchel.minimize(problem, fenchel.solver(name, **options), gap=1e-3)
    assert result.converged and fenchel.verify(result, problem).gap <= 1e-3
    assert result.objective == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize(("form", "restarts"), [("printed", False), ("face", True)])
def test_only_ours_forgets_H_where_a_random_subgradient_leads_uphill(monkeypatch, form, restarts):
    """[Yu10] figure 17: OWL-QN breaks down, for most weights are 0 at the minimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", strength=0.05)
    forgotten, forget = [], LBFGSMemory.forget
    monkeypatch.setattr(LBFGSMemory, "forget", lambda H: forgotten.append(H) or forget(H))
    result = fenchel.minimize(problem, fenchel.solver("owlqn", form=form, seed=0), gap=1e-9)
    assert result.status is fenchel.Status.STALLED and bool(forgotten) is restarts


@pytest.mark.parametrize("seed", range(20))
def test_the_one_step_direction_descends_or_zero_is_a_subgradient(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(6, 4)) + (2.0 if seed % 2 else 0.0) * np.eye(4)[0]
    root = rng.normal(size=(4, 4))
    B = root @ root.T + 0.1 * np.eye(4)

    def support(p):
        return G[np.argmax(G @ p)]

    found = one_step_direction(G[0], B.__matmul__, support, k_max=3000)
    least = smallest(G, B)
    if found is None:
        assert least <= 2e-5  # its tolerance is absolute
    else:
        assert found.slope == pytest.approx(np.max(G @ found.p)) and found.slope < 0
        model = found.slope + 0.5 * found.p @ np.linalg.solve(B, found.p)
        assert -least <= model + 1e-12 <= -least + 0.01 * (1 + least)


def test_one_exact_step_leaves_the_valley_at_once():
    """[Yu10] figure 3: subBFGS as printed needs two steps, from any subgradient."""
    for seed in range(4):
        solver = fenchel.solver("subbfgs", seed=seed, **PRINTED)
        result = fenchel.minimize(toys.problem(toys.VALLEY), solver, w0=np.array([1.0, 1.0]))
        assert abs(result.history[2].objective) <= 1e-12


def test_bfgs_as_for_smooth_functions_sticks_at_a_kink():
    solver = fenchel.solver("subbfgs", finding="none", b0="identity")
    result = fenchel.minimize(toys.problem(toys.VALLEY), solver, w0=np.array([1.0, 1.0]))
    assert result.objective == pytest.approx(0.9)


def test_a_unit_step_is_taken_whatever_it_costs(rows):
    X, y = rows
    problem = fenchel.problem(100 * X, y, loss="hinge", strength=0.01)
    steps = fenchel.solver("gd", first="unit").iterate(problem, np.zeros(6))
    start, second = next(steps), next(steps)
    assert np.array_equal(second.point.w, -problem.subgradient(start.point))
    assert second.objective > start.objective


def test_a_seed_draws_the_same_subgradients_again(rows):
    X, y = rows
    problem = fenchel.problem(X, y + (X[:, 0] > 0), loss="multiclass_hinge", strength=0.01)
    runs = [
        fenchel.minimize(problem, fenchel.solver("sublbfgs", seed=seed), max_iterations=5)
        for seed in (1, 1, 2)
    ]
    same, again, other = (result.w for result in runs)
    assert np.array_equal(same, again) and not np.array_equal(same, other)


def test_the_inexact_search_ends_beyond_a_fifth_of_the_slope():
    def phi(eta):
        return abs(eta - 3.0), np.sign(eta - 3.0)

    eta = backtracking(phi, 3.0)
    assert 3.0 < eta < 6.0 and phi(eta)[0] < 3.0
    assert backtracking(lambda eta: (eta, 1.0), 0.0) == 0
    assert backtracking(lambda eta: (-eta, -1.0), 0.0) == np.inf


def test_a_programme_of_the_gap_needs_the_whole_step():
    with pytest.raises(fenchel.InvalidData, match="step=1"):
        fenchel.solver("bmrm", inner=0.5)


def test_a_split_that_is_left_running_ends_with_its_run(rows):
    problem = fenchel.problem(*rows, loss="logistic", regularizer="l1", strength=0.05)
    before = threading.active_count()
    steps = fenchel.solver("kt-split", burst=None).iterate(problem, np.zeros(6))
    for _ in range(3):
        next(steps)
    assert threading.active_count() == before + 1
    steps.close()
    assert threading.active_count() == before


def test_a_split_that_is_left_running_passes_errors_on(rows):
    problem = fenchel.problem(*rows, loss="logistic", regularizer="l1", strength=0.05)
    asked = []

    def late():
        asked.append(1)
        if len(asked) > 5:
            raise TimeoutError

    problem = fenchel.Problem(problem.risk, problem.regularizer, problem.strength, pulse=late)
    with pytest.raises(TimeoutError):
        list(fenchel.solver("kt-split", burst=None).iterate(problem, np.zeros(6)))


def test_a_tolerance_of_its_own_at_0_spares_rounds_there_and_nowhere_else(rows):
    X, _ = rows
    y = np.argmax(X[:, :4], axis=1)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=0.01)
    inner = {}
    for tolerance in (1e-5, 1.0):
        solver = fenchel.solver("sublbfgs", tolerance_at_0=tolerance, **PRINTED)
        history = fenchel.minimize(problem, solver, gap=1e-9, max_iterations=4).history
        inner[tolerance] = [record.inner for record in history]
    assert inner[1.0][1] < inner[1e-5][1]
    plain = fenchel.minimize(problem, fenchel.solver("sublbfgs", **PRINTED), max_iterations=4)
    assert [record.inner for record in plain.history] == inner[1e-5]
