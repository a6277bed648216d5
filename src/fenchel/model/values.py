"""Plain values in a file: what the settings and the fitted attributes of transformers are made of.

A header holds one node for each value, and the numbers and words of arrays follow each other in one
array of bytes, the pool. Nodes take their bytes from the pool in the order in which they are read,
each as many as it says, and none may be left: nothing is read twice, and nothing is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta
from scipy import sparse

from fenchel.errors import InvalidData

Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Size = Annotated[int, Meta(ge=0, le=1 << 48)]
NumberType = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
T = TypeVar("T")


class Node(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """A value that JSON has no word for."""


class Special(Node, frozen=True, tag="special"):
    """A float that is not finite."""

    value: Literal["nan", "inf", "-inf"]


class Numbers(Node, frozen=True, tag="numbers"):
    """An array of numbers; one of NumPy's own numbers, if it has no dimensions."""

    dtype: NumberType
    shape: Annotated[list[Size], Meta(max_length=3)]
    by_columns: bool = False  # the first index runs fastest: products may round by that


class Words(Node, frozen=True, tag="words"):
    """An array of text, in so many bytes of JSON."""

    size: Size


class Objects(Node, frozen=True, tag="objects"):
    """An array of Python's own text, numbers, truth values and None, in so many bytes of JSON."""

    size: Size


class WordPlaces(Node, frozen=True, tag="vocabulary"):
    """Text by its place: a list of words in so many bytes, then a whole number for each."""

    size: Size
    length: Size


class Type(Node, frozen=True, tag="type"):
    """A type of numbers, as NumPy's dtype or as a class."""

    name: Annotated[str, Meta(max_length=16)]
    family: Literal["dtype", "numpy", "python"]


class Slice(Node, frozen=True, tag="slice"):
    """Python's slice."""

    start: Whole | str | None
    stop: Whole | str | None
    step: Whole | None


class Sparse(Node, frozen=True, tag="sparse"):
    """A sparse matrix by rows."""

    shape: tuple[Size, Size]
    data: Numbers
    indices: Numbers
    indptr: Numbers
    matrix: bool  # or SciPy's newer class of arrays


Plain = bool | Whole | float | str | None
_Element = Plain | Special
Leaf = Plain | Special | Numbers | Words | Objects | WordPlaces | Type | Slice | Sparse

_PYTHON = {"float": float, "int": int, "bool": bool, "str": str, "object": object}
_FAMILIES = ("number", "integer", "floating", "inexact", "signedinteger", "unsignedinteger")
_NUMPY: dict[str, type] = {
    **{name: np.dtype(name).type for name in get_args(NumberType)},
    **{name: vars(np)[name] for name in _FAMILIES},
    "object_": np.object_,
    "str_": np.str_,
}


class Pool:
    """The bytes behind the arrays, to be written or to be taken in the same order."""

    def __init__(self, content: npt.NDArray[np.uint8] | None = None):
        self._parts: list[bytes] = []
        self._content = memoryview(b"") if content is None else content.data
        self._end = 0

    def put(self, part: bytes) -> int:
        """Adds bytes; their number."""
        self._parts.append(part)
        return len(part)

    def content(self) -> npt.NDArray[np.uint8]:
        """All that was put."""
        return np.frombuffer(b"".join(self._parts), np.uint8)

    def take(self, size: int) -> memoryview:
        """The next bytes."""
        start, self._end = self._end, self._end + size
        if self._end > len(self._content):
            raise InvalidData(f"its arrays claim more bytes than the {len(self._content)} it has")
        return self._content[start : self._end]

    def check_taken(self) -> None:
        """Refuses bytes that nothing asked for."""
        if self._end < len(self._content):
            raise InvalidData(f"{len(self._content) - self._end} bytes of its arrays are of no use")


class Unstorable(Exception):
    """A value that no node stands for."""


def stored(value: Any, pool: Pool) -> Leaf:
    """The node of a value without parts; Unstorable if it is none."""
    if isinstance(value, np.ndarray | np.generic) and not isinstance(value, str):
        return _stored_array(np.asarray(value), pool)
    if isinstance(value, slice):
        return _stored_slice(value)
    if isinstance(value, sparse.csr_matrix | sparse.csr_array):
        return _stored_sparse(value, pool)
    if isinstance(value, type | np.dtype):
        return _stored_type(value)
    return _real(value) if type(value) is float else plain(value)


