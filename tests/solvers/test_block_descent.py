"""Block descent: certified, sparse in whole blocks, right whatever rows and groups are like."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from catalogue import LOSSES, VECTOR_LOSSES, ids, problem_for, vector_problem_for
from scipy import sparse

import fenchel
from fenchel import _kernels
from fenchel.errors import Incompatible
from fenchel.losses import HierarchicalSoftmax, MultivariateSquared, Softmax
from fenchel.regularizers import L1, ElasticNet, GroupL1
from fenchel.solvers import FISTA, BlockDescent
from fenchel.solvers.auto import auto

SMOOTH = [loss for loss in LOSSES if loss.differentiable]
VECTORS = [Softmax(), MultivariateSquared()]
PENALTIES = [
    L1(),
    L1(weights=[0.5, 1.0, 2.0, 3.0]),
    ElasticNet(l1_ratio=0.9),
    GroupL1(range(4)),
    GroupL1([0, 1, 0, 1]),
    GroupL1([1, 0, 2, 1], group_weights=[0.5, 2.0, 1.0]),
]
GROUPS = PENALTIES[4:]
SOLVER = BlockDescent()


def penalty_of(regularizer, W):
    """Of a matrix with a row for each column of X."""
    if isinstance(regularizer, GroupL1):
        groups = [np.flatnonzero(regularizer.groups == g) for g in np.unique(regularizer.groups)]
        c = regularizer.penalties
        return sum(c[g] * cp.norm(cp.vec(W[rows], order="C")) for g, rows in enumerate(groups))
    ratio = getattr(regularizer, "l1_ratio", 1.0)
    return ratio * cp.sum(cp.abs(W)) + (1 - ratio) / 2 * cp.sum_squares(W)


def least(X, y, loss, regularizer, strength, *, intercept, s):
    """The minimum by CVXPY."""
    K = y.shape[1] if y.ndim == 2 else y.max() + 1
    W, b = cp.Variable((X.shape[1], K)), cp.Variable((1, K))
    Z = X @ W + (np.ones((len(X), 1)) @ b if intercept else 0)
    if isinstance(loss, Softmax):
        rows = cp.log_sum_exp(Z, axis=1) - cp.sum(cp.multiply(Z, np.eye(K)[y]), axis=1)
    else:
        rows = cp.sum(cp.square(Z - y), axis=1) / 2
    risk = (s / np.sum(s)) @ rows
    problem = cp.Problem(cp.Minimize(strength * penalty_of(regularizer, W) + risk))
    return problem.solve(solver="CLARABEL")


def degenerate(loss, shape, seed=0):
    """Columns twice, of zeros and constant; a class of one row; uneven weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) + 0.5
    X = np.hstack([X, X[:, :1], np.zeros((len(X), 1)), np.ones((len(X), 1))])
    y = rng.integers(0, 3, size=len(X))
    y[:4] = 0, 1, 2, 3
    y[4:][y[4:] == 3] = 0
    s = rng.integers(1, 4, size=len(X)).astype(float)
    return X, y if isinstance(loss, Softmax) else X[:, :3] ** 2 + y[:, np.newaxis], s


