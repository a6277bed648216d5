"""Many classes in one problem, and sets of labels: what the estimators make of vector losses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fenchel
from fenchel.data.checked import checked_classes
from fenchel.errors import InvalidData
from fenchel.estimators.multilabel import best_threshold

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = StandardScaler().fit_transform(IRIS)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS = DIGITS[:600] / 16
DIGIT = DIGIT[:600]
LOSSES = ("softmax", "multiclass_hinge")


def scenes(n=300, d=20, K=6, seed=0):
    """Rows with one to three labels out of six, most with one, as in the data set scene."""
    return make_multilabel_classification(
        n, n_features=d, n_classes=K, n_labels=1, allow_unlabeled=False, random_state=seed
    )


SCENES, LABELS = scenes()


def multinomial(X, y, alpha, **settings):
    """scikit-learn's softmax regression with its C for our alpha; ours has a factor 1/2 too."""
    return LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10_000, **settings)


# Against scikit-learn.


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("X", "y"), [(IRIS, SPECIES), (DIGITS, DIGIT)], ids=["iris", "digits"])
def test_softmax_is_multinomial_logistic_regression(X, y, intercept):
    model = fenchel.Classifier(loss="softmax", alpha=1e-2, fit_intercept=intercept, tol=1e-7)
    model.fit(X, y)
    peer = multinomial(X, y, 1e-2, fit_intercept=intercept).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(peer.predict_proba(X), abs=2e-3)
    chances = peer.predict_log_proba(X)[np.arange(len(y)), y]
    theirs = 1e-2 / 2 * (peer.coef_**2).sum() - chances.mean()
    assert model.lower_bound_ <= theirs
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize(("X", "y"), [(IRIS, SPECIES), (DIGITS, DIGIT)], ids=["iris", "digits"])
def test_the_multiclass_hinge_is_the_machine_of_crammer_and_singer(X, y):
    alpha = 1e-2
    model = fenchel.Classifier(loss="multiclass_hinge", alpha=alpha, fit_intercept=False, tol=1e-6)
    model.fit(X, y)
    peer = LinearSVC(
        multi_class="crammer_singer",
        C=1 / (alpha * len(y)),
        fit_intercept=False,
        tol=1e-6,
        max_iter=100_000,
    ).fit(X, y)
    assert model.coef_ == pytest.approx(peer.coef_, abs=2e-2 * np.abs(peer.coef_).max())
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


def test_softmax_of_two_classes_is_logistic_regression_of_half_the_strength():
    """|w1|^2 + |w0|^2 is least, for a difference w, at |w|^2 / 2."""
    y = SPECIES == 2
    two = fenchel.Classifier(loss="softmax", alpha=2e-2, tol=1e-8).fit(IRIS, y)
    one = fenchel.Classifier(loss="logistic", alpha=1e-2, tol=1e-8).fit(IRIS, y)
    assert two.coef_.shape == (1, 4) and two.intercept_.shape == (1,)
    assert two.result_.w.shape == (2, 4)
    assert two.coef_ == pytest.approx(one.coef_, abs=1e-2)
    assert two.predict_proba(IRIS) == pytest.approx(one.predict_proba(IRIS), abs=1e-3)
    assert two.decision_function(IRIS).shape == (150,)


# What the attributes and methods are.


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [NAMES, NAMES == "setosa"], ids=["three", "two"])
def test_one_problem_has_one_certificate_that_can_be_verified(loss, y):
    model = fenchel.Classifier(loss=loss, alpha=1e-2).fit(IRIS, y)
    assert model.gap_ == model.result_.gap <= model.tol
    problem = fenchel.problem(IRIS, y, loss=loss, strength=1e-2, intercept=True)
    fenchel.verify(model.result_, problem)
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert model.score(IRIS, y) > 0.9


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_are_what_the_coefficients_say(loss):
    model = fenchel.Classifier(loss=loss, alpha=1e-2).fit(IRIS, NAMES)
    scores = IRIS @ model.coef_.T + model.intercept_
    assert model.decision_function(IRIS) == pytest.approx(scores)
    assert model.predict(IRIS).tolist() == model.classes_[scores.argmax(axis=1)].tolist()


