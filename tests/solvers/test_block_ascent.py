"""Dual block coordinate ascent: steps on all dual variables of a row at once, for vector losses."""

import itertools
import pickle

import cvxpy as cp
import numpy as np
import pytest
from catalogue import TREE, VECTOR_LOSSES, ids, sample_weights, targets_for, vector_problem_for
from fragile import Fragile
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import wrightomega
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import fenchel
from fenchel import _kernels, losses
from fenchel.data.dataset import Dataset
from fenchel.data.store import read_store, write_store
from fenchel.losses.vector_rows import NATIVE, has_block_step
from fenchel.regularizers import L2, ElasticNet
from fenchel.risks.views.dual_ascent import DualAscent
from fenchel.solvers import SDCA

STEPPED = [loss for loss in VECTOR_LOSSES if has_block_step(loss)]
HINGES = losses.MulticlassHinge, losses.MultilabelHinge
FLAT = [loss for loss in STEPPED if isinstance(loss, (*HINGES, losses.Softmax))]
STEPS = pytest.mark.parametrize("loss", STEPPED, ids=ids)
FLAT_STEPS = pytest.mark.parametrize("loss", FLAT, ids=ids)
LAYOUTS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_array,
    "sparse, float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def for_classes(loss, K, rng):
    """The loss for K classes, with costs of its own where it had a matrix of them."""
    if np.ndim(getattr(loss, "cost", None)) == 2:
        costs = rng.uniform(0, 3, size=(K, K))
        np.fill_diagonal(costs, 0.0)
        costs[rng.uniform(size=(K, K)) < 0.2] = 0.0  # some mistakes cost nothing
        return losses.MulticlassHinge(cost=costs, rescaling=loss.rescaling)
    return loss


def vertices(loss, y, K):
    """The corners of the conjugate's domain for one row."""
    if isinstance(loss, losses.MultilabelHinge):
        pairs = [(k, r) for k in np.flatnonzero(y == 0) for r in np.flatnonzero(y)]
        return np.array([np.zeros(K), *(np.eye(K)[k] - np.eye(K)[r] for k, r in pairs)])
    factor = loss.costs(K)[:, [y]] if loss.rescaling == "slack" else 1.0
    return factor * (np.eye(K) - np.eye(K)[y])


def conjugate_gradient(loss, u, y, K):
    """The gradient of l* inside its domain."""
    if isinstance(loss, losses.MultilabelHinge):
        return np.where(y == 0, -loss.uniform, 0.0)
    if loss.rescaling == "slack":
        return np.eye(K)[y] - 1
    return -loss.costs(K)[:, y]


def step(loss, z, a, y, kappa, layout):
    """The slopes after a step on a single row with scores z, slopes a, and that kappa."""
    K = len(z)
    dual = _kernels.BlockProblem(
        NATIVE[type(loss)](loss, K), np.array([y]), np.ones(1), np.array([kappa]), None, None
    )
    slopes, V, active = a[np.newaxis].copy(), z[np.newaxis].copy(), np.zeros(1, dtype=np.int32)
    rest = dual, slopes, V, np.zeros(K), 0.0, active, 1, np.inf, 0
    if layout == "dense":
        _kernels.dense_sweep(np.ones((1, 1)), *rest)
    else:
        start, column = np.array([0, 1]), np.zeros(1, dtype=np.int32)
        _kernels.csr_sweep(start, column, np.ones(1), *rest)
    np.testing.assert_allclose(V[0], z - (slopes[0] - a), atol=1e-12 * (1 + np.max(np.abs(z))))
    return slopes[0]