@pytest.mark.parametrize("shape", [(40, 6), (8, 20)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["l1", "net", "rows", "groups"])
@pytest.mark.parametrize("loss", VECTORS, ids=ids)
def test_the_minimum_is_cvxpys(loss, kind, intercept, shape):
    X, y, s = degenerate(loss, shape)
    d = X.shape[1]
    regularizer = {
        "l1": L1(),
        "net": ElasticNet(0.4),
        "rows": GroupL1(np.arange(d)),
        "groups": GroupL1(np.arange(d) // 3),
    }[kind]
    truth = least(X, y, loss, regularizer, 0.05, intercept=intercept, s=s)
    for matrix in (X, np.asfortranarray(X), sparse.csr_array(X)):
        problem = fenchel.problem(
            matrix, y, loss=loss, regularizer=regularizer, strength=0.05, intercept=intercept,
            sample_weight=s, engine="serial",
        )  # fmt: skip
        result = fenchel.minimize(problem, SOLVER, gap=1e-8)
        assert result.converged, result
        fenchel.verify(result, problem)
        assert result.objective == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("regularizer", PENALTIES, ids=ids)
@pytest.mark.parametrize("loss", VECTORS, ids=ids)
@pytest.mark.parametrize("columns", [1, 100])
def test_losses_of_several_scores_are_certified(loss, regularizer, columns):
    problem = vector_problem_for(loss, regularizer, intercept=True, weighted=True, strength=0.02)
    result = fenchel.minimize(problem, BlockDescent(columns), gap=1e-8)
    assert result.converged, result
    fenchel.verify(result, problem)


@pytest.mark.parametrize("regularizer", GROUPS, ids=ids)
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_groups_of_columns_have_the_minimum_that_fista_bounds(loss, regularizer):
    problem = problem_for(loss, regularizer, intercept=True, weighted=True, strength=0.02)
    ours = fenchel.minimize(problem, SOLVER, gap=1e-8)
    other = fenchel.minimize(problem, FISTA(restart=True), gap=1e-5)
    assert ours.converged, ours
    fenchel.verify(ours, problem)
    assert ours.lower_bound <= other.objective and other.lower_bound <= ours.objective


@pytest.mark.parametrize("regularizer", PENALTIES, ids=ids)
@pytest.mark.parametrize("loss", VECTORS, ids=ids)
def test_the_objective_never_rises(loss, regularizer):
    problem = vector_problem_for(loss, regularizer, intercept=True, strength=0.02)
    w = np.linspace(-2, 2, problem.risk.n_parameters)
    steps = itertools.islice(BlockDescent(1).iterate(problem, w), 20)
    J = [step.objective for step in steps]
    assert all(b <= a + 1e-13 * abs(a) for a, b in itertools.pairwise(J))


def test_a_group_lasso_leaves_out_whole_columns():
    X, y, _ = degenerate(Softmax(), (60, 8))
    options = {"loss": "softmax", "regularizer": GroupL1(np.arange(11)), "intercept": True}
    result = fenchel.minimize(fenchel.problem(X, y, strength=0.05, **options), SOLVER, gap=1e-8)
    zero = result.w == 0
    assert 0 < np.count_nonzero(np.all(zero, axis=0)) < 11
    assert np.array_equal(np.all(zero, axis=0), np.any(zero, axis=0))


@pytest.mark.parametrize("stored", ["dense", "single", "sparse"])
@pytest.mark.parametrize(
    ("K", "shares"),
    [(1, False), (2, False), (2, True), (4, True), (9, False), (9, True), (33, True)],
)
def test_the_least_of_a_model_is_one(K, stored, shares):
    """Its gradient, by NumPy, is within the penalties, and its offsets' part is 0."""
    rng = np.random.default_rng(K)
    n, d = 30, 6
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.7)
    X = X.astype(np.float32 if stored == "single" else np.float64)
    p = rng.dirichlet(np.ones(K), size=n) if shares else None
    h, U = rng.uniform(0.5, 2, size=n), rng.normal(size=(n, K))
    H = np.stack([np.eye(K)] * n) if p is None else [np.diag(q + 0.01) - np.outer(q, q) for q in p]
    H = h[:, np.newaxis, np.newaxis] * np.stack(H)
    if stored == "sparse":
        csc = sparse.csc_array(X)
        arrays = csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data
        native = _kernels.sparse_columns(*arrays, n)
    else:
        native = _kernels.dense_columns(np.asfortranarray(X))
    c, which = np.array([1.0, 3.0, 2.0]), np.array([4, 0, 2, 3, 5], dtype=np.int32)
    start, w, e = np.array([0, 1, 3, 5], dtype=np.int32), np.zeros(5 * K), np.zeros(K)
    _kernels.block_descend(
        native, which, start, h, p, 0.01, True, U.copy(), w, c, c, c, c, 1e-10, 10000, e
    )
    W = w.reshape(5, K)
    slopes = U + np.einsum("ikl,il->ik", H, X[:, which].astype(float) @ W + e)
    V = X[:, which].astype(float).T @ slopes
    assert np.allclose(np.sum(slopes, axis=0), 0, atol=1e-7)
    for g, part in enumerate((slice(0, 1), slice(1, 3), slice(3, 5))):
        length = np.linalg.norm(W[part])
        if length > 0:
            assert np.allclose(V[part], -c[g] * W[part] / length, atol=1e-7)
        else:
            assert np.linalg.norm(V[part]) <= c[g] * (1 + 1e-9)


def test_auto_takes_it_for_groups_and_for_softmax_under_l1():
    for loss, regularizer in ((Softmax(), L1()), (Softmax(), GroupL1(range(4)))):
        assert isinstance(auto(vector_problem_for(loss, regularizer))[0], BlockDescent)
    assert isinstance(auto(problem_for(SMOOTH[0], GROUPS[0]))[0], BlockDescent)


def test_what_it_does_not_know_is_refused():
    free = vector_problem_for(Softmax(), L1(weights=[0.0, 1.0, 1.0, 1.0]))
    tree = next(loss for loss in VECTOR_LOSSES if isinstance(loss, HierarchicalSoftmax))
    other = vector_problem_for(tree, L1())
    large = problem_for(SMOOTH[0], GroupL1(np.zeros(1001, dtype=int)), d=1001)
    for problem, reason in ((free, "unpenalised"), (other, "softmax"), (large, "at most 1000")):
        with pytest.raises(Incompatible, match=reason):
            fenchel.minimize(problem, SOLVER)