def test_probabilities_are_the_softmax_of_scores_however_large():
    model = fenchel.Classifier(loss="softmax", alpha=1e-2).fit(IRIS, NAMES)
    e = np.exp(model.decision_function(IRIS))
    assert model.predict_proba(IRIS) == pytest.approx(e / e.sum(axis=1, keepdims=True))
    far = model.predict_log_proba(1e6 * IRIS)
    assert np.isfinite(far).all()
    assert not hasattr(fenchel.Classifier(loss="multiclass_hinge"), "predict_proba")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_is_as_good_as_a_repetition(loss):
    weights = np.arange(150) % 3 + 1
    model = fenchel.Classifier(loss=loss, alpha=1e-2, tol=1e-7)
    weighted = clone(model).fit(IRIS, SPECIES, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(IRIS, weights, axis=0), np.repeat(SPECIES, weights))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_are_sample_weights(loss):
    factors = {"setosa": 1.0, "versicolor": 5.0, "virginica": 0.5}
    model = fenchel.Classifier(loss=loss, alpha=1e-2, tol=1e-6)
    by_class = clone(model).set_params(class_weight=factors).fit(IRIS, NAMES)
    by_row = clone(model).fit(IRIS, NAMES, sample_weight=[factors[name] for name in NAMES])
    assert np.array_equal(by_class.coef_, by_row.coef_)
    assert not np.allclose(by_class.coef_, clone(model).fit(IRIS, NAMES).coef_, atol=1e-2)


def test_costs_move_the_decisions():
    """With versicolor for virginica at ten times the cost, that mistake becomes rarer."""
    cost = np.array([[0, 1, 1], [1, 0, 10], [1, 1, 0]])
    plain = fenchel.Classifier(loss="multiclass_hinge", alpha=0.1).fit(IRIS, NAMES)
    dear = clone(plain).set_params(cost=cost).fit(IRIS, NAMES)
    function = clone(plain).set_params(
        cost=lambda z, y: 0 if z == y else 10 if (z, y) == ("versicolor", "virginica") else 1
    )
    assert np.array_equal(function.fit(IRIS, NAMES).coef_, dear.coef_)
    missed = [
        ((m.predict(IRIS) == "versicolor") & (NAMES == "virginica")).sum() for m in (plain, dear)
    ]
    assert missed[1] < missed[0]
    with pytest.raises(InvalidData, match="there are 2 classes"):
        dear.fit(IRIS, NAMES == "setosa")


@pytest.mark.parametrize("y", [SPECIES, SPECIES == 1], ids=["three", "two"])
def test_a_warm_start_takes_fewer_iterations(y):
    settings = {"alpha": 1e-3, "tol": 1e-6, "fit_intercept": False, "warm_start": True}
    model = fenchel.Classifier(loss="softmax", solver="lbfgs", **settings)
    cold = model.fit(IRIS, y).n_iter_
    assert model.fit(IRIS, y).n_iter_ < cold
    assert model.fit(IRIS[:, :3], y).coef_.shape[1] == 3


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_rows_give_the_same(loss):
    model = fenchel.Classifier(loss=loss, alpha=1e-2, tol=1e-6)
    dense = clone(model).fit(DIGITS, DIGIT)
    thin = clone(model).fit(sparse.csr_array(DIGITS), DIGIT)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=2e-6)


def test_pipelines_and_grids_take_them():
    pipeline = make_pipeline(StandardScaler(), fenchel.Classifier(loss="softmax"))
    grid = {"classifier__alpha": [1e-3, 1.0], "classifier__loss": LOSSES}
    search = GridSearchCV(pipeline, grid, cv=3).fit(IRIS, NAMES)
    assert search.best_params_["classifier__alpha"] == 1e-3
    assert search.best_score_ > 0.9


