"""Class labels and column names in a file: numbers as numbers, text as JSON in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from fenchel._system.container import Arrays, decode, take
from fenchel.errors import InvalidData

# NumPy's names of the types of labels; "str" is text of any width, "object" Python's own strings.
Kind = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "str", "object",
]  # fmt: skip


def stored(classes: npt.NDArray[Any]) -> tuple[Kind, npt.NDArray[Any]]:
    """The type of the labels, and the array that holds them."""
    kind = classes.dtype.kind
    if kind == "U" or (kind == "O" and all(type(label) is str for label in classes)):
        return "str" if kind == "U" else "object", text(classes.tolist())
    number = np.float64 if kind == "f" else np.int64
    values = classes.astype(number) if kind in "biuf" else np.zeros(0)
    if len(values) != len(classes) or not (values.astype(classes.dtype) == classes).all():
        raise InvalidData(
            f"cannot save classes of type {classes.dtype}, such as {classes[0]!r}: a model file "
            "holds numbers and text. Fit on y.astype(str)"
        )
    return classes.dtype.name, values  # type: ignore[return-value]  # one of Kind


def restored(kind: Kind, arrays: Arrays) -> npt.NDArray[Any]:
    """The labels, taken out of the arrays: two or more, all different."""
    classes = _restored(kind, arrays)
    if len(classes) < 2 or len(np.unique(classes)) < len(classes):
        raise InvalidData("its classes must be two or more, all different")
    return classes


def _restored(kind: Kind, arrays: Arrays) -> npt.NDArray[Any]:
    if kind in ("str", "object"):
        return np.array(untext(arrays, "classes"), dtype=kind)
    length = len(np.atleast_1d(arrays.get("classes", ())))
    stored_as = np.float64 if kind.startswith("float") else np.int64
    values = take(arrays, "classes", stored_as, (length,))
    with np.errstate(
        all="ignore"
    ):  # a number too large for its type is told by its not coming back
        classes = values.astype(kind)
        if not (classes.astype(stored_as) == values).all():
            raise InvalidData(f"its classes do not fit their type, {kind}")
    return classes


def text(lines: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Strings as the bytes of a JSON list, to be kept among the arrays."""
    try:
        return np.frombuffer(msgspec.json.encode([str(line) for line in lines]), np.uint8)
    except UnicodeEncodeError as error:
        raise InvalidData(f"cannot save text that is no valid Unicode: {error}") from error


def untext(arrays: Arrays, name: str) -> list[str]:
    """The strings, taken out of the arrays."""
    length = arrays[name].size if name in arrays else 0
    return decode(name, take(arrays, name, np.uint8, (length,)).tobytes(), list[str])
