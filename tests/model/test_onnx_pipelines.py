"""Pipelines as ONNX graphs, run by onnxruntime: the same predictions, preprocessing included."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from prepared import FRAME, HOLES, NUMBERS, POSITIVE, REAL, TEXTS, THREE, TWO
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import fenchel
from fenchel import Classifier, Regressor, to_onnx

TABLE = FRAME.assign(text=TEXTS)
NEW = TABLE.assign(plan="never seen", city=TABLE["city"].where(TABLE["kids"] > 9))  # all missing


def run(graph, X):
    """What the graph says of rows: a frame's columns one by one, text with "nan" for nothing."""
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {each.name: _fed(each, X) for each in session.get_inputs()})


def _fed(tensor, X):
    column = X[[tensor.name]] if isinstance(X, pd.DataFrame) else X
    if tensor.type == "tensor(string)":
        if isinstance(column, pd.DataFrame):
            column = column.astype(object).where(column.notna(), "nan").to_numpy()
        return np.array(column, dtype=object).reshape(len(X), -1)
    types = {"tensor(double)": "float64", "tensor(float)": "float32", "tensor(int64)": "int64"}
    return np.asarray(column).astype(types[tensor.type])


def _logistic():
    return Classifier(loss="logistic", alpha=1e-2)


def _table(*steps):
    return ColumnTransformer([(str(k), *step) for k, step in enumerate(steps)])


_BINS = KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf")
NUMERIC = {
    "standard": (StandardScaler(), NUMBERS),
    "robust": (RobustScaler(), NUMBERS),
    "normalizer": (Normalizer(), NUMBERS),
    "imputer": (SimpleImputer(strategy="median"), HOLES),
    "imputer-indicator": (SimpleImputer(add_indicator=True), HOLES),
    "imputer-zeros": (SimpleImputer(missing_values=1, strategy="constant", fill_value=7), POSITIVE),
    "bins": (_BINS, NUMBERS),
    "bins-ordinal": (KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), NUMBERS),
    "polynomial": (PolynomialFeatures(3, include_bias=False), NUMBERS),
    "interactions": (PolynomialFeatures((2, 3), interaction_only=True), NUMBERS),
    "log1p": (FunctionTransformer(np.log1p), POSITIVE),
    "sqrt": (make_pipeline(FunctionTransformer(np.sqrt), FunctionTransformer(np.square)), POSITIVE),
    "pca": (PCA(2), NUMBERS),
    "best": (SelectKBest(k=2), NUMBERS),
    "union": (make_union(StandardScaler(), PCA(2)), NUMBERS),
    "one-hot-numbers": (OneHotEncoder(handle_unknown="ignore"), np.round(NUMBERS)),
}
COLUMNS = {
    "one-hot": _table((OneHotEncoder(handle_unknown="ignore"), ["plan", "city"])),
    "mixed": _table(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "income"]),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="none"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            ["city", "plan"],
        ),
        (_BINS, ["income"]),
        ("passthrough", ["kids"]),
    ),
    "most-frequent": _table(
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
            ),
            ["city"],
        )
    ),
    "rare": _table(
        (
            OneHotEncoder(
                min_frequency=0.2, handle_unknown="infrequent_if_exist", drop=["Oslo", "a"]
            ),
            ["city", "plan"],
        )
    ),
    "whole": _table((OneHotEncoder(drop="if_binary"), ["kids", "owner"])),
    "ordinal": _table(
        (
            OrdinalEncoder(
                handle_unknown="use_encoded_value", unknown_value=9, encoded_missing_value=-1
            ),
            ["city", "plan"],
        ),
        (MinMaxScaler(), ["income"]),
    ),
    "target": _table((TargetEncoder(), ["city", "plan"]), ("passthrough", ["income"])),
    "text": _table((TfidfVectorizer(), "text"), (StandardScaler(), ["income"])),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_are_prepared_as_scikit_learn_does(name, dtype):
    step, X = NUMERIC[name]
    X = X.astype(dtype).astype(np.float64)  # the same numbers for both
    model = make_pipeline(step, Regressor(alpha=1e-2)).fit(X, REAL if name != "best" else TWO)
    (found,) = run(to_onnx(model, dtype=dtype), X)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=tolerance, atol=tolerance)
    assert found.dtype == dtype


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", COLUMNS)
def test_tables_are_prepared_as_scikit_learn_does(name):
    model = make_pipeline(COLUMNS[name], _logistic()).fit(TABLE, THREE)
    graph = to_onnx(model)
    tolerance = 1e-12 if name != "text" else 1e-5
    for frame in (TABLE, NEW) if name != "text" else (TABLE,):
        label, probabilities = run(graph, frame)
        assert label.tolist() == model.predict(frame).tolist()
        np.testing.assert_allclose(probabilities, model.predict_proba(frame), atol=tolerance)


@pytest.mark.parametrize("vectorizer", [CountVectorizer(ngram_range=(1, 2)), TfidfVectorizer()])
def test_words_are_found_as_scikit_learn_does(vectorizer):
    model = make_pipeline(vectorizer, _logistic()).fit(TEXTS, THREE)
    label, probabilities = run(to_onnx(model), TEXTS)
    assert label.tolist() == model.predict(TEXTS).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(TEXTS), atol=1e-5)


def test_a_graph_has_an_input_for_each_column_that_is_used():
    graph = to_onnx(make_pipeline(COLUMNS["mixed"], _logistic()).fit(TABLE, THREE))
    assert [each.name for each in graph.graph.input] == ["age", "income", "city", "plan", "kids"]


@pytest.mark.parametrize(
    ("steps", "X", "words"),
    [
        (SplineTransformer(), NUMBERS, "skl2onnx cannot convert it in float64"),
        (PowerTransformer(), NUMBERS, "dtype='float32'"),
        (FunctionTransformer(np.arcsinh), NUMBERS, "there is no operator for <ufunc 'arcsinh'>"),
        (CountVectorizer(token_pattern=r"\S+"), TEXTS, "the default token_pattern"),
        (CountVectorizer(strip_accents="unicode"), TEXTS, "keeps accents"),
        (
            _table((OneHotEncoder(), ["kids"]), ("passthrough", ["kids"])),
            TABLE,
            "'kids' is used as whole by one step and as number by another",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_onnx_cannot_say_is_refused(steps, X, words):
    model = make_pipeline(steps, Regressor(alpha=1e-2)).fit(X, REAL)
    with pytest.raises(fenchel.Incompatible, match=words):
        to_onnx(model)


def test_words_in_float64_are_refused():
    model = make_pipeline(TfidfVectorizer(), Regressor(alpha=1e-2)).fit(TEXTS, REAL)
    with pytest.raises(fenchel.Incompatible, match="counts words in float32 only"):
        to_onnx(model, dtype="float64")
