"""fenchel.sklearn beside scikit-learn: the same objective, no worse a minimum, the same models."""

from __future__ import annotations

import inspect
import math
import pickle
import warnings

import numpy as np
import pytest
import sklearn
import sklearn.linear_model
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
import fenchel.sklearn as ours
from fenchel.sklearn.huber import least
from fenchel.sklearn.saveable import DROP_INS


def _scaled(loader):
    X, y = loader(return_X_y=True)
    return StandardScaler().fit_transform(X), y


CANCER, WINE, IRIS = _scaled(load_breast_cancer), _scaled(load_wine), load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
COUNTS = DIABETES[0], np.round(DIABETES[1] / 50)

_SHUFFLED = np.random.default_rng(0).permutation(IRIS[1])
MIXED = IRIS[0][:, :2], np.where(np.arange(150) % 3, IRIS[1], _SHUFFLED)  # not to be separated

LR, SVC, SVR = "LogisticRegression", "LinearSVC", "LinearSVR"
GRID = [
    (LR, {"C": 0.1}, CANCER),
    (LR, {"C": 10.0, "class_weight": "balanced"}, CANCER),
    (LR, {"l1_ratio": 0.5, "solver": "saga", "fit_intercept": False, "C": 0.1}, CANCER),
    (LR, {"solver": "liblinear", "intercept_scaling": 3.0}, CANCER),
    (LR, {}, IRIS),
    (LR, {"class_weight": {0: 2.0, 1: 1.0, 2: 0.5}, "C": 0.5}, WINE),
    (SVC, {}, CANCER),
    (SVC, {"loss": "hinge", "C": 0.1, "intercept_scaling": 2.0}, CANCER),
    (SVC, {"penalty": "l1", "dual": False, "C": 0.1}, CANCER),
    (SVC, {"class_weight": {0: 3.0, 1: 1.0, 2: 0.5}}, WINE),
    (SVC, {"multi_class": "crammer_singer", "C": 0.1}, WINE),
    (SVR, {"epsilon": 0.5, "C": 2.0}, DIABETES),
    (SVR, {"loss": "squared_epsilon_insensitive", "epsilon": 1.0, "dual": True}, DIABETES),
    ("Lasso", {"alpha": 0.1}, DIABETES),
    ("Lasso", {"alpha": 0.3, "positive": True}, DIABETES),
    ("ElasticNet", {"alpha": 0.01, "l1_ratio": 0.3}, DIABETES),
    ("Ridge", {"alpha": 0.1}, DIABETES),
    ("Ridge", {"alpha": 1.0, "fit_intercept": False}, DIABETES),
    ("QuantileRegressor", {"alpha": 0.02, "quantile": 0.3}, DIABETES),
    ("PoissonRegressor", {"alpha": 0.01}, COUNTS),
    ("GammaRegressor", {"alpha": 0.1}, DIABETES),
    ("TweedieRegressor", {"alpha": 0.1, "power": 1.5}, COUNTS),
    ("TweedieRegressor", {"alpha": 0.1}, DIABETES),
    ("HuberRegressor", {"alpha": 0.01}, DIABETES),
    ("HuberRegressor", {"epsilon": 2.0, "alpha": 1.0}, DIABETES),
]
THEIRS = {name: getattr(sklearn.linear_model, name, None) for name in ours.__all__}
THEIRS.update({name: getattr(sklearn.svm, name) for name in (SVC, SVR)})


def _class_weights(model, y, s):
    """The weight of each row by scikit-learn's words for class_weight, ours not asked."""
    given = model.class_weight
    if given is None:
        return s
    kinds = np.unique(y)
    totals = {kind: s[y == kind].sum() for kind in kinds}
    if given == "balanced":
        given = {kind: s.sum() / len(kinds) / totals[kind] for kind in kinds}
    return s * np.array([given[kind] for kind in y])


def _penalty(w, l1_ratio):
    return l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w**2).sum()


def _logistic(model, X, y, s):
    z = X @ model.coef_.T + model.intercept_
    Z = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
    codes = np.searchsorted(model.classes_, y)
    losses = np.logaddexp.reduce(Z, axis=1) - Z[np.arange(len(y)), codes]
    w = model.coef_
    if model.solver == "liblinear":
        w = np.append(w, model.intercept_ / model.intercept_scaling)
    share = 0.0 if model.l1_ratio is None else model.l1_ratio
    return _penalty(w, share) + model.C * (_class_weights(model, y, s) * losses).sum()


