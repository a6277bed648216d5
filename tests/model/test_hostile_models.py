"""Files that lie: consistent in themselves, every digest right. FAULTS #37."""

import copy
import json
import os
import pickle

import numpy as np
import pytest
from forged import forge, taken_apart
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from models import UNFITTED, X, answers

import fenchel
from fenchel.model.file import header

NAMES = list(UNFITTED)


@pytest.fixture(scope="module")
def parts(models, tmp_path_factory):
    """Headers and arrays of all models, to be altered."""
    path = tmp_path_factory.mktemp("parts") / "model"
    found = {}
    for name, model in models.items():
        fenchel.save(model, path)
        found[name] = taken_apart(path.read_bytes())
    return found


def _set(*place, to):
    """Sets header[place...] (or deletes it)."""

    def change(header, arrays):
        *outer, last = place
        for key in outer:
            header = header[key]
        if to is None:
            del header[last]
        else:
            header[last] = to

    return change


def _array(name, change):
    """Replaces an array by a function of it, or removes it."""

    def change_array(header, arrays):
        arrays[name] = change(arrays.get(name))
        if arrays[name] is None:
            del arrays[name]

    return change_array


def _instance(**settings):
    return {"type": "instance", "kind": "loss", "name": "hinge", "settings": {}, **settings}


def _vector(name, length):
    return {"type": "vector", "array": name, "length": length}


def _groups(*groups):
    return {"type": "names", "groups": list(groups)}


def _two_names(header, arrays):
    header["named_features"] = True
    arrays["feature_names"] = np.frombuffer(b'["a", "b"]', np.uint8)


