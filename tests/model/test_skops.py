"""skops keeps the estimators, too: every type that it asks about is one of the library's."""

import numpy as np
import pytest
import skops.io
from models import UNFITTED, X, answers
from prepared import ESTIMATORS
from prepared import answers as said

import fenchel


def through(model):
    content = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith("fenchel.") for name in types)
    return skops.io.loads(content, trusted=types)


@pytest.mark.parametrize("name", UNFITTED)
def test_skops_gives_an_estimator_back(name, models):
    model = models[name]
    loaded = through(model)
    assert repr(loaded) == repr(model)
    ours, theirs = answers(model), answers(loaded)
    assert {method: answer.tolist() for method, answer in ours.items()} == {
        method: answer.tolist() for method, answer in theirs.items()
    }
    assert repr(loaded.result_) == repr(model.result_)


def test_skops_keeps_the_witness():
    problem = fenchel.problem(X, np.where(X[:, 0] > 0.5, 1, -1), loss="hinge", strength=1e-2)
    result = fenchel.minimize(problem)
    again = through(result)
    assert again.status is result.status
    assert fenchel.verify(again, problem) == fenchel.verify(result, problem)


def test_skops_gives_a_pipeline_back():
    model, X, y = ESTIMATORS["text"]
    assert said(through(model.fit(X, y)), X) == said(model, X)
