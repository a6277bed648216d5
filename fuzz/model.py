"""Model files under attack: `python fuzz/model.py FOLDER [libFuzzer options]`.

An input is a file as it is, or, so that mutations get past the digests, its parts: header, layout
and data between zero bytes, from which a file with the right lengths and digests is made. Whatever
it is, `load` may refuse it with InvalidData; else the model must predict, and survive another save.
What is a pipeline may instead raise what scikit-learn raises, but must do no harm.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import atheris

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

with atheris.instrument_imports(include=["fenchel.model"]):  # instruments nothing else
    import numpy as np
    from forged import TYPES, envelope, safetensors_file
    from prepared import ESTIMATORS, TRANSFORMERS
    from sklearn.exceptions import NotFittedError

    import fenchel
    import fenchel.model.file
    import fenchel.model.pipelines
    from fenchel.losses import LOSSES
    from fenchel.regularizers import REGULARIZERS
    from fenchel.solvers import SOLVERS

GOLDEN = ROOT / "tests" / "model" / "golden"
REASONS = (ValueError, TypeError, AttributeError, IndexError, KeyError, MemoryError)
DTYPES = {name: np.dtype(code) for code, name in TYPES.items()}
FOLDER = tempfile.TemporaryDirectory(prefix="fenchel-fuzz-", dir="/dev/shm")
PATH, AGAIN = os.path.join(FOLDER.name, "model"), os.path.join(FOLDER.name, "again")


VALUES = [None, True, False, -1, 0, 1, 2, 7, 2**31, 2**40, 2**63, 2**64, 10**400, -0.0, 0.5,
          1e308, "", [], {}, [[]], ["a", 1.0], [["a", 1.0]], "x" * 2000, [0, 8]]  # fmt: skip
WORDS = ["inf", "-inf", "nan", "balanced", "auto", "none", "type", "kind", "name", "array",
         "vector", "instance", "own", "whole", "os:system", "class_weights", "converged", "stalled",
         "float64", "int8",
         "uint64", "bool", "str", "object", "F64", "I64", "U8", "coef", "coef.mask",
         "coef.values", "history", "intercept", "classes", "feature_names", "penalty.weights",
         "Classifier", "Regressor", "NoveltyDetector", "several", "numbers", "objects", "words",
         "vocabulary", "sparse", "function", "object", "model", "unfitted", "pairs", "special",
         *fenchel.model.pipelines.KINDS, *fenchel.model.pipelines.FUNCTIONS,
         *LOSSES, *REGULARIZERS, *SOLVERS]  # fmt: skip


def parts(content: bytes) -> bytes:
    """A file's header, layout and data."""
    length = int.from_bytes(content[:8], "little")
    layout = json.loads(content[8 : 8 + length])
    header = json.loads(layout.pop("__metadata__")["fenchel"])["header"]
    return b"\0".join(
        [json.dumps(header).encode(), json.dumps(layout).encode(), content[8 + length :]]
    )


def put_together(data: bytes) -> bytes:
    """The file of those parts; as it is, if it has none."""
    header, zero, rest = data.partition(b"\0")
    layout, zero, content = rest.partition(b"\0")
    if not zero or not header.startswith(b"{"):
        return data
    arrays = arrays_in(layout, content)
    kind = "pipeline" if b'"root"' in header else "model"
    metadata = json.dumps({"fenchel": envelope(header.decode(errors="replace"), arrays, kind=kind)})
    text = '{"__metadata__": ' + metadata + ", " + layout[1:].decode(errors="replace")
    return safetensors_file(text, content)


def arrays_in(layout: bytes, content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a layout, where that makes sense: whose digest is to be right."""
    arrays = {}
    try:
        for name, entry in json.loads(layout).items():
            start, end = entry["data_offsets"]
            array = np.frombuffer(content[start:end], DTYPES[entry["dtype"]])
            arrays[name] = array.reshape(entry["shape"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return arrays


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Half of the time libFuzzer's own mutation, else another value somewhere in the JSON."""
    rng = random.Random(seed)
    header, zero, rest = data.partition(b"\0")
    layout, zero, content = rest.partition(b"\0")
    if not zero or rng.random() < 0.5:
        return atheris.Mutate(data, max_size)
    try:
        texts = [json.loads(header), json.loads(layout)]
    except (ValueError, RecursionError):
        return atheris.Mutate(data, max_size)
    part = rng.choice([texts, texts[0], texts[0]])
    alter(part if isinstance(part, dict | list) else texts, rng)
    return b"\0".join([*(json.dumps(text).encode() for text in texts), content])[:max_size]


def alter(value: Any, rng: random.Random) -> None:
    """Sets, removes or copies one value inside, however deep."""
    places = [*value] if isinstance(value, dict) else [*range(len(value))]
    if not places:
        return
    place = rng.choice(places)
    if isinstance(value[place], dict | list) and rng.random() < 0.8:
        alter(value[place], rng)
    elif isinstance(value, dict) and rng.random() < 0.2:
        value[rng.choice([*value, *WORDS])] = value.pop(place)
    elif isinstance(value, list) and rng.random() < 0.2:
        value.append(value[place])
    else:
        value[place] = rng.choice([*VALUES, *WORDS, value[rng.choice(places)]])


def one_input(data: bytes) -> None:
    """What must hold for every input."""
    Path(PATH).write_bytes(put_together(data))
    try:
        model = fenchel.load(PATH)
    except fenchel.InvalidData as error:
        assert PATH in str(error)
        return
    if not hasattr(model, "coef_"):
        one_pipeline(model)
        return
    assert np.isfinite(model.coef_).all()
    if model.n_features_in_ < 1000:
        names = getattr(model, "feature_names_in_", None)
        assert names is None or len(names) == model.n_features_in_
        model.__dict__.pop("feature_names_in_", None)
        with np.errstate(all="ignore"):
            assert len(model.predict(np.ones((2, model.n_features_in_)))) == 2
    fenchel.save(model, AGAIN)
    assert np.array_equal(fenchel.load(AGAIN).coef_, model.coef_)
    fenchel.model.file.header(AGAIN)


def one_pipeline(model: Any) -> None:
    """What must hold for a pipeline: it answers, or raises, and is saved again if it is fitted."""
    width = min(getattr(model, "n_features_in_", 1), 1000)
    rows = [np.ones((2, width)), ["a b", "c"], [{"a": 1}], np.full((2, width), "a", dtype=object)]
    for X in rows:
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(*REASONS):
            model.predict(X) if hasattr(model, "predict") else model.transform(X)
    with contextlib.suppress(NotFittedError):
        fenchel.save(model, AGAIN)
        assert type(fenchel.load(AGAIN)) is type(model)


def seeds(folder: Path) -> None:
    """Fills a corpus with golden models and small pipelines, as files and in parts."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {path.stem: path.read_bytes() for path in GOLDEN.glob("*.fenchel")}
    for name, (model, X, y) in {**TRANSFORMERS, **ESTIMATORS}.items():
        with warnings.catch_warnings(action="ignore"):
            fenchel.save(model.fit(X) if y is None else model.fit(X, y), PATH)
        found[f"pipeline-{name}"] = Path(PATH).read_bytes()
    for name, content in found.items():
        (folder / name).write_bytes(content)
        (folder / f"{name}.parts").write_bytes(parts(content))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if not argument.startswith("-") and not os.path.isfile(argument):
            seeds(Path(argument))
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()
