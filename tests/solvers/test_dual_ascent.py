"""Dual coordinate ascent: its steps, its sweeps and its shards."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from catalogue import LOSSES, ids, labels_for, problem_for, sample_weights
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris

import fenchel
from fenchel import _kernels, losses
from fenchel.losses import Conjugable
from fenchel.losses.scalar_rows import is_built_in, twin
from fenchel.regularizers import ElasticNet
from fenchel.risks.views.dual_ascent import DualAscent
from fenchel.solvers import SDCA

STEPPED = [loss for loss in LOSSES if isinstance(loss, Conjugable) and is_built_in(loss)]


def step(loss, z, a, y, kappa):
    """The slope after a step on a single row with score z, slope a, and that kappa."""
    X, rate = sparse.csr_array([[1.0]]), 1.0
    dual = _kernels.DualProblem(
        twin(loss), np.array([y]), np.array([rate]), np.array([kappa]), None, None
    )
    slope, v, active = np.array([a]), np.array([z]), np.zeros(1, dtype=np.int32)
    start = X.indptr.astype(np.int64)
    _kernels.csr_sweep(start, X.indices, X.data, dual, slope, v, 0.0, 0.0, active, 1, np.inf, 0)
    return slope[0]


@pytest.mark.parametrize("loss", STEPPED, ids=ids)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_step_is_the_best_of_its_row(loss, data):
    """u minimises l*(u) - u z + kappa/2 (u - a)^2."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    y = labels_for(loss, rng, 3)[2]
    z, kappa = 3 * rng.normal(), 10 ** rng.uniform(-3, 3)
    a = loss.slope(np.array([rng.normal()]), np.array([y]))[0] * rng.choice([0.0, 0.5, 1.0])

    def worth(u):
        conjugate = loss.conjugate(np.array([u]), np.array([y]))[0]
        return conjugate - u * z + kappa / 2 * (u - a) ** 2

    u = float(loss.feasible(np.array([step(loss, z, a, y, kappa)]), np.array([y]))[0])
    low, high = (float(end[0]) for end in loss.domain(np.array([y])))
    reach = 10 + abs(u) + abs(z) / kappa
    ends = max(low, u - reach), min(high, u + reach)
    other = float(minimize_scalar(worth, bounds=ends, method="bounded", options={"xatol": 1e-12}).x)
    for rival in (other, *ends, a):
        assert worth(u) <= worth(rival) + 1e-7 * (1 + abs(worth(rival)))


