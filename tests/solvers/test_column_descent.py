"""Column descent: certified, sparse and right, however columns are stored or related."""

import itertools
import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
from catalogue import LOSSES, ids, problem_for
from scipy import sparse
from sklearn.linear_model import ElasticNet as PeerNet
from sklearn.linear_model import Lasso, LogisticRegression

import fenchel
from fenchel import _kernels
from fenchel.data.rows import SparseRows
from fenchel.errors import Incompatible
from fenchel.regularizers import L1, ElasticNet
from fenchel.risks.views import columns, grams
from fenchel.solvers import OWLQN, ColumnDescent, column_descent
from fenchel.solvers.auto import auto
from fenchel.solvers.column_line import ModelLine

SMOOTH = [loss for loss in LOSSES if loss.differentiable]
PENALTIES = [
    L1(),
    L1(weights=[0.5, 0.0, 2.0, 3.0]),
    ElasticNet(l1_ratio=0.9),
    ElasticNet(weights=[3.0, 1.0, 0.0, 1.0]),
]
SOLVER = ColumnDescent()


@pytest.fixture(params=["small", "gram", "columns", "rows"])
def way(request, monkeypatch):
    """By kernels alone; or columns seen through the Gram matrix of all, of some, or by rows."""
    if request.param != "small":
        monkeypatch.setattr(columns, "_SMALL", 0)
        monkeypatch.setattr(column_descent, "_told_by_moments", lambda *_: False)
    if request.param in ("columns", "rows"):
        monkeypatch.setattr(columns, "FEW", 0)
    if request.param == "rows":
        for name in ("_GRAM_SPARSE", "_GRAM_DENSE", "_GRAM_SLOW"):
            monkeypatch.setattr(columns, name, 0)
    return request.param


