"""Paths that column descent follows by itself: certified, exact, and what a fit by itself finds."""

import dataclasses
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from catalogue import LOSSES, ids, problem_for
from scipy import sparse
from sklearn.linear_model import enet_path, lasso_path

import fenchel
from fenchel import losses
from fenchel.regularizers import L1, ElasticNet
from fenchel.risks.views import columns, moments
from fenchel.solvers import LBFGS, OWLQN, ColumnDescent

GAP = 1e-6
STRENGTHS = np.geomspace(1.0, 1e-3, 12)


class Trail(NamedTuple):
    w: np.ndarray
    intercepts: np.ndarray
    bounds: np.ndarray


def followed(problem, strengths=STRENGTHS, gap=GAP):
    found = list(ColumnDescent().aiming(gap).follow(problem, strengths))
    w, intercepts, *bounds = (
        np.array(each) for each in zip(*(each[:4] for each in found), strict=True)
    )
    assert w.shape == (len(strengths), problem.risk.n_parameters)
    return Trail(w, intercepts, np.stack(bounds, axis=1))


def at(problem, strength):
    return dataclasses.replace(problem, strength=float(strength))


def awkward(n=40, d=9, seed=0):
    """Columns of all sizes, one twice, one the negative of another, one of 0 and one constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 2, size=d)
    X = np.hstack([X, X[:, :1], -X[:, 1:2], np.zeros((n, 1)), np.full((n, 1), 3.0)])
    y = X[:, :3] @ (1 / np.maximum(np.abs(X[:, :3]).max(axis=0), 1e-9)) + rng.normal(size=n) + 5
    return X, y


def pose(X, y, **options):
    options = {"regularizer": "l1", "loss": "squared_error", "engine": "serial", **options}
    return fenchel.problem(X, y, **options)


SHAPES = [(40, 9), (8, 30), (1, 4), (2, 3), (300, 1)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
with_and_without = pytest.mark.parametrize("intercept", [False, True], ids=["origin", "intercept"])
PENALTIES = {
    "l1": lambda d: L1(),
    "weighted": lambda d: L1(weights=np.linspace(0.5, 2, d)),
    "net": lambda d: ElasticNet(0.5),
    "weighted-net": lambda d: ElasticNet(0.9, weights=np.linspace(2, 0.5, d)),
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())


@every_shape
@with_and_without
@every_penalty
def test_bounds_hold_and_every_point_is_verified(shape, intercept, penalty):
    """Both sides of the claim, by a fit to a much smaller gap and by code that shares nothing."""
    X, y = awkward(*shape)
    rng = np.random.default_rng(1)
    options = {
        "intercept": intercept,
        "sample_weight": rng.integers(0, 4, size=len(y)) + (np.arange(len(y)) == 0),
        "offset": rng.normal(size=len(y)),
    }
    problem = pose(X, y, regularizer=penalty(X.shape[1]), **options)
    trail = followed(problem)
    for k, strength in enumerate(STRENGTHS):
        J, bound = trail.bounds[k]
        there = at(problem, strength)
        least = fenchel.minimize(there, gap=1e-9)
        fenchel.verify(least, there)
        assert bound <= least.objective and least.lower_bound <= J
        assert there.objective(there.risk.at(trail.w[k])) <= J
        if least.objective > 1e-9:
            assert J - bound <= GAP * J
        start = dataclasses.replace(
            least, w=trail.w[k], intercept=trail.intercepts[k], witness=None
        )
        warm = fenchel.minimize(there, w0=start, gap=GAP)
        fenchel.verify(warm, there)
        assert warm.converged and (warm.iterations == 1 or least.objective < 1e-9)


@pytest.mark.parametrize("matrix", [np.asarray, np.asfortranarray, sparse.csr_array, np.float32])
def test_every_way_of_storage_leads_there(matrix):
    X, y = awkward()
    trail = followed(pose(matrix(X), y, intercept=True))
    truth = followed(pose(X, y, intercept=True))
    assert trail.bounds == pytest.approx(truth.bounds, rel=1e-4)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_coefficients_and_zeros_are_scikit_learns(ratio):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 20)) * 10 ** rng.uniform(-1, 1, size=20)
    y = X[:, :4].sum(axis=1) + rng.normal(size=80)
    largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / (80 * ratio)
    strengths = np.geomspace(0.999 * largest, 1e-3 * largest, 40)
    regularizer = L1() if ratio == 1 else ElasticNet(ratio)
    trail = followed(pose(X, y, intercept=True, regularizer=regularizer), strengths, gap=1e-12)
    peer = lasso_path if ratio == 1 else lambda *a, **k: enet_path(*a, l1_ratio=ratio, **k)
    centred = X - X.mean(axis=0), y - y.mean()
    _, coef, _ = peer(*centred, alphas=strengths, tol=1e-14, max_iter=10**6)
    assert trail.w == pytest.approx(coef.T, abs=1e-6)
    assert np.array_equal(trail.w == 0, coef.T == 0)


@with_and_without
def test_the_minimum_is_cvxpys(intercept):
    X, y = awkward(30, 6)
    n, d = X.shape
    problem = pose(X, y, intercept=intercept)
    trail = followed(problem, STRENGTHS[::4])
    for strength, (J, bound) in zip(STRENGTHS[::4], trail.bounds, strict=True):
        w, b = cp.Variable(d), cp.Variable() if intercept else 0.0
        risk = cp.sum_squares((X @ w + b - y) / np.sqrt(2 * n))
        truth = cp.Problem(cp.Minimize(strength * cp.norm1(w) + risk)).solve(solver="CLARABEL")
        assert bound - 1e-6 * truth <= truth <= J + 1e-6 * truth


def test_a_constant_target_needs_no_columns():
    X, _ = awkward()
    trail = followed(pose(X, np.full(len(X), 7.0), intercept=True))
    assert not trail.w.any() and trail.intercepts == pytest.approx(7.0)
    path = fenchel.path(pose(X, np.full(len(X), 7.0), intercept=True), STRENGTHS)
    assert path.converged and not path.coefficients.any()


@with_and_without
def test_a_target_that_columns_make_exactly_is_left_to_the_rows_where_moments_fail(intercept):
    """J is far below the squares that it is a difference of; round-off is not a proof."""
    X, _ = awkward()
    y = X[:, 0] * 1e3 + 1e6
    problem = pose(X, y, intercept=intercept)
    trail = followed(problem, [1e-12], gap=1e-4)
    there = at(problem, 1e-12)
    J, bound = trail.bounds[0]
    truth = fenchel.minimize(there, gap=1e-3)
    assert bound <= truth.objective and truth.lower_bound <= J
    assert there.objective(there.risk.at(trail.w[0])) <= J


def test_the_same_bits_every_time_and_whatever_the_threads():
    X, y = awkward(2000, 40)
    first, again, threads = (
        followed(pose(X, y, intercept=True, engine=engine))
        for engine in ("serial", "serial", "threads")
    )
    for a, b, c in zip(first, again, threads, strict=True):
        assert np.array_equal(a, b) and np.array_equal(a, c)


def test_the_gap_is_what_was_asked_for_or_better():
    X, y = awkward()
    for gap in (1e-2, 1e-5, 1e-9):
        bounds = followed(pose(X, y, intercept=True), gap=gap).bounds
        assert np.all(bounds[:, 0] - bounds[:, 1] <= gap * bounds[:, 0])


def test_others_follow_nothing():
    """Unpenalised columns, many columns, other solvers."""
    X, y = awkward()
    free = L1(weights=np.where(np.arange(X.shape[1]) == 1, 0.0, 1.0))
    wide = np.random.default_rng(0).normal(size=(5, columns.FEW + 1))
    for problem in (
        pose(X, y, regularizer=free),
        pose(wide, np.arange(5.0)),
    ):
        assert ColumnDescent().follow(problem, STRENGTHS) is None
    assert OWLQN().follow(pose(X, y), STRENGTHS) is None
    assert LBFGS().follow(problem_for(losses.Logistic()), STRENGTHS) is None


@pytest.mark.parametrize("w0", ["zero", "far", "opposite", "solution"])
def test_no_start_is_a_bad_one(w0):
    X, y = (each[:, 1:9] if each.ndim == 2 else each for each in awkward())  # no ties
    problem = pose(X, y, intercept=True, strength=0.05)
    cold = fenchel.minimize(problem, gap=1e-8)
    starts = {"zero": 0.0, "far": 1e3, "opposite": -2.0, "solution": 1.0}
    w = starts[w0] * cold.w if w0 != "far" else np.full(len(cold.w), 1e3)
    warm = fenchel.minimize(problem, w0=w, gap=1e-8)
    assert warm.converged and warm.iterations <= cold.iterations + 1
    assert np.array_equal(warm.w != 0, cold.w != 0)


# Other smooth losses

SMOOTH = [loss for loss in LOSSES if loss.differentiable and type(loss) is not losses.SquaredError]


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.7), L1(weights=[1, 0, 2, 3])], ids=repr)
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_every_smooth_loss_is_followed_within_its_bounds(loss, penalty):
    problem = problem_for(loss, penalty, intercept=True, weighted=True)
    trail = followed(problem, STRENGTHS[3::2], gap=1e-5)
    for k, strength in enumerate(STRENGTHS[3::2]):
        there, (J, bound) = at(problem, strength), trail.bounds[k]
        least = fenchel.minimize(there, gap=1e-8)
        assert bound <= least.objective and least.lower_bound <= J
        assert there.objective(there.risk.at(trail.w[k])) <= J * (1 + 1e-12)
        assert J - bound <= 1e-5 * J


@with_and_without
@pytest.mark.parametrize("loss", ["logistic", "huber", "poisson"])
def test_offsets_and_storage_of_other_losses(loss, intercept):
    X, y = awkward()
    X /= np.maximum(np.abs(X).max(axis=0), 1e-9)
    y = {"logistic": np.sign(y - np.median(y) + 1e-9), "huber": y, "poisson": np.floor(np.abs(y))}[
        loss
    ]
    options = {
        "loss": loss,
        "intercept": intercept,
        "offset": np.random.default_rng(5).normal(size=len(y)),
        "sample_weight": np.arange(len(y)) % 3,
    }
    for matrix in (np.asarray, sparse.csr_array, np.float32):
        problem = pose(matrix(X), y, **options)
        for found, strength in zip(followed(problem).w, STRENGTHS, strict=True):
            there = at(problem, strength)
            least = fenchel.minimize(there, OWLQN(), gap=1e-5, max_iterations=10**5)
            assert there.objective(there.risk.at(found)) <= least.objective * (1 + 2 * GAP)


# The moments of folds


@with_and_without
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_moments_of_a_part_are_those_of_all_less_the_rest(intercept, weighted, monkeypatch):
    """However far from 0 the means are; and so are the paths."""
    monkeypatch.setattr(moments, "_LARGE", 0)
    X, y = awkward(60, 6)
    rng = np.random.default_rng(3)
    X, offset = X + 100.0, rng.normal(size=60)
    s = rng.integers(1, 5, size=60) if weighted else None
    inside = rng.permutation(60)[:45]

    def problem(rows):
        weights = None if s is None else s[rows]
        given = {"offset": offset[rows], "sample_weight": weights, "intercept": intercept}
        return pose(X[rows], y[rows], **given)

    whole, part, anew = problem(np.arange(60)), problem(inside), problem(inside)
    moments.part(part.risk, whole.risk, inside)
    assert moments._of_whole(part.risk, columns.columns_of(part.risk)) is not None
    mine, truth = moments.moments(part.risk), moments.moments(anew.risk)
    size = np.append(truth.size, truth.size_y)
    assert np.all(np.abs(mine.G - truth.G) <= 1e-13 * np.multiply.outer(size, size)[:-1, :-1])
    assert np.all(np.abs(mine.c - truth.c) <= 1e-13 * truth.size * truth.size_y)
    for name in ("q", "mean", "center"):
        assert getattr(mine, name) == pytest.approx(getattr(truth, name), rel=1e-12)
    assert np.all(mine.size >= 0.999 * truth.size) and mine.size_y >= 0.999 * truth.size_y
    assert followed(part).bounds == pytest.approx(followed(anew).bounds, rel=1e-5)


def test_moments_are_computed_anew_where_the_rest_has_all_there_is(monkeypatch):
    """A column that is 0 but in rows left out; rows twice; most rows left out."""
    monkeypatch.setattr(moments, "_LARGE", 0)
    X, y = awkward(40, 5)
    alone = X.copy()
    alone[10:, 2] = 0.0
    for data, inside in (
        (alone, np.arange(10, 40)),
        (X, np.repeat(np.arange(10, 40), 2)),
        (X, np.arange(15)),
    ):
        whole, part = pose(data, y, intercept=True), pose(data[inside], y[inside], intercept=True)
        moments.part(part.risk, whole.risk, inside)
        assert moments._of_whole(part.risk, columns.columns_of(part.risk)) is None
        anew = followed(pose(data[inside], y[inside], intercept=True))
        assert np.array_equal(followed(part).w, anew.w)
