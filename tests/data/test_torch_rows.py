"""Rows of PyTorch, whose memory is taken for that of a device: no accelerator is needed.

Everything goes the way of a GPU's rows, with PyTorch's products; that NumPy could read them is not
used. `make devices` installs PyTorch and runs these tests.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from catalogue import data_for

import fenchel
from fenchel import losses
from fenchel.data import arrays, device_rows
from fenchel.data.device_rows import DeviceRows
from fenchel.data.rows import DenseRows

torch = pytest.importorskip("torch")

X, Y = data_for(losses.Logistic(), n=300)
CLASSES = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
LABELS = {"quantile": X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * Y, "softmax": CLASSES}


@pytest.fixture
def away(monkeypatch):
    """Makes tensors, all of which are taken for those of a device, in several blocks."""
    for module in ("posing", "estimators.base", "estimators.validation"):
        monkeypatch.setattr(f"fenchel.{module}.is_away", arrays.is_array)
    monkeypatch.setattr(device_rows, "NUMBERS_PER_DEVICE_BLOCK", 200)
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 2)
    return torch.tensor


def posed(X, loss, **settings):
    return fenchel.problem(X, LABELS.get(loss, Y), loss=loss, **{"strength": 1e-3} | settings)


def test_tensors_of_this_host_are_read_without_a_copy():
    tensor = torch.tensor(X)
    rows = posed(tensor, "logistic").risk.engine.shards[0].rows
    assert isinstance(rows, DenseRows) and np.shares_memory(rows.values, tensor.numpy())
    assert np.array_equal(arrays.to_host(torch.tensor(X, requires_grad=True)), X)


CASES = [
    ("lbfgs", "logistic", "l2"),
    ("lbfgs", "softmax", "l2"),
    ("ls-bmrm", "hinge", "l2"),
    ("bmrm", "roc", "l2"),
    ("owlqn", "logistic", "l1"),
    ("sublbfgs", "hinge", "l2"),
    ("pdhg", "quantile", "l1"),
    ("newton", "logistic", "l2"),
    ("auto", "hinge", "l1"),
]


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize(("solver", "loss", "regularizer"), CASES)
def test_a_fit_is_that_of_the_rows_in_memory(solver, loss, regularizer, kind, away):
    values = X.astype(kind)
    settings = {"regularizer": regularizer, "intercept": loss != "roc"}
    there, here = posed(away(values), loss, **settings), posed(values, loss, **settings)
    assert all(isinstance(shard.rows, DeviceRows) for shard in there.risk.engine.shards)
    one, other = fenchel.minimize(there, solver), fenchel.minimize(here, solver)
    assert one.converged and one.lower_bound <= other.objective
    assert one.objective == pytest.approx(other.objective, rel=2e-4)
    for problem in (there, here):  # the same rows, whoever holds them
        assert fenchel.verify(one, problem).gap <= 1e-4


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool"])
def test_whole_numbers_are_taken_as_they_are(kind, away):
    values = (3 * X).astype(kind)
    one, other = posed(away(values), "logistic"), posed(values, "logistic")
    assert fenchel.minimize(one, "lbfgs").objective == pytest.approx(
        fenchel.minimize(other, "lbfgs").objective, rel=2e-4
    )


def test_an_evaluation_moves_vectors_and_no_rows(away):
    problem = posed(away(X), "logistic")
    link, n_blocks = problem.risk.engine.shards[0].rows.link, problem.risk.engine.n_shards
    before = np.array([link.sent, link.fetched])
    problem.risk.at(np.ones(4))
    moved = np.array([link.sent, link.fetched]) - before
    assert n_blocks == 6 and (moved == 8 * (300 + n_blocks * 4)).all()


def test_a_tensor_that_is_trained_itself_is_only_read(away):
    tensor = away(X, requires_grad=True)
    result = fenchel.minimize(posed(tensor, "logistic"), "lbfgs")
    assert result.converged and tensor.grad is None


def test_what_is_wrong_is_said_as_of_numpys(away):
    for place, value in [((170, 2), np.nan), ((299, 1), 1e120)]:
        values, said = X.copy(), []
        values[place] = value
        for each in (values, away(values)):
            with pytest.raises(fenchel.InvalidData) as error:
                fenchel.problem(each, Y)
            said.append(str(error.value))
        assert said[0] == said[1]


def test_estimators_fit_predict_and_cross_validate(away):
    there, here = (
        fenchel.ClassifierCV(loss="logistic", alphas=[1e-1, 1e-3], cv=3).fit(*pair)
        for pair in [(away(X), away(Y)), (X, Y)]
    )
    assert there.alpha_ == here.alpha_
    assert np.array_equal(there.predict(away(X)), there.predict(X))
    softmax = fenchel.Classifier(loss="softmax", alpha=1e-2).fit(away(X), CLASSES)
    assert np.allclose(softmax.decision_function(away(X)), softmax.decision_function(X))


DISPATCH = """
import numpy as np, sklearn, torch, fenchel
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
A, b = torch.tensor(X), torch.tensor((X[:, 0] > 0).astype(int))
with sklearn.config_context(array_api_dispatch=True):
    for model in (fenchel.Classifier(), fenchel.Classifier(loss="softmax"), fenchel.Regressor()):
        found = model.fit(A, b).predict(A)
        assert type(found) is np.ndarray and model.gap_ <= 1e-4 and model.score(A, b) > 0.5
        assert np.allclose(found, model.predict(X))
print("done")
"""


def test_estimators_take_tensors_where_scikit_learn_dispatches():
    """In a process of its own, because SciPy reads the variable when it is imported."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    script = [sys.executable, "-W", "error", "-c", DISPATCH]
    done = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_rows_on_a_gpu():
    problem = posed(torch.tensor(X).float().cuda(), "hinge", intercept=True)
    result = fenchel.minimize(problem)
    assert isinstance(problem.risk.engine.shards[0].rows, DeviceRows) and result.converged
    assert fenchel.verify(result, problem).gap <= 1e-4