HOSTILE = [
    ("regressor", _set("offset_column", to="hours"), "column of offsets, which no Regressor takes"),
    ("regressor", _set("exposure_column", to=["hours"]), "exposure_column"),
    ("regressor", _set("parameters", "lower", to=_vector("lower", 6)), "array 'lower' is missing"),
    ("regressor", _set("parameters", "lower", to="x"), "lower must be a number"),
    ("regressor", _set("parameters", "feature_groups", to=_groups(["a"])), "'group_l1' only"),
    ("regressor", _two_names, "names 2 features, but has 6"),
    ("classifier-two", _set("estimator", to="os.system"), "'os.system'"),
    ("classifier-two", _set("estimator", to="LogisticRegression"), "unknown to this one"),
    ("classifier-two", _set("estimator", to="Regressor"), "does not know"),
    ("classifier-two", _set("label_type", to=None), "label_type"),
    ("regressor", _set("label_type", to="int64"), "labels"),
    ("classifier-two", _set("estimator", to=["Classifier"]), "Expected `str`"),
    ("classifier-two", _set("parameters", "loss", to="os.system"), "unknown loss 'os.system'"),
    ("classifier-two", _set("parameters", "loss", to="squared_error"), "needs a loss of"),
    ("classifier-two", _set("parameters", "loss", to=_instance(name="Hinge")), "unknown loss"),
    ("classifier-two", _set("parameters", "loss", to=_instance(kind="code")), "Invalid enum"),
    ("classifier-two", _set("parameters", "loss", to=_instance(type="pickle")), "Invalid value"),
    ("classifier-two", _set("parameters", "loss", to=_instance(settings={"mu": 1})), "mu"),
    (
        "classifier-two",
        _set("parameters", "loss", to=_instance(name="smoothed_hinge", settings={"mu": -1.0})),
        "mu must be > 0",
    ),
    (
        "classifier-two",
        _set("parameters", "loss", to=_instance(kind="solver", name="bmrm")),
        "loss",
    ),
    ("classifier-two", _set("parameters", "penalty", to="l3"), "unknown penalty"),
    ("classifier-two", _set("parameters", "solver", to="subprocess"), "unknown solver"),
    ("classifier-two", _set("parameters", "alpha", to=-1.0), "alpha must be"),
    ("classifier-two", _set("parameters", "alpha", to="1"), "alpha must be"),
    (
        "classifier-two",
        _set("parameters", "alpha", to=2**64),
        "<= 9223372036854775807",
    ),  # found by fuzzing
    ("classifier-two", _set("parameters", "tol", to=0.0), "tol must be"),
    ("classifier-two", _set("parameters", "max_iter", to=0), "max_iter must be"),
    ("classifier-two", _set("parameters", "n_jobs", to=0), "n_jobs must be"),
    ("classifier-two", _set("parameters", "fit_intercept", to="yes"), "fit_intercept must be"),
    ("classifier-two", _set("parameters", "warm_start", to=3), "warm_start must be"),
    ("classifier-two", _set("parameters", "class_weight", to="heavy"), "class_weight must be"),
    ("classifier-two", _set("parameters", "callback", to="print"), "does not know"),
    ("classifier-two", _set("parameters", "checkpoint", to="/etc/passwd"), "does not know"),
    ("classifier-two", _set("parameters", "__class__", to="x"), "does not know"),
    ("classifier-two", _set("parameters", "coef_", to="x"), "does not know"),
    ("classifier-two", _set("parameters", to=[]), "Expected `object`"),
    ("classifier-two", _set("more", to=1), "unknown field"),
    ("classifier-two", _set("version", to="9" * 65), "length <= 64"),
    ("classifier-two", _set("n_features", to=7), "coef"),
    ("classifier-two", _set("n_features", to=0), ">= 1"),
    ("classifier-two", _set("n_features", to=2**40), "coef"),
    ("classifier-two", _set("n_features", to=2**70), "n_features"),
    ("regressor-sparse", _set("n_features", to=2**40), "coef.mask"),
    ("regressor-sparse", _set("n_features", to=9), "coef.mask"),
    ("classifier-two", _set("index_base", to=2), "index_base"),
    ("classifier-two", _set("label_type", to="object_"), "Invalid enum"),
    ("classifier-two", _set("label_type", to="float64"), "classes"),
    ("classifier-two", _set("label_type", to="str"), "classes"),
    ("classifier-two", _set("label_type", to="uint8"), "do not fit their type"),
    ("classifier-text", _set("label_type", to="int64"), "classes"),
    ("classifier-two", _set("named_features", to=True), "'feature_names' is missing"),
    ("classifier-two", _set("runs", to=[]), "length >= 1"),
    ("classifier-two", _set("runs", 0, "status", to="excellent"), "status"),
    ("classifier-two", _set("runs", 0, "status", to="__class__"), "status"),
    ("classifier-two", _set("runs", 0, "solver", to="os"), "solver"),
    ("classifier-two", _set("runs", 0, "objective", to="large"), "Invalid enum"),
    ("classifier-two", _set("runs", 0, "records", to=3), "history"),
    ("classifier-two", _set("runs", 0, "records", to=2**40), "history"),
    ("classifier-two", _set("runs", 0, "seconds", to=-1.0), ">= 0"),
    ("classifier-two", lambda h, a: h["runs"].append(h["runs"][0]), "2 runs for 1"),
    ("classifier-three", lambda h, a: h["runs"].pop(), "2 runs for 3"),
    ("classifier-two", _array("coef", lambda a: a * np.nan), "coefficients hold nan or inf"),
    ("classifier-two", _array("coef", lambda a: a + np.inf), "coefficients hold nan or inf"),
    ("classifier-two", _array("coef", lambda a: a.T), "'coef' must be"),
    ("classifier-two", _array("coef", lambda a: a.astype(np.int64)), "'coef' must be"),
    ("classifier-two", _array("coef", lambda a: None), "'coef' is missing"),
    ("regressor-sparse", _array("coef.values", lambda a: a[:-1]), "'coef.values' must be"),
    ("regressor-sparse", _array("coef.values", lambda a: a * np.nan), "nan or inf"),
    ("regressor-sparse", _array("coef.values", lambda a: None), "'coef.values' is missing"),
    ("regressor-sparse", _array("coef.mask", lambda a: a | 1), "mask"),
    ("regressor-sparse", _array("coef", lambda a: np.zeros((1, 6))), "no model has"),
    ("classifier-two", _array("intercept", lambda a: a * np.nan), "intercept is nan"),
    ("classifier-two", _array("intercept", lambda a: a[0]), "'intercept' must be"),
    ("classifier-two", _array("history", lambda a: a[:, :5]), "'history' must be"),
    ("classifier-two", _array("history", lambda a: a * np.nan), "history counts"),
    ("classifier-two", _array("history", lambda a: -a), "history counts"),
    ("classifier-two", _array("classes", lambda a: np.append(a, 9)), "coef"),
    ("classifier-two", _array("classes", lambda a: a[:1]), "two or more, all different"),
    ("classifier-two", _array("classes", lambda a: a * 0), "two or more, all different"),
    ("classifier-two", _array("classes", lambda a: a[0]), "'classes' must be"),
    ("classifier-two", _array("classes", lambda a: None), "'classes' is missing"),
    ("classifier-text", _array("classes", lambda a: a[:-1]), "cannot be understood"),
    (
        "classifier-text",
        _array("classes", lambda a: np.frombuffer(b'["a",["b"]]', np.uint8)),
        "Expected `str`",
    ),
    (
        "classifier-text",
        _array("classes", lambda a: np.frombuffer(b"[" * 100_000, np.uint8)),
        "cannot be understood",
    ),
    ("classifier-two", _array("extra", lambda a: np.zeros(1)), "no model has: ['extra']"),
    (
        "classifier-objects",
        _array("penalty.weights", lambda a: -a),
        "weights must be finite and >= 0",
    ),
    (
        "classifier-objects",
        _array("penalty.weights", lambda a: a[:-1]),
        "'penalty.weights' must be",
    ),
    (
        "classifier-objects",
        _set("parameters", "penalty", "settings", "l1_ratio", to=7.0),
        "l1_ratio must lie",
    ),
    (
        "classifier-objects",
        _set("parameters", "penalty", "settings", "weights", "array", to="history"),
        "'history' must be",
    ),
    ("classifier-objects", _set("parameters", "solver", "settings", "max_cuts", to=1), "max_cuts"),
    (
        "classifier-objects",
        _set("parameters", "class_weight", "pairs", to=[["low"]]),
        "parameters",
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "words"), HOSTILE, ids=[f"{k}-{case[2]}" for k, case in enumerate(HOSTILE)]
)
def test_hostile_models_are_refused(name, change, words, parts, refused):
    described, arrays = copy.deepcopy(parts[name])
    change(described, arrays)
    assert words in refused(forge(described, arrays))


