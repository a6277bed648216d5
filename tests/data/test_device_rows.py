"""Rows on a device of their own: the models of the same rows in memory, and what is copied when.

The device is one of array_api_strict, whose arrays cannot be read by NumPy.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from catalogue import data_for
from fragile import Fragile

import fenchel
from fenchel import losses
from fenchel.data import device_rows
from fenchel.data.device_rows import DeviceRows, checked_device
from fenchel.data.rows import DenseRows

xp = pytest.importorskip("array_api_strict")

DEVICE = xp.Device("device1")
X, Y = data_for(losses.Logistic(), n=300)
CLASSES = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
LABELS = {
    "hinge": Y,
    "logistic": Y,
    "quantile": X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * Y,
    "roc": Y,
    "softmax": CLASSES,
}


def away(values, device=DEVICE):
    return xp.asarray(np.array(values), device=device)


@pytest.fixture(autouse=True)
def blocks(monkeypatch):
    """Several blocks for few rows."""
    monkeypatch.setattr(device_rows, "NUMBERS_PER_DEVICE_BLOCK", 200)
    monkeypatch.setattr(device_rows, "LEAST_ROWS", 2)


def posed(X, loss="logistic", **settings):
    return fenchel.problem(X, LABELS[loss], loss=loss, **{"strength": 1e-3} | settings)


def first_rows(problem):
    return problem.risk.engine.shards[0].rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, bool])
def test_products_are_those_of_the_rows_in_memory(dtype):
    values = (10 * X).astype(dtype)
    found, here = checked_device(away(values)), DenseRows(values.astype(np.float64))
    assert len(found.parts) == 6 and found.shape == (300, 4)
    rng = np.random.default_rng(1)
    for width in ((), (3,)):
        w, a = rng.normal(size=(4, *width)), rng.normal(size=(300, *width))
        first, last = found.parts[0].first, found.parts[2].last
        part = DenseRows(here.values[first:last])
        z = np.concatenate([rows.scores(w) for rows in found.parts[:3]])
        np.testing.assert_allclose(z, part.scores(w), rtol=1e-12, atol=1e-12)
        for name in ("adjoint", "squares"):
            ours = sum(getattr(rows, name)(a[rows.first : rows.last]) for rows in found.parts[:3])
            np.testing.assert_allclose(ours, getattr(part, name)(a[:last]), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        found.parts[0].squares(None), DenseRows(here.values[: found.parts[0].last]).squares(None)
    )
    assert np.array_equal(found.matrix(), values)
    some = np.array([0, 7, 7], dtype=np.intp)
    assert np.array_equal(found.parts[1].take(some).matrix(), found.parts[1].matrix()[some])
    assert found.matrix().dtype == (np.float32 if dtype == np.float32 else np.float64)


def test_what_a_product_gives_may_be_written_to_and_float32_stays_so():
    rows = checked_device(away(X.astype(np.float32))).parts[0]
    assert rows.scores(np.ones(4)).flags.writeable
    with rows.opened() as here:
        assert here.values.dtype == np.float32


CASES = [
    ("lbfgs", "logistic", "l2"),
    ("lbfgs", "softmax", "l2"),
    ("bmrm", "hinge", "l2"),
    ("bmrm", "quantile", "l1"),
    ("bmrm", "roc", "l2"),
    ("ls-bmrm", "hinge", "l2"),
    ("ls-bmrm", "quantile", "l1"),
    ("owlqn", "logistic", "l1"),
    ("owlqn", "softmax", "l1"),
    ("sublbfgs", "hinge", "l2"),
    ("pdhg", "quantile", "l1"),
    ("pdhg", "hinge", "l2"),
    ("fista", "logistic", "l1"),
    ("newton-cg", "logistic", "l2"),
    ("newton", "logistic", "l2"),
    ("auto", "logistic", "l2"),
    ("auto", "hinge", "l1"),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("solver", "loss", "regularizer"), CASES)
def test_a_fit_is_that_of_the_rows_in_memory(solver, loss, regularizer, intercept, dtype):
    if loss == "roc" and intercept:
        pytest.skip("it has none")
    values, settings = X.astype(dtype), {"regularizer": regularizer, "intercept": intercept}
    there, here = posed(away(values), loss, **settings), posed(values, loss, **settings)
    gap = 1e-4
    one, other = (fenchel.minimize(each, solver, gap=gap) for each in (there, here))
    assert one.converged and other.converged
    assert one.objective == pytest.approx(other.objective, rel=2 * gap)
    assert one.lower_bound <= other.objective and other.lower_bound <= one.objective
    for problem in (there, here):  # the same rows, whoever holds them
        certificate = fenchel.verify(one, problem)
        assert certificate.lower_bound <= other.objective and certificate.gap <= gap


def test_threads_give_the_bits_of_one_thread():
    runs = [
        fenchel.minimize(posed(away(X), "hinge", intercept=True, engine=engine), "ls-bmrm")
        for engine in ("serial", "threads")
    ]
    assert np.array_equal(runs[0].w, runs[1].w)
    assert [record[:4] for record in runs[0].history] == [record[:4] for record in runs[1].history]


def test_solvers_that_need_rows_in_this_memory_are_refused():
    with pytest.raises(fenchel.Incompatible, match="it needs all rows in one memory"):
        fenchel.minimize(posed(away(X), regularizer="l1"), "column-descent")
    for loss in ("hinge", "softmax"):
        with pytest.raises(fenchel.Incompatible, match="which must not be on a device"):
            fenchel.minimize(posed(away(X), loss), "sdca")


# What is copied when.


def moved(link):
    return np.array([link.sent, link.fetched])


def test_an_evaluation_moves_vectors_and_no_rows():
    problem = posed(away(X))
    n, d, link = 300, 4, first_rows(problem).link
    n_blocks, before = problem.risk.engine.n_shards, moved(link)
    problem.risk.at(np.ones(d))
    # w to each block and the slopes of its rows; their scores and a gradient of each block back.
    assert n_blocks == 6
    assert (moved(link) - before == 8 * (n + n_blocks * d)).all()


BY_PRODUCTS = {
    "lbfgs": ("logistic", "l2"),
    "bmrm": ("hinge", "l2"),
    "ls-bmrm": ("hinge", "l2"),
    "owlqn": ("logistic", "l1"),
    "pdhg": ("quantile", "l1"),
    "fista": ("logistic", "l1"),
    "newton-cg": ("logistic", "l2"),
}


@pytest.mark.parametrize("solver", BY_PRODUCTS)
def test_a_fit_moves_vectors_for_its_passes_and_no_rows(solver):
    loss, regularizer = BY_PRODUCTS[solver]
    problem = posed(away(X), loss, regularizer=regularizer)
    rows = first_rows(problem)
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceRows, "_copied", lambda rows, _: opened.append(rows))
        before = moved(rows.link)
        result = fenchel.minimize(problem, solver, gap=1e-2, verify=False)
    vectors = 8 * (300 + 6 * 4)  # of a pass, both ways together
    assert result.converged and not opened
    assert (moved(rows.link) - before).sum() <= vectors * result.passes


PROVED = [("lbfgs", "logistic"), ("bmrm", "hinge"), ("lbfgs", "softmax"), ("bmrm", "roc")]


@pytest.mark.parametrize(("solver", "loss"), PROVED)
def test_a_proof_copies_each_block_once(solver, loss):
    problem = posed(away(X), loss)
    result, link = fenchel.minimize(problem, solver), first_rows(problem).link
    before = moved(link)
    fenchel.verify(result, problem)
    assert (moved(link) - before).tolist() == [0, X.nbytes]


@pytest.mark.parametrize(("solver", "loss"), PROVED)
def test_where_memory_is_short_a_proof_copies_them_for_each_of_its_products(
    solver, loss, monkeypatch
):
    problem = posed(away(X), loss)
    result, link = fenchel.minimize(problem, solver), first_rows(problem).link
    proved = fenchel.verify(result, problem)
    before = moved(link)
    monkeypatch.setattr("fenchel._system.memory.available", lambda: X.nbytes)
    again = fenchel.verify(result, problem)
    sent, fetched = moved(link) - before
    assert sent == 0 and fetched % X.nbytes == 0 and fetched > X.nbytes
    assert again.lower_bound == pytest.approx(proved.lower_bound, rel=1e-9)


def test_to_pose_a_problem_moves_a_number_for_each_block():
    rows = first_rows(posed(away(X)))
    assert moved(rows.link).tolist() == [0, 8 * 6]


def test_rows_of_a_device_do_not_leave_their_process():
    with pytest.raises(fenchel.Incompatible, match="use the engine 'threads'"):
        posed(away(X), engine=Fragile(2))


# What cannot be used.


def damaged(*changes, dtype=np.float64):
    values = X.astype(dtype)
    for row, column, value in changes:
        values[row, column] = value
    return values


BAD = {
    "nan": damaged((170, 2, np.nan), (290, 0, np.inf)),
    "inf": damaged((0, 3, -np.inf), dtype=np.float32),
    "large": damaged((299, 1, 1e120), (3, 0, -1e130)),
    "large and nan": damaged((1, 1, 1e120), (250, 0, np.nan)),
    "one dimension": X[:, 0],
    "three dimensions": X[np.newaxis],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "complex": X.astype(complex),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_with_rows_is_said_as_of_numpys(name):
    said = []
    for values in (BAD[name], away(BAD[name])):
        with pytest.raises(fenchel.InvalidData) as error:
            fenchel.problem(values, Y)
        said.append((str(error.value), error.value.row))
        with pytest.raises(ValueError):
            fenchel.Classifier().fit(values, Y)
    assert said[0] == said[1]


def test_a_device_without_float64_is_refused():
    try:
        device = xp.Device("no_float64")
    except ValueError:
        pytest.skip("this array_api_strict has no such device")
    values = xp.asarray(X.astype(np.float32), device=device)
    with pytest.raises(fenchel.InvalidData, match=r"no float64.*X\.cpu\(\).*jax_enable_x64"):
        fenchel.problem(values, Y)


def test_a_library_that_needs_array_api_compat_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    kind = type("Tensor", (), {"__module__": "torch", "__dlpack_device__": None})
    tensor = kind()
    tensor.device, tensor.shape = "cuda:0", (3, 2)
    with pytest.raises(ImportError, match=r'arrays of torch.*pip install "fenchel\[array-api\]"'):
        fenchel.problem(tensor, [1, -1, 1])


# What else rows have, and estimators.


def test_labels_weights_and_offsets_may_be_on_the_device():
    s, o = np.linspace(0.5, 2, 300), X[:, 1]
    runs = [
        fenchel.minimize(
            fenchel.problem(X_, y, loss="logistic", sample_weight=s_, offset=o_, strength=1e-3),
            "lbfgs",
        )
        for X_, y, s_, o_ in [(X, Y, s, o), (away(X), away(Y), away(s), away(o))]
    ]
    assert runs[0].objective == pytest.approx(runs[1].objective, rel=2e-4)


def test_groups_may_be_on_the_device_if_they_are_not_parted(monkeypatch):
    monkeypatch.setattr(device_rows, "NUMBERS_PER_DEVICE_BLOCK", 1 << 20)
    queries = np.repeat(np.arange(20), 15)
    settings = {"loss": "rank_hinge", "strength": 1e-2}
    one = fenchel.problem(X, Y, groups=queries, **settings)
    other = fenchel.problem(away(X), away(Y), groups=away(queries), **settings)
    assert fenchel.minimize(one, "bmrm").objective == pytest.approx(
        fenchel.minimize(other, "bmrm").objective, rel=2e-4
    )


INDICATOR = np.stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 1], axis=1).astype(np.int64)
ESTIMATORS = {
    "two classes": (fenchel.Classifier(loss="logistic"), (Y > 0).astype(np.int64)),
    "one against the rest": (fenchel.Classifier(loss="hinge", alpha=1e-2), CLASSES),
    "softmax": (fenchel.Classifier(loss="softmax", alpha=1e-2), CLASSES),
    "regressor": (fenchel.Regressor(loss="huber"), LABELS["quantile"]),
    "quantiles": (fenchel.QuantileRegressor(quantile=0.8), LABELS["quantile"]),
    "sets": (fenchel.MultilabelClassifier(alpha=1e-2), INDICATOR),
    "several targets": (fenchel.MultivariateRegressor(alpha=1e-2), X[:, :2] - X[:, 2:]),
    "kernel": (fenchel.Classifier(kernel="rbf", alpha=1e-2), (Y > 0).astype(np.int64)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_take_arrays_on_a_device(name):
    model, y = ESTIMATORS[name]
    here = model.fit(X, y)
    expected, objective = here.predict(X), here.objective_
    there = model.fit(away(X), away(y))
    assert there.gap_ <= 1e-4 and there.n_features_in_ == 4
    assert there.objective_ == pytest.approx(objective, rel=2e-4)
    found = there.predict(away(X))
    assert type(found) is np.ndarray and found.dtype == expected.dtype
    assert np.array_equal(found, there.predict(X)) or np.allclose(found, there.predict(X))
    assert np.mean(np.isclose(found, expected, atol=0.05)) > 0.97


def test_several_scores_are_predicted_on_the_device():
    model, device = fenchel.Classifier(loss="softmax", alpha=1e-2).fit(X, CLASSES), away(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeviceRows, "_copied", None)
        found = model.decision_function(device)
    np.testing.assert_allclose(found, model.decision_function(X), rtol=1e-12, atol=1e-12)


def test_cross_validation_leaves_the_folds_on_the_device():
    s = np.linspace(0.5, 2, 300)
    settings = {"alphas": [1e-1, 1e-3], "cv": 3, "loss": "logistic"}
    here = fenchel.ClassifierCV(**settings).fit(X, Y, sample_weight=s)
    there = fenchel.ClassifierCV(**settings).fit(away(X), away(Y), sample_weight=away(s))
    assert there.alpha_ == here.alpha_
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-2, atol=1e-3)


def test_estimators_want_as_many_columns_as_they_were_fitted_to():
    model = fenchel.Classifier().fit(away(X), Y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(away(X[:, :3]))


DISPATCH = """
import array_api_strict as xp, numpy as np, sklearn, fenchel
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = (X[:, 0] > 0).astype(int)
with sklearn.config_context(array_api_dispatch=True):
    for device in ("CPU_DEVICE", "device1"):
        A, b = (xp.asarray(each, device=xp.Device(device)) for each in (X, y))
        for model in (fenchel.Classifier(), fenchel.Regressor()):
            found = model.fit(A, b).predict(A)
            assert type(found) is np.ndarray and model.gap_ <= 1e-4, device
            assert np.allclose(found, model.predict(X))