def softmax_step(z, a, y, kappa):
    """p in the simplex with log p + kappa p = z + kappa p_old - theta, less e_y."""
    c = z + kappa * (a + np.eye(len(z))[y]) + np.log(kappa)
    theta = brentq(lambda t: np.sum(wrightomega(c - t)) - kappa, np.min(c) - kappa, np.max(c) + 50)
    return wrightomega(c - theta) / kappa - np.eye(len(z))[y]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_step_of_softmax_is_the_best_of_its_row(layout, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    K, kappa = data.draw(st.integers(2, 40)), 10 ** rng.uniform(-3, 3)
    z, y = rng.choice([0.1, 3.0, 30.0]) * rng.normal(size=K), int(rng.integers(K))
    a = rng.dirichlet(np.full(K, 0.2)) * rng.integers(2)
    a[y] = -(np.sum(a) - a[y])
    u = step(losses.Softmax(), z, a, y, kappa, layout)
    np.testing.assert_allclose(u, softmax_step(z, a, y, kappa), atol=2e-6)


@pytest.mark.parametrize("loss", [loss for loss in STEPPED if isinstance(loss, HINGES)], ids=ids)
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_step_of_a_hinge_is_the_best_of_its_row(loss, layout, data):
    """u minimises f(u) = l*(u) - <u, z> + kappa/2 |u - a|^2 over a polytope.

    f is convex: no point is better than u by more than the slope to the best of its corners.
    """
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    K, kappa = data.draw(st.integers(2, 40)), 10 ** rng.uniform(-3, 3)
    loss = for_classes(loss, K, rng)
    z = rng.choice([0.1, 3.0, 30.0]) * rng.normal(size=K)
    z = np.round(z) if rng.uniform() < 0.3 else z  # ties
    y = targets_for(loss, rng, 1 + K, K)[-1]
    corners = vertices(loss, y, K)
    shares = rng.dirichlet(np.full(len(corners), 0.2))
    a = loss.feasible(shares[np.newaxis] @ corners, np.array([y]))[0]
    u = step(loss, z, a, y, kappa, layout)
    assert np.isfinite(loss.conjugate(u[np.newaxis], np.array([y]))[0])
    gradient = conjugate_gradient(loss, u, y, K) - z + kappa * (u - a)
    assert np.max(gradient @ u - corners @ gradient) <= 1e-12 * (1 + np.max(np.abs(z)) + kappa)


@STEPS
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    "regularizer", [L2(), L2(weights=[0.5, 1.0, 2.0, 3.0]), ElasticNet(l1_ratio=0.5)], ids=ids
)
def test_sweeps_raise_the_dual(loss, at_once, regularizer, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 10)
    problem = vector_problem_for(loss, regularizer, n=120, weighted=True, strength=0.01)
    assert problem.risk.engine.n_shards > 1
    dual = DualAscent(problem, at_once)
    last = -np.inf
    for seed in range(6):
        point, cut = dual.point(dual.w), dual.cut()
        bound = problem.bound(cut.a, cut.b, cut.sizes)
        assert last - 1e-12 <= bound <= problem.objective(point) * (1 + 1e-12)
        last = bound
        dual.release(point, np.inf)
        dual.sweep(range(seed, seed + 5), np.inf)
        carried = dual.v
        dual.settle()
        np.testing.assert_allclose(carried, dual.v, atol=1e-12)
    assert last > 0