def regression(n=60, d=30, *, seed=0, **options):
    """A response that five of d columns make."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, size=d)
    y = X[:, :5] @ (1 / np.std(X[:, :5], axis=0, ddof=0).clip(0.1)) + rng.normal(size=n) + 3
    return X, y


def solved(X, y, *, loss="squared_error", gap=1e-9, solver=SOLVER, **options):
    options = {"regularizer": "l1", "strength": 0.05, "engine": "serial", **options}
    problem = fenchel.problem(X, y, loss=loss, **options)
    result = fenchel.minimize(problem, solver, gap=gap)
    assert result.converged, result
    fenchel.verify(result, problem)
    return result


def least(X, y, strength, *, intercept, weights=None, c=None, ratio=1.0):
    """The minimum for the squared error by CVXPY."""
    n, d = X.shape
    share = np.ones(n) / n if weights is None else weights / np.sum(weights)
    c = np.ones(d) if c is None else c
    w, b = cp.Variable(d), cp.Variable() if intercept else 0.0
    penalty = ratio * cp.norm1(cp.multiply(c, w)) + (1 - ratio) / 2 * (c @ cp.square(w))
    risk = cp.sum(cp.multiply(share / 2, cp.square(X @ w + b - y)))
    return cp.Problem(cp.Minimize(strength * penalty + risk)).solve(solver="CLARABEL")


@pytest.mark.parametrize("regularizer", PENALTIES, ids=ids)
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_every_smooth_loss_is_certified_whichever_way_columns_are_seen(loss, regularizer, way):
    problem = problem_for(loss, regularizer, intercept=True, weighted=True, strength=0.02)
    result = fenchel.minimize(problem, SOLVER, gap=1e-7)
    assert result.converged, result
    fenchel.verify(result, problem)


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_the_minimum_is_that_of_owlqn(loss):
    problem = problem_for(loss, L1(), intercept=True, strength=0.02)
    ours, other = (fenchel.minimize(problem, each, gap=1e-6) for each in (SOLVER, OWLQN()))
    assert ours.lower_bound <= other.objective and other.lower_bound <= ours.objective


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_the_objective_never_rises(loss, way):
    problem = problem_for(loss, L1(), intercept=True, strength=0.02)
    steps = itertools.islice(SOLVER.iterate(problem, np.array([1.0, -2.0, 0.0, 0.5])), 20)
    J = [step.objective for step in steps]
    assert all(b <= a + 1e-14 * abs(a) for a, b in itertools.pairwise(J))


@pytest.mark.parametrize("shape", [(40, 8), (8, 40), (1, 5), (5, 1)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_minimum_is_cvxpys(shape, intercept, ratio, way):
    """With columns twice, of zeros, constant, and one without penalty."""
    rng = np.random.default_rng(sum(shape))
    X = rng.normal(size=shape)
    X = np.hstack([X, X[:, :1], np.zeros((shape[0], 1)), np.ones((shape[0], 1))])
    y, s = rng.normal(size=shape[0]) + 1, rng.integers(1, 4, size=shape[0]).astype(float)
    c = rng.uniform(0.5, 2, size=X.shape[1])
    c[1] = 0.0 if shape[0] > 2 else 1.0
    regularizer = L1(weights=c) if ratio == 1 else ElasticNet(ratio, weights=c)
    options = {"regularizer": regularizer, "intercept": intercept, "sample_weight": s}
    truth = least(X, y, 0.05, intercept=intercept, weights=s, c=c, ratio=ratio)
    for matrix in (X, np.asfortranarray(X), sparse.csr_array(X)):
        result = solved(matrix, y, gap=1e-8, **options) if truth > 1e-6 else None
        assert result is None or result.objective == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
def test_coefficients_and_zeros_are_scikit_learns(ratio, way):
    X, y = regression()
    strength = 0.1
    if ratio == 1:
        peer = Lasso(alpha=strength, tol=1e-12, max_iter=10**6).fit(X, y)
    else:
        peer = PeerNet(alpha=strength, l1_ratio=ratio, tol=1e-12, max_iter=10**6).fit(X, y)
    regularizer = "l1" if ratio == 1 else ElasticNet(ratio)
    result = solved(X, y, strength=strength, regularizer=regularizer, intercept=True, gap=1e-11)
    np.testing.assert_array_equal(result.w != 0, peer.coef_ != 0)
    np.testing.assert_allclose(result.w, peer.coef_, rtol=1e-5, atol=1e-7)
    assert result.intercept == pytest.approx(peer.intercept_, rel=1e-6)


def test_logistic_coefficients_are_liblinears(way):
    X, y = regression()
    y = np.where(y > 3, 1.0, -1.0)
    peer = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", fit_intercept=False, C=1 / 3.0, tol=1e-10, max_iter=10**5
    ).fit(X, y)
    result = solved(X, y, loss="logistic", strength=0.05, gap=1e-10)
    np.testing.assert_array_equal(result.w != 0, peer.coef_[0] != 0)
    np.testing.assert_allclose(result.w, peer.coef_[0], rtol=1e-4, atol=1e-6)


def test_supports_are_liblinears_but_for_ties(way):
    """At 1e-8, of columns two of which are there twice: those on one side only are at their bounds,
    where the minimum may have them or not.
    """
    X, y = regression()
    y, strength = np.where(y > 3, 1.0, -1.0), 0.05
    w = solved(X, y, loss="logistic", strength=strength, gap=1e-8).w
    twice = np.hstack([X[:, np.argsort(-np.abs(w))[:2]], X])
    C = 1 / (strength * len(y))
    peer = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", fit_intercept=False, C=C, tol=1e-8, max_iter=10**5
    ).fit(twice, y)
    result = solved(twice, y, loss="logistic", strength=strength, gap=1e-8)
    odd = np.flatnonzero((result.w != 0) != (peer.coef_[0] != 0))
    slopes = twice.T @ (-y / (1 + np.exp(y * (twice @ result.w)))) / len(y)
    # A gap of 1e-8 leaves slopes off by its root.
    np.testing.assert_allclose(np.abs(slopes[odd]), strength, rtol=1e-3)
    assert set(odd) <= {0, 1, *(2 + np.argsort(-np.abs(w))[:2])}


def test_offsets_of_rows_are_part_of_the_scores(way):
    X, y = regression()
    offset = np.random.default_rng(1).normal(size=len(y))
    ours = solved(X, y, offset=offset, intercept=True)
    other = solved(X, y - offset, intercept=True)
    assert ours.objective == pytest.approx(other.objective, rel=1e-8)


def test_storage_does_not_matter(way):
    X, y = regression(n=80, d=60)
    X[np.abs(X) < 0.3] = 0
    plain = solved(X, y)
    for other in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X)):
        assert solved(other, y).objective == pytest.approx(plain.objective, rel=1e-8)
    single = solved(X.astype(np.float32), y, gap=1e-8)
    assert single.objective == pytest.approx(plain.objective, rel=1e-4)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_bits_do_not_depend_on_threads_or_chance(loss, way):
    X, y = regression(n=200)
    first = solved(X, y, loss=loss)
    for engine in ("serial", fenchel.engines.Threads(2)):
        again = solved(X, y, loss=loss, engine=engine)
        np.testing.assert_array_equal(again.w, first.w)
        assert again.lower_bound == first.lower_bound


def test_working_sets_find_the_columns_among_many(way):
    """Wide and sparse, from working sets of one column on."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((100, 2000), density=0.05, rng=rng, format="csr")
    y = X @ np.where(np.arange(2000) < 10, 5.0, 0.0) + 0.1 * rng.normal(size=100)
    strength = 0.02 * float(np.max(np.abs(X.T @ y))) / 100
    small = solved(X, y, strength=strength, solver=ColumnDescent(columns=1))
    assert small.objective == pytest.approx(solved(X, y, strength=strength).objective, rel=1e-8)