def plain(value: Any) -> Plain:
    """A finite number, text, truth value or None; NumPy's become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    exact = type(value) is not int or -(1 << 63) <= value < 1 << 63
    finite = type(value) is not float or math.isfinite(value)
    if type(value) in (bool, int, float, str, type(None)) and exact and finite:
        return value  # type: ignore[no-any-return]  # its type was just tested
    raise Unstorable(value)


def restored(node: Leaf, pool: Pool) -> Any:
    """The value of a node."""
    if isinstance(node, Special):
        return np.nan if node.value == "nan" else float(node.value)
    if isinstance(node, Numbers):
        return _numbers(node, pool)
    if isinstance(node, Words):
        return np.array(words(pool, node.size), dtype=str)
    if isinstance(node, Objects):
        return _objects(node, pool)
    if isinstance(node, WordPlaces):
        return _vocabulary(node, pool)
    if isinstance(node, Type):
        return _type(node)
    if isinstance(node, Sparse):
        return _sparse(node, pool)
    return slice(node.start, node.stop, node.step) if isinstance(node, Slice) else node


def stored_vocabulary(places: dict[str, Any], pool: Pool) -> WordPlaces:
    """The node of text by its place."""
    size = put_words(list(places), pool)
    pool.put(np.array(list(places.values()), dtype="<i8").tobytes())
    return WordPlaces(size, len(places))


def put_words(lines: Sequence[str], pool: Pool) -> int:
    """Writes text to the pool; the number of bytes."""
    return _put_json([str(line) for line in lines], pool)


def words(pool: Pool, size: int) -> list[str]:
    """Text out of the pool."""
    return _decoded(pool.take(size), list[str])


def _real(value: float) -> float | Special:
    return value if math.isfinite(value) else Special(repr(value))  # type: ignore[arg-type]  # of inf


def _stored_array(array: npt.NDArray[Any], pool: Pool) -> Numbers | Words | Objects:
    if array.dtype.kind == "O" and array.ndim == 1:
        return Objects(_put_json([_element(each) for each in array.tolist()], pool))
    if array.dtype.kind == "U" and array.ndim == 1:
        return Words(put_words(array.tolist(), pool))
    if array.dtype.name not in _NUMPY or array.ndim > 3:
        raise Unstorable(array)
    by_columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    pool.put(little.tobytes("F" if by_columns else "C"))
    return Numbers(array.dtype.name, list(array.shape), by_columns)  # type: ignore[arg-type]  # a NumberType


def _element(value: Any) -> _Element:
    """One element of an array of objects; NumPy's numbers become Python's."""
    if isinstance(value, float) and not math.isfinite(value):
        return _real(float(value))
    return plain(value)


def _put_json(content: list[Any], pool: Pool) -> int:
    try:
        return pool.put(msgspec.json.encode(content))
    except UnicodeEncodeError as error:
        raise InvalidData(f"cannot save text that is no valid Unicode: {error}") from error


def _decoded(content: memoryview, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidData(f"its text cannot be understood: {error}") from error


def _numbers(node: Numbers, pool: Pool) -> Any:
    dtype = np.dtype(node.dtype)
    content = pool.take(math.prod(node.shape) * dtype.itemsize)
    flat = np.frombuffer(content, dtype.newbyteorder("<"))
    if dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
        raise InvalidData("its truth values are neither 0 nor 1")
    array = flat.astype(dtype).reshape(node.shape, order="F" if node.by_columns else "C")
    return array if node.shape else array[()]


def _objects(node: Objects, pool: Pool) -> npt.NDArray[Any]:
    elements = _decoded(pool.take(node.size), list[_Element])
    array = np.empty(len(elements), dtype=object)
    array[:] = [restored(each, pool) for each in elements]
    return array


def _vocabulary(node: WordPlaces, pool: Pool) -> dict[str, int]:
    keys = words(pool, node.size)
    places = np.frombuffer(pool.take(8 * node.length), "<i8").tolist()
    if not len(keys) == len(places) == len(set(keys)):
        raise InvalidData("its vocabulary must have as many places as words, all different")
    return dict(zip(keys, places, strict=True))


def _stored_slice(value: slice) -> Slice:
    parts = [plain(part) for part in (value.start, value.stop, value.step)]
    if not all(part is None or type(part) in (int, str) for part in parts):
        raise Unstorable(value)
    return Slice(*parts)  # type: ignore[arg-type]  # just tested


def _stored_sparse(value: Any, pool: Pool) -> Sparse:
    data, indices, indptr = (
        _stored_array(part, pool) for part in (value.data, value.indices, value.indptr)
    )
    matrix = isinstance(value, sparse.csr_matrix)
    return Sparse(value.shape, data, indices, indptr, matrix)  # type: ignore[arg-type]  # of numbers


def _sparse(node: Sparse, pool: Pool) -> Any:
    kind = sparse.csr_matrix if node.matrix else sparse.csr_array
    parts = tuple(_numbers(part, pool) for part in (node.data, node.indices, node.indptr))
    try:
        made = kind(parts, shape=node.shape)
        made.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise InvalidData(f"its sparse matrix is none: {error}") from error
    return made


def _stored_type(value: Any) -> Type:
    if isinstance(value, np.dtype) and value.name in {*_NUMPY, "object"}:
        return Type(value.name, "dtype")
    for name, known in _PYTHON.items():
        if value is known:
            return Type(name, "python")
    for name, known in _NUMPY.items():
        if value is known:
            return Type(name, "numpy")
    raise Unstorable(value)


def _type(node: Type) -> Any:
    known = _PYTHON if node.family == "python" else _NUMPY
    if node.family == "dtype" and node.name in {"object", *get_args(NumberType)}:
        return np.dtype(node.name)
    if node.family == "dtype" or node.name not in known:
        raise InvalidData(f"its type {node.name!r} is none that a file may name")
    return known[node.name]