@pytest.mark.parametrize("n", [40, 800], ids=["few rows", "many rows"])
def test_a_point_stays_what_it_was_when_w_moves_on(n):
    """Under plain L2 a sweep of few rows changes v itself, which the points before it were."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(n, 6)), np.arange(n) % 3
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-3)
    steps = SDCA().iterate(problem, np.zeros(problem.risk.n_parameters))
    taken = [(step, step.point.w.copy()) for step in itertools.islice(steps, 12)]
    for step, w in taken:
        np.testing.assert_array_equal(step.point.w, w)
        assert step.objective == pytest.approx(problem.objective(problem.risk.at(w)), rel=1e-12)


def test_w_on_average_over_late_sweeps_has_a_smaller_objective_than_the_last():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 6))
    y = np.argmax(X[:, :3] + rng.normal(size=(2000, 3)), axis=1)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-3)
    dual = DualAscent(problem, at_once=False)
    for k in range(3):
        dual.release(dual.point(dual.w), np.inf)
        dual.sweep(range(10 * k, 10 * k + 10), np.inf)
        late, last = (problem.objective(dual.point(w.copy())) for w in (dual.w, dual.v))
        dual.settle()
    assert late < last


@FLAT_STEPS
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "regularizer", [L2(), L2(weights=[0.5, 1.0, 2.0, 3.0]), ElasticNet(l1_ratio=0.5)], ids=ids
)
def test_it_certifies_what_others_find(loss, layout, regularizer):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 4)).astype(np.float32).astype(float)
    X[:5] = 0.0  # empty rows
    X[5:20] = X[20:35]  # and equal ones
    y = targets_for(loss, rng, 150, 3, X @ rng.normal(size=(4, 3)))
    options = {"loss": loss, "regularizer": regularizer, "strength": 0.01}
    options["sample_weight"] = sample_weights(150)
    problem = fenchel.problem(LAYOUTS[layout](X), y, **options)
    result = fenchel.minimize(problem, "sdca", gap=1e-7)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-7
    other = fenchel.minimize(fenchel.problem(X, y, **options), "bmrm", gap=1e-6)
    assert other.converged
    assert result.objective == pytest.approx(other.objective, rel=2e-6)


@FLAT_STEPS
@pytest.mark.parametrize("layout", ["dense", "sparse, float32"])
@pytest.mark.parametrize("regularizer", [L2(), ElasticNet(l1_ratio=0.5)], ids=ids)
def test_it_certifies_what_others_find_with_intercepts(loss, layout, regularizer):
    """Rows of unequal weights, some of them equal, and labels that no w explains but an offset."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 3)).astype(np.float32).astype(float)
    X[:5] = 0.0
    X[5:20] = X[20:35]
    y = targets_for(loss, rng, 120, 3, X @ rng.normal(size=(3, 3)) + [1.0, 0.0, -0.5])
    options = {"loss": loss, "regularizer": regularizer, "strength": 0.02, "intercept": True}
    options["sample_weight"] = sample_weights(120)
    problem = fenchel.problem(LAYOUTS[layout](X), y, **options)
    result = fenchel.minimize(problem, "sdca", gap=1e-6)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6
    other = fenchel.minimize(fenchel.problem(X, y, **options), "bmrm", gap=1e-5, max_seconds=20)
    assert other.lower_bound <= result.objective
    assert result.objective <= other.objective * (1 + 1e-6)


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
@pytest.mark.parametrize("at_once", [False, True])
def test_sweeps_with_intercepts_keep_what_they_carry(loss, at_once, monkeypatch):
    """v follows the slopes, cuts lie below J, and the offsets of all classes add up to 0."""
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 60)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 4))
    y = np.argmax(X[:, :3] + [2.0, 0.0, 0.0] + rng.normal(size=(100, 3)), axis=1)
    problem = fenchel.problem(X, y, loss=loss, strength=0.01, intercept=True)
    assert problem.risk.engine.n_shards > 1
    dual, bounds = DualAscent(problem, at_once), []
    for seed in range(40):
        point, cut = dual.point(dual.w), dual.cut()
        bounds.append(problem.bound(cut.a, cut.b, cut.sizes))
        assert bounds[-1] <= problem.objective(point) * (1 + 1e-12)
        dual.release(point, np.inf)
        dual.sweep([seed], np.inf)
        carried = dual.v
        dual.settle()
        dual.balance()
        np.testing.assert_allclose(carried, dual.v, atol=1e-12)
        assert abs(np.sum(dual.b)) <= 1e-10 * np.sum(np.abs(dual.b))
    assert bounds[-1] > 0.7 * problem.objective(point)


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_intercepts_of_a_class_of_one_row(loss):
    X, y = digits()
    y = np.where(np.arange(len(y)) == 77, 10, y)
    problem = fenchel.problem(X[:300], y[:300], loss=loss, strength=1e-3, intercept=True)
    result = fenchel.minimize(problem, "sdca", gap=1e-5)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-5


