"""The dual polish: one kernel for many Newton steps, right and certified under L2, L1 and both."""

import dataclasses

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import fenchel
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.risks.views import multiplier_run
from fenchel.solvers import Polish

LOSSES = ["hinge", "perceptron", "absolute_error", "quantile", "epsilon_insensitive"]
SHAPES = [(40, 5), (6, 12), (1, 3), (30, 1)]
MARGINS = ("hinge", "perceptron")  # whose labels are two classes
CASES = [
    (loss, shape, intercept)
    for loss in LOSSES
    for shape in SHAPES
    for intercept in (False, True)
    if not (loss == "perceptron" and intercept) and not (loss in MARGINS and shape[0] == 1)
]
PENALTIES = ["l2", "l1", "elastic_net"]


def penalty(name, c=None):
    return {"l2": L2, "l1": L1, "elastic_net": ElasticNet}[name](weights=c)


def rows(shape, loss, seed=0):
    """Rows and columns that come twice, a column of zeros, and labels of both kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X = np.hstack([X, X[:, :1], np.zeros((shape[0], 1))])
    X = np.vstack([X, X[: shape[0] // 2]])
    y = X[:, 0] + rng.normal(size=len(X))
    if loss in MARGINS:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    return X, y


def mean_loss(loss, z, y, s):
    margin, residual = cp.multiply(y, z), z - y
    each = {
        "hinge": cp.pos(1 - margin),
        "perceptron": cp.pos(-margin),
        "absolute_error": cp.abs(residual),
        "quantile": cp.maximum(0.3 * residual, -0.7 * residual),
        "epsilon_insensitive": cp.pos(cp.abs(residual) - 0.1),
    }[loss]
    return cp.sum(cp.multiply(s, each)) / np.sum(s)


def least(X, y, loss, name, *, strength, intercept, s, offset, c):
    """The minimum by CVXPY."""
    w, b = cp.Variable(X.shape[1]), cp.Variable() if intercept else 0.0
    one, two = cp.sum(cp.multiply(c, cp.abs(w))), cp.sum(cp.multiply(c, cp.square(w))) / 2
    omega = {"l2": two, "l1": one, "elastic_net": 0.5 * one + 0.5 * two}[name]
    objective = strength * omega + mean_loss(loss, X @ w + b + offset, y, s)
    return cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)


def posed(X, y, loss, **options):
    if loss == "quantile":
        options["quantile"] = 0.7
    options = {"strength": 0.05, "engine": "serial", **options}
    return fenchel.problem(X, y, loss=loss, **options)


def solved(problem, gap=1e-8, **options):
    result = fenchel.minimize(problem, "polish", gap=gap, **options)
    assert result.converged, result
    assert fenchel.verify(result, problem).gap <= 1.01 * gap
    return result


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize(("loss", "shape", "intercept"), CASES)
def test_the_minimum_is_cvxpys(loss, shape, intercept, name):
    """Whatever the storage, with weights of rows and columns and offsets of rows."""
    X, y = rows(shape, loss)
    rng = np.random.default_rng(1)
    s, c = rng.integers(0, 4, size=len(y)).astype(float), rng.uniform(0.5, 2, size=X.shape[1])
    s[0] = 1.0
    offset = 0.3 * rng.normal(size=len(y))
    given = {"strength": 0.02, "intercept": intercept}
    truth = least(X, y, loss, name, s=s, offset=offset, c=c, **given)
    given |= {"sample_weight": s, "offset": offset, "regularizer": penalty(name, c)}
    for matrix in (X, np.asfortranarray(X), sparse.csr_array(X)):
        if truth < 1e-6:
            continue  # no gap is relative to 0
        result = solved(posed(matrix, y, loss, **given))
        assert result.objective == pytest.approx(truth, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("loss", ["hinge", "absolute_error"])
def test_columns_without_penalty(loss, name):
    X, y = rows((60, 6), loss)
    X = np.delete(X, -1, axis=1)  # of zeros, where any w would do
    c = np.ones(X.shape[1])
    c[[1, 3]] = 0.0
    given = {"strength": 0.05, "intercept": True}
    truth = least(X, y, loss, name, s=np.ones(len(y)), offset=0.0, c=c, **given)
    # Slopes are moved to where those columns' sums are 0, of which round-off may take 2e-8.
    result = solved(posed(X, y, loss, regularizer=penalty(name, c), **given), gap=1e-7)
    assert result.objective == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_float32_is_taken_as_it_is(intercept):
    X, y = rows((50, 6), "hinge")
    X = X.astype(np.float32)
    one = solved(posed(X, y, "hinge", intercept=intercept))
    other = solved(posed(X.astype(np.float64), y, "hinge", intercept=intercept))
    assert one.objective == pytest.approx(other.objective, rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "perceptron"])
def test_the_kernel_and_python_find_the_same(loss, intercept, monkeypatch):
    X, y = rows((80, 6), loss)
    problem = posed(X, y, loss, intercept=intercept)
    native = solved(problem, gap=1e-6)
    monkeypatch.setattr("fenchel.solvers.polish.in_one_shard", lambda problem: False)
    by_passes = solved(problem, gap=1e-6)
    assert by_passes.iterations > native.iterations  # a step each
    assert native.objective == pytest.approx(by_passes.objective, rel=2e-6)


@pytest.mark.parametrize("loss", ["hinge", "quantile"])
def test_zeros_are_exact_and_those_of_the_minimum(loss):
    """A column is 0 if its slope is inside the box |v_j| < t_j, which the evidence shows."""
    X, y = rows((200, 20), loss)
    result = solved(posed(X, y, loss, regularizer="l1", strength=0.1, intercept=True), gap=1e-10)
    inside = np.abs(X.T @ result.witness.alpha) < 0.1 * (1 - 1e-4)
    assert 2 <= np.count_nonzero(inside) <= 20
    assert not result.w[inside].any()


@pytest.mark.parametrize("name", PENALTIES)
def test_tiny_strengths_and_separable_rows(name):
    """w is then hundreds of times as long, which a proximal term must not hold up."""
    X, y = rows((60, 8), "hinge", seed=3)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.1, 1.0, -1.0)
    for strength in (1e-3, 1e-5, 1e-7):
        options = {"regularizer": penalty(name), "strength": strength, "intercept": True}
        solved(posed(X, y, "hinge", **options), gap=1e-4)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_same_bits_every_time_and_with_any_number_of_threads(name):
    X, y = rows((300, 10), "hinge")
    options = {"regularizer": penalty(name), "strength": 1e-3, "intercept": True}
    runs = [
        fenchel.minimize(posed(X, y, "hinge", engine=engine, **options), "polish", gap=1e-7)
        for engine in ("serial", fenchel.engines.Threads(1), fenchel.engines.Threads(3))
    ]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].w, other.w)
        assert runs[0].certificate == other.certificate


@pytest.mark.parametrize("name", PENALTIES)
def test_a_run_goes_on_from_its_checkpoint(name, monkeypatch, tmp_path):
    monkeypatch.setattr(multiplier_run, "_MOST_STEPS", 2)  # of Newton's between two states
    X, y = rows((200, 10), "hinge")
    problem = posed(X, y, "hinge", regularizer=penalty(name), strength=1e-3, intercept=True)
    whole = fenchel.minimize(problem, "polish", gap=1e-8, checkpoint=tmp_path / "whole")
    assert whole.converged and whole.iterations > 6
    half = {"gap": 1e-8, "checkpoint": tmp_path / "half"}
    fenchel.minimize(problem, "polish", max_iterations=4, **half)
    resumed = fenchel.minimize(problem, "polish", **half)
    np.testing.assert_array_equal(resumed.w, whole.w)
    assert resumed.iterations == whole.iterations


def test_time_is_looked_at_between_calls_of_the_kernel(monkeypatch):
    monkeypatch.setattr(multiplier_run, "_MOST_STEPS", 1)
    X, y = rows((200, 10), "hinge")
    problem = posed(X, y, "hinge", regularizer="l1", strength=1e-3, intercept=True)
    looks = []
    watched = dataclasses.replace(problem, pulse=lambda: looks.append(None))
    steps = Polish().iterate(watched, np.zeros(X.shape[1]))
    for _ in range(5):
        next(steps)
    assert len(looks) == 4
    late = fenchel.minimize(problem, "polish", gap=1e-12, max_seconds=1e-9)
    assert late.status is fenchel.Status.TIME_LIMIT


@pytest.mark.parametrize("loss", ["hinge", "quantile"])
@pytest.mark.parametrize("name", PENALTIES)
def test_starts_nearby_take_far_fewer_passes_than_those_from_0(loss, name):
    X, y = rows((300, 8), loss)
    problem = posed(X, y, loss, regularizer=penalty(name), intercept=True)
    strengths = np.geomspace(1e-1, 1e-4, 12)
    warm = fenchel.path(problem, strengths, "polish").results
    problems = [dataclasses.replace(problem, strength=strength) for strength in strengths]
    cold = [fenchel.minimize(each, "polish") for each in problems]
    for result, each in zip(warm, problems, strict=True):
        assert result.converged
        fenchel.verify(result, each)
    assert sum(each.passes for each in warm) <= 0.75 * sum(each.passes for each in cold)


def test_rows_stay_on_their_kinks_when_kappa_falls():
    """A path of 30 strengths reads X ten times at each: else a third more."""
    X, y = load_breast_cancer(return_X_y=True)
    problem = fenchel.problem((X - X.mean(axis=0)) / X.std(axis=0), y, loss="hinge", intercept=True)
    results = fenchel.path(problem, np.geomspace(1e-1, 1e-6, 30), "polish").results
    assert all(result.converged for result in results)
    assert sum(result.passes for result in results) <= 12 * 30


def wide(n=60, d=400):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.1, rng=rng, format="csr")
    y = np.where(X[:, [0]].toarray().ravel() + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("name", ["l1", "elastic_net"])
def test_working_sets_of_many_columns_end_at_cvxpys_minimum(name, dense):
    X, y = wide()
    c = np.random.default_rng(1).uniform(0.5, 2, size=X.shape[1])
    c[5] = 0.0
    given = {"strength": 0.002, "intercept": True}
    ones = np.ones(len(y))
    truth = least(X.toarray(), y, "hinge", name, s=ones, offset=0.0, c=c, **given)
    matrix = X.toarray() if dense else X
    result = solved(posed(matrix, y, "hinge", regularizer=penalty(name, c), **given), gap=1e-6)
    assert result.objective == pytest.approx(truth, rel=2e-6)
    assert np.count_nonzero(result.w) < 300


def test_working_sets_go_on_from_a_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(multiplier_run, "_MOST_STEPS", 4)
    X, y = wide()
    problem = posed(X, y, "hinge", regularizer="l1", strength=0.002, intercept=True)
    whole = fenchel.minimize(problem, "polish", gap=1e-6, checkpoint=tmp_path / "whole")
    half = {"gap": 1e-6, "checkpoint": tmp_path / "half"}
    fenchel.minimize(problem, "polish", max_iterations=4, **half)
    resumed = fenchel.minimize(problem, "polish", **half)
    assert whole.converged and whole.iterations > 4
    np.testing.assert_array_equal(resumed.w, whole.w)


def test_what_it_cannot_do_is_refused():
    X, y = rows((40, 5), "hinge")
    groups = fenchel.regularizers.GroupL1(np.arange(X.shape[1]) // 2)
    with pytest.raises(fenchel.Incompatible, match="separable"):
        fenchel.minimize(posed(X, y, "hinge", regularizer=groups), "polish")
    X, y = wide()
    free = L2(weights=np.arange(X.shape[1]) % 2)
    with pytest.raises(fenchel.Incompatible, match="unpenalised"):
        fenchel.minimize(posed(X, y, "hinge", regularizer=free), "polish")
    assert fenchel.minimize(posed(X, y, "hinge"), "polish").converged