@pytest.mark.parametrize("loss", STEPPED, ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_sweeps_raise_the_dual(loss, intercept, at_once, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 10)
    problem = problem_for(loss, n=120, intercept=intercept, weighted=True)
    assert problem.risk.engine.n_shards > 1
    dual = DualAscent(problem, at_once)
    last = -np.inf
    for seed in range(5):
        point = dual.point(dual.w)
        cut = dual.cut()
        bound = problem.bound(cut.a, cut.b, cut.sizes)
        assert bound <= problem.objective(point) * (1 + 1e-12)
        if not intercept:  # with one, the slopes are not in balance until the end
            assert bound >= last - 1e-12
        last = bound
        dual.release(point, np.inf)
        dual.sweep(range(seed, seed + 5), np.inf)
        dual.balance()
        dual.settle()


def text(n=3000, d=20_000, per_row=120, seed=0):
    """Sparse rows of unit length, enough of them for several shards."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, d, size=(n, per_row))
    X = sparse.csr_array(
        (rng.uniform(size=n * per_row), columns.ravel(), np.arange(n + 1) * per_row), shape=(n, d)
    )
    X = sparse.csr_array(sparse.diags_array(1 / np.sqrt((X * X).sum(axis=1))) @ X)
    y = np.sign(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n))
    return X, y


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_shards_agree_whatever_runs_them(at_once, intercept):
    X, y = text()
    results = []
    for engine in ("serial", "threads"):
        problem = fenchel.problem(
            X, y, loss="hinge", strength=1e-3, intercept=intercept, engine=engine
        )
        assert problem.risk.engine.n_shards > 1
        results.append(fenchel.minimize(problem, SDCA(at_once=at_once), gap=1e-5))
        assert results[-1].converged
        fenchel.verify(results[-1], problem)
    assert np.array_equal(results[0].w, results[1].w)


def offset_cases():
    """Problems whose offset is hard to find, and twice the passes that it takes."""
    rng = np.random.default_rng(0)
    iris, species = load_iris(return_X_y=True)
    X = rng.normal(size=(2000, 5))
    z = X @ [1, 2, 3, 4, 5]
    noise = 3 * rng.normal(size=2000)
    return {
        "few rows, little strength": (iris, species == 0, "logistic", 1e-6, 850),
        "labels far from 0": (X[:200], (z + noise + 1e5)[:200], "absolute_error", 1e-2, 80),
        "a rare class": (X, z >= np.sort(z)[-20], "logistic", 1e-3, 90),
        "a rare class and kinks": (X, z >= np.sort(z)[-20], "hinge", 1e-3, 100),
        "short rows": (X / 100, z + noise > 0, "logistic", 1e-2, 35),
        "much strength": (X, z + noise > 5, "squared_hinge", 10.0, 50),
        "shards at once": (*text(), "hinge", 1e-3, 110),
    }


@pytest.mark.parametrize("name", offset_cases())
def test_an_offset_is_found_in_few_passes(name):
    X, y, loss, strength, most = offset_cases()[name]
    problem = fenchel.problem(X, y, loss=loss, strength=strength, intercept=True)
    result = fenchel.minimize(problem, SDCA(at_once=name == "shards at once"), gap=1e-4)
    assert result.converged
    assert result.passes <= most
    fenchel.verify(result, problem)


@pytest.mark.parametrize("seed", range(6))
def test_a_few_active_rows_do_not_swing_ever_further(seed):
    """As most of these would, if the offset took whole steps."""
    net = ElasticNet(0.9, weights=[0.5, 1.0, 2.0, 3.0])
    loss = losses.EpsilonInsensitive(0.1)
    problem = problem_for(loss, net, n=25, intercept=True, weighted=True, strength=0.1)
    assert fenchel.minimize(problem, SDCA(seed=seed), gap=1e-8).converged


def test_the_rounds_of_an_iteration_are_bounded_and_a_run_in_vain_ends():
    """Columns of 1e8 leave nothing to gain; a quarter of all rounds so far would have no end."""
    rng = np.random.default_rng(0)
    X, y = 1e8 * rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-6)
    rounds = []
    counted = replace(problem, pulse=lambda: rounds.append(None))
    steps = SDCA().iterate(counted, np.zeros(3))
    marks = [len(rounds) for _ in itertools.islice(steps, 30)]
    assert 20 < max(np.diff(marks)) <= 64
    result = fenchel.minimize(problem, "sdca", max_iterations=200)
    assert result.status is fenchel.Status.STALLED and "Rescale the columns" in result.ending


def test_the_seed_sets_the_order():
    X, y = text(n=400)
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3)
    runs = [fenchel.minimize(problem, SDCA(seed=seed), gap=1e-3) for seed in (1, 1, 2)]
    assert np.array_equal(runs[0].w, runs[1].w)
    assert not np.array_equal(runs[0].w, runs[2].w)


def test_rows_of_weight_0_empty_rows_and_equal_rows_do_no_harm():
    X, y = text(n=300, d=50, per_row=5)
    X = sparse.vstack([X, X[:100], sparse.csr_array((50, 50))]).tocsr()
    y = np.concatenate([y, -y[:100], np.ones(50)])
    problem = fenchel.problem(
        X, y, loss="hinge", strength=1e-4, sample_weight=sample_weights(len(y))
    )
    result = fenchel.minimize(problem, "sdca", gap=1e-5)
    other = fenchel.minimize(problem, "polish", gap=1e-5)
    assert result.converged and other.converged
    fenchel.verify(result, problem)
    fenchel.verify(other, problem)
    assert result.objective == pytest.approx(other.objective, rel=1e-4)


def test_a_warm_start_from_another_strength_saves_passes():
    X, y = text(n=2000, d=200, per_row=20)
    far, near = (
        fenchel.problem(X, y, loss="squared_hinge", strength=strength) for strength in (2e-4, 1e-4)
    )
    first = fenchel.minimize(far, "sdca", gap=1e-6)
    cold = fenchel.minimize(near, "sdca", gap=1e-6)
    warm = fenchel.minimize(near, "sdca", gap=1e-6, w0=first.w)
    assert warm.converged
    assert warm.passes < cold.passes


def test_losses_without_a_known_step_are_refused():
    class Mine(losses.Hinge):
        pass

    problem = problem_for(Mine())
    for name in ("sdca", "polish"):
        with pytest.raises(fenchel.Incompatible, match="built-in"):
            fenchel.minimize(problem, name)


@pytest.mark.parametrize("growth", [1.0, 0.5, float("nan"), "fast"])
def test_polish_must_grow(growth):
    with pytest.raises(fenchel.InvalidData, match="growth"):
        fenchel.solver("polish", growth=growth)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "epsilon_insensitive"])
def test_polish_goes_on_where_the_intercept_alone_moves(loss):
    """Labels of hundreds, far from their scores of 0: the Lagrangian is linear along a step."""
    rng = np.random.default_rng(1)
    X, eta = rng.normal(size=(60, 5)), 0.5 * rng.normal(size=5)
    offset, weights = 1000 * rng.normal(size=60), rng.uniform(size=60)
    weights[::4] = 0.0
    y = X @ eta + rng.normal(size=60)
    problem = fenchel.problem(
        X, y, loss=loss, strength=0.05, intercept=True, sample_weight=weights, offset=offset
    )
    result = fenchel.minimize(problem, "polish", gap=1e-6)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6