def _with_bias(model):
    b = np.broadcast_to(np.ravel(model.intercept_), len(np.atleast_2d(model.coef_)))
    return np.column_stack([np.atleast_2d(model.coef_), b / model.intercept_scaling])


def _svc(model, X, y, s):
    z, total = X @ model.coef_.T + model.intercept_, 0.0
    power = 2 if model.loss == "squared_hinge" else 1
    weights = _class_weights(model, y, s)
    if model.multi_class == "crammer_singer":
        codes = np.searchsorted(model.classes_, y)[:, None]
        margins = z + 1 - np.take_along_axis(z, codes, 1)
        np.put_along_axis(margins, codes, 0.0, 1)
        total = (weights * margins.max(axis=1)).sum()
    for k in range(z.shape[1]) if model.multi_class == "ovr" else ():
        right = y == model.classes_[k if z.shape[1] > 1 else 1]
        each = weights if z.shape[1] == 1 else np.where(right, weights, s)
        total += (each * np.maximum(0, 1 - np.where(right, 1, -1) * z[:, k]) ** power).sum()
    return _penalty(_with_bias(model), float(model.penalty == "l1")) + model.C * total


def _svr(model, X, y, s):
    errors = np.maximum(0, np.abs(X @ model.coef_ + model.intercept_ - y) - model.epsilon)
    power = 2 if model.loss.startswith("squared") else 1
    return _penalty(_with_bias(model), 0.0) + model.C * (s * errors**power).sum()


def _net(model, X, y, s):
    half = np.average((X @ model.coef_ + model.intercept_ - y) ** 2, weights=s) / 2
    return half + model.alpha * _penalty(model.coef_, getattr(model, "l1_ratio", 1.0))


def _ridge(model, X, y, s):
    return (s * (X @ model.coef_ + model.intercept_ - y) ** 2).sum() + model.alpha * (
        model.coef_**2
    ).sum()


def _quantile(model, X, y, s):
    loss = mean_pinball_loss(y, model.predict(X), sample_weight=s, alpha=model.quantile)
    return loss + model.alpha * np.abs(model.coef_).sum()


def _deviance(model, X, y, s):
    power = {"PoissonRegressor": 1, "GammaRegressor": 2}.get(type(model).__name__)
    power = model.power if power is None else power
    half = sklearn.metrics.mean_tweedie_deviance(y, model.predict(X), sample_weight=s, power=power)
    return half / 2 + model.alpha / 2 * (model.coef_**2).sum()


def _huber(model, X, y, s):
    r, sigma, e = np.abs(X @ model.coef_ + model.intercept_ - y), model.scale_, model.epsilon
    H = np.where(r <= e * sigma, (r / sigma) ** 2, 2 * e * r / sigma - e**2)
    return (s * (sigma + sigma * H)).sum() + model.alpha * (model.coef_**2).sum()


OBJECTIVES = {
    LR: _logistic,
    SVC: _svc,
    SVR: _svr,
    "Lasso": _net,
    "ElasticNet": _net,
    "Ridge": _ridge,
    "QuantileRegressor": _quantile,
    "PoissonRegressor": _deviance,
    "GammaRegressor": _deviance,
    "TweedieRegressor": _deviance,
    "HuberRegressor": _huber,
}


def _fitted(kind, settings, data, s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**settings).fit(*data, sample_weight=s)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "settings", "data"), GRID, ids=lambda each: str(each)[:60])
def test_the_objective_is_theirs_and_its_minimum_no_worse(name, settings, data, weighted):
    X, y = data
    s = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    model = _fitted(getattr(ours, name), settings, data, s)
    tight = {} if name == "QuantileRegressor" else {"tol": 1e-8, "max_iter": 20_000}
    their = _fitted(THEIRS[name], {**settings, **tight}, data, s)
    F, weights = OBJECTIVES[name], np.ones(len(y)) if s is None else s
    mine, other = F(model, X, y, weights), F(their, X, y, weights)
    assert model.status_ == "converged"
    assert mine == pytest.approx(model.objective_, rel=1e-9)
    assert model.gap_ <= max(model.result_[0].gap if isinstance(model.result_, list) else 0, 1e-8)
    assert model.lower_bound_ <= other * (1 + 1e-12)
    assert mine <= other * (1 + 1.01 * model.gap_) + 1e-300
    if other <= mine * (1 + 1e-9):  # theirs has converged too
        close = 3e-3 * np.abs(their.coef_).max() + 1e-12
        np.testing.assert_allclose(model.coef_, their.coef_, atol=close)
        assert np.mean(model.predict(X) == their.predict(X)) > 0.95 or np.allclose(
            model.predict(X), their.predict(X), rtol=1e-2
        )


