"""Certified minima on real data against other implementations, and against published figures.

A peer's solution is judged by `objective` below, NumPy formulas that share nothing with fenchel.
It can never lie below our lower bound; our solution can never exceed it by more than the gap.
"""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

import fenchel
from fenchel.result import Status
from fenchel.solvers import SubLBFGS

pytestmark = pytest.mark.slow

LOSSES = {
    "hinge": lambda z, y, _: np.maximum(0, 1 - y * z),
    "squared_hinge": lambda z, y, _: np.maximum(0, 1 - y * z) ** 2 / 2,
    "logistic": lambda z, y, _: np.logaddexp(0, -y * z),
    "squared_error": lambda z, y, _: (z - y) ** 2 / 2,
    "absolute_error": lambda z, y, _: np.abs(z - y),
    "quantile": lambda z, y, q: np.maximum(q * (y - z), (1 - q) * (z - y)),
    "epsilon_insensitive": lambda z, y, e: np.maximum(0, np.abs(z - y) - e),
    "squared_epsilon_insensitive": lambda z, y, e: np.maximum(0, np.abs(z - y) - e) ** 2 / 2,
    "huber": lambda z, y, d: np.where(
        np.abs(z - y) <= d, (z - y) ** 2 / 2, d * np.abs(z - y) - d**2 / 2
    ),
    "poisson": lambda z, y, _: np.exp(z) - y * z + xlogy(y, y) - y,
}


def objective(X, y, w, b=0.0, *, loss, regularizer="l2", strength, option=None, s=None):
    w = np.asarray(w, dtype=np.float64).ravel()
    z = X.astype(np.float64) @ w + float(np.squeeze(b))
    rho = {"l2": 0.0, "l1": 1.0, "elastic_net": 0.5}[regularizer]
    omega = rho * np.sum(np.abs(w)) + (1 - rho) / 2 * np.sum(w**2)
    return strength * omega + np.average(LOSSES[loss](z, y, option), weights=s)


def certified(X, y, *, gap=1e-4, option=None, s=None, **setting):
    """(problem, result, our objective by the formulas above), after `verify`."""
    name = {"quantile": "quantile", "huber": "delta"}.get(setting["loss"], "epsilon")
    options = {} if option is None else {name: option}
    problem = fenchel.problem(X, y, sample_weight=s, **setting, **options)
    result = fenchel.minimize(problem, gap=gap).raise_for_status()
    certificate = fenchel.verify(result, problem)
    assert certificate.source == "witness"
    assert certificate.gap <= gap * (1 + 1e-4)
    formula = {key: value for key, value in setting.items() if key != "intercept"}
    ours = objective(X, y, result.w, result.intercept, option=option, s=s, **formula)
    assert ours == pytest.approx(result.objective, rel=1e-9)
    return result, ours


def check_peer(X, y, w, b=0.0, *, gap=1e-4, near=1e-3, **setting):
    """`near` is how close the peer must come: a guard against comparing different problems."""
    result, ours = certified(X, y, gap=gap, **setting)
    formula = {key: value for key, value in setting.items() if key != "intercept"}
    theirs = objective(X, y, w, b, **formula)
    assert result.lower_bound <= theirs * (1 + 1e-9)
    assert ours <= theirs + gap * abs(ours)
    assert theirs <= ours * (1 + near)