print("done")
"""


@pytest.mark.slow
def test_estimators_take_them_where_scikit_learn_dispatches():
    """In a process of its own, because SciPy reads the variable when it is imported."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    script = [sys.executable, "-W", "error", "-c", DISPATCH]
    done = subprocess.run(script, env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


# Arrays of other libraries in this host's memory.


def test_arrays_of_the_host_go_to_the_kernels_without_a_copy():
    values = X.copy()
    problem = posed(xp.asarray(values, copy=False))
    rows = first_rows(problem)
    assert isinstance(rows, DenseRows) and np.shares_memory(rows.values, values)
    assert fenchel.minimize(problem).solver == fenchel.minimize(posed(X)).solver


def test_arrays_of_the_host_are_labels_and_go_to_estimators():
    model = fenchel.Classifier().fit(xp.asarray(X), xp.asarray(Y))
    assert np.array_equal(model.coef_, fenchel.Classifier().fit(X, Y).coef_)
    assert np.array_equal(model.predict(xp.asarray(X)), model.predict(X))


def test_arrays_of_jax():
    """On its CPU, which is none of its devices: product by product."""
    jax = pytest.importorskip("jax")
    assert isinstance(first_rows(posed(jax.numpy.asarray(X))), DenseRows)
    before = jax.config.jax_enable_x64
    try:
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(fenchel.InvalidData, match="which has no float64"):
            checked_device(jax.numpy.asarray(X.astype(np.float32)))
        jax.config.update("jax_enable_x64", True)
        found = checked_device(jax.numpy.asarray(X))
        rows, w = found.parts[1], np.linspace(-1, 1, 8).reshape(4, 2)
        part, some = X[rows.first : rows.last], np.array([0, 3])
        np.testing.assert_allclose(found.scores(w), X @ w, atol=1e-12)
        np.testing.assert_allclose(rows.adjoint(part[:, 0].copy()), part.T @ part[:, 0])
        np.testing.assert_allclose(rows.squares(None), np.sum(part**2, axis=0))
        assert np.array_equal(rows.take(some).matrix(), part[some])
        assert rows.scores(w).flags.writeable and np.array_equal(found.matrix(), X)
    finally:
        jax.config.update("jax_enable_x64", before)