def test_the_one_class_machine_is_that_of_libsvm():
    X, nu = IRIS[0], 0.2
    model = ours.SGDOneClassSVM(nu=nu).fit(X)
    their = sklearn.svm.OneClassSVM(kernel="linear", nu=nu, tol=1e-8).fit(X)
    scale = nu * len(X)
    np.testing.assert_allclose(model.coef_, their.coef_[0] / scale, rtol=1e-4)
    np.testing.assert_allclose(model.offset_, their.offset_ / scale, rtol=1e-4)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(fenchel.Incompatible, match="without an offset"):
        ours.SGDOneClassSVM(fit_intercept=False).fit(X)


@pytest.mark.parametrize("name", ours.__all__)
def test_signatures_are_theirs(name):
    mine, their = getattr(ours, name), THEIRS[name]
    assert issubclass(mine, their)
    assert inspect.signature(mine) == inspect.signature(their)
    assert inspect.signature(mine.fit).parameters.keys() == (
        inspect.signature(their.fit).parameters.keys()
    )
    assert mine().get_params() == their().get_params()


def _examples():
    several = np.column_stack([DIABETES[1], DIABETES[0][:, 0]])
    named = WINE[0], np.array(["a", "b", "c"])[WINE[1]]
    yield ours.LogisticRegression(), named
    yield ours.LogisticRegression(solver="liblinear", C=3.0), CANCER
    yield ours.LogisticRegression(C=math.inf), (CANCER[0][:, :3], CANCER[1])
    yield ours.LogisticRegression(C=math.inf), MIXED
    yield ours.LinearSVC(class_weight="balanced"), named
    yield ours.LinearSVC(multi_class="crammer_singer"), CANCER
    yield ours.LinearSVR(), DIABETES
    yield ours.Lasso(), (DIABETES[0], several)
    yield ours.ElasticNet(), DIABETES
    yield ours.Ridge(alpha=[1.0, 2.0]), (DIABETES[0], several)
    yield ours.QuantileRegressor(alpha=0.01), DIABETES
    yield ours.PoissonRegressor(), COUNTS
    yield ours.GammaRegressor(), DIABETES
    yield ours.TweedieRegressor(power=1.2), COUNTS
    yield ours.HuberRegressor(), DIABETES
    yield ours.SGDOneClassSVM(), IRIS


@pytest.mark.parametrize(("model", "data"), list(_examples()), ids=lambda each: str(each)[:40])
def test_a_model_comes_back_from_its_file(model, data, tmp_path):
    model = clone(model).fit(*data)
    path = tmp_path / "model.fenchel"
    fenchel.save(model, path)
    back, copied = fenchel.load(path), pickle.loads(pickle.dumps(model))
    assert type(back) is type(model)
    for other in (back, copied):
        np.testing.assert_array_equal(other.predict(data[0]), model.predict(data[0]))
    mine, others = vars(model), vars(back)
    names = {name for name in mine if name.endswith("_")} - {"result_", "outliers_"}
    assert names <= set(others)
    for name in names - {"n_iter_"}:
        np.testing.assert_array_equal(mine[name], others[name], err_msg=name)
    assert {type(model).__name__} <= set(DROP_INS)


def test_a_pipeline_with_a_drop_in_comes_back(tmp_path):
    pipeline = sklearn.pipeline.make_pipeline(StandardScaler(), ours.LogisticRegression())
    pipeline.fit(*load_breast_cancer(return_X_y=True))
    fenchel.save(pipeline, tmp_path / "pipeline.fenchel")
    back = fenchel.load(tmp_path / "pipeline.fenchel")
    assert type(back[-1]) is ours.LogisticRegression
    np.testing.assert_array_equal(back.predict(CANCER[0]), pipeline.predict(CANCER[0]))