def test_intercepts_of_two_classes_are_one():
    """W = (-w, w)/2 and b likewise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = np.where(X[:, 0] + 0.7 > rng.normal(size=150), 1.0, -1.0)
    two = fenchel.problem(X, y, loss="multiclass_hinge", strength=2e-2, intercept=True)
    one = fenchel.problem(X, y, loss="hinge", strength=1e-2, intercept=True)
    values = [fenchel.minimize(problem, "sdca", gap=1e-7).objective for problem in (two, one)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_a_run_with_intercepts_goes_on_from_its_checkpoint_or_a_nearby_result(loss, tmp_path):
    X, y = digits()
    problem = fenchel.problem(X[:400], y[:400], loss=loss, strength=1e-3, intercept=True)
    whole = fenchel.minimize(problem, "sdca", gap=1e-9, max_iterations=8)
    fenchel.minimize(problem, "sdca", gap=1e-9, max_iterations=4, checkpoint=tmp_path / "run")
    rest = fenchel.minimize(
        problem, "sdca", gap=1e-9, max_iterations=8, checkpoint=tmp_path / "run"
    )
    assert np.array_equal(whole.w, rest.w) and whole.lower_bound == rest.lower_bound
    assert np.array_equal(whole.intercept, rest.intercept)
    cold = fenchel.minimize(problem, "sdca", gap=1e-4)
    warm = fenchel.minimize(problem, "sdca", gap=1e-4, w0=cold)
    assert warm.converged and warm.passes < cold.passes / 2


def test_a_class_without_weight_leaves_its_intercept_to_others():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    options = {"loss": "multiclass_hinge", "strength": 0.1, "intercept": True}
    problem = fenchel.problem(X, y, sample_weight=np.where(y == 2, 0.0, 1.0), **options)
    with pytest.raises(fenchel.Incompatible, match="every class has a row"):
        fenchel.minimize(problem, "sdca")


def smallest(loss, X, y, s, strength, intercept, K):
    """min J, as CVXPY finds it from the pieces of the loss, or from its exponentials."""
    P = loss.tree.paths if isinstance(loss, losses.hierarchy.Hierarchical) else np.eye(K)
    W, b = cp.Variable((X.shape[1], P.shape[1])), cp.Variable((1, P.shape[1]))
    F = (X @ W + np.ones((len(y), 1)) @ b) @ P.T
    right = cp.reshape(cp.sum(cp.multiply(F, np.eye(len(P))[y]), axis=1), (len(y), 1), order="C")
    over = F - right @ np.ones((1, len(P)))
    if isinstance(loss, losses.HierarchicalSoftmax):
        each = cp.log_sum_exp(over, axis=1)
    else:
        hinge = getattr(loss, "of_leaves", loss)
        costs = hinge.costs(len(P)).T[y]
        each = cp.max(
            cp.multiply(costs, 1 + over) if hinge.rescaling == "slack" else costs + over, 1
        )
    J = strength / 2 * cp.sum_squares(W) + s @ each / np.sum(s)
    return cp.Problem(cp.Minimize(J), [] if intercept else [b == 0]).solve("CLARABEL")


def distance(k, y):
    """A cost of mistakes that is no matrix."""
    return abs(k - y)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        losses.MulticlassHinge(cost=distance),
        losses.MulticlassHinge(cost=[[0, 1, 0], [3, 0, 1], [0.2, 2, 0]]),
        losses.MulticlassHinge(rescaling="slack"),
        losses.MulticlassHinge(cost=[[0, 1, 0], [3, 0, 1], [0.2, 2, 0]], rescaling="slack"),
        losses.HierarchicalHinge(taxonomy=TREE),
        losses.HierarchicalSoftmax(taxonomy=TREE),
    ],
    ids=["function", "matrix", "slack", "matrix-slack", "tree", "soft-tree"],
)
def test_costs_slacks_and_trees_have_the_minimum_of_brute_force(loss, intercept):
    """With weights, equal rows of several classes, and a class of one row."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(40, 3)), 1)
    X[20:30] = X[:10]
    codes = np.append(rng.integers(2, size=39), 2)
    y = np.sort(loss.tree.classes)[codes] if hasattr(loss, "tree") else codes
    s = rng.uniform(0.2, 2.0, size=40)
    problem = fenchel.problem(X, y, loss=loss, strength=0.05, intercept=intercept, sample_weight=s)
    result = fenchel.minimize(problem, "sdca", gap=1e-6)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6
    minimum = smallest(loss, X, codes, s, 0.05, intercept, 3)
    assert result.lower_bound <= minimum * (1 + 1e-6)
    assert minimum <= result.objective * (1 + 1e-6)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("strength", [1e-2, 1e-4])