def test_the_parts_that_these_tests_alter_are_accepted_unaltered(parts, path):
    for name, (described, arrays) in parts.items():
        path.write_bytes(forge(described, arrays))
        fenchel.load(path)
        assert header(path).estimator == type(UNFITTED[name][0]).__name__


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def _places(value, place=()):
    """Every place in a header."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*place, key))


@given(data=st.data())
def test_any_value_anywhere_in_the_header_is_refused_or_makes_a_model(
    data, parts, tmp_path_factory
):
    described, arrays = copy.deepcopy(parts[data.draw(st.sampled_from(NAMES))])
    *outer, last = data.draw(st.sampled_from([*_places(described)]))
    inner = described
    for key in outer:
        inner = inner[key]
    inner[last] = data.draw(_JSON)
    path = tmp_path_factory.mktemp("any") / "model"
    path.write_bytes(forge(json.dumps(described), arrays))
    try:
        model = fenchel.load(path)
    except fenchel.InvalidData as error:
        assert str(path) in str(error)
    else:
        answers(model)


@given(data=st.data())
def test_any_array_anywhere_is_refused_or_makes_a_model(data, parts, tmp_path_factory):
    described, arrays = copy.deepcopy(parts[data.draw(st.sampled_from(NAMES))])
    name = data.draw(st.sampled_from(sorted(arrays)))
    dtype = data.draw(st.sampled_from([arrays[name].dtype, *map(np.dtype, ("f8", "i8", "u1"))]))
    sizes = st.sampled_from([arrays[name].shape, (0,), (2,), (1, 6), (3, 6)])
    arrays[name] = data.draw(arrays_of.arrays(dtype, sizes))
    path = tmp_path_factory.mktemp("any") / "model"
    path.write_bytes(forge(described, arrays))
    try:
        model = fenchel.load(path)
    except fenchel.InvalidData as error:
        assert str(path) in str(error)
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()


def test_a_pickle_is_refused_and_not_run(models, tmp_path, refused):
    """FAULTS #36."""

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(pickle.dumps(Bomb(), protocol))
    assert "pickle" in refused(pickle.dumps(models["regressor"]))
    assert not (tmp_path / "exploded").exists()


def test_a_checkpoint_is_told_from_a_model(path):
    problem = fenchel.problem(X, X[:, 0] > 0.5, loss="logistic")
    fenchel.minimize(problem, max_iterations=20, gap=1e-12, checkpoint=path)
    with pytest.raises(fenchel.InvalidData, match="holds a checkpoint, not a model"):
        fenchel.load(path)


def test_a_parameter_that_a_file_lacks_has_its_default(parts, path):
    described, arrays = copy.deepcopy(parts["regressor"])
    del described["parameters"]["delta"]
    path.write_bytes(forge(described, arrays))
    assert fenchel.load(path).delta == fenchel.Regressor().delta