@pytest.mark.parametrize("settings", [{}, {"positive": True, "alphas": 5}])
def test_lasso_cv_chooses_what_theirs_does(settings):
    model, their = (
        _fitted(kind, {**settings, "cv": 3}, DIABETES, None)
        for kind in (ours.LassoCV, sklearn.linear_model.LassoCV)
    )
    np.testing.assert_allclose(model.alphas_, their.alphas_)
    np.testing.assert_allclose(model.mse_path_, their.mse_path_, rtol=1e-2)
    assert model.alpha_ == pytest.approx(their.alpha_)
    assert model.gap_ <= 1e-8
    assert type(model.best_estimator_) is ours.Lasso
    assert model.best_estimator_.alpha == model.alpha_


def test_elastic_net_cv_chooses_what_theirs_does():
    settings = {"l1_ratio": [0.3, 0.9], "alphas": [0.001, 0.01, 1.0, 0.1], "cv": 3}
    s = np.random.default_rng(0).integers(1, 4, len(DIABETES[1])).astype(float)
    model, their = (
        _fitted(kind, settings, DIABETES, s)
        for kind in (ours.ElasticNetCV, sklearn.linear_model.ElasticNetCV)
    )
    np.testing.assert_allclose(model.mse_path_, their.mse_path_, rtol=1e-3)
    assert (model.alpha_, model.l1_ratio_) == (their.alpha_, their.l1_ratio_)
    np.testing.assert_array_equal(model.alphas_, their.alphas_)


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize(
    "data", [(CANCER[0][:200, :4], CANCER[1][:200]), (WINE[0][:, :4], WINE[1])], ids="23"
)
def test_logistic_cv_has_their_shapes_and_choice(data, legacy):
    settings = {
        "Cs": [1.0, 0.01],
        "l1_ratios": (0.0,),
        "cv": 3,
        "scoring": "neg_log_loss",
        "use_legacy_attributes": legacy,
        "tol": 1e-6,
        "max_iter": 1000,
    }
    s = np.random.default_rng(0).integers(1, 4, len(data[1])).astype(float)
    model, their = (
        _fitted(kind, settings, data, s)
        for kind in (ours.LogisticRegressionCV, sklearn.linear_model.LogisticRegressionCV)
    )
    np.testing.assert_array_equal(model.C_, their.C_)
    np.testing.assert_array_equal(model.l1_ratio_, their.l1_ratio_)
    np.testing.assert_allclose(model.coef_, their.coef_, atol=1e-2)
    for name in ("scores_", "coefs_paths_", "n_iter_"):
        mine, other = getattr(model, name), getattr(their, name)
        if isinstance(other, dict):
            assert list(mine) == list(other)
            mine, other = np.stack(list(mine.values())), np.stack(list(other.values()))
        assert mine.shape == other.shape
        if name != "n_iter_":
            np.testing.assert_allclose(mine, other, atol=2e-2)


def test_a_fit_that_stops_short_says_so():
    with pytest.warns(ConvergenceWarning, match="LogisticRegression did not converge within 1 it"):
        model = ours.LogisticRegression(solver=fenchel.solver("lbfgs"), max_iter=1).fit(*CANCER)
    assert model.status_ == "max_iterations"
    assert model.gap_ > 1e-8


def test_a_warm_start_needs_fewer_iterations():
    cold = ours.LogisticRegression(tol=1e-4, solver=fenchel.solver("lbfgs"), warm_start=True).fit(
        *CANCER
    )
    first = int(cold.n_iter_[0])
    assert int(cold.fit(*CANCER).n_iter_[0]) < first


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "sag", "sdca", fenchel.solver("lbfgs")])
def test_solvers_are_theirs_or_ours(solver):
    model = ours.LogisticRegression(solver=solver).fit(*CANCER)
    assert model.solver_ == {"sdca": "sdca"}.get(
        solver, "newton" if isinstance(solver, str) else "lbfgs"
    )


def test_what_is_not_convex_is_refused():
    for settings in ({"power": 3}, {"power": 0, "link": "log"}, {"power": 2, "link": "identity"}):
        with pytest.raises(fenchel.Incompatible, match="not convex"):
            ours.TweedieRegressor(**settings).fit(*DIABETES)
    with pytest.raises(fenchel.Incompatible, match="infinite at scores below 0"):
        ours.TweedieRegressor(power=1, link="identity").fit(*DIABETES)


def test_sparse_rows_give_the_same_model():
    X, y = CANCER
    for model in (ours.LogisticRegression(), ours.LinearSVC(), ours.LinearSVC(loss="hinge")):
        dense, thin = clone(model).fit(X, y), clone(model).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-4)


