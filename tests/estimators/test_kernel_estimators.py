"""Classifier and Regressor with kernels: scikit-learn's contract, peers, files, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles, make_regression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import Classifier, ClassifierCV, Regressor

CIRCLES = make_circles(150, noise=0.1, factor=0.4, random_state=0)
IRIS = load_iris(return_X_y=True)
SLOPE = make_regression(80, 3, noise=5, random_state=0)
TEXTS = ["banana" * 2, "cabana abc", "xyzxyz", "zyxzyxxyz", "ananas ab", "xxyyzz xyz"] * 3
OF_TEXTS = ["fruit", "fruit", "end", "end", "fruit", "end"] * 3
GRAPHS = [
    ([(0, 1), (1, 2)], ["a", "b", "a"]),
    ([(0, 1), (1, 2), (2, 0)], ["a", "b", "a"]),
    ([(0, 1)], [1, 2]),
    ([], ["lonely"]),
] * 3


def scores(model, X):
    return getattr(model, "decision_function", model.predict)(X)


APART = "asks for equal predictions to 1e-7, but two fits to a certified gap may differ by more"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": APART,
    "check_sample_weight_equivalence_on_sparse_data": APART,
}


# Not of "precomputed", for which many checks give matrices that are no kernel's.
@pytest.mark.slow
@parametrize_with_checks(
    [
        Classifier(kernel="rbf", tol=1e-6),
        Classifier(kernel="rbf", loss="logistic"),
        Regressor(kernel="laplacian"),
        Regressor(kernel="rbf", loss="epsilon_insensitive", tol=1e-6),
    ],
    expected_failed_checks=lambda _: EXPECTED,
    xfail_strict=False,
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_a_kernel_bends_where_columns_cannot():
    X, y = CIRCLES
    model = Classifier(kernel="rbf", gamma=1.0, alpha=1e-3).fit(X, y)
    assert model.score(X, y) > 0.98 > 0.7 > Classifier(alpha=1e-3).fit(X, y).score(X, y)
    assert model.solver_ == "smo" and model.gap_ <= model.tol
    assert len(model.support_) < len(y) and model.dual_coef_.shape == (1, len(model.support_))
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_it_decides_as_svc_does(gamma):
    X, y = CIRCLES
    model = Classifier(kernel="rbf", gamma=gamma, alpha=1e-2, tol=1e-8).fit(X, y)
    peer = SVC(C=1 / (1e-2 * len(y)), gamma=gamma, tol=1e-8).fit(X, y)
    assert model.decision_function(X) == pytest.approx(peer.decision_function(X), abs=1e-3)
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-10)


def test_it_predicts_as_svr_does():
    X, y = SLOPE[0], SLOPE[1] / 50
    model = Regressor(kernel="rbf", loss="epsilon_insensitive", alpha=1e-2, tol=1e-8).fit(X, y)
    peer = SVR(C=1 / (1e-2 * len(y)), epsilon=0.1, tol=1e-8).fit(X, y)
    assert model.predict(X) == pytest.approx(peer.predict(X), abs=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax", "multiclass_hinge"])
def test_three_classes_together_or_one_against_the_rest(loss, tmp_path):
    X, y = IRIS
    model = Classifier(kernel="rbf", loss=loss, alpha=1e-2).fit(X, y)
    assert model.score(X, y) > 0.93 and model.gap_ <= model.tol
    assert model.decision_function(X).shape == (150, 3)
    if loss in ("logistic", "softmax"):
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


MODELS = {
    "rbf": (Classifier(kernel="rbf"), *CIRCLES),
    "two classes at once": (Classifier(kernel="rbf", loss="softmax"), *CIRCLES),
    "several": (Classifier(kernel="laplacian"), *IRIS),
    "sparse": (Classifier(kernel="poly", degree=2, coef0=1.0), sparse.csr_array(IRIS[0]), IRIS[1]),
    "precomputed": (Classifier(kernel="precomputed"), IRIS[0] @ IRIS[0].T, IRIS[1]),
    "spectrum": (Classifier(kernel="spectrum"), TEXTS, OF_TEXTS),
    "options": (Classifier(kernel=fenchel.SpectrumKernel(k=2)), TEXTS, OF_TEXTS),
    "mismatch": (Classifier(kernel="mismatch"), TEXTS, OF_TEXTS),
    "subsequence": (Classifier(kernel=fenchel.SubsequenceKernel(k=2)), TEXTS, OF_TEXTS),
    "graphs": (Classifier(kernel="weisfeiler_lehman"), GRAPHS, [0, 1, 0, 1] * 3),
    "regression": (Regressor(kernel="rbf"), *SLOPE),
    "constant": (Regressor(kernel="rbf", loss="epsilon_insensitive", epsilon=1e9), *SLOPE),
}


@pytest.mark.filterwarnings("ignore:.*(found|learnt) nothing:fenchel.FenchelWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_file_holds_the_support_rows_and_predicts_the_same_bits(name, tmp_path):
    model, X, y = MODELS[name]
    model = clone(model).set_params(alpha=1e-2).fit(X, y)
    fenchel.save(model, tmp_path / "model")
    loaded = fenchel.load(tmp_path / "model")
    assert np.array_equal(scores(model, X), scores(loaded, X))
    assert loaded.objective_ == model.objective_ and loaded.gap_ == model.gap_
    fenchel.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert np.array_equal(scores(pickle.loads(pickle.dumps(model)), X), scores(model, X))


def test_a_function_is_not_saved(tmp_path):
    X, y = CIRCLES
    model = Classifier(kernel=lambda A, B: (1 + A @ B.T) ** 2, alpha=1e-2).fit(X, y)
    with pytest.raises(fenchel.InvalidData, match="no functions"):
        fenchel.save(model, tmp_path / "model")


def test_the_proof_of_a_model_is_checked_against_the_data():
    X, y = CIRCLES
    model = Classifier(kernel="rbf", gamma=1.0, alpha=1e-3).fit(X, y)
    posed = fenchel.problem(X, y, kernel="rbf", gamma=1.0, strength=1e-3, intercept=True)
    certificate = fenchel.verify(model.result_, posed)
    assert certificate.gap <= model.tol and certificate.source == "witness"
    other = fenchel.problem(X, y, kernel="rbf", gamma=1.1, strength=1e-3, intercept=True)
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(model.result_, other)


def test_rows_are_predicted_by_blocks(monkeypatch):
    from fenchel.estimators import kernelised

    X, y = CIRCLES
    model = Classifier(kernel="rbf", alpha=1e-2).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(kernelised, "_NUMBERS", 7 * len(model.support_))
    assert model.decision_function(X) == pytest.approx(whole, abs=1e-12)


def test_searches_and_paths_take_kernels():
    X, y = CIRCLES
    grid = {"gamma": [0.1, 1.0], "alpha": [1e-2, 1e-3]}
    assert GridSearchCV(Classifier(kernel="rbf"), grid, cv=3).fit(X, y).best_score_ > 0.9
    K = X @ X.T
    assert GridSearchCV(Classifier(kernel="precomputed"), {"alpha": [1e-2]}, cv=3).fit(K, y)
    model = ClassifierCV(kernel="rbf", alphas=[1e-1, 1e-2, 1e-3], cv=3).fit(X, y)
    assert model.alpha_ in (1e-1, 1e-2, 1e-3) and model.score(X, y) > 0.95


def test_a_warm_start_takes_the_last_weights():
    X, y = CIRCLES
    model = Classifier(kernel="rbf", alpha=1e-2, warm_start=True, tol=1e-6).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first


def test_rows_held_out_are_scored_at_each_step():
    X, y = CIRCLES
    model = Classifier(kernel="rbf", alpha=1e-3).fit(X[:100], y[:100], eval_set=(X[100:], y[100:]))
    assert len(model.validation_scores_) == model.n_iter_


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"kernel": "sigmoid"}, "not positive semidefinite"),
        ({"kernel": "rbff"}, "kernel must be one of"),
        ({"kernel": "rbf", "gamma": -1}, "gamma must be > 0"),
        ({"kernel": "poly", "degree": 0}, "degree"),
        ({"kernel": "poly", "coef0": -1}, "coef0 must be >= 0"),
        ({"kernel": "rbf", "penalty": "l1"}, "penalty='l2'"),
        ({"kernel": "rbf", "penalty": None}, "penalty='l2'"),
        ({"kernel": "rbf", "lower": 0.0}, "no coefficients to bound"),
        ({"kernel": "rbf", "alpha": 0.0}, "alpha must be > 0"),
        ({"kernel": "rbf", "loss": "nu_hinge"}, "low-rank features"),
        ({"kernel": "rbf", "solver": "lbfgs"}, "kernel alone"),
        ({"kernel": "rbf", "cache_size": 0}, "cache_size"),
        ({"kernel": "precomputed"}, "square matrix"),
    ],
)
def test_what_makes_no_sense_is_refused_in_these_words(settings, why):
    with pytest.raises(fenchel.FenchelError, match=why):
        Classifier(**settings).fit(*CIRCLES)


def test_an_indefinite_kernel_is_found_out():
    X, y = CIRCLES
    with pytest.raises(fenchel.InvalidData, match="negative eigenvalue"):
        Classifier(kernel=lambda A, B: np.cos(3 * A @ B.T) + 1.0).fit(X, y)


def test_what_columns_would_tell_is_refused():
    X, y = CIRCLES
    model = Classifier(kernel="rbf", loss="logistic", alpha=1e-2).fit(X, y)
    with pytest.raises(fenchel.Incompatible, match="kernel has none"):
        model.summary(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
