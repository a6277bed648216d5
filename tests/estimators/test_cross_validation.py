"""Cross-validated estimators: the scores are those of fits by hand, the model that of the best."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNetCV
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error, mean_squared_error
from sklearn.model_selection import KFold, cross_val_score
from threadpoolctl import threadpool_limits

import fenchel
from fenchel import Classifier, ClassifierCV, InvalidData, Regressor, RegressorCV

ALPHAS = [1e-1, 1e-2, 1e-3]


def classes(n_classes=2, **options):
    return make_classification(
        n_samples=90,
        n_features=8,
        n_informative=4,
        n_classes=n_classes,
        flip_y=0.2,
        random_state=0,
        **options,
    )


def numbers():
    return make_regression(n_samples=60, n_features=8, n_informative=4, noise=20, random_state=0)


CASES = {
    "logistic": (Classifier(loss="logistic", tol=1e-8), classes()),
    "one-against-the-rest": (Classifier(loss="logistic", penalty="elasticnet"), classes(3)),
    "softmax": (Classifier(loss="softmax", fit_intercept=False, tol=1e-8), classes(3)),
    "squared-error": (Regressor(tol=1e-8), numbers()),
    "huber-l1": (Regressor(loss="huber", penalty="l1", tol=1e-8), numbers()),
}


def cross_validated(one, **options):
    kind = ClassifierCV if isinstance(one, Classifier) else RegressorCV
    shared = one.get_params()
    taken = inspect.signature(kind).parameters  # an alpha of its own and the like make no sense
    return kind(**{name: shared[name] for name in shared if name in taken}, **options)


@pytest.mark.parametrize("case", CASES)
def test_the_scores_are_those_of_fits_by_hand_and_the_model_that_of_the_best(case):
    one, (X, y) = CASES[case]
    model = cross_validated(one, alphas=ALPHAS[::-1], cv=4).fit(X, y)
    by_hand = [cross_val_score(one.set_params(alpha=alpha), X, y, cv=4) for alpha in ALPHAS]
    assert model.alphas_.tolist() == ALPHAS
    assert model.scores_ == pytest.approx(np.array(by_hand), abs=1e-3)
    assert model.mean_scores_ == pytest.approx(model.scores_.mean(axis=1))
    assert model.alpha_ == ALPHAS[int(np.argmax(model.mean_scores_))]
    again = one.set_params(alpha=model.alpha_).fit(X, y)
    assert model.status_ == "converged" and model.gap_ <= one.tol
    assert model.lower_bound_ <= again.objective_ and again.lower_bound_ <= model.objective_
    assert (model.predict(X) == model.best_estimator_.predict(X)).all()


def test_of_equal_scores_the_largest_alpha_wins():
    X, y = classes()
    model = ClassifierCV(alphas=ALPHAS, cv=3, scoring=lambda *_: 1.0).fit(X, y)
    assert model.alpha_ == ALPHAS[0]


def test_the_best_is_the_best_by_the_scoring_that_was_asked_for():
    X, y = numbers()
    loss = make_scorer(mean_absolute_error, greater_is_better=False)
    model = RegressorCV(alphas=[1e3, 1e-3], scoring=loss).fit(X, y)
    assert model.alpha_ == 1e-3 and (model.scores_ < 0).all()
    worst = make_scorer(mean_absolute_error).__call__
    assert RegressorCV(alphas=[1e3, 1e-3], scoring=worst).fit(X, y).alpha_ == 1e3


def test_scores_are_weighted_if_the_rows_are():
    X, y = classes()
    s = np.random.default_rng(0).uniform(size=len(y))
    folds = list(KFold(3).split(X))
    model = ClassifierCV(loss="logistic", alphas=[1e-2], cv=folds, tol=1e-8).fit(X, y, s)
    for k, (inside, outside) in enumerate(folds):
        one = Classifier(loss="logistic", alpha=1e-2, tol=1e-8).fit(X[inside], y[inside], s[inside])
        assert model.scores_[0, k] == pytest.approx(one.score(X[outside], y[outside], s[outside]))


def test_a_sparse_model_starts_from_no_weights():
    X, y = numbers()
    model = RegressorCV(penalty="l1", alphas=5, cv=3).fit(X, y)
    assert not Regressor(penalty="l1", alpha=1.0001 * model.alphas_[0]).fit(X, y).coef_.any()
    assert Regressor(penalty="l1", alpha=0.999 * model.alphas_[0], tol=1e-9).fit(X, y).coef_.any()


def test_frames_text_and_objects_are_fine():
    pandas = pytest.importorskip("pandas")
    X, y = classes()
    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(8)])
    named = np.array(["no", "yes"], dtype=object)[y]
    model = ClassifierCV(loss="logistic", alphas=ALPHAS, cv=3).fit(frame, pandas.Series(named))
    plain = ClassifierCV(loss="logistic", alphas=ALPHAS, cv=3).fit(X, y)
    assert np.array_equal(model.scores_, plain.scores_)
    assert model.feature_names_in_[3] == "column 3" and set(model.classes_) == {"no", "yes"}


def test_the_best_estimator_can_be_saved(tmp_path):
    X, y = classes(3)
    model = ClassifierCV(loss="logistic", alphas=ALPHAS, cv=3).fit(X, y)
    fenchel.save(model.best_estimator_, tmp_path / "model")
    loaded = fenchel.load(tmp_path / "model")
    assert loaded.alpha == model.alpha_
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


# What is shared between folds and strengths changes nothing

SCORED = {
    "lasso": (RegressorCV(penalty="l1"), numbers()),
    "net": (RegressorCV(penalty="elasticnet", fit_intercept=False), numbers()),
    "huber": (RegressorCV(loss="huber"), numbers()),
    "hinge": (ClassifierCV(), classes()),
    "l1-logistic": (ClassifierCV(loss="logistic", penalty="l1"), classes()),
    "rest": (ClassifierCV(loss="squared_hinge"), classes(3)),
    "softmax": (ClassifierCV(loss="softmax"), classes(3)),
    "softmax-of-two": (ClassifierCV(loss="softmax"), classes()),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", SCORED)
def test_scores_of_all_strengths_at_once_are_those_of_the_scorer(case, weighted):
    model, (X, y) = SCORED[case]
    model = clone(model).set_params(alphas=ALPHAS, cv=3)
    s = np.random.default_rng(0).integers(1, 4, size=len(y)) if weighted else None
    seen, name = [], "accuracy" if isinstance(model, ClassifierCV) else "r2"

    def scorer(fitted, X, y, **given):
        seen.append(get_scorer(name)(fitted, X, y, **given))
        assert seen[-1] == fitted.score(X, y, **given)
        return seen[-1]

    at_once = clone(model).fit(X, y, s).scores_
    by_name = clone(model).set_params(scoring=name).fit(X, y, s).scores_
    one_by_one = model.set_params(scoring=scorer).fit(X, y, s).scores_
    assert at_once == pytest.approx(one_by_one, rel=1e-12, abs=1e-12)
    assert np.array_equal(at_once, by_name)
    assert np.array_equal(one_by_one, np.reshape(seen, (3, 3)).T)


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_folds_of_a_lasso_have_scikit_learns_errors(penalty):
    X, y = numbers()
    ratio = 1.0 if penalty == "l1" else 0.5
    alphas = np.geomspace(30, 0.3, 9)
    peer = ElasticNetCV(l1_ratio=ratio, alphas=alphas, cv=4, tol=1e-12, max_iter=10**6).fit(X, y)
    errors = make_scorer(mean_squared_error, greater_is_better=False)
    options = {"penalty": penalty, "alphas": alphas, "cv": 4, "scoring": errors, "tol": 1e-10}
    model = RegressorCV(**options).fit(X, y)
    assert model.scores_ == pytest.approx(-peer.mse_path_, rel=1e-4)
    assert model.alpha_ == pytest.approx(peer.alpha_)
    assert model.coef_ == pytest.approx(peer.coef_, rel=1e-4, abs=1e-6)
    assert np.array_equal(model.coef_ == 0, peer.coef_ == 0)


@pytest.mark.parametrize("case", SCORED)
def test_the_model_is_proved_by_other_code_and_a_callback_changes_nothing(case):
    model, (X, y) = SCORED[case]
    model = clone(model).set_params(alphas=ALPHAS, cv=3).fit(X, y)
    results = model.result_ if isinstance(model.result_, list) else [model.result_]
    assert all(result.certificate.source == "witness" for result in results)
    problems = model.best_estimator_._posed(X, y).problems
    for problem, result in zip(problems, results, strict=True):
        fenchel.verify(result, problem)
    watched = clone(model).set_params(callback=lambda record: False).fit(X, y)
    # Both are within the gap of the minimum, but rows near the boundary may change sides.
    assert watched.scores_ == pytest.approx(model.scores_, abs=2 / 30 + 1e-9)
    assert watched.alpha_ == model.alpha_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_scores_are_the_same_bits_every_time(n_jobs):
    for model, (X, y) in (SCORED["lasso"], SCORED["l1-logistic"]):
        one, other = (clone(model).set_params(alphas=ALPHAS, cv=3, n_jobs=k) for k in (1, n_jobs))
        one.fit(X, y), other.fit(X, y)
        assert np.array_equal(one.scores_, other.scores_)
        assert np.array_equal(one.coef_, other.coef_)


def test_the_scores_do_not_depend_on_the_threads_of_blas():
    X, y = make_regression(n_samples=3000, n_features=60, noise=20, random_state=0)
    models = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            models.append(RegressorCV(penalty="l1", alphas=20, cv=3).fit(X, y))
    assert np.array_equal(models[0].scores_, models[1].scores_)
    assert np.array_equal(models[0].coef_, models[1].coef_)


# Interrupts and shortfalls


def stopping_in_run(k):
    runs = []

    def callback(record):
        runs.append(record.iteration == 1)
        return sum(runs) == k

    return callback


@pytest.mark.parametrize(("k", "n_scores"), [(1, 1), (5, 5)])
def test_an_interrupt_of_the_folds_leaves_a_glimpse_and_the_scores_so_far(k, n_scores):
    X, y = classes()
    model = ClassifierCV(alphas=ALPHAS, cv=3, callback=stopping_in_run(k))
    with pytest.warns(ConvergenceWarning, match="ClassifierCV stopped short after 1 iterations"):
        model.fit(X, y)
    assert model.status_ == "interrupted" and np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.scores_).sum() == n_scores
    assert model.alpha_ == ALPHAS[int(np.nanargmax(model.mean_scores_))]


def longest(model, X, y):
    return np.linalg.norm(model.coef_)


@pytest.mark.slow
def test_an_interrupt_on_all_rows_leaves_the_model_it_came_to():
    X, y = classes()
    settings = {"alphas": ALPHAS, "cv": 3, "scoring": longest, "solver": "ls-bmrm"}
    whole = ClassifierCV(**settings).fit(X, y)
    assert whole.alpha_ == ALPHAS[-1]
    model = ClassifierCV(**settings, callback=stopping_in_run(10))
    with pytest.warns(ConvergenceWarning, match="stopped short"):
        model.fit(X, y)
    assert model.alpha_ == model.best_estimator_.alpha == ALPHAS[0]
    assert np.array_equal(model.scores_, whole.scores_)


def test_folds_that_fall_short_are_said():
    X, y = classes()
    slow = ClassifierCV(loss="logistic", alphas=[10.0, 1e-6], cv=3, max_iter=4, solver="lbfgs")
    slow.set_params(scoring=lambda *fitted: -longest(*fitted))
    with pytest.warns(ConvergenceWarning, match=r"3 of the fits that chose it stopped short"):
        slow.fit(X, y)
    assert slow.status_ == "converged" and slow.alpha_ == 10.0


# What is refused


@pytest.mark.parametrize("alphas", [0, 0.5, [], [-1.0], "many"], ids=repr)
def test_bad_alphas_are_refused_by_their_name(alphas):
    with pytest.raises(InvalidData, match="alphas"):
        ClassifierCV(alphas=alphas).fit(*classes())


def test_a_fold_of_one_class_is_named():
    X, y = np.arange(12.0).reshape(-1, 1), np.repeat([0, 1], 6)
    with pytest.raises(InvalidData, match=r"in fold 1 of 2: y holds a single class"):
        ClassifierCV(alphas=[0.1], cv=KFold(2)).fit(X, y)


def test_scores_that_are_all_nan_are_refused():
    X, y = numbers()
    with warnings.catch_warnings(), pytest.raises(InvalidData, match="every score is nan"):
        warnings.simplefilter("ignore")
        RegressorCV(alphas=[0.1], cv=len(y)).fit(X, y)
