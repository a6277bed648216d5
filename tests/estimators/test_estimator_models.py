"""Estimators beside scikit-learn's where the objective is the same, and in its company."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import fenchel
from fenchel.losses import LOSSES, Labels, MultivariateLoss, NuLoss, ScalarLoss

CANCER, MALIGNANT = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)
DIABETES, PROGRESSION = load_diabetes(return_X_y=True, scaled=False)
DIABETES = scale(DIABETES)
IRIS, SPECIES = load_iris(return_X_y=True)
N = len(CANCER)


# The same objective as scikit-learn's.


@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
def test_hinge_is_linear_svc(alpha):
    ours = fenchel.Classifier(alpha=alpha, tol=1e-6, fit_intercept=False).fit(CANCER, MALIGNANT)
    theirs = svm.LinearSVC(
        loss="hinge", C=1 / (alpha * N), fit_intercept=False, tol=1e-9, max_iter=1_000_000
    ).fit(CANCER, MALIGNANT)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=2e-3)
    y = 2 * MALIGNANT - 1
    w = theirs.coef_[0]
    objective = alpha / 2 * w @ w + np.maximum(0, 1 - y * (CANCER @ w)).mean()
    assert ours.lower_bound_ <= objective
    assert ours.objective_ == pytest.approx(objective, rel=1e-5)


def test_logistic_is_logistic_regression():
    alpha = 1e-2
    ours = fenchel.Classifier(loss="logistic", alpha=alpha, tol=1e-10).fit(CANCER, MALIGNANT)
    theirs = linear_model.LogisticRegression(C=1 / (alpha * N), tol=1e-8).fit(CANCER, MALIGNANT)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4)
    assert ours.predict_proba(CANCER) == pytest.approx(theirs.predict_proba(CANCER), abs=1e-4)
    assert np.array_equal(ours.predict(CANCER), theirs.predict(CANCER))


def test_more_classes_are_one_against_the_rest():
    ours = fenchel.Classifier(loss="logistic", alpha=0.01, tol=1e-10).fit(IRIS, SPECIES)
    one = linear_model.LogisticRegression(C=1 / (0.01 * 150), tol=1e-8, max_iter=1000)
    theirs = OneVsRestClassifier(one).fit(IRIS, SPECIES)
    assert ours.coef_.shape == (3, 4)
    assert ours.intercept_.shape == (3,)
    assert ours.decision_function(IRIS) == pytest.approx(theirs.decision_function(IRIS), abs=1e-3)
    assert ours.predict_proba(IRIS) == pytest.approx(theirs.predict_proba(IRIS), abs=1e-4)
    assert np.array_equal(ours.predict(IRIS), theirs.predict(IRIS))
    assert ours.objective_ == pytest.approx(sum(r.objective for r in ours.result_))
    assert ours.gap_ == max(r.gap for r in ours.result_)


@pytest.mark.parametrize("l1_ratio", [0, 0.3, 1])
def test_squared_error_is_the_elastic_net(l1_ratio):
    ours = fenchel.Regressor(penalty="elasticnet", alpha=0.5, l1_ratio=l1_ratio, tol=1e-9)
    ours.fit(DIABETES, PROGRESSION)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of l1_ratio=0, which coordinate descent does badly
        theirs = linear_model.ElasticNet(alpha=0.5, l1_ratio=l1_ratio, tol=1e-10, max_iter=100_000)
        theirs.fit(DIABETES, PROGRESSION)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=0.1)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=0.01)
    assert ours.score(DIABETES, PROGRESSION) == pytest.approx(
        theirs.score(DIABETES, PROGRESSION), abs=1e-5
    )


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_epsilon_insensitive_losses_are_linear_svr(loss):
    alpha, y = 0.01, scale(PROGRESSION)
    ours = fenchel.Regressor(loss=loss, epsilon=0.2, alpha=alpha, tol=1e-7, fit_intercept=False)
    factor = 1 if loss == "epsilon_insensitive" else 0.5  # theirs has no 1/2 before the square
    theirs = svm.LinearSVR(
        loss=loss,
        epsilon=0.2,
        C=factor / (alpha * len(y)),
        fit_intercept=False,
        tol=1e-8,
        max_iter=1_000_000,
    )
    found, expected = ours.fit(DIABETES, y).coef_, theirs.fit(DIABETES, y).coef_
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("quantile", [0.1, 0.4, 0.9])  # at 0.5 many intercepts are as good
def test_quantiles_are_those_of_the_quantile_regressor(quantile):
    ours = fenchel.QuantileRegressor(quantile=quantile, penalty="l1", alpha=0.5, tol=1e-9)
    theirs = linear_model.QuantileRegressor(quantile=quantile, alpha=0.5)
    ours.fit(DIABETES, PROGRESSION), theirs.fit(DIABETES, PROGRESSION)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6)
    named = fenchel.Regressor(loss="quantile", quantile=quantile, penalty="l1", alpha=0.5, tol=1e-9)
    assert np.array_equal(named.fit(DIABETES, PROGRESSION).coef_, ours.coef_)


def test_counts_are_those_of_the_poisson_regressor():
    y = np.round(PROGRESSION / 20)
    weights = np.linspace(0.5, 2, len(y))
    ours = fenchel.PoissonRegressor(alpha=0.1, tol=1e-10).fit(DIABETES, y, weights)
    theirs = linear_model.PoissonRegressor(alpha=0.1, tol=1e-8).fit(DIABETES, y, weights)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert ours.predict(DIABETES) == pytest.approx(theirs.predict(DIABETES), rel=1e-4)
    for w in (None, weights):
        expected = theirs.score(DIABETES, y, w)
        assert ours.score(DIABETES, y, w) == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(
        d2_tweedie_score(y, theirs.predict(DIABETES), sample_weight=weights, power=1)
    )


def test_novelty_is_the_linear_one_class_svm_at_its_own_threshold():
    positive = np.abs(DIABETES) + 0.1
    theirs = svm.OneClassSVM(kernel="linear", nu=0.2, tol=1e-9).fit(positive)
    threshold = float(theirs.offset_[0])
    # Theirs is 1/2 |w|^2 + the sum, not the mean, of the losses.
    ours = fenchel.NoveltyDetector(alpha=1 / len(positive), rho=threshold, tol=1e-8).fit(positive)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-3, abs=1e-3 * np.abs(ours.coef_).max())
    scores = theirs.decision_function(positive)
    assert ours.decision_function(positive) == pytest.approx(scores, abs=1e-3 * threshold)
    clear = np.abs(scores) > 1e-3 * threshold
    assert np.array_equal(ours.predict(positive)[clear], theirs.predict(positive)[clear])


def test_novelty_with_alpha_nu_is_the_stochastic_one_class_svm():
    positive, nu = np.abs(DIABETES) + 0.1, 0.2
    theirs = linear_model.SGDOneClassSVM(nu=nu, tol=None, max_iter=3000, random_state=0)
    theirs.fit(positive)
    ours = fenchel.NoveltyDetector(alpha=nu, rho=float(theirs.offset_[0])).fit(positive)
    assert ours.coef_[0] == pytest.approx(theirs.coef_, rel=0.02)


def test_novel_is_what_scores_below_rho():
    positive = np.abs(DIABETES) + 0.1
    model = fenchel.NoveltyDetector(alpha=0.3, rho=2.0).fit(positive)
    scores = model.score_samples(positive)
    assert model.offset_ == 2.0
    assert np.array_equal(model.predict(positive), np.where(scores >= 2.0, 1, -1))
    assert scores == pytest.approx(positive @ model.coef_[0])
    assert model.decision_function(positive) == pytest.approx(scores + model.intercept_[0])
    share = [(fenchel.NoveltyDetector(alpha=a).fit_predict(positive) < 0).mean() for a in (0.5, 3)]
    assert share[0] < share[1]


def test_novelty_after_a_kernel_map_finds_what_is_far_away():
    rng = np.random.default_rng(0)
    kernel_map = Nystroem(gamma=0.5, n_components=50, random_state=0)
    detector = make_pipeline(kernel_map, fenchel.NoveltyDetector(alpha=0.01))
    detector.fit(rng.normal(size=(300, 2)))
    assert (detector.predict([[6.0, 6.0], [-7.0, 0.0]]) == -1).all()
    assert detector.predict(rng.normal(size=(300, 2))).mean() > 0.5


# Weights.


BY_LABELS = {
    Labels.BINARY: (fenchel.Classifier, MALIGNANT[:80]),
    Labels.REAL: (fenchel.Regressor, CANCER[:80, 29]),
}


@pytest.mark.filterwarnings("ignore:.*learnt nothing:fenchel.errors.FenchelWarning")  # perceptrons
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize(
    "loss",
    [
        name
        for name, kind in LOSSES.items()
        if kind.labels in BY_LABELS and not issubclass(kind, MultivariateLoss)
    ],
)
def test_weights_count_rows_to_the_certified_gap(loss, penalty):
    """What is certified of weighted rows holds for the rows repeated, and the other way round."""
    if issubclass(LOSSES[loss], NuLoss) and penalty == "l1":
        return  # which is refused
    estimator, y = BY_LABELS[LOSSES[loss].labels]
    X, times = CANCER[:80, :5], np.arange(80) % 4
    model = estimator(loss=loss, penalty=penalty, alpha=0.01)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(X.repeat(times, axis=0), y.repeat(times))
    assert weighted.status_ == repeated.status_ == "converged"
    assert weighted.lower_bound_ <= repeated.objective_
    assert repeated.lower_bound_ <= weighted.objective_


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_class_weights_are_sample_weights(loss):
    factors = np.array([3.0, 0.5, 1.0])
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    given = {"setosa": 3.0, "versicolor": 0.5}  # what is not named counts once
    sample_weight = np.linspace(1, 2, 150)
    by_class = fenchel.Classifier(loss=loss, alpha=0.01, class_weight=given)
    by_row = fenchel.Classifier(loss=loss, alpha=0.01)
    assert np.array_equal(
        by_class.fit(IRIS, names, sample_weight).coef_,
        by_row.fit(IRIS, names, sample_weight * factors[SPECIES]).coef_,
    )


def test_balanced_classes_have_equal_weight_in_total():
    model = fenchel.Classifier(loss="logistic", class_weight="balanced", tol=1e-10)
    times = 1 + np.arange(N) % 3
    weighted = clone(model).fit(CANCER, MALIGNANT, times)
    repeated = clone(model).fit(CANCER.repeat(times, axis=0), MALIGNANT.repeat(times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-3)
    totals = np.bincount(MALIGNANT, weights=times)
    factors = {k: totals.sum() / (2 * totals[k]) for k in (0, 1)}
    by_hand = clone(model).set_params(class_weight=factors).fit(CANCER, MALIGNANT, times)
    assert weighted.coef_ == pytest.approx(by_hand.coef_, abs=1e-6)


# Certificates.


def test_the_attributes_are_those_of_the_result():
    model = fenchel.Classifier(loss="logistic", alpha=0.01).fit(CANCER, MALIGNANT)
    result = model.result_
    assert model.objective_ == result.objective
    assert model.lower_bound_ == result.lower_bound
    assert model.gap_ == result.gap <= model.tol
    assert (model.status_, model.n_iter_) == ("converged", result.iterations)
    assert model.solver_ == result.solver == "newton"
    assert np.array_equal(model.coef_, [result.w])
    problem = fenchel.problem(CANCER, MALIGNANT, loss="logistic", strength=0.01, intercept=True)
    fenchel.verify(result, problem)


def test_each_class_has_its_own_certificate():
    model = fenchel.Classifier(alpha=0.01).fit(IRIS, SPECIES)
    for k, result in enumerate(model.result_):
        problem = fenchel.problem(IRIS, SPECIES == k, strength=0.01, intercept=True)
        fenchel.verify(result, problem)
    assert model.lower_bound_ == pytest.approx(sum(r.lower_bound for r in model.result_))
    assert model.n_iter_ == max(r.iterations for r in model.result_)


def test_the_callback_sees_every_record():
    seen = []
    model = fenchel.Classifier(alpha=0.01, callback=seen.append).fit(IRIS, SPECIES)
    assert seen == [record for result in model.result_ for record in result.history]


class Exponential(ScalarLoss):
    """l(z, y) = exp(-yz), written by a user."""

    labels = Labels.BINARY
    nonnegative = True
    differentiable = True

    def value(self, z, y):
        return np.exp(-y * z)

    def slope(self, z, y):
        return -y * np.exp(-y * z)


def test_a_loss_of_ones_own_gives_what_the_same_built_in_one_gives():
    built_in = fenchel.Classifier(loss="exponential", alpha=0.1, tol=1e-8)
    own = clone(built_in).set_params(loss=Exponential())
    found, expected = own.fit(IRIS, SPECIES).coef_, built_in.fit(IRIS, SPECIES).coef_
    assert found == pytest.approx(expected, abs=1e-3)


# Starting again.


@pytest.mark.parametrize("y", [MALIGNANT, np.digitize(CANCER[:, 0], [-0.5, 0.5])])
def test_a_warm_start_takes_fewer_passes(y):
    def passes(model):
        results = model.fit(CANCER, y).result_
        return sum(each.passes for each in (results if isinstance(results, list) else [results]))

    model = fenchel.Classifier(loss="logistic", alpha=1e-3, tol=1e-6, warm_start=True)
    cold, warm = passes(model), passes(model.set_params(alpha=0.95e-3))
    assert warm < min(cold, passes(clone(model)))
    assert model.gap_ <= model.tol


def test_a_warm_start_needs_the_same_columns_and_classes():
    model = fenchel.Classifier(loss="logistic", alpha=0.01, warm_start=True)
    model.fit(IRIS, SPECIES)
    for X, y in ((IRIS[:, :2], SPECIES), (IRIS, 7 - SPECIES), (IRIS, SPECIES == 0)):
        expected = fenchel.Classifier(loss="logistic", alpha=0.01).fit(X, y)
        assert np.array_equal(clone(model).fit(IRIS, SPECIES).fit(X, y).coef_, expected.coef_)


# Probabilities.


def test_probabilities_need_the_logistic_loss():
    assert not hasattr(fenchel.Classifier(), "predict_proba")
    assert hasattr(fenchel.Classifier(loss="logistic"), "predict_proba")
    assert hasattr(fenchel.Classifier(loss=fenchel.losses.Logistic()), "predict_log_proba")
    with pytest.raises(AttributeError) as caught:
        fenchel.Classifier().predict_proba(IRIS)
    assert "CalibratedClassifierCV(model).fit(X, y)" in str(caught.value)


@pytest.mark.parametrize("y", [SPECIES == 0, SPECIES])
def test_probabilities_of_the_most_extreme_scores_are_numbers(y):
    model = fenchel.Classifier(loss="logistic", alpha=1e-6).fit(IRIS, y)
    far = 1e6 * np.array([[1.0, -1, 1, -1], [-1, -1, -1, -1], [1, 1, 1, 1], [-1, 1, -1, 1]])
    chances = model.predict_proba(far)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(far))


# In scikit-learn's company.


def test_pipelines_and_cross_validation():
    raw = load_breast_cancer().data
    model = make_pipeline(StandardScaler(), fenchel.Classifier(alpha=0.01))
    assert cross_val_score(model, raw, MALIGNANT).mean() > 0.96
    regressor = make_pipeline(StandardScaler(), fenchel.Regressor(loss="huber", delta=10.0))
    assert cross_val_score(regressor, load_diabetes().data, PROGRESSION).mean() > 0.45


@pytest.mark.slow
def test_grid_search_over_alpha_and_loss():
    grid = {
        "alpha": [1e-4, 1e-2, 1e0],
        "loss": ["hinge", "logistic", Exponential()],
        "penalty": ["l2", "elasticnet"],
    }
    found = GridSearchCV(fenchel.Classifier(), grid, cv=3, error_score="raise")
    found.fit(IRIS, SPECIES)
    assert found.best_score_ > 0.9
    assert found.best_params_["alpha"] < 1


def test_grid_search_in_processes():
    model = GridSearchCV(fenchel.Regressor(), {"alpha": [1e-4, 1e-1]}, n_jobs=2, cv=3)
    assert model.fit(DIABETES, PROGRESSION).best_score_ > 0.4


def test_calibration():
    model = CalibratedClassifierCV(fenchel.Classifier(alpha=0.01), cv=3).fit(CANCER, MALIGNANT)
    assert model.score(CANCER, MALIGNANT) > 0.97


def test_metadata_routing_carries_sample_weights():
    weights = np.where(MALIGNANT, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = fenchel.Classifier(alpha=0.01).set_fit_request(sample_weight=True)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        model.fit(CANCER, MALIGNANT, sample_weight=weights)
    expected = fenchel.Classifier(alpha=0.01).fit(scale(CANCER), MALIGNANT, weights)
    assert model[-1].coef_ == pytest.approx(expected.coef_)


FITTED = [
    fenchel.Classifier(loss="logistic", alpha=0.01).fit(IRIS, SPECIES),
    fenchel.Classifier(loss=Exponential(), penalty="l1", alpha=0.01).fit(IRIS, SPECIES == 0),
    fenchel.Regressor(loss="absolute_error").fit(IRIS, IRIS[:, 0]),
    fenchel.QuantileRegressor().fit(IRIS, IRIS[:, 0]),
    fenchel.PoissonRegressor().fit(IRIS, SPECIES),
    fenchel.NoveltyDetector().fit(IRIS),
]


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_copies_of_every_kind_are_as_good(model):
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(twin.predict(IRIS), model.predict(IRIS))
        assert twin.status_ == model.status_
    fresh = clone(model)
    assert fresh.get_params().keys() == model.get_params().keys()
    assert not hasattr(fresh, "coef_")
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in repr(model)


# Data are used where they are.


@pytest.mark.slow
def test_classes_share_the_rows():
    """Ten problems on digits take less memory than a second copy of X would."""
    X, y = load_digits(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    model = fenchel.Classifier(loss="logistic", alpha=1.0, tol=0.1, n_jobs=1)
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model.result_) == 10
    assert peak < X.nbytes


@pytest.mark.parametrize(("n_classes", "share"), [(2, 0.1), (10, 0.7)])
def test_predicting_copies_no_sparse_data_at_once(n_classes, share):
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 500), density=0.5, rng=rng, format="csr", dtype=np.float32)
    labels = np.arange(20_000) % n_classes
    model = fenchel.Classifier(loss="logistic", alpha=1.0, tol=0.5).fit(X, labels)
    tracemalloc.start()
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < share * (X.data.nbytes + X.indices.nbytes)


def test_float32_is_as_good_as_its_numbers():
    single = CANCER.astype(np.float32)
    found = fenchel.Classifier(alpha=0.01).fit(single, MALIGNANT)
    expected = fenchel.Classifier(alpha=0.01).fit(single.astype(np.float64), MALIGNANT)
    assert found.coef_ == pytest.approx(expected.coef_, abs=1e-2)
    assert found.coef_.dtype == np.float64
    digits, y = load_digits(return_X_y=True)
    model = fenchel.Classifier(loss="logistic", alpha=0.1, tol=0.01).fit(digits, y)
    scores = model.decision_function(digits)
    for other in (digits.astype(np.float32), sparse.csr_array(digits), sparse.csc_array(digits)):
        assert model.decision_function(other) == pytest.approx(scores)
    assert scores == pytest.approx(digits @ model.coef_.T + model.intercept_)
