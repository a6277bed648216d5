"""What estimators refuse, what they survive, and what they say; numbers are rows of FAULTS."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catalogue import beyond
from commands import HANGS
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import fenchel
from fenchel.data.dataset import Dataset
from fenchel.data.store import read_store, write_store
from fenchel.losses import Labels, ScalarLoss
from fenchel.losses.table import TABLE

X, LABELS = make_classification(60, 4, n_redundant=0, random_state=0)
NAMES = np.array(["ham", "spam"])[LABELS]
TARGET = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * LABELS
ESTIMATORS = {
    "Classifier": (fenchel.Classifier(alpha=0.01), NAMES),
    "Regressor": (fenchel.Regressor(alpha=0.01), TARGET),
    "QuantileRegressor": (fenchel.QuantileRegressor(alpha=0.01), TARGET),
    "PoissonRegressor": (fenchel.PoissonRegressor(alpha=0.01), np.exp(TARGET)),
    "GammaRegressor": (fenchel.GammaRegressor(alpha=0.01), np.exp(TARGET)),
    "TweedieRegressor": (fenchel.TweedieRegressor(alpha=0.01), np.exp(TARGET)),
    "NoveltyDetector": (fenchel.NoveltyDetector(alpha=0.01), None),
}


@pytest.fixture(params=ESTIMATORS, name="case")
def _case(request):
    """An estimator, and a target that it can be fitted to."""
    estimator, y = ESTIMATORS[request.param]
    return clone(estimator), y


def refused(*words, call, error=ValueError):
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def same(found, expected):
    numbers = np.asarray(expected).dtype.kind == "f"
    return np.allclose(found, expected) if numbers else np.array_equal(found, expected)


def fallen_short(*words, estimator, y=NAMES):
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    missing = [word for word in words if word not in str(caught[0].message)]
    assert not missing, f"{missing} not in: {caught[0].message}"
    return estimator


# FAULTS #1, #2


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
def test_nonfinite_values_are_counted_and_located(case, kind, value):
    estimator, y = case
    bad = X.copy()
    bad[7, 2] = bad[9, 0] = value
    refused("2 values", "row 7, column 2", call=lambda: estimator.fit(kind(bad), y))
    estimator.fit(X, y)
    refused("2 values", "row 7, column 2", call=lambda: estimator.predict(kind(bad)))


def test_missing_values_in_a_frame_are_named_by_column(case):
    estimator, y = case
    frame = pd.DataFrame(X, columns=["age", "size", "rate", "load"])
    frame.loc[7, "rate"] = np.nan
    refused("rate", "row 7", call=lambda: estimator.fit(frame, y))


def test_nonfinite_targets_are_located():
    bad = TARGET.copy()
    bad[3] = np.nan
    refused("y[3]", "nan", call=lambda: fenchel.Regressor().fit(X, bad))
    refused("y[3]", "nan", call=lambda: fenchel.Classifier().fit(X, np.where(bad == bad, 1, bad)))
    named = NAMES.astype(object)
    named[3] = np.nan
    refused("y[3]", "nan", call=lambda: fenchel.Classifier().fit(X, named))
    refused(
        "y", "row 3", call=lambda: fenchel.Classifier().fit(X, pd.Series(named, dtype="string"))
    )


def test_masked_values_are_not_read_from_beneath_the_mask(case):
    estimator, y = case
    refused("X", "masked", call=lambda: estimator.fit(np.ma.masked_greater(X, 1), y))
    if y is not None:
        masked = np.ma.array(LABELS, mask=LABELS == 0)
        refused("y", "masked", call=lambda: estimator.fit(X, masked))


# FAULTS #3


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-2.0, "-2")])
def test_bad_weights_are_refused_with_their_place(case, value, shown):
    estimator, y = case
    weights = np.ones(60)
    weights[5] = value
    refused("sample_weight[5]", shown, call=lambda: estimator.fit(X, y, sample_weight=weights))


def test_weights_that_are_all_zero_are_refused(case):
    estimator, y = case
    refused("every row", call=lambda: estimator.fit(X, y, sample_weight=np.zeros(60)))


@pytest.mark.parametrize("factor", [-1, np.nan, np.inf])
def test_bad_class_weights_are_refused_by_name(factor):
    estimator = fenchel.Classifier(class_weight={"ham": 1, "spam": factor})
    refused("class_weight['spam']", call=lambda: estimator.fit(X, NAMES))


# FAULTS #4


def test_data_without_rows_or_columns_are_refused(case):
    estimator, y = case
    none = None if y is None else y[:0]
    refused("minimum of 1 is required", call=lambda: estimator.fit(X[:0], none))
    refused("minimum of 1 is required", call=lambda: estimator.fit(X[:, :0], y))
    refused("at least 1", call=lambda: estimator.fit(pd.DataFrame(X)[:0], none))
    estimator.fit(X, y)
    refused("minimum of 1 is required", call=lambda: estimator.predict(X[:0]))


# FAULTS #5: shards are never empty; more threads than rows change nothing.


def test_the_number_of_threads_changes_nothing(case):
    estimator, y = case
    expected = clone(estimator).set_params(n_jobs=1).fit(X, y).coef_
    for n_jobs in (None, 2, 64, -1, -2):
        found = clone(estimator).set_params(n_jobs=n_jobs).fit(X, y).coef_
        assert np.array_equal(found, expected)


# FAULTS #6, #7, #8


@pytest.mark.parametrize("value", [1.0, 0, "spam", True])
def test_a_single_class_is_refused_by_its_name(value):
    refused("single class", repr(value), call=lambda: fenchel.Classifier().fit(X, [value] * 60))


def test_a_class_without_weight_is_refused_by_its_name():
    weights = (NAMES == "ham").astype(float)
    refused("'spam'", "weight 0", call=lambda: fenchel.Classifier().fit(X, NAMES, weights))
    no_ham = fenchel.Classifier(class_weight={"ham": 0, "spam": 1})
    refused("'ham'", "weight 0", call=lambda: no_ham.fit(X, NAMES))


@pytest.mark.parametrize(
    "classes", [(0, 1), (-1, 1), (3.0, 7.0), ("ham", "spam"), (False, True), (b"a", b"b")]
)
@pytest.mark.parametrize("dtype", [None, object])
def test_any_two_values_serve_as_classes(classes, dtype):
    values = np.array(classes, dtype=dtype)
    model = fenchel.Classifier(alpha=0.01).fit(X, values[LABELS])
    expected = fenchel.Classifier(alpha=0.01).fit(X, LABELS)
    assert model.classes_.tolist() == list(classes)
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.predict(X).tolist() == values[expected.predict(X)].tolist()


def test_continuous_labels_point_to_the_regressor():
    refused("continuous", "fenchel.Regressor", call=lambda: fenchel.Classifier().fit(X, TARGET))


def test_text_is_no_target_for_a_regressor():
    refused("y", "not numbers", call=lambda: fenchel.Regressor().fit(X, NAMES))


def test_negative_counts_are_refused_with_their_place():
    bad = np.where(np.arange(60) == 4, -1.0, 1.0)
    refused("y[4] is -1", call=lambda: fenchel.PoissonRegressor().fit(X, bad))


def test_counts_that_are_all_zero_leave_no_best_intercept():
    model = fenchel.PoissonRegressor()
    refused("fit_intercept=False", call=lambda: model.fit(X, np.zeros(60)))


# FAULTS #9


def test_lengths_that_differ_are_refused_with_both_numbers():
    refused("60 rows", "y has 59", call=lambda: fenchel.Classifier().fit(X, NAMES[:59]))
    refused("60 rows", "y has 61", call=lambda: fenchel.Regressor().fit(X, np.ones(61)))
    weights = np.ones(59)
    refused("60 rows", "59", call=lambda: fenchel.NoveltyDetector().fit(X, sample_weight=weights))


def test_another_number_of_columns_is_refused_with_both_numbers(case):
    estimator, y = case
    estimator.fit(X, y)
    for kind in (np.array, sparse.csr_array):
        refused("3 features", "expecting 4", call=lambda k=kind: estimator.predict(k(X[:, :3])))


def test_data_of_one_dimension_are_refused(case):
    estimator, y = case
    refused("Reshape your data", call=lambda: estimator.fit(X[:, 0], y))
    estimator.fit(X, y)
    refused("Reshape your data", call=lambda: estimator.predict(X[0]))


# FAULTS #10 - #13


INTEGERS = [np.int32, np.int64]


@pytest.mark.parametrize("integer", INTEGERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sparse_data_of_every_format_give_what_dense_data_give(case, kind, integer):
    estimator, y = case
    matrix = sparse.csr_array(np.where(X > 0, X, 0)).asformat(kind)
    for name in ("indices", "indptr"):
        if kind in ("csr", "csc", "bsr"):
            setattr(matrix, name, getattr(matrix, name).astype(integer))
    found = clone(estimator).fit(matrix, y)
    expected = clone(estimator).fit(matrix.toarray(), y)
    assert np.allclose(found.coef_, expected.coef_, atol=1e-2)
    assert same(found.predict(matrix), found.predict(matrix.toarray()))


def test_entries_stored_twice_are_added_up_with_a_warning_and_only_to_fit(case):
    estimator, y = case
    entries = np.repeat(X[:, 0], 2), np.zeros(120, dtype=np.int32), np.arange(0, 121, 2)
    twice = sparse.csr_array(entries, shape=(60, 4))
    once = twice.toarray()
    expected = clone(estimator).fit(once, y)
    with pytest.warns(fenchel.FenchelWarning, match="more than once") as caught:
        estimator.fit(twice, y)
    assert caught[0].filename == __file__
    assert np.allclose(estimator.coef_, expected.coef_)
    assert same(estimator.predict(twice), estimator.predict(once))
    assert twice.nnz == 120


@pytest.mark.parametrize("index", [77, -3])
def test_an_index_out_of_range_is_refused_before_it_is_read(case, index):
    estimator, y = case
    estimator.fit(X, y)
    broken = sparse.csr_array(X)
    broken.indices[5] = index
    refused(str(index), call=lambda: estimator.predict(broken))
    refused(str(index), call=lambda: estimator.fit(broken, y))


# FAULTS #15, #16


def test_columns_and_rows_of_zeros_are_accepted(case):
    estimator, y = case
    zeros = np.column_stack([X, np.zeros(60)])
    zeros[8] = 0
    assert np.ravel(estimator.fit(zeros, y).coef_)[4] == 0
    assert same(estimator.predict(zeros), estimator.predict(sparse.csr_array(zeros)))


@pytest.mark.parametrize("name", ["Regressor", "QuantileRegressor", "PoissonRegressor"])
def test_a_single_row_is_fitted(name):
    model = getattr(fenchel, name)().fit(X[:1], [2.0])
    assert model.predict(X[:1]) == pytest.approx([2.0], rel=1e-2)


def test_a_single_row_is_not_novel():
    model = fenchel.NoveltyDetector().fit(X[:1])
    assert model.decision_function(X[:1]) == pytest.approx([0], abs=1e-3)
    refused("one class", call=lambda: fenchel.Classifier().fit(X[:1], NAMES[:1]))


# FAULTS #17


def test_values_whose_squares_overflow_are_refused(case):
    estimator, y = case
    refused("overflow", "rescale", call=lambda: estimator.fit(1e150 * X, y))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_badly_scaled_data_end_in_a_status(case, scale):
    estimator, y = case
    estimator.set_params(max_iter=200).fit(scale * X, y)
    assert (estimator.status_ == "converged") == (estimator.gap_ <= estimator.tol)
    assert np.isfinite(estimator.coef_).all()


# FAULTS #18, #19


def test_alpha_0_is_certified_where_the_loss_is_curved_and_by_nothing_else():
    fallen_short("tol", "no curvature", estimator=fenchel.Classifier(alpha=0), y=NAMES)
    model = fenchel.Regressor(alpha=0).fit(X, TARGET)
    assert model.status_ == "converged" and model.gap_ <= model.tol
    by_squares = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), TARGET)[0]
    assert [*model.coef_, model.intercept_] == pytest.approx(by_squares)


BAD = {
    "alpha": [-1, np.nan, np.inf, "much", None, True, [1.0], 1e-200],
    "penalty": ["l3", 2, True],
    "l1_ratio": [-0.1, 2, "half"],
    "feature_groups": [None, [0, 2], [-1, 0], [0.5], "days", 3, [], [["a", 3]], [[0, 1], [1, 0]]],
    "lower": ["low", np.nan, np.inf, [[0.0]], [0.0, np.nan], [[0.0], [1.0, 2.0]]],
    "upper": ["high", np.nan, -np.inf, [[0.0]], [0.0, np.nan]],
    "solver": ["simplex", None, 3],
    "tol": [0, -1, np.nan, "small", None],
    "atol": [-1, np.nan, np.inf, "small", None],
    "max_iter": [0, -1, 1.5, "many", None],
    "max_seconds": [0, -1, np.nan, "soon"],
    "warm_start": ["yes", None, 1],
    "n_jobs": [0, 1.5, "all", True],
    "callback": [3, "stop"],
    "verbose": [-1, 1.5, "yes", None],
    "early_stopping_rounds": [0, -1, 1.5, "few", True],
    "eval_metric": ["roc", "loss", 3, ["roc_auc"]],
    "checkpoint": [3],
    "fit_intercept": ["yes", None, 1],
    "loss": ["hing", "poisson", "novelty", None, 3],
    "class_weight": ["even", 3],
    "kernel": ["rfb", "sigmoid", 3, True, ["rbf"]],
    "gamma": [0, -1, np.nan, np.inf, "wide", None, True],
    "degree": [0, -1, 1.5, "high", None, True],
    "coef0": [-1, np.nan, np.inf, "some", None, True],
    "cache_size": [0, -1, np.nan, np.inf, "large", None, True],
    "cost": [-1, np.nan, "much", [[0, 1]], [[0, 1], [1]], [[1, 0], [0, 1]], [[0, -1], [1, 0]]],
}
BAD |= {flag.name: beyond(flag) for row in TABLE for flag in row.flags}


def loss_with(option, estimator):
    """A loss that takes the option, of those that the estimator is for if there is one."""
    able = [row for row in TABLE if option in (each.name for each in row.options)]
    fitting = [row for row in able if row.estimator == type(estimator).__name__]
    return {"loss": (fitting or able)[0].name} if able else {}


@pytest.mark.parametrize(
    ("name", "setting"),
    [(name, key) for name, (estimator, _) in ESTIMATORS.items() for key in estimator.get_params()],
)
def test_bad_settings_are_refused_by_name_before_the_data_are_touched(name, setting):
    estimator, y = ESTIMATORS[name]
    penalty = {"l1_ratio": "elastic_net", "feature_groups": "group_l1"}.get(setting)
    relevant = {} if penalty is None else {"penalty": penalty}
    if "loss" in estimator.get_params():
        relevant |= loss_with(setting, estimator)
    untouchable = X if setting == "class_weight" else object()
    for value in BAD[setting]:
        bad = clone(estimator).set_params(**relevant, **{setting: value})
        error = (ValueError, TypeError)
        refused(setting, call=lambda e=bad: e.fit(untouchable, y), error=error)


@pytest.mark.parametrize("name", ["Classifier", "Regressor"])
@pytest.mark.parametrize("setting", ["gamma", "degree", "coef0", "cache_size"])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear", "precomputed", "spectrum"])
def test_bad_settings_of_kernels_are_refused_with_each_of_them(name, setting, kernel):
    estimator, y = ESTIMATORS[name]
    for value in BAD[setting]:
        bad = clone(estimator).set_params(kernel=kernel, **{setting: value})
        refused(setting, call=lambda e=bad: e.fit(object(), y), error=ValueError)


def test_warnings_of_fits_by_kernels_name_the_users_line():
    for model, y in ((fenchel.Classifier, NAMES), (fenchel.Regressor, TARGET)):
        fallen_short("max_seconds", estimator=model(kernel="rbf", max_seconds=1e-9), y=y)


def test_a_loss_of_another_kind_names_the_estimator_for_it():
    for estimator, y, other in (
        (fenchel.Classifier(loss="huber"), NAMES, "use Regressor"),
        (fenchel.Regressor(loss="hinge"), TARGET, "use Classifier"),
        (fenchel.Regressor(loss="poisson"), TARGET, "use PoissonRegressor"),
        (fenchel.Classifier(loss="hierarchical_hinge"), NAMES, "use HierarchicalClassifier"),
        (fenchel.Regressor(loss="multivariate_squared"), TARGET, "use MultivariateRegressor"),
        (fenchel.Regressor(loss=fenchel.losses.Novelty()), TARGET, "use NoveltyDetector"),
    ):
        refused(other, call=lambda e=estimator, y=y: e.fit(X, y), error=TypeError)


def test_a_spelling_mistake_is_corrected():
    refused("'hinge'", call=lambda: fenchel.Classifier(loss="hnge").fit(X, NAMES))
    refused("'lbfgs'", call=lambda: fenchel.Classifier(solver="lbgfs").fit(X, NAMES))
    refused("'roc_auc'", call=lambda: fenchel.Classifier(eval_metric="auc").fit(X, NAMES))


# FAULTS #20, #21


def test_a_gap_out_of_reach_is_a_warning_with_the_gap_reached():
    model = fenchel.Classifier(loss="logistic", alpha=0.1, tol=1e-20)
    fallen_short("tol asks for 1e-20", "`tol` is below", "gap is", estimator=model)
    assert model.status_ == "stalled"
    assert 0 < model.gap_ < 1e-8


@pytest.mark.parametrize(
    ("limit", "status", "remedy"),
    [
        (
            {"max_iter": 2, "solver": "ls-bmrm"},
            "max_iterations",
            "raise `max_iter` or loosen `tol`",
        ),
        ({"max_seconds": 1e-9}, "time_limit", "raise `max_seconds` or loosen `tol`"),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_limit_is_a_warning_with_its_remedy(limit, status, remedy, n_classes):
    y = np.arange(60) % n_classes
    many = ["3 of 3 classes"] if n_classes == 3 else []
    model = fenchel.Classifier(alpha=0.01, **limit)
    fallen_short(remedy, "tol asks for 0.0001", *many, estimator=model, y=y)
    assert model.status_ == status
    assert model.gap_ > model.tol
    assert len(model.predict(X)) == 60


class Falling(ScalarLoss):
    """l(z, y) = -yz has no lower bound."""

    labels = Labels.BINARY
    differentiable = True

    def value(self, z, y):
        return -y * z

    def slope(self, z, y):
        return -y + 0 * z


def test_a_problem_without_a_minimiser_never_counts_as_converged():
    endless = fenchel.Classifier(loss=Falling(), alpha=0, fit_intercept=False)
    fallen_short("raise `alpha`", estimator=endless)
    assert endless.status_ == "unbounded"


def test_separable_classes_without_a_penalty_end_in_a_status():
    """The loss falls towards 0 for ever, which is seen long before it underflows."""
    model = fenchel.Classifier(loss="logistic", alpha=0, fit_intercept=False, max_iter=600)
    fallen_short("raise `alpha`", estimator=model, y=X[:, 0] > 0)
    assert model.status_ == "unbounded" and model.n_iter_ < 100


# FAULTS #22: an interrupt keeps the best iterate.


def stop_at(iteration):
    return lambda record: record.iteration == iteration


def press_ctrl_c_at(iteration):
    def callback(record):
        if record.iteration == iteration:
            signal.raise_signal(signal.SIGINT)

    return callback


@pytest.mark.parametrize("stop", [stop_at, press_ctrl_c_at])
def test_an_interrupt_keeps_the_best_iterate(case, stop):
    estimator, y = case
    estimator.set_params(callback=stop(2), tol=1e-14)
    with pytest.warns(ConvergenceWarning, match="best iterate so far"):
        estimator.fit(X, y)
    assert estimator.status_ == "interrupted"
    assert estimator.n_iter_ == 2
    assert len(estimator.predict(X)) == 60


@pytest.mark.parametrize("stop", [stop_at, press_ctrl_c_at])
def test_an_interrupt_between_classes_leaves_a_model_of_all_of_them(stop):
    y = np.digitize(X[:, 0], [-0.8, 0, 0.8])
    classes = np.unique(y)
    seen = []

    def after_the_first_class(record):
        seen.append(record)
        return stop(2)(record) if sum(r.iteration == 1 for r in seen) == 2 else None

    model = fenchel.Classifier(
        loss="logistic", alpha=0.01, solver="lbfgs", callback=after_the_first_class
    )
    with pytest.warns(ConvergenceWarning, match="3 of 4 classes"):
        model.fit(X, y)
    assert [result.iterations for result in model.result_[1:]] == [2, 1, 1]
    assert model.coef_.shape == (len(classes), 4)
    share = np.array([np.mean(y == k) for k in classes[2:]])
    assert model.predict_proba(np.zeros((1, 4)))[0].sum() == pytest.approx(1)
    assert model.intercept_[2:] == pytest.approx(np.log(share / (1 - share)), abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_checkpoint_goes_on_where_an_interrupt_stopped(tmp_path, n_classes):
    y = np.digitize(X[:, 0] + X[:, 1], [0, 1][: n_classes - 1])
    settings = {"alpha": 1e-3, "solver": "ls-bmrm"}
    left_alone = fenchel.Classifier(**settings, checkpoint=tmp_path / "a").fit(X, y)
    stopped = fenchel.Classifier(**settings, checkpoint=tmp_path / "b", callback=stop_at(17))
    with pytest.warns(ConvergenceWarning, match="best iterate so far"):
        stopped.fit(X, y)
    seen = []
    stopped.set_params(callback=lambda record: seen.append(record.iteration)).fit(X, y)
    assert seen[0] > 1
    assert np.array_equal(stopped.coef_, left_alone.coef_)
    names = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("b"))
    assert names == (["b"] if n_classes == 2 else ["b.0", "b.1", "b.2"])


# FAULTS #43


LAYOUTS = {
    "read-only": lambda a: _frozen(a.copy()),
    "Fortran order": np.asfortranarray,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "big-endian": lambda a: a.astype(">f8"),
    "objects": lambda a: a.astype(object),
    "long double": lambda a: a.astype(np.longdouble),
    "list": lambda a: a.tolist(),
}


def _frozen(array):
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_of_numbers_is_accepted(case, layout):
    estimator, y = case
    expected = clone(estimator).fit(X, y)
    found = clone(estimator).fit(LAYOUTS[layout](X), y)
    assert np.allclose(found.coef_, expected.coef_, atol=1e-4)  # sums in another order
    assert same(found.predict(LAYOUTS[layout](X)), found.predict(X))


# FAULTS #44


COLUMNS = ["age", "size", "rate", "load"]
FRAMES = {
    "pandas": lambda: pd.DataFrame(X, columns=COLUMNS),
    "polars": lambda: pl.DataFrame(X, schema=COLUMNS),
    "pyarrow": lambda: pa.table(dict(zip(COLUMNS, X.T, strict=True))),
    "sparse pandas": lambda: pd.DataFrame(X, columns=COLUMNS).astype(pd.SparseDtype(float, 0.0)),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_are_accepted_and_their_names_kept(case, library):
    estimator, y = case
    frame, expected = FRAMES[library](), clone(estimator).fit(X, y)
    estimator.fit(frame, y)
    assert estimator.feature_names_in_.tolist() == COLUMNS
    assert np.allclose(estimator.coef_, expected.coef_, rtol=1e-4, atol=1e-4)
    assert len(estimator.predict(frame)) == 60


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_names_and_their_order_are_checked_at_predict(case, library):
    estimator, y = case
    frame = FRAMES[library]()
    estimator.fit(frame, y)
    turned = frame[COLUMNS[::-1]] if library != "pyarrow" else frame.select(COLUMNS[::-1])
    refused("same order", call=lambda: estimator.predict(turned))
    fewer = frame[COLUMNS[:3]] if library != "pyarrow" else frame.select(COLUMNS[:3])
    refused("load", call=lambda: estimator.predict(fewer))
    with pytest.warns(UserWarning, match="fitted with feature names"):
        estimator.predict(X)


@pytest.mark.parametrize("series", [pd.Series, pl.Series, lambda v: pa.array(list(v))])
def test_targets_may_be_columns_of_frames(series):
    expected = fenchel.Classifier(alpha=0.01).fit(X, NAMES, np.arange(1, 61))
    found = fenchel.Classifier(alpha=0.01).fit(X, series(NAMES), series(np.arange(1, 61)))
    assert found.classes_.tolist() == ["ham", "spam"]
    assert np.array_equal(found.coef_, expected.coef_)


# FAULTS #45


def test_fits_in_many_threads_give_what_one_gives(case):
    estimator, y = case
    expected = clone(estimator).fit(X, y).coef_
    with ThreadPoolExecutor(8) as pool:
        fits = pool.map(lambda _: clone(estimator).set_params(n_jobs=2).fit(X, y).coef_, range(24))
        assert all(np.array_equal(found, expected) for found in fits)


def test_one_estimator_predicts_in_many_threads(case):
    estimator, y = case
    expected = estimator.fit(X, y).predict(X)
    begin = threading.Barrier(8)

    def predict(_):
        begin.wait()
        return [estimator.predict(X) for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(predict, range(8)):
            assert all(np.array_equal(each, expected) for each in found)


# FAULTS #46


def _fit(data):
    return fenchel.Classifier(alpha=0.01, n_jobs=2).fit(*data).coef_


@pytest.fixture(scope="module", name="large")
def _large():
    """Enough rows for several shards, so that the pool of threads is used."""
    rng = np.random.default_rng(0)
    large = rng.normal(size=(40_000, 15))
    return large, large[:, 0] > 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_threads_does_not_hang(large):
    expected = _fit(large)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(pool.apply_async(_fit, [large]).get(timeout=HANGS), expected)


def test_processes_of_joblib_give_what_one_gives(large):
    expected = _fit(large)
    found = joblib.Parallel(2, timeout=HANGS)(joblib.delayed(_fit)(large) for _ in range(2))
    assert all(np.array_equal(each, expected) for each in found)


def test_rows_in_a_store_are_checked_as_arrays_are(tmp_path):
    write_store(Dataset(X), tmp_path / "rows.store")
    rows = read_store(tmp_path / "rows.store").X
    model = fenchel.Regressor().fit(pd.DataFrame(X, columns=list("abcd")), TARGET)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(rows)
    model.fit(rows, TARGET)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(rows) == pytest.approx(model.predict(X))
    narrow = fenchel.Regressor().fit(X[:, :2], TARGET)
    refused("X has 4 features, but Regressor is expecting 2", call=lambda: narrow.predict(rows))
