"""`feature_groups`, `lower` and `upper` of estimators: the group lasso, and bounds."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.optimize import lsq_linear
from sklearn.base import clone

import fenchel
from fenchel import Classifier, Incompatible, InvalidData, Regressor, RegressorCV
from fenchel.regularizers import L2

NAMES = ["north", "south", "rain", "snow", "day", "night"]
PAIRS = [["north", "south"], ["rain", "snow"], ["day", "night"]]
NUMBERS = [0, 0, 1, 1, 2, 2]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    return X, X @ [2.0, -1.0, 0.0, 0.0, 0.5, 0.0] + rng.normal(size=300)


def group_lasso(groups, **settings):
    return Regressor(penalty="group_l1", feature_groups=groups, alpha=0.3, tol=1e-8, **settings)


# Bounds


def test_a_lower_bound_of_0_is_nonnegative_ridge(data):
    X, y = data
    model = Regressor(lower=0, alpha=0.01, tol=1e-9, fit_intercept=False).fit(X, y)
    n, d = X.shape
    rows = np.vstack([X / np.sqrt(n), np.sqrt(0.01) * np.eye(d)])
    known = lsq_linear(rows, np.append(y / np.sqrt(n), np.zeros(d)), (0, np.inf), tol=1e-14).x
    assert np.min(model.coef_) >= 0 and model.status_ == "converged"
    np.testing.assert_allclose(model.coef_, known, atol=1e-3)


def test_each_column_has_bounds_of_its_own(data):
    X, y = data
    lower, upper = [-np.inf, -0.5, 0, 0, -np.inf, 0], [1.0, 1, 1, 1, 0.1, np.inf]
    w = Regressor(lower=lower, upper=upper).fit(X, y).coef_
    assert (w >= lower).all() and (w <= upper).all()
    assert w[0] == pytest.approx(1.0, abs=1e-3) and w[1] == pytest.approx(-0.5, abs=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax", "multiclass_hinge"])
def test_bounds_are_of_all_classes_and_not_of_intercepts(data, loss):
    X, y = data
    classes = np.digitize(y, [-1.0, 1.0])
    lower = [0.0, -np.inf, 0.0, 0.0, 0.0, 0.0]
    model = Classifier(loss=loss, lower=lower, upper=2.0).fit(X, classes)
    assert model.coef_.shape == (3, 6) and model.status_ == "converged"
    assert (model.coef_ >= lower).all() and (model.coef_ <= 2.0 + 1e-9).all()
    assert np.min(model.intercept_) < 0
    free = Classifier(loss=loss).fit(X, classes)
    assert np.min(free.coef_[:, 0]) < -0.1


def test_cross_validation_keeps_the_bounds(data):
    X, y = data
    model = RegressorCV(lower=0, alphas=[1.0, 1e-2], cv=3).fit(X, y)
    assert np.min(model.coef_) >= 0 and model.best_estimator_.lower == 0


def test_a_warm_start_outside_new_bounds_is_not_used(data):
    X, y = data
    model = Regressor(warm_start=True).fit(X, y)
    model.set_params(lower=0).fit(X, y)
    assert np.min(model.coef_) >= 0 and model.status_ == "converged"


def test_an_infinite_bound_is_none(data):
    X, y = data
    without = Regressor(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        Regressor(lower=-np.inf, upper=np.inf, tol=1e-8).fit(X, y).coef_, without.coef_, atol=1e-3
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lower": 2, "upper": 1}, "lower must be <= upper"),
        ({"lower": [0.0, 0.0]}, "lower has 2 bounds but X has 6 columns"),
        ({"upper": np.zeros(7)}, "upper has 7 bounds but X has 6 columns"),
        ({"lower": [0.0], "upper": [1.0, 1.0]}, "lower has 1 bounds and upper 2"),
        ({"lower": "none"}, "lower must be a number, or one for each column"),
        ({"upper": np.nan}, "upper must be a number, or one for each column, not nan"),
        ({"lower": np.inf}, "lower must be a number, or one for each column, not nan or inf"),
    ],
)
def test_bad_bounds_are_refused(data, settings, said):
    with pytest.raises(InvalidData, match=said):
        Regressor(**settings).fit(*data)


def test_solvers_and_penalties_that_cannot_have_bounds_say_so(data):
    with pytest.raises(Incompatible, match="lbfgs cannot minimise this problem"):
        Regressor(lower=0, solver="lbfgs").fit(*data)
    with pytest.raises(Incompatible, match="need a separable regulariser"):
        group_lasso(NUMBERS, lower=0).fit(*data)


# Groups


def test_whole_groups_vanish_as_the_problem_has_it(data):
    X, y = data
    model = group_lasso(NUMBERS).fit(X, y)
    problem = fenchel.problem(
        X, y, loss="squared_error", regularizer="group_l1", feature_groups=NUMBERS, strength=0.3,
        intercept=True,
    )  # fmt: skip
    assert not model.coef_[2:4].any() and model.coef_[:2].all()
    np.testing.assert_array_equal(model.coef_, fenchel.minimize(problem, gap=1e-8).w)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_groups_go_by_the_names_of_a_table(data, kind):
    X, y = data
    table = pd.DataFrame(X, columns=NAMES) if kind == "pandas" else pa.table(list(X.T), NAMES)
    by_name = group_lasso(PAIRS).fit(table, y).coef_
    np.testing.assert_allclose(by_name, group_lasso(NUMBERS).fit(X, y).coef_, atol=1e-6)


def test_columns_in_no_group_are_alone(data):
    X, y = data
    table = pd.DataFrame(X, columns=NAMES)
    some = group_lasso(PAIRS[:1]).fit(table, y).coef_
    np.testing.assert_allclose(some, group_lasso([0, 0, 1, 2, 3, 4]).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_class_against_the_rest_has_groups(data, loss):
    X, y = data
    classes = np.digitize(y, [-1.0, 1.0])
    settings = {"penalty": "group_l1", "feature_groups": NUMBERS, "alpha": 0.05}
    model = Classifier(loss=loss, **settings).fit(X, classes)
    pairs = model.coef_.reshape(3, 3, 2)  # by class, group and column
    assert model.status_ == "converged"
    assert np.abs(pairs[:, 1]).max() < 0.02 and np.abs(pairs[[0, 2], 0]).min() > 0.2
    assert ((pairs == 0).any(axis=2) == (pairs == 0).all(axis=2)).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_classes_found_together_have_groups(data, intercept):
    X, y = data
    classes = np.digitize(y, [-1.0, 1.0])
    settings = {"loss": "softmax", "penalty": "group_l1", "feature_groups": NUMBERS, "alpha": 0.05}
    model = Classifier(fit_intercept=intercept, **settings).fit(X, classes)
    assert model.status_ == "converged" and not model.coef_[:, 2:4].any()
    assert bool(np.any(model.intercept_)) is intercept


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"penalty": "group_l1"}, InvalidData, "group_l1 needs feature_groups"),
        ({"feature_groups": NUMBERS}, Incompatible, "for penalty='group_l1' only; it is 'l2'"),
        ({"penalty": L2(), "feature_groups": NUMBERS}, Incompatible, "for penalty='group_l1' only"),
        ({"penalty": "group_l1", "feature_groups": [["east"]]}, InvalidData, "a column 'east'"),
        (
            {"penalty": "group_l1", "feature_groups": [["day"], ["day", "night"]]},
            InvalidData,
            "'day' is in two of the feature_groups",
        ),
        ({"penalty": "group_l1", "feature_groups": [0, 1]}, InvalidData, "holds 2 numbers but X"),
        (
            {"penalty": "group_l1", "feature_groups": [0, 2] * 3},
            InvalidData,
            "no column in group 1",
        ),
    ],
)
def test_bad_groups_are_refused(data, settings, error, said):
    X, y = data
    with pytest.raises(error, match=said):
        Regressor(**settings).fit(pd.DataFrame(X, columns=NAMES), y)


def test_names_need_a_table(data):
    with pytest.raises(InvalidData, match="column names, but X has none"):
        group_lasso(PAIRS).fit(*data)


# Copies and files

SETTINGS = [
    {"lower": 0},
    {"lower": -np.inf, "upper": 1.5},
    {"lower": [-np.inf, 0, 0, 0, 0, 0], "upper": np.arange(6.0)},
    {"lower": np.float32(0.0), "upper": np.array(3.0)},
    {"penalty": "group_l1", "feature_groups": PAIRS},
    {"penalty": "group_l1", "feature_groups": tuple(map(tuple, PAIRS[:2]))},
    {"penalty": "group_l1", "feature_groups": NUMBERS},
    {"penalty": fenchel.regularizers.GroupL1(PAIRS, [1.0, 2.0, 3.0])},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_clones_and_files_fit_the_same_again(data, settings, tmp_path):
    X, y = data
    table = pd.DataFrame(X, columns=NAMES)
    model = Regressor(alpha=0.1, **settings).fit(table, y)
    path = tmp_path / "m.fenchel"
    fenchel.save(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (clone(model), clone(fenchel.load(path))):
            np.testing.assert_array_equal(other.fit(table, y).coef_, model.coef_)
    fenchel.save(fenchel.load(path), tmp_path / "again.fenchel")
    assert (tmp_path / "again.fenchel").read_bytes() == path.read_bytes()


def test_bounds_of_another_length_are_not_saved(data, tmp_path):
    X, y = data
    model = Regressor(lower=np.zeros(6)).fit(X, y)
    model.set_params(lower=np.zeros(5))
    with pytest.raises(InvalidData, match="lower has 5 bounds but X has 6"):
        fenchel.save(model, tmp_path / "m.fenchel")
