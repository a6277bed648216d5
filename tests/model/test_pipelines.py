"""Whole pipelines in files: what is saved comes back, and no file does harm."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fenchel

_RNG = np.random.default_rng(3)
_N = 60
FRAME = pd.DataFrame(
    {
        "age": np.where(_RNG.random(_N) < 0.2, np.nan, _RNG.normal(40, 10, _N)),
        "income": _RNG.lognormal(3, 1, _N),
        "city": _RNG.choice(["Oslo", "São Paulo", None], _N),
        "plan": _RNG.choice(["a", "b"], _N),
    }
)
LABELS = np.where(FRAME["income"] > 20, "yes", "no")


def through(model, path):
    fenchel.save(model, path)
    return fenchel.load(path)


def prepared():
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    return ColumnTransformer(
        [("numbers", numbers, ["age", "income"]), ("words", words, make_column_selector("c|p"))]
    )


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (fenchel.Classifier(loss="logistic", alpha=1e-2), LABELS),
        (fenchel.Regressor(alpha=1e-2), FRAME["income"]),
    ],
    ids=["classifier", "regressor"],
)
def test_a_loaded_pipeline_predicts_the_same_to_the_last_bit(estimator, y, path):
    model = make_pipeline(prepared(), estimator).fit(FRAME, y)
    loaded = through(model, path)
    new = FRAME.assign(city="Bergen")
    for frame in (FRAME, new):
        assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    assert loaded[-1].gap_ == model[-1].gap_
