"""Files of pipelines that lie: consistent in themselves, every digest right."""

import copy
import json
import re
import warnings

import numpy as np
import pytest
from forged import forge, taken_apart
from hypothesis import given
from hypothesis import strategies as st
from prepared import ESTIMATORS, TRANSFORMERS
from sklearn.base import clone

import fenchel

# Those whose parts are altered: every class of the allow-list is in one of them.
NAMES = {
    "one-hot", "one-hot-rare", "ordinal-unknown", "target", "standard", "imputer-indicator", "bins",
    "splines", "polynomial", "function", "counts", "tfidf", "dicts", "best", "pca", "union",
    "cholesky-sparse", "columns", "power", "spectrum",
}  # fmt: skip
MODELS = {
    **{name: TRANSFORMERS[name] for name in sorted(NAMES)},
    **{name: ESTIMATORS[name] for name in ("frame", "calibrated-isotonic", "drop-in")},
    "one-vs-rest": ESTIMATORS["one-vs-rest"],
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Headers and bytes of them, to be altered."""
    path, known = tmp_path_factory.mktemp("parts") / "model", {}

    def of(name):
        if name not in known:
            model, X, y = MODELS[name]
            fenchel.save(clone(model).fit(X, y), path)
            described, arrays = taken_apart(path.read_bytes())
            known[name] = described, arrays["content"].tobytes()
        described, content = known[name]
        return copy.deepcopy(described), content

    return of


def forged(described, content, **arrays):
    text = described if isinstance(described, str) else json.dumps(described)
    arrays = {"content": np.frombuffer(content, np.uint8), **arrays}
    return forge(text, arrays, kind="pipeline")


def _set(*place, to):
    """Sets root[place...]."""

    def change(described):
        inner = described["root"]
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = to

    return change


def _drop(*place):
    """Removes root[place...]."""

    def change(described):
        inner = described["root"]
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]

    return change


def _words(*lines):
    return {"type": "several", "items": list(lines)}


def _scaler(**changes):
    return {"type": "object", "kind": "StandardScaler", "parameters": {}, "fitted": {}, **changes}


_LOG = {"type": "function", "name": "numpy.log1p"}
_SYSTEM = {"type": "function", "name": "os.system"}
_STEP = ("parameters", "steps", "items", 0, "items")
_FRAME = (*_STEP, 1)
_THIRD = ("parameters", "transformer_list", "items", 2, "items", 1)
_OWN = ("parameters", "steps", "items", 1, "items", 1)

HOSTILE = [
    ("standard", _set("kind", to="os.system"), "'os.system' is none that a file may name"),
    ("standard", _set("kind", to="LogisticRegression"), "'LogisticRegression' is none"),
    ("standard", _set("kind", to="Classifier"), "'Classifier' is none"),
    ("standard", _set("kind", to="sklearn.preprocessing.StandardScaler"), "is none"),
    ("standard", _set("kind", to="MinMaxScaler"), "parameters of no such class"),
    ("standard", _set("kind", to=["StandardScaler"]), "Expected `str`"),
    ("standard", _set("kind", to="x" * 65), "length <= 64"),
    ("standard", _set("type", to="pickle"), "type"),
    ("standard", _set("type", to="model"), "type"),
    ("standard", _set("more", to=1), "unknown field"),
    ("standard", _set("output", to="os"), "Invalid enum"),
    ("standard", _set("parameters", "__class__", to="x"), "of no such class: ['__class__']"),
    ("standard", _set("parameters", "with_mean", to="yes"), "cannot be made: The 'with_mean'"),
    ("standard", _set("parameters", "with_mean", to=_LOG), "such a value of with_mean"),
    ("standard", _set("parameters", "with_mean", to=_SYSTEM), "function 'os.system' is none"),
    ("standard", _set("parameters", "copy", to=_scaler()), "such a value of copy"),
    ("standard", _set("fitted", "transform", to="x"), "of no such class: ['transform']"),
    ("standard", _set("fitted", "__dict__", to=None), "of no such class: ['__dict__']"),
    ("standard", _set("fitted", "mean_", to="x"), "the mean_ of its StandardScaler"),
    ("standard", _set("fitted", "mean_", "shape", to=[2, 2]), "the mean_ of its StandardScaler"),
    ("standard", _set("fitted", "mean_", "shape", to=[3]), "the mean_ of its StandardScaler"),
    ("standard", _set("fitted", "mean_", "shape", to=[1 << 47]), "claim more bytes"),
    ("standard", _set("fitted", "mean_", "shape", to=[1 << 60]), "shape"),
    ("standard", _set("fitted", "mean_", "shape", to=[-1]), "shape"),
    ("standard", _set("fitted", "mean_", "dtype", to="object"), "Invalid enum"),
    ("standard", _set("fitted", "mean_", "dtype", to="bool"), "neither 0 nor 1"),
    ("standard", _set("fitted", "mean_", "dtype", to="float32"), "are of no use"),
    ("standard", _drop("fitted", "mean_"), "lacks mean_"),
    ("standard", _set("fitted", "n_features_in_", to=5), "of its StandardScaler"),
    ("standard", _set("fitted", "n_features_in_", to=-1), "the n_features_in_"),
    ("standard", _set("fitted", "feature_names_in_", to=_words("a")), "the feature_names_in_"),
    ("one-hot", _set("fitted", "_n_features_outs", to=_words(1, 1)), "contradict each other"),
    ("one-hot", _set("fitted", "_n_features_outs", to=_words(3, 3, 3)), "the _n_features_outs"),
    ("one-hot", _set("fitted", "_infrequent_enabled", to=True), "contradict each other"),
    ("one-hot", _set("fitted", "categories_", "items", 0, "size", to=7), "cannot be understood"),
    ("one-hot", _set("parameters", "feature_name_combiner", to=_LOG), "such a value"),
    ("one-hot", _set("parameters", "dtype", "name", to="void"), "'void' is none that a file"),
    ("one-hot-rare", _set("fitted", "_infrequent_indices", "items", 1, to=None), "cannot be"),
    ("ordinal-unknown", _set("fitted", "_missing_indices", to={"type": "pairs", "pairs": [[9, 9]]}),
     "contradict"),
    ("target", _set("fitted", "target_type_", to="multiclass"), "contradict each other"),
    ("imputer-indicator", _set("fitted", "indicator_", to=_scaler()), "the indicator_ of its"),
    ("imputer-indicator", _set("fitted", "indicator_", "fitted", "n_features_in_", to=0),
     "the features_ of its MissingIndicator"),
    ("imputer-indicator", _set("fitted", "_fit_dtype", "family", to="python"), "is none"),
    ("bins", _set("fitted", "_encoder", to=_scaler()), "the _encoder of its KBinsDiscretizer"),
    ("bins", _drop("fitted", "_encoder"), "contradict each other"),
    ("splines", _set("fitted", "bsplines_", "items", 0, "parameters", "k", to=2), "BSpline can"),
    ("splines", _set("fitted", "bsplines_", "items", 0, "parameters", "k", to=-1), "BSpline"),
    ("splines", _set("parameters", "degree", to=2), "contradict each other"),
    ("polynomial", _set("parameters", "degree", to=10**9), "contradict each other"),
    ("polynomial", _set("fitted", "n_output_features_", to=7), "contradict each other"),
    ("polynomial", _set("fitted", "_n_out_full", to=10**12), "contradict each other"),
    ("polynomial", _set("fitted", "n_features_in_", to=10**12), "contradict each other"),
    ("function", _set("parameters", "func", "name", to="builtins.exec"), "'builtins.exec' is none"),
    ("function", _set("parameters", "func", "name", to="sklearn.chi2"), "such a value of func"),
    ("counts", _set("parameters", "input", to="filename"), "input must be 'content'"),
    ("counts", _set("parameters", "encoding", to="rot13"), "encoding must be one of"),
    ("counts", _set("parameters", "token_pattern", to="(?u"), "token_pattern is no pattern"),
    ("counts", _set("parameters", "tokenizer", to=_LOG), "such a value of tokenizer"),
    ("counts", _set("fitted", "vocabulary_", "length", to=3), "as many places as words"),
    ("counts", _set("fitted", "vocabulary_", to={"type": "pairs", "pairs": [["a", 1]]}),
     "the vocabulary_"),
    ("tfidf", _set("fitted", "_tfidf", "kind", to="Normalizer"), "of no such class"),
    ("dicts", _set("fitted", "feature_names_", to=_words("a")), "contradict each other"),
    ("best", _set("parameters", "score_func", to=_LOG), "such a value of score_func"),
    ("pca", _set("fitted", "components_", "shape", to=[4, 2]), "the components_ of its PCA"),
    ("cholesky-sparse", _set("fitted", "landmarks_", "shape", to=[8, 2]), "sparse matrix is none"),
    ("cholesky-sparse", _set("parameters", "kernel", to="rbf_"), "contradict each other"),
    ("union", _set("parameters", "transformer_list", to=_words("a")), "value of transformer_list"),
    ("frame", _set(*_STEP, 0, to=3), "such a value of steps"),
    ("union", _set("parameters", "transformer_weights", to="x"), "value of transformer_weights"),
    ("union", _set(*_THIRD, to="exec"), "value of transformer_list"),
    ("union", _set(*_THIRD, to=_LOG), "value of transformer_list"),
    ("frame", _set(*_FRAME, "kind", to="Pipeline"), "of no such class"),
    ("frame", _set("parameters", "memory", to="/tmp"), "of no such class: ['memory']"),
    ("frame", _set(*_OWN, "header", "estimator", to="os.system"), "'os.system'"),
    ("frame", _set(*_OWN, "header", "n_features", to=10**9), "coef"),
    ("frame", _set(*_OWN, "header", "parameters", "loss", to="eval"), "unknown loss 'eval'"),
    ("frame", _set(*_OWN, "arrays", "coef", "shape", to=[3, 2]), "'coef' must be"),
    ("frame", _set(*_OWN, "arrays", "more", to={"type": "numbers", "dtype": "bool", "shape": [0]}),
     "arrays that no model has: ['more']"),
    ("drop-in", _set(*_OWN, "header", "parameters", "C", to=0), "its parameters: The 'C'"),
    ("drop-in", _set(*_OWN, "header", "estimator", to="sklearn.os"), "'sklearn.os'"),
    ("calibrated-isotonic", _set("fitted", "classes_", to=None), "the classes_ of its"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "words"), HOSTILE, ids=[f"{k}-{case[2]}" for k, case in enumerate(HOSTILE)]
)
def test_hostile_pipelines_are_refused(name, change, words, parts, refused):
    described, content = parts(name)
    change(described)
    assert words in refused(forged(described, content))


def test_the_parts_that_these_tests_alter_are_accepted_unaltered(parts, path):
    for name, (model, _, _) in MODELS.items():
        path.write_bytes(forged(*parts(name)))
        assert type(fenchel.load(path)) is type(model)


def test_bytes_that_are_missing_or_of_no_use_are_refused(parts, refused):
    described, content = parts("standard")
    assert "claim more bytes" in refused(forged(described, content[:-1]))
    assert "1 bytes of its arrays are of no use" in refused(forged(described, content + b"\0"))
    assert "no pipeline has: ['more']" in refused(forged(described, content, more=np.zeros(1)))
    text = json.dumps(described)
    assert "'content' is missing" in refused(forge(text, {}, kind="pipeline"))
    assert "'content' must be" in refused(forge(text, {"content": np.zeros(9)}, kind="pipeline"))


def test_a_vocabulary_must_number_its_columns(parts, refused):
    described, content = parts("counts")
    length = described["root"]["fitted"]["vocabulary_"]["length"]
    places = np.frombuffer(content[-8 * length :], np.int64).copy()
    for place in (length, -1, places[1]):
        places[0] = place
        altered = content[: -8 * length] + places.tobytes()
        assert "the vocabulary_ of its CountVectorizer" in refused(forged(described, altered))


@pytest.mark.parametrize("depth", [50, 500, 50_000])
def test_steps_in_steps_without_end_are_refused(depth, parts, refused):
    described, content = parts("standard")
    inner = '{"type":"object","kind":"FrozenEstimator","fitted":{},"parameters":{"estimator":'
    root = inner * depth + json.dumps(described["root"]) + "}}" * depth
    described["root"] = "ROOT"
    text = json.dumps(described).replace('"ROOT"', root)
    why = refused(forged(text, content))
    assert re.search("deeper in each other|recursion|Stack overflow", why)


def test_another_scikit_learn_is_told(parts, path):
    described, content = parts("standard")
    described["sklearn"] = "0.1"
    path.write_bytes(forged(described, content))
    with pytest.warns(fenchel.FenchelWarning, match=r"saved with scikit-learn '0\.1'"):
        fenchel.load(path)


def _places(value, place=()):
    """Every place in a header."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*place, key))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def _loaded(path, content, X):
    """What a file makes: refused, or something that answers or raises, but does no harm."""
    path.write_bytes(content)
    try:
        model = fenchel.load(path)
    except fenchel.InvalidData as error:
        assert str(path) in str(error)
        return
    with warnings.catch_warnings(action="ignore"):
        try:
            model.predict(X) if hasattr(model, "predict") else model.transform(X)
        except (ValueError, TypeError, AttributeError, IndexError, KeyError, MemoryError):
            pass


@given(data=st.data())
def test_any_value_anywhere_in_the_header_is_refused_or_does_no_harm(data, parts, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(MODELS)))
    described, content = parts(name)
    places = [*_places(described["root"], ("root",))]
    *outer, last = data.draw(st.sampled_from(places))
    inner = described
    for key in outer:
        inner = inner[key]
    other = data.draw(st.sampled_from(places))
    copied = described
    for key in other:
        copied = copied[key]
    inner[last] = data.draw(_JSON | st.just(copy.deepcopy(copied)))
    path = tmp_path_factory.mktemp("any") / "model"
    _loaded(path, forged(described, content), MODELS[name][1])


@given(data=st.data())
def test_any_bytes_anywhere_are_refused_or_do_no_harm(data, parts, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(MODELS)))
    described, content = parts(name)
    altered = bytearray(content)
    start = data.draw(st.integers(0, max(0, len(content) - 8)))
    piece = data.draw(st.binary(min_size=1, max_size=8))
    altered[start : start + len(piece)] = piece
    path = tmp_path_factory.mktemp("any") / "model"
    _loaded(path, forged(described, bytes(altered[: len(content)])), MODELS[name][1])