def test_a_fit_that_stops_short_says_so():
    model = fenchel.Classifier(loss="softmax", solver="lbfgs", max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"^Classifier stopped short after 2 iterations"):
        model.fit(DIGITS, DIGIT)


def test_a_multilabel_loss_names_its_estimator():
    with pytest.raises(TypeError, match="use MultilabelClassifier"):
        fenchel.Classifier(loss="multilabel_hinge").fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match="use Classifier"):
        fenchel.MultilabelClassifier(loss="softmax").fit(SCENES, LABELS)


# Sets of labels.


@pytest.fixture(scope="module")
def scene():
    return fenchel.MultilabelClassifier(alpha=1e-3).fit(SCENES, LABELS)


def test_scores_of_every_row_are_centred(scene):
    assert scene.coef_.sum(axis=0) == pytest.approx(0, abs=1e-9)
    assert (scene.decision_function(SCENES) + scene.threshold_).mean(axis=1) == pytest.approx(
        0, abs=1e-7
    )


@pytest.mark.slow
def test_it_learns(scene):
    always = np.tile(LABELS.mean(axis=0) > 0.5, (len(LABELS), 1))
    found = scene.predict(SCENES)
    assert found.shape == LABELS.shape and found.dtype == np.int64
    assert f1_score(LABELS, found, average="micro") > 0.6
    assert scene.score(SCENES, LABELS) == (found == LABELS).all(axis=1).mean()
    assert scene.score(SCENES, LABELS) > (always == LABELS).all(axis=1).mean()
    assert np.array_equal(found, scene.decision_function(SCENES) > 0)


def test_its_certificate_can_be_verified(scene):
    problem = fenchel.problem(
        SCENES, LABELS, loss="multilabel_hinge", strength=1e-3, intercept=True
    )
    fenchel.verify(scene.result_, problem)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [1, 8], ids=["ties", "distinct"])
def test_no_threshold_is_better(seed, weighted, digits):
    rng = np.random.default_rng(seed)
    y = (rng.random((30, 4)) < 0.3).astype(np.uint8)
    scores = (y + rng.normal(size=y.shape)).round(digits)
    s = rng.integers(0, 3, 30).astype(float) if weighted else None

    def f1(threshold):
        return f1_score(
            y.ravel(),
            scores.ravel() > threshold,
            sample_weight=None if s is None else np.repeat(s, 4),
        )

    candidates = np.append(np.unique(scores), scores.min() - 1)
    best = best_threshold(scores, y, s)
    assert f1(best) == pytest.approx(max(map(f1, candidates)))


def test_a_threshold_lies_between_scores_that_differ_by_more_than_round_off():
    y = np.array([[1, 0]], dtype=np.uint8)
    high = np.nextafter(1.0, 2.0)
    assert best_threshold(np.array([[high, 1.0]]), y, None) < 1.0
    assert best_threshold(np.array([[3.0, 1.0]]), y, None) == 2.0
    everything = best_threshold(np.array([[1.0, 1.0]]), y, None)
    assert everything < 1.0


@pytest.mark.slow
def test_indicators_and_collections_are_the_same_sets(scene):
    words = np.array(list("abcdef"))
    named = clone(scene).fit(SCENES, [words[row > 0].tolist() for row in LABELS])
    thin = clone(scene).fit(SCENES, sparse.csr_array(LABELS))
    assert named.classes_.tolist() == words.tolist()
    assert np.array_equal(named.coef_, scene.coef_)
    assert np.array_equal(thin.coef_, scene.coef_)
    sets = [words[row > 0].tolist() for row in LABELS]
    assert named.score(SCENES, sets) == scene.score(SCENES, sparse.csr_array(LABELS))
    with pytest.raises(InvalidData, match=r"y\[0\] has the label 'z'"):
        named.score(SCENES, [["z"], *sets[1:]])


