"""ONNX graphs, run by onnxruntime, against the estimators they were made from."""

import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import skl2onnx
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(80, 5)))
SCORES = X @ [1.0, -2.0, 0.5, 0.0, 1.5]
TWO = SCORES > np.median(SCORES)
THREE = np.digitize(SCORES, np.quantile(SCORES, [0.3, 0.6]))
TOLERANCE = {"float64": 1e-13, "float32": 2e-5}
DTYPES = sorted(TOLERANCE)

CLASSIFIERS = [
    (loss, labels)
    for loss in ("logistic", "hinge", "softmax", "multiclass_hinge")
    for labels in (
        np.where(TWO, "yes", "no"),
        np.array(["low", "mid", "high"], dtype=object)[THREE],
        TWO,
        np.where(TWO, 7, -3),
        THREE.astype(np.int32),
        THREE.astype(float),
    )
]
REGRESSORS = [
    (fenchel.Regressor(), SCORES),
    (fenchel.Regressor(loss="absolute_error", penalty="l1", alpha=0.01), SCORES),
    (fenchel.QuantileRegressor(quantile=0.9, fit_intercept=False), SCORES),
    (fenchel.PoissonRegressor(), RNG.poisson(np.exp(0.3 * SCORES))),
    (fenchel.GammaRegressor(), np.exp(0.3 * SCORES)),
    (fenchel.TweedieRegressor(), RNG.poisson(np.exp(0.3 * SCORES))),
]


def run(graph, rows, name="X"):
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {name: rows}), strict=True))


def leads(scores):
    """By how much the best score leads; a hinge may tie two, and round-off then decides."""
    if scores.ndim == 1:
        return np.abs(scores)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2]


def piped(estimator):
    return make_pipeline(StandardScaler(), estimator)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrapped", [lambda estimator: estimator, piped])
@pytest.mark.parametrize(("loss", "y"), CLASSIFIERS)
def test_classifiers_come_through(loss, y, wrapped, dtype):
    model = wrapped(fenchel.Classifier(loss=loss, alpha=1e-2)).fit(X, y)
    found = run(fenchel.to_onnx(model, dtype=dtype), X.astype(dtype))
    clear = leads(model.decision_function(X)) > TOLERANCE[dtype]
    assert clear.mean() > 0.8
    assert found["label"][clear].tolist() == model.predict(X)[clear].tolist()
    if loss in ("logistic", "softmax"):
        assert list(found) == ["label", "probabilities"]
        expected = model.predict_proba(X)
        columns = found["probabilities"]
    else:
        assert list(found) == ["label", "scores"]
        expected = model.decision_function(X)
        columns = found["scores"]
        assert columns.shape == (len(X), len(model.classes_))
        if expected.ndim == 1:
            expected = np.stack([-expected, expected], axis=1)
    assert columns.dtype == dtype
    np.testing.assert_allclose(columns, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrapped", [lambda estimator: estimator, piped])
@pytest.mark.parametrize(("estimator", "y"), REGRESSORS, ids=str)
def test_regressors_come_through(estimator, y, wrapped, dtype):
    model = wrapped(estimator).fit(X, y)
    found = run(fenchel.to_onnx(model, dtype=dtype), X.astype(dtype))
    assert list(found) == ["prediction"]
    np.testing.assert_allclose(
        found["prediction"][:, 0], model.predict(X), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrapped", [lambda estimator: estimator, piped])
@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.arange(3)])
def test_sets_of_labels_come_through(names, wrapped, dtype):
    sets = [[names[k], names[2]] if k < 2 else [names[0]] for k in THREE]
    model = wrapped(fenchel.MultilabelClassifier(alpha=1e-2)).fit(X, sets)
    found = run(fenchel.to_onnx(model, dtype=dtype), X.astype(dtype))
    expected = model.decision_function(X)
    assert list(found) == ["label", "scores"]
    np.testing.assert_allclose(
        found["scores"], expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
    )
    clear = np.abs(expected) > TOLERANCE[dtype]
    assert clear.mean() > 0.8
    assert found["label"].dtype == np.int64
    assert (found["label"] == model.predict(X))[clear].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", ["hierarchical_hinge", "hierarchical_softmax"])