def fitted(peer, X, y, s=None):
    """(w, b); a peer that stops at its iteration limit is a valid, if weaker, peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, y) if s is None else peer.fit(X, y, sample_weight=s)
    return peer.coef_, peer.intercept_


def unit_columns(X):
    """Every column divided by its largest magnitude; sparse stays sparse."""
    largest = np.asarray(abs(X).max(axis=0).todense()).ravel()
    return (X @ sparse.diags(1 / np.where(largest > 0, largest, 1))).tocsr()


def standard(X):
    """Dense, every column centred and of unit deviation."""
    X = X.toarray()
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def weights_for(y):
    return np.random.default_rng(0).integers(0, 4, size=len(y)).astype(np.float64)


@pytest.fixture
def a9a(real):
    return real("a9a")


@pytest.fixture
def covtype(real):
    """Class 2 against the rest; all 581012 rows, columns divided by their largest magnitude."""
    X, y = real("covtype")
    return unit_columns(X), np.where(y == 2, 1.0, -1.0)


@pytest.fixture
def covtype_part(covtype):
    """Every tenth row."""
    X, y = covtype
    return X[::10], y[::10]


@pytest.fixture
def news(real):
    """20news, tfidf: groups of even against groups of odd number."""
    X, y = real("20news")
    return X, np.where(y % 2 == 0, 1.0, -1.0)


@pytest.fixture
def abalone(real):
    return real("abalone")


@pytest.fixture
def cpusmall(real):
    """Standardised; the target is in per cent."""
    X, y = real("cpusmall")
    return standard(X), y / 100


@pytest.fixture
def mv(real):
    """Columns divided by their largest magnitude; sparse."""
    X, y = real("mv")
    return unit_columns(X), y


def svc(loss, strength, n, **options):
    # scikit-learn's squared hinge has no 1/2.
    C = 1 / (strength * n) / (2 if loss == "squared_hinge" else 1)
    return LinearSVC(
        loss=loss, C=C, fit_intercept=False, tol=1e-6, max_iter=3000, random_state=0, **options
    )


def logistic(strength, total, l1_ratio=0.0, **options):
    options = {"tol": 1e-8, "max_iter": 2000, "fit_intercept": False} | options
    return LogisticRegression(C=1 / (strength * total), l1_ratio=l1_ratio, **options)


# Classification against liblinear and scikit-learn.


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["a9a", "w8a"])
def test_svm_agrees_with_liblinear(real, name, loss):
    X, y = real(name)
    w, _ = fitted(svc(loss, 1e-4, len(y)), X, y)
    check_peer(X, y, w, loss=loss, strength=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svm_on_text_agrees_with_liblinear(news, loss):
    X, y = news
    w, _ = fitted(svc(loss, 1e-3, len(y)), X, y)
    check_peer(X, y, w, loss=loss, strength=1e-3, gap=1e-3)


def test_svm_in_float32_agrees_with_liblinear(a9a, news):
    for (X, y), strength in ((a9a, 1e-3), (news, 1e-2)):
        X = X.astype(np.float32)
        w, _ = fitted(svc("hinge", strength, len(y)), X, y)
        check_peer(X, y, w, loss="hinge", strength=strength)


def test_svm_on_covtype_agrees_with_liblinear(covtype_part):
    X, y = covtype_part
    w, _ = fitted(svc("squared_hinge", 1e-4, len(y), dual=False), X, y)
    check_peer(X, y, w, loss="squared_hinge", strength=1e-4)
    w, _ = fitted(svc("hinge", 1e-3, len(y)), X, y)
    check_peer(X, y, w, loss="hinge", strength=1e-3)


@pytest.mark.parametrize("name", ["colon", "leukemia"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svm_on_wide_data_agrees_with_liblinear(real, name, loss):
    X, y = real(name)
    X = standard(X)
    w, _ = fitted(svc(loss, 1e-1, len(y)), X, y)
    check_peer(X, y, w, loss=loss, strength=1e-1)


def test_svm_with_sample_weights_agrees_with_liblinear(a9a):
    X, y = a9a
    s = weights_for(y)
    w, _ = fitted(svc("hinge", 1e-3, np.sum(s)), X, y, s)
    check_peer(X, y, w, loss="hinge", strength=1e-3, s=s)


@pytest.mark.parametrize("strength", [1e-3, 1e-5])
def test_logistic_regression_agrees_with_liblinear(a9a, strength):
    X, y = a9a
    w, _ = fitted(logistic(strength, len(y), solver="liblinear"), X, y)
    check_peer(X, y, w, loss="logistic", strength=strength, gap=1e-6, near=1e-5)


@pytest.mark.parametrize("peer", ["lbfgs", "newton-cholesky"])
def test_logistic_regression_with_intercept_and_weights_agrees(real, peer):
    X, y = real("w8a")
    s = weights_for(y)
    for weights, total in ((None, len(y)), (s, np.sum(s))):
        w, b = fitted(logistic(1e-4, total, solver=peer, fit_intercept=True), X, y, weights)
        setting = {"loss": "logistic", "strength": 1e-4, "intercept": True, "s": weights}
        check_peer(X, y, w, b, gap=1e-6, near=1e-5, **setting)


def test_logistic_regression_on_all_of_covtype_agrees(covtype):
    X, y = covtype
    w, b = fitted(logistic(1e-3, len(y), solver="newton-cholesky", fit_intercept=True), X, y)
    check_peer(X, y, w, b, loss="logistic", strength=1e-3, intercept=True)


def test_logistic_regression_on_text_agrees(news):
    X, y = news
    w, b = fitted(logistic(1e-4, len(y), solver="lbfgs", fit_intercept=True), X, y)
    check_peer(X, y, w, b, loss="logistic", strength=1e-4, intercept=True, gap=1e-5)


def test_logistic_regression_on_dense_float32_agrees(real):
    X, y = real("leukemia")
    X = standard(X).astype(np.float32)
    w, b = fitted(
        logistic(1e-1, len(y), solver="newton-cg", fit_intercept=True), X.astype(np.float64), y
    )
    check_peer(X, y, w, b, loss="logistic", strength=1e-1, intercept=True)


@pytest.mark.parametrize("name", ["a9a", "colon"])
def test_sparse_logistic_regression_agrees_with_liblinear(real, name):
    X, y = real(name)
    strength = {"a9a": 1e-3, "colon": 1e-1}[name]
    X = standard(X) if name == "colon" else X
    w, _ = fitted(logistic(strength, len(y), 1.0, solver="liblinear"), X, y)
    check_peer(X, y, w, loss="logistic", regularizer="l1", strength=strength)


def test_elastic_net_logistic_regression_agrees_with_saga(abalone):
    """Old against young."""
    X, rings = abalone
    X, y = X.toarray(), np.where(rings > 9, 1.0, -1.0)
    peer = logistic(1e-3, len(y), 0.5, solver="saga", fit_intercept=True, random_state=0)
    w, b = fitted(peer, X, y)
    setting = {"loss": "logistic", "regularizer": "elastic_net", "strength": 1e-3}
    check_peer(X, y, w, b, intercept=True, **setting)


# Regression against scikit-learn.


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_agrees(mv, intercept):
    X, y = mv
    s = weights_for(y)
    solver = "sparse_cg" if intercept else "cholesky"
    for weights, total in ((None, len(y)), (s, np.sum(s))):
        peer = Ridge(alpha=1e-3 * total, fit_intercept=intercept, solver=solver, tol=1e-10)
        w, b = fitted(peer, X, y, weights)
        setting = {"loss": "squared_error", "strength": 1e-3, "s": weights}
        check_peer(X, y, w, b, intercept=intercept, gap=1e-6, near=1e-5, **setting)


@pytest.mark.parametrize("regularizer", ["l1", "elastic_net"])
@pytest.mark.parametrize("intercept", [False, True])
def test_lasso_and_elastic_net_agree(cpusmall, regularizer, intercept):
    X, y = cpusmall
    X, s = np.asfortranarray(X), weights_for(y)
    kind = {"l1": Lasso, "elastic_net": ElasticNet}[regularizer]
    for weights in (None, s):
        peer = kind(alpha=1e-3, fit_intercept=intercept, tol=1e-10, max_iter=20000)
        w, b = fitted(peer, X, y, weights)
        setting = {"loss": "squared_error", "regularizer": regularizer, "strength": 1e-3}
        check_peer(X, y, w, b, intercept=intercept, s=weights, **setting)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_support_vector_regression_agrees_with_liblinear(mv, cpusmall, loss):
    for (X, y), epsilon in ((mv, 0.5), (cpusmall, 0.05)):
        C = 1 / (1e-3 * len(y)) / (2 if loss.startswith("squared") else 1)
        options = {"fit_intercept": False, "tol": 1e-6, "max_iter": 3000, "random_state": 0}
        w, _ = fitted(LinearSVR(loss=loss, epsilon=epsilon, C=C, **options), X, y)
        check_peer(X, y, w, loss=loss, option=epsilon, strength=1e-3)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantile_regression_agrees_with_scikit_learn(abalone, level):
    X, y = abalone
    X, y = X[:1000].toarray(), y[:1000]
    w, b = fitted(QuantileRegressor(quantile=level, alpha=1e-3, solver="highs"), X, y)
    setting = {"loss": "quantile", "option": level, "regularizer": "l1", "strength": 1e-3}
    check_peer(X, y, w, b, intercept=True, near=2e-4, **setting)


@pytest.mark.parametrize("intercept", [False, True])
def test_poisson_regression_agrees(abalone, intercept):
    """The number of rings is a count."""
    X, y = abalone
    s = weights_for(y)
    for weights in (None, s):
        options = {"solver": "newton-cholesky", "fit_intercept": intercept, "tol": 1e-9}
        w, b = fitted(PoissonRegressor(alpha=1e-3, **options), X.toarray(), y, weights)
        check_peer(X, y, w, b, loss="poisson", strength=1e-3, intercept=intercept, s=weights)


# Against Clarabel, where no peer fits.


def conic_loss(loss, z, y, option):
    return {
        "hinge": lambda: cp.pos(1 - cp.multiply(y, z)),
        "absolute_error": lambda: cp.abs(z - y),
        "quantile": lambda: cp.maximum(option * (y - z), (1 - option) * (z - y)),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(z - y) - option),
        "huber": lambda: cp.huber(z - y, option) / 2,
    }[loss]()


def by_clarabel(X, y, *, loss, regularizer, strength, option=None, intercept=False, s=None):
    n, d = X.shape
    w, b = cp.Variable(d), cp.Variable() if intercept else 0.0
    share = np.full(n, 1 / n) if s is None else s / np.sum(s)
    rho = {"l2": 0.0, "l1": 1.0, "elastic_net": 0.5}[regularizer]
    omega = rho * cp.norm1(w) + (1 - rho) / 2 * cp.sum_squares(w)
    risk = share @ conic_loss(loss, X @ w + b, y, option)
    cp.Problem(cp.Minimize(strength * omega + risk)).solve(solver=cp.CLARABEL)
    return w.value, b.value if intercept else 0.0


def check_clarabel(X, y, **setting):
    check_peer(X, y, *by_clarabel(X, y, **setting), near=2e-4, **setting)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("regularizer", ["l1", "elastic_net"])
def test_sparse_hinge_on_wide_data_agrees_with_clarabel(real, regularizer, intercept):
    X, y = real("colon")
    setting = {"loss": "hinge", "regularizer": regularizer, "strength": 5e-2}
    check_clarabel(standard(X), y, intercept=intercept, **setting)


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_hinge_with_intercept_agrees_with_clarabel(a9a, regularizer):
    """The first 2000 rows of a9a, with and without weights."""
    X, y = a9a[0][:2000], a9a[1][:2000]
    for s in (None, weights_for(y)):
        setting = {"loss": "hinge", "regularizer": regularizer, "strength": 1e-2}
        check_clarabel(X, y, intercept=True, s=s, **setting)


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize(
    ("loss", "option"),
    [
        ("quantile", 0.9),
        ("absolute_error", None),
        ("epsilon_insensitive", 0.05),
        ("huber", 0.1),
    ],
)
def test_robust_regression_agrees_with_clarabel(cpusmall, loss, option, regularizer):
    """The first 1500 rows of cpusmall."""
    X, y = cpusmall[0][:1500], cpusmall[1][:1500]
    for intercept in (False, True):
        setting = {"loss": loss, "option": option, "regularizer": regularizer, "strength": 1e-2}
        check_clarabel(X, y, intercept=intercept, **setting)


# Sparse and dense, single and double precision.


def test_storage_does_not_change_the_minimum(a9a):
    X, y = a9a[0][:5000], a9a[1][:5000]
    dense, wide = X.toarray(), X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    variants = [X, wide, X.tocsc(), X.astype(np.float32), dense, np.asfortranarray(dense)]
    found = [certified(A, y, loss="hinge", strength=1e-3, gap=1e-6)[0] for A in variants]
    assert max(r.lower_bound for r in found) <= min(r.objective for r in found)


# Published figures.

KNOWN = [
    ("a9a", "hinge", 1e-4, 0.3517618, 5e-8),
    ("a9a", "hinge", 1e-5, 0.3509251, 5e-8),
    ("a9a", "hinge", 1e-6, 0.350818, 5e-7),
    ("a9a", "logistic", 1e-4, 0.3245069, 5e-8),
    ("a9a", "logistic", 1e-6, 0.3226712, 5e-8),
    ("w8a", "hinge", 1e-4, 0.1443259, 5e-8),
]


@pytest.mark.parametrize(("name", "loss", "strength", "minimum", "digit"), KNOWN)
def test_known_minima_lie_between_the_bounds(real, name, loss, strength, minimum, digit):
    result, _ = certified(*real(name), loss=loss, strength=strength, gap=1e-5)
    assert result.lower_bound <= minimum + digit
    assert minimum - digit <= result.objective


PUBLISHED_ITERATIONS = {
    ("a9a", "hinge"): {1e-2: 42, 1e-3: 107, 1e-4: 295},
    ("a9a", "logistic"): {1e-2: 23, 1e-3: 64, 1e-4: 213},
    ("a9a", "squared_hinge"): {1e-2: 46, 1e-3: 156, 1e-4: 592},
    ("w8a", "hinge"): {1e-2: 17, 1e-3: 48, 1e-4: 116},
}


@pytest.mark.parametrize(("name", "loss"), PUBLISHED_ITERATIONS)
@pytest.mark.parametrize("strength", [1e-2, 1e-3, 1e-4])
def test_bmrm_needs_no_more_iterations_than_the_original(real, name, loss, strength):
    problem = fenchel.problem(*real(name), loss=loss, strength=strength)

    def close_enough(record):
        return record.objective - record.lower_bound <= 1e-4

    result = fenchel.minimize(problem, "bmrm", gap=1e-12, callback=close_enough)
    assert close_enough(result.history[-1])
    assert result.iterations <= 1.1 * PUBLISHED_ITERATIONS[name, loss][strength]


# Quasi-Newton methods and bundles on nonsmooth risks ([Yu10] sections 2.1 and 8).


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["ls-bmrm", "sublbfgs", "hybrid"])
def test_line_searches_find_the_certified_minimum_of_bmrm(real, solver, loss):
    X, y = real("a9a")
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3)
    bmrm = fenchel.minimize(problem, "bmrm", gap=1e-4)
    result = fenchel.minimize(problem, solver, gap=1e-4)
    assert result.converged
    assert result.lower_bound <= bmrm.objective and bmrm.lower_bound <= result.objective
    assert result.passes <= 4 * result.iterations + 2  # with a dual polish at every fifth point
    fenchel.verify(result, problem)


def test_the_line_search_saves_iterations(real):
    """The original line-search BMRM took 28 iterations to an absolute gap of 1e-4."""
    X, y = real("a9a")
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3)
    result = fenchel.minimize(problem, "ls-bmrm", gap=1e-4)
    close = (r.iteration for r in result.history if r.objective - r.lower_bound <= 1e-4)
    assert next(close) <= 28


class _PlainLBFGS(SubLBFGS):
    """L-BFGS with the exact line search, as if there were no kinks."""

    def direction(self, problem, point, g, B, bound):
        return -B.times(g)


def test_plain_lbfgs_breaks_down_on_leukemia_and_sublbfgs_does_not(real):
    """[Yu10] figure 4, left: it fails after 3 steps."""
    X, y = real("leukemia")
    X = StandardScaler().fit_transform(X.toarray())
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-2)
    plain = fenchel.minimize(problem, _PlainLBFGS(), gap=1e-3, max_iterations=60)
    sub = fenchel.minimize(problem, "sublbfgs", gap=1e-3, max_iterations=60)
    assert plain.status is Status.STALLED and plain.iterations <= 10
    assert sub.status is not Status.STALLED
    assert sub.objective < 0.6 * plain.objective


@pytest.fixture(scope="module")
def digits(real):
    """A problem of ten classes, and what bmrm finds."""
    X, y = real("usps")
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-1)
    return problem, fenchel.minimize(problem, "bmrm", gap=1e-3)


@pytest.mark.parametrize("solver", ["ls-bmrm", "sublbfgs", "hybrid"])
def test_multiclass_line_searches_find_the_certified_minimum_of_bmrm(digits, solver):
    problem, bmrm = digits
    result = fenchel.minimize(problem, solver, gap=1e-3)
    assert result.converged and result.w.shape == (10, 256)
    assert result.lower_bound <= bmrm.objective and bmrm.lower_bound <= result.objective
    fenchel.verify(result, problem)