def test_the_multiclass_hinge_is_that_of_liblinear(strength):
    X, y = digits()
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=strength)
    result = fenchel.minimize(problem, "sdca", gap=1e-6)
    assert result.converged
    fenchel.verify(result, problem)
    peer = LinearSVC(
        multi_class="crammer_singer",
        C=1 / (strength * len(y)),
        fit_intercept=False,
        tol=1e-6,
        max_iter=10**6,
        random_state=0,
    ).fit(X, y)
    theirs = problem.objective(problem.risk.at(peer.coef_.T.ravel()))
    assert result.objective == pytest.approx(theirs, rel=1e-4)


def test_softmax_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(X, y, loss="softmax", strength=1e-3)
    result = fenchel.minimize(problem, "sdca", gap=1e-8)
    assert result.converged
    fenchel.verify(result, problem)
    peer = LogisticRegression(C=1 / (1e-3 * len(y)), fit_intercept=False, tol=1e-8, max_iter=10**4)
    np.testing.assert_allclose(result.w, peer.fit(X, y).coef_, atol=1e-3)


def test_two_classes_are_one_score():
    """W = (-w, w)/2 has half the norm."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.choice([-1.0, 1.0], 200)
    two = fenchel.problem(X, y, loss="multiclass_hinge", strength=2e-2)
    one = fenchel.problem(X, y, loss="hinge", strength=1e-2)
    values = [fenchel.minimize(problem, "sdca", gap=1e-8).objective for problem in (two, one)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_a_class_of_one_row(loss):
    X, y = digits()
    y = np.where(np.arange(len(y)) == 77, 10, y)
    problem = fenchel.problem(X[:400], y[:400], loss=loss, strength=1e-4)
    result = fenchel.minimize(problem, "sdca", gap=1e-5)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-5


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
@pytest.mark.parametrize("at_once", [False, True])
def test_shards_agree_whatever_runs_them(loss, at_once, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 10_000)
    X, y = digits()
    results = []
    for engine in ("serial", "threads"):
        problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine=engine)
        assert problem.risk.engine.n_shards > 1
        results.append(fenchel.minimize(problem, SDCA(at_once=at_once), gap=0.1))
        assert results[-1].converged and results[-1].iterations > 1
        fenchel.verify(results[-1], problem)
    assert np.array_equal(results[0].w, results[1].w)


def test_the_seed_sets_the_order():
    problem = fenchel.problem(*digits(), loss="multiclass_hinge", strength=1e-3)
    runs = [fenchel.minimize(problem, SDCA(seed=seed), gap=1e-3) for seed in (1, 1, 2)]
    assert np.array_equal(runs[0].w, runs[1].w)
    assert not np.array_equal(runs[0].w, runs[2].w)


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_a_run_goes_on_from_its_checkpoint(loss, tmp_path):
    problem = fenchel.problem(*digits(), loss=loss, strength=1e-5)
    whole = fenchel.minimize(problem, "sdca", gap=1e-6, max_iterations=9)
    fenchel.minimize(problem, "sdca", gap=1e-6, max_iterations=4, checkpoint=tmp_path / "run")
    rest = fenchel.minimize(
        problem, "sdca", gap=1e-6, max_iterations=9, checkpoint=tmp_path / "run"
    )
    assert np.array_equal(whole.w, rest.w) and whole.lower_bound == rest.lower_bound


@pytest.mark.parametrize(("loss", "gap"), [("multiclass_hinge", 1e-3), ("softmax", 1e-6)])
def test_a_warm_start_from_another_strength_saves_passes(loss, gap):
    X, y = digits()
    far, near = (fenchel.problem(X, y, loss=loss, strength=each) for each in (1.2e-3, 1e-3))
    saved = 0  # with some orders of the rows, as one may be lucky
    for seed in range(3):
        first = fenchel.minimize(far, SDCA(seed=seed), gap=gap)
        cold = fenchel.minimize(near, SDCA(seed=seed), gap=gap)
        warm = fenchel.minimize(near, SDCA(seed=seed), gap=gap, w0=first.w)
        assert warm.converged
        saved += cold.passes - warm.passes
    assert saved > 0


def test_a_run_can_end_between_two_rounds():
    """A limit of time is looked at inside an iteration."""
    problem = fenchel.problem(*digits(), loss="multiclass_hinge", strength=1e-7)
    result = fenchel.minimize(problem, "sdca", gap=1e-12, max_seconds=1e-6)
    assert result.status is fenchel.Status.TIME_LIMIT
    fenchel.verify(result, problem)


class Mine(losses.MulticlassHinge):
    """May have changed the formula."""


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (Mine(), {}),
        (losses.MultilabelHinge(cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]), {}),
    ],
    ids=["own", "costs of sets"],
)
def test_what_has_no_step_is_refused(loss, options):
    problem = vector_problem_for(loss, **options)
    with pytest.raises(fenchel.Incompatible):
        fenchel.minimize(problem, "sdca")


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_dual_variables_can_be_sent_elsewhere(loss):
    """With the loss of their rows, which the kernels take once it is made anew."""
    problem = fenchel.problem(*digits(), loss=loss, strength=1e-3, engine="serial")
    dual = DualAscent(problem, at_once=False)
    (rows,) = dual.rows
    there = pickle.loads(pickle.dumps(rows))
    z = np.random.default_rng(0).normal(size=rows.a.shape)
    counts = [_kernels.movable(each.native, z, each.a, 0.1, each.active) for each in (rows, there)]
    assert counts[0] == counts[1] > 0
    assert np.array_equal(rows.active, there.active)


def test_scores_beside_which_a_step_is_lost_do_no_harm():
    z = np.array([1e20, -1e20, 3.0, 1e20])
    for y in range(4):
        u = step(losses.MulticlassHinge(), z, np.zeros(4), y, 1e-3, "sparse")
        assert np.isfinite(losses.MulticlassHinge().conjugate(u[np.newaxis], np.array([y]))[0])


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
@pytest.mark.parametrize("engine", ["serial", Fragile(2)], ids=["serial", "hosts"])
def test_rows_that_are_kept_elsewhere_step_at_once(loss, engine, tmp_path, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 3000)
    X, y = digits()
    write_store(Dataset(X[:300], y[:300], None), tmp_path / "d.store")
    stored = read_store(tmp_path / "d.store")
    problem = fenchel.problem(stored.X, stored.y, loss=loss, strength=1e-2, engine=engine)
    assert problem.risk.engine.n_shards > 1
    result = fenchel.minimize(problem, "sdca", gap=1e-3)
    assert result.converged
    fenchel.verify(result, problem)