@pytest.mark.parametrize("n_leaves", [2, 3])
def test_leaves_of_a_taxonomy_come_through(n_leaves, loss, dtype):
    names, tree = np.array(["red", "blue", "yellow"]), {"warm": ["red", "yellow"], "blue": None}
    if n_leaves == 2:
        names, tree = np.array(["red", "blue", "red"]), {"warm": ["red"], "blue": None}
    model = fenchel.HierarchicalClassifier(taxonomy=tree, loss=loss, alpha=1e-2)
    model.fit(X, names[THREE])
    found = run(fenchel.to_onnx(model, dtype=dtype), X.astype(dtype))
    soft = loss == "hierarchical_softmax"
    assert list(found) == ["label", "probabilities" if soft else "scores"]
    expected = model.predict_proba(X) if soft else leaf_scores(model)
    np.testing.assert_allclose(list(found.values())[1], expected, atol=2 * TOLERANCE[dtype])
    clear = leads(leaf_scores(model)) > TOLERANCE[dtype]
    assert found["label"][clear].tolist() == model.predict(X)[clear].tolist()


def leaf_scores(model):
    """A column for each leaf, of two as well."""
    scores = model.decision_function(X)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrapped", [lambda estimator: estimator, piped])
def test_several_targets_come_through(wrapped, dtype):
    model = wrapped(fenchel.MultivariateRegressor()).fit(X, np.stack([SCORES, X[:, 0]], axis=1))
    found = run(fenchel.to_onnx(model, dtype=dtype), X.astype(dtype))
    assert list(found) == ["prediction"]
    np.testing.assert_allclose(
        found["prediction"], model.predict(X), atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_novelty_detectors_come_through(dtype):
    model = fenchel.NoveltyDetector(rho=0.7, alpha=0.2).fit(X)
    rows = X * np.linspace(0, 2, len(X))[:, np.newaxis]
    found = run(fenchel.to_onnx(model, dtype=dtype), rows.astype(dtype))
    assert {-1, 1} == set(model.predict(rows))
    assert found["label"].tolist() == model.predict(rows).tolist()
    expected = model.decision_function(rows)
    np.testing.assert_allclose(found["scores"], expected, atol=TOLERANCE[dtype])


def test_rows_that_no_class_claims_have_probabilities_all_the_same():
    model = fenchel.Classifier(loss="logistic").fit(X, THREE)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.array([-800.0, -801.0, -900.0])
    found = run(fenchel.to_onnx(model), X[:1])["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X[:1]), rtol=1e-12)
    assert found.sum() == pytest.approx(1)


def test_skl2onnx_converts_pipelines_as_it_does_with_its_own():
    model = piped(fenchel.Classifier(loss="logistic")).fit(X, np.where(TWO, "yes", "no"))
    types = [("rows", FloatTensorType([None, X.shape[1]]))]
    found = run(skl2onnx.convert_sklearn(model, initial_types=types), X.astype("f4"), "rows")
    assert found["output_label"].tolist() == model.predict(X).tolist()
    chances = found["output_probability"]  # a list of dictionaries: skl2onnx's default
    assert [line["yes"] for line in chances] == pytest.approx(
        model.predict_proba(X)[:, 1], abs=1e-5
    )


def test_skl2onnxs_options_for_classifiers_are_honoured():
    model = fenchel.Classifier(loss="logistic").fit(X, np.where(TWO, "yes", "no"))
    types = [("X", DoubleTensorType([None, X.shape[1]]))]
    graph = skl2onnx.convert_sklearn(
        model, initial_types=types, options={id(model): {"nocl": True, "zipmap": False}}
    )
    assert run(graph, X)["label"].tolist() == (model.predict(X) == "yes").astype(int).tolist()


def test_whole_numbers_may_be_the_input():
    model = fenchel.Regressor().fit(X, SCORES)
    types = [("X", Int64TensorType([None, X.shape[1]]))]
    rows = RNG.integers(-3, 3, size=(10, X.shape[1]))
    found = run(skl2onnx.convert_sklearn(model, initial_types=types), rows)
    np.testing.assert_allclose(found["variable"][:, 0], model.predict(rows), atol=1e-5)


def test_a_grid_of_one_row_and_of_none_can_be_predicted():
    graph = fenchel.to_onnx(fenchel.Classifier(loss="logistic").fit(X, THREE))
    for rows in (X[:1], X[:0]):
        found = run(graph, rows)
        assert found["label"].shape == (len(rows),)
        assert found["probabilities"].shape == (len(rows), 3)


def test_what_cannot_be_converted_is_refused_before_any_work():
    with pytest.raises(NotFittedError):
        fenchel.to_onnx(fenchel.Classifier())
    with pytest.raises(fenchel.Incompatible, match=r"got LogisticRegression.*skl2onnx"):
        fenchel.to_onnx(LogisticRegression())
    with pytest.raises(fenchel.InvalidData, match="dtype must be"):
        fenchel.to_onnx(fenchel.Regressor().fit(X, SCORES), dtype="int8")


def test_without_the_packages_the_error_says_what_to_install():
    script = """
import sys
sys.modules["skl2onnx"] = None
import fenchel
try:
    fenchel.to_onnx
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert 'pip install "fenchel[onnx]"' in done.stdout