def test_steps_go_on_where_the_loss_still_falls():
    """One row in forty is of the other class: scores of 0 bend the loss too much for a step."""
    rng = np.random.default_rng(0)
    X, y = np.abs(rng.normal(size=(400, 3))), np.where(np.arange(400) % 40, -1.0, 1.0)
    risk = fenchel.problem(X, y, loss="logistic", engine="serial").risk
    view, penalty = columns.columns_of(risk), grams.Penalty(*np.full((3, 3), 1e-4))
    w, which = np.zeros(3), np.arange(3, dtype=np.int32)
    rows, to = view.at(np.zeros(400), 0.0), np.zeros(3)
    view.descend(which, rows, view.products(which, rows.alpha), to, penalty, 1e-9)
    line = ModelLine(view, rows, (X @ to, 0.0), penalty, (w, to))
    eta, there, trials = line.lower()
    assert eta > 1 and trials == 0

    def J(eta):
        return view.value(X @ (eta * to), 0.0) + penalty.value(eta * to)

    assert there.value + penalty.value(eta * to) == pytest.approx(J(eta), rel=1e-12)
    assert J(eta) < J(eta / 2) < J(0)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_certified_gap_is_near_the_distance(intercept, monkeypatch):
    """As the model's slopes prove it: those of the rows leave a hundred times as much."""
    monkeypatch.setattr(columns, "_SMALL", 0)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 40))
    y = np.sign(X[:, :6].sum(axis=1) + rng.normal(size=400) + 0.5)
    options = {"loss": "logistic", "strength": 0.01, "intercept": intercept}
    minimum = solved(X, y, gap=1e-10, **options).objective
    result = solved(X, y, gap=1e-3, **options)
    distance = result.objective - minimum
    assert result.objective - result.lower_bound <= 5 * distance


