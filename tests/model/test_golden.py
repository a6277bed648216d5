"""Model files of every format that was ever released load, and say what they said then."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fenchel
from fenchel._system.container import FORMAT
from fenchel.estimators.saveable import SAVEABLE
from fenchel.model.file import header

FOLDER = Path(__file__).parent / "golden"
EXPECTED = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
FILES = sorted(FOLDER.glob("*.fenchel"))
PIPELINES = sorted(FOLDER.with_name("golden_pipelines").glob("*.fenchel"))


def expected(path):
    number, _, name = path.stem.partition("-")
    return np.array(EXPECTED[number]["X"]), EXPECTED[number]["models"][name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_loads_and_says_what_it_said(path):
    X, facts = expected(path)
    model = fenchel.load(path)
    model.__dict__.pop("feature_names_in_", None)  # else scikit-learn warns of an array without
    assert type(model).__name__ == facts["type"]
    parameters = {name: repr(getattr(model, name)) for name in facts["parameters"]}
    assert parameters == facts["parameters"]
    assert model.coef_.tolist() == facts["coef"]
    assert {name: getattr(model, name) for name in facts["attributes"]} == facts["attributes"]
    for method, answer in facts["answers"].items():
        found = getattr(model, method)(X)
        if np.array(answer).dtype.kind == "f":  # sums may be taken in another order elsewhere
            np.testing.assert_allclose(found, answer, rtol=1e-12, atol=1e-12)
        else:
            assert found.tolist() == answer


@pytest.mark.filterwarnings("ignore:it was saved with scikit-learn")
@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_a_golden_pipeline_loads_and_says_what_it_said(path):
    facts = json.loads(path.with_suffix(".json").read_text())
    frame = pd.DataFrame(facts["X"])
    found = fenchel.load(path).predict_proba(frame)
    np.testing.assert_allclose(found, facts["probabilities"], rtol=1e-12)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_header_of_a_golden_file_can_be_read(path):
    _, facts = expected(path)
    assert header(path).estimator == facts["type"]


def test_every_format_has_a_golden_file_of_every_estimator():
    for number in range(1, FORMAT + 1):
        models = EXPECTED[str(number)]["models"]
        young = {  # than the files
            "MultilabelClassifier",
            "HierarchicalClassifier",
            "MultivariateRegressor",
            "MultiQuantileRegressor",
            "MetricClassifier",
            "OrdinalRegressor",
            "Ranker",
            "Reranker",
            "SequenceLabeler",
            "GammaRegressor",
            "TweedieRegressor",
        }
        known = SAVEABLE.keys() - young
        assert {facts["type"] for facts in models.values()} == known
        assert {f"{number}-{name}" for name in models} <= {path.stem for path in FILES}


def test_names_and_index_base_are_in_golden_files_too():
    assert header(FOLDER / "1-novelty.fenchel").feature_names[0] == "column 0"
    assert header(FOLDER / "1-poisson.fenchel").index_base == 1