@pytest.mark.parametrize("name", ["Ridge", "Lasso", "ElasticNet"])
def test_targets_in_columns_have_their_shapes(name):
    X, y = DIABETES
    for Y in (y[:, None], np.column_stack([y, -y]), np.column_stack([y, -y]).tolist()):
        mine, their = (kind().fit(X, Y) for kind in (getattr(ours, name), THEIRS[name]))
        assert mine.coef_.shape == their.coef_.shape
        assert np.shape(mine.intercept_) == np.shape(their.intercept_)
        np.testing.assert_allclose(mine.predict(X), their.predict(X), rtol=1e-3)


def test_a_ridge_regression_is_direct_at_any_tolerance():
    X, y = DIABETES
    for rows in (slice(None), slice(8)):  # more of them than columns, and fewer
        mine, their = (
            kind(alpha=0.1).fit(X[rows], y[rows]) for kind in (ours.Ridge, THEIRS["Ridge"])
        )
        assert mine.gap_ <= 1e-10
        np.testing.assert_allclose(mine.coef_, their.coef_, atol=1e-5 * np.abs(their.coef_).max())


def test_classes_without_a_penalty_have_coefficients_that_sum_to_zero():
    X, y = MIXED
    mine, their = (
        kind(C=np.inf, tol=1e-8).fit(X, y) for kind in (ours.LogisticRegression, THEIRS[LR])
    )
    np.testing.assert_allclose(mine.coef_.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(mine.coef_, their.coef_, atol=1e-3)
    np.testing.assert_allclose(mine.intercept_, their.intercept_, atol=1e-2)


def test_weights_in_columns_are_refused():
    X, y = DIABETES
    with pytest.raises(fenchel.InvalidData, match="Sample weights must be 1D array or scalar"):
        ours.Ridge().fit(X, y, np.ones((len(y), 1)))


def test_sample_weights_are_routed():
    X, y = DIABETES
    s = np.arange(1.0, 1 + len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            ours.Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        )
        found = cross_validate(model, X, y, params={"sample_weight": s}, return_estimator=True)
        folds = sklearn.model_selection.KFold(5).split(X)
        for each, (inside, _) in zip(found["estimator"], folds, strict=True):
            again = ours.Ridge().fit(X[inside], y[inside], sample_weight=s[inside])
            np.testing.assert_array_equal(each.coef_, again.coef_)


def test_a_grid_search_takes_them():
    search = GridSearchCV(ours.LogisticRegression(), {"C": [0.01, 1.0]}, cv=3).fit(*CANCER)
    assert search.best_estimator_.gap_ <= 1e-8


def test_bounds_around_a_convex_minimum_hold():
    """g(sigma) = (sigma - 1)^2 + 1, known up to an error: the bound never exceeds 1."""
    from fenchel.sklearn.huber import Place

    rng = np.random.default_rng(0)
    for _ in range(200):
        width, error, centre = 10.0 ** rng.uniform(-3, -1), 1e-8, 1 + rng.normal() * 1e-3
        places = [
            Place(x, v - error * rng.random(), v + error * rng.random(), None, 0.0, 0.0)
            for x in (centre - width, centre, centre + width)
            for v in [(x - 1) ** 2 + 1]
        ]
        assert least(places) <= 1
        assert least(places) in (0.0, pytest.approx(1, abs=4 * width**2 + 1e-6))


# Predictions agree to the gap, of 1e-9 at least, and not to the 1e-7 that is asked for.
EXPECTED_FAILURES = {
    "HuberRegressor": {
        "check_sample_weight_equivalence_on_dense_data": "a certified gap of 1e-9",
        "check_sample_weight_equivalence_on_sparse_data": "a certified gap of 1e-9",
    },
    "LogisticRegressionCV": {
        "check_dtype_object": "the words of its error are others",
    },
}


SMALLER = {  # grids, so that hundreds of fits do not take half a minute
    "LogisticRegressionCV": {"Cs": 2, "cv": 3},
    "LassoCV": {"alphas": 10, "cv": 3},
    "ElasticNetCV": {"alphas": 10, "cv": 3},
}


@pytest.mark.slow
@parametrize_with_checks(
    [getattr(ours, name)(**SMALLER.get(name, {})) for name in ours.__all__],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learns_checks(estimator, check):
    if isinstance(estimator, ours.HuberRegressor) and "equivalence" in check.func.__name__:
        pytest.xfail("seconds of fits that end in what is expected above")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)  # of folds with few rows of a class
        check(estimator)