def test_rows_of_weight_0_do_not_count(scene):
    model = fenchel.MultilabelClassifier(alpha=1e-2, tol=1e-7)
    kept = np.arange(len(SCENES)) % 3 > 0
    weighted = clone(model).fit(SCENES, LABELS, sample_weight=kept.astype(float))
    fewer = clone(model).fit(SCENES[kept], LABELS[kept])
    assert weighted.objective_ == pytest.approx(fewer.objective_, rel=1e-6)
    assert (weighted.predict(SCENES) == fewer.predict(SCENES)).mean() > 0.99


def test_a_grid_of_multilabel_models():
    pipeline = make_pipeline(StandardScaler(), fenchel.MultilabelClassifier(tol=1e-2))
    grid = {"multilabelclassifier__alpha": [1e-2, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="f1_micro").fit(SCENES, LABELS)
    assert search.best_params_["multilabelclassifier__alpha"] == 1.0


def test_a_warm_start_of_sets_needs_the_same_labels():
    model = fenchel.MultilabelClassifier(alpha=1e-2, warm_start=True, fit_intercept=False)
    found = model.fit(SCENES, LABELS).objective_
    assert model.fit(SCENES, LABELS).result_.history[0].objective == pytest.approx(found)
    assert model.fit(SCENES, LABELS[:, :3]).coef_.shape == (3, SCENES.shape[1])


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "requires y"),
        (LABELS[:-1], "rows"),
        (2 * LABELS, "0 and 1 only"),
        (LABELS[:, 0], "not a collection"),
        (LABELS[:, :1], "needs two"),
        (["word"] * len(LABELS), "not a collection"),
    ],
    ids=["none", "short", "twos", "flat", "single", "words"],
)
def test_other_targets_are_refused(y, said):
    with pytest.raises(InvalidData, match=said):
        fenchel.MultilabelClassifier().fit(SCENES, y)


# Files.


def test_a_function_of_costs_is_not_saved(tmp_path):
    model = fenchel.Classifier(loss="multiclass_hinge", cost=lambda z, y: float(z != y))
    with pytest.raises(InvalidData, match=r"cost is .* set_params\(cost"):
        fenchel.save(model.fit(IRIS, SPECIES), tmp_path / "m")


def test_two_classes_whose_coefficients_were_changed_are_not_saved(tmp_path):
    model = fenchel.Classifier(loss="softmax").fit(IRIS, SPECIES == 0)
    model.coef_ = 2 * model.coef_
    with pytest.raises(InvalidData, match="no longer what fit found"):
        fenchel.save(model, tmp_path / "m")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("y", [NAMES, SPECIES == 0], ids=["three", "two"])
def test_a_saved_result_can_be_verified(loss, y, tmp_path):
    model = fenchel.Classifier(loss=loss, alpha=1e-2).fit(IRIS, y)
    fenchel.save(model, tmp_path / "m")
    loaded = fenchel.load(tmp_path / "m")
    assert np.array_equal(loaded.result_.w, model.result_.w)
    assert np.array_equal(loaded.result_.intercept, model.result_.intercept)
    assert np.array_equal(loaded.coef_, model.coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.FenchelWarning)
        problem = fenchel.problem(IRIS, y, loss=loss, strength=1e-2, intercept=True)
        fenchel.verify(loaded.result_, problem)


def test_a_saved_multilabel_model_keeps_its_threshold(scene, tmp_path):
    fenchel.save(scene, tmp_path / "m")
    loaded = fenchel.load(tmp_path / "m")
    assert loaded.threshold_ == scene.threshold_
    assert np.array_equal(loaded.decision_function(SCENES), scene.decision_function(SCENES))


@pytest.mark.parametrize(
    "y",
    [[3, 1, 1, 3], [True, False, True, True], [0.0, -0.0, 1.0, 1.0], [2, 0, 1, 2], ["b", "a"] * 2],
)
def test_classes_are_the_distinct_labels_in_order(y):
    classes, codes = checked_classes(np.array(y), 4)
    expected = np.unique(y, return_inverse=True)
    assert classes.dtype == expected[0].dtype and np.array_equal(classes, expected[0])
    assert np.array_equal(codes, expected[1])