def test_the_copy_by_columns_is_scipys():
    X = sparse.random_array((50, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    for first, last in ((0, 50), (7, 31), (3, 3)):
        rows = SparseRows(X.indptr[first : last + 1].astype(np.int64), X.indices, X.data, 30)
        theirs = X[first:last].tocsc()
        for ours, their in zip(
            rows.by_columns(), (theirs.indptr, theirs.indices, theirs.data), strict=True
        ):
            np.testing.assert_array_equal(ours, their)


@pytest.mark.parametrize("strength", [1e-2, 1e-5])
def test_flat_rows_are_left_out_of_the_model_alone(strength, monkeypatch):
    """Where most rows are flat, the minimum is that of all of them."""
    monkeypatch.setattr(columns, "_SMALL", 0)
    monkeypatch.setattr(grams, "_FLAT", 0.5)
    X = sparse.csr_array(np.random.default_rng(2).normal(size=(300, 8)))
    y = np.sign(X @ np.arange(8.0) + 0.3)
    options = {"loss": "logistic", "strength": strength, "gap": 1e-8}
    there = solved(X, y, **options)
    assert there.objective == pytest.approx(
        solved(X, y, solver=OWLQN(), **options).objective, rel=1e-7
    )


def test_columns_that_are_not_read_again_are_inside_their_bounds():
    """What `products` leaves out cannot exceed t, whatever way alpha takes."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(30, 50)))
    native, norms = _kernels.dense_columns(X), np.linalg.norm(X, axis=0)
    alpha, way, t = rng.normal(size=30), 0.0, np.full(50, 8.0)
    top, v = np.full(50, np.inf), np.zeros(50)
    left_out = 0
    for _ in range(40):
        count = native.products(alpha, t, norms, way, top, v)
        left_out += 50 - count
        true = X.T @ alpha
        outside = np.abs(true) > t
        np.testing.assert_allclose(v[outside], true[outside])
        assert np.all(np.abs(v[~outside]) <= t[~outside])
        step = 0.02 * rng.normal(size=30)
        alpha, way = alpha + step, way + float(np.linalg.norm(step))
    assert left_out > 500


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_both_models_have_the_same_least(storage):
    """Through rows and through the Gram matrix, with weights and an offset."""
    rng = np.random.default_rng(3)
    X, h, u = rng.normal(size=(40, 12)), rng.uniform(0, 0.1, size=40), rng.normal(size=40) / 40
    X[rng.random(X.shape) < 0.3] = 0
    which = np.array([0, 2, 3, 5, 7, 11], dtype=np.int32)
    if storage == "dense":
        native = _kernels.dense_columns(np.asfortranarray(X))
    else:
        C = sparse.csc_array(X)
        row = C.indices.astype(np.int32)
        native = _kernels.sparse_columns(C.indptr.astype(np.int64), row, C.data, 40)
    t, m, unit = np.full(6, 0.01), np.full(6, 0.02), np.ones(6)
    total, W = float(np.sum(h)), X[:, which]
    rows, gram, slopes = np.zeros(6), np.zeros(6), u.copy()
    step = native.descend(which, h, 0.0, total, 0.0, slopes, rows, t, m, unit, 1e-13, 10**4)[0]
    mean = W.T @ h / total
    G = W.T @ (h[:, np.newaxis] * W) - total * np.outer(mean, mean)
    g = W.T @ u - np.sum(u) * mean
    _kernels.descend_gram(np.ascontiguousarray(G), 0.0, g, gram, t, m, unit, 1e-13, 10**4)
    np.testing.assert_allclose(rows, gram, atol=1e-10)
    assert step == pytest.approx(-np.sum(u) / total - mean @ rows)
    np.testing.assert_allclose(slopes, u + h * (W @ rows + step), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gram_matrix_in_tiles_is_that_of_its_columns(dtype):
    rng = np.random.default_rng(4)
    for n, size in ((1, 1), (3, 2), (17, 4), (40, 5), (33, 6), (64, 11)):
        X, h = rng.normal(size=(n, 12)).astype(dtype), rng.uniform(size=n)
        which = np.sort(rng.permutation(12)[:size]).astype(np.int32)
        G = np.empty((size, size))
        _kernels.dense_columns(np.asfortranarray(X)).gram(which, h, 0.0, G)
        W = X[:, which].astype(float)
        np.testing.assert_allclose(G, W.T @ (h[:, np.newaxis] * W), atol=1e-12)
        assert np.array_equal(G, G.T)


@pytest.mark.parametrize("total", [0.0, 1.0], ids=["alone", "with an offset"])
def test_a_common_mean_of_columns_takes_few_epochs(total):
    """As conjugate gradients find such directions at once; epochs of steps take some 1000."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(500, 40)) + 3 * rng.normal(size=(500, 1)))
    u, w, u0 = np.empty(500), np.zeros(40), -(X[:, :20] @ np.ones(20)) / 500
    u[:], native, which = u0, _kernels.dense_columns(X), np.arange(40, dtype=np.int32)
    t, m, unit = np.full(40, 1e-3), np.zeros(40), np.ones(40)
    settings = which, None, 1 / 500, total, 0.0
    _, violation, epochs, _ = native.descend(*settings, u, w, t, m, unit, 1e-8, 10**4)
    assert violation <= 1e-8
    assert epochs < 700
    if total == 0:
        v = X.T @ (u0 + X @ w / 500)
        assert np.all(np.abs(v) <= 1e-3 + 1e-7)
        np.testing.assert_allclose(v[w != 0], -1e-3 * np.sign(w[w != 0]), atol=1e-7)


def test_kernels_refuse_what_does_not_fit():
    X = np.asfortranarray(np.ones((3, 2)))
    native, v = _kernels.dense_columns(X), np.zeros(1)
    with pytest.raises(ValueError, match="which names a column"):
        native.chosen_products(np.array([2], dtype=np.int32), np.ones(3), v)
    with pytest.raises(ValueError, match="contiguous columns"):
        _kernels.dense_columns(np.ones((3, 2)))
    with pytest.raises(ValueError, match="row names a row"):
        start, row = np.array([0, 1]), np.array([3], dtype=np.int32)
        _kernels.sparse_columns(start, row, np.ones(1), 3)


def test_auto_takes_it_for_sparse_models():
    X, y = regression()
    for regularizer in (L1(), ElasticNet()):
        problem = fenchel.problem(X, y, loss="squared_error", regularizer=regularizer)
        assert fenchel.minimize(problem).solver == "column-descent"


@pytest.mark.parametrize("strength", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_auto_takes_it_for_squares_of_any_shape(strength):
    """What was measured of other losses on wide rows, where OWL-QN was faster, says nothing."""
    X, y = regression(n=60, d=2000)
    problem = fenchel.problem(
        X, y, loss="squared_error", regularizer=ElasticNet(0.5), strength=strength, intercept=True
    )
    assert auto(problem)[0].name == "column-descent"


def test_memory_is_that_of_a_few_vectors():
    """Beyond a copy of X's nonzeros: with ten times the columns, ten times as much at most."""
    rng = np.random.default_rng(0)
    n, nonzeros, peaks = 200, 10, []
    for d in (20_000, 200_000):
        places = np.sort(rng.integers(0, d, size=(n, nonzeros)), axis=1).astype(np.int32)
        ends = np.arange(0, n * nonzeros + 1, nonzeros)
        X = sparse.csr_array((np.ones(n * nonzeros), places.ravel(), ends), shape=(n, d))
        X.sum_duplicates()
        problem = fenchel.problem(
            X,
            np.where(np.arange(n) % 3, 1.0, -1.0),
            regularizer="l1",
            loss="logistic",
            strength=0.01,
        )
        fenchel.minimize(problem, SOLVER, gap=1e-3)  # imports, and what is kept with the risk
        tracemalloc.start()
        assert fenchel.minimize(problem, SOLVER, gap=1e-3).converged
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 10 * peaks[0]
    assert peaks[1] <= 24 * 8 * 200_000


def test_refusals_say_what_is_missing():
    X, y = regression()
    y = np.where(y > 3, 1.0, -1.0)
    with pytest.raises(Incompatible, match="needs a differentiable loss"):
        solved(X, y, loss="hinge")
    with pytest.raises(Incompatible, match="orthant_curvature"):
        solved(X, y, loss="logistic", regularizer="l2")
    with pytest.raises(Incompatible, match="strength"):
        solved(X, y, loss="logistic", strength=0.0)


def test_a_checkpointed_run_goes_on(tmp_path):
    X, y = regression(n=100, d=80)
    problem = fenchel.problem(X, y, loss="huber", regularizer="l1", strength=1e-3)
    whole = fenchel.minimize(problem, SOLVER, gap=1e-8)
    file = tmp_path / "run"
    fenchel.minimize(problem, SOLVER, gap=1e-8, max_iterations=2, checkpoint=file)
    rest = fenchel.minimize(problem, SOLVER, gap=1e-8, checkpoint=file)
    assert rest.converged
    assert rest.objective == pytest.approx(whole.objective, rel=1e-7)


def test_a_path_has_the_supports_of_its_single_fits():
    X, y = regression(n=50, d=80)
    problem = fenchel.problem(X, y, loss="squared_error", regularizer="l1", intercept=True)
    path = fenchel.path(problem, 10, gap=1e-9)
    assert not path.results[0].w.any()
    for strength, result in zip(path.strengths, path.results, strict=True):
        assert result.converged
        alone = solved(X, y, strength=float(strength), intercept=True)
        np.testing.assert_array_equal(result.w != 0, alone.w != 0)
