"""The file under a model or a checkpoint: arrays and a header, and nothing that can be run.

The file is a safetensors file. Its metadata has one key, "fenchel", which holds JSON:

    format   1; a file with a larger one was written by a newer library and is refused
    kind     what the header describes: "model", ...
    header   the fields of that kind, decoded strictly into a msgspec Struct
    arrays   the digest of all arrays: names, types, shapes and bytes
    digest   of all of the above

A file comes from anywhere, so nothing in it is believed. Sizes are checked against the size of the
file before memory is taken; the arrays must tile the file without gaps or overlaps; unknown fields
and keys that come twice are errors. The digests find damage, not malice: whoever forges a file can
forge them too, and finds every other check in the way. We read the layout here rather than with
safetensors, which takes the last of two equal keys and copies every array once more.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Raw

import fenchel
from fenchel._system.files import replacing
from fenchel.errors import InvalidData

FORMAT = 1
LARGEST_HEADER = 1 << 23  # bytes; ours take thousands, and some 600 more for each class
_MOST_ARRAYS = 64

Path = str | os.PathLike[str]
Arrays = dict[str, npt.NDArray[Any]]
H = TypeVar("H", bound=msgspec.Struct)
T = TypeVar("T")

# Not every system has, or needs, each of these.
_READING = os.O_RDONLY
for _flag in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):
    _READING |= getattr(os, _flag, 0)

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}

_Size = Annotated[int, Meta(ge=0, le=1 << 48)]
_Digest = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
_List = Annotated[dict[str, Raw], Meta(max_length=_MOST_ARRAYS + 1)]  # and the metadata


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """Where an array lies in the file."""

    dtype: Literal["F64", "I64", "U8"]
    shape: Annotated[list[_Size], Meta(max_length=4)]
    data_offsets: tuple[_Size, _Size]


class _Metadata(msgspec.Struct, forbid_unknown_fields=True):
    fenchel: str


class _Format(msgspec.Struct):
    """What every format has had and will have, so that a newer file is told from a damaged one."""

    format: Annotated[int, Meta(ge=1)]


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal[1]
    kind: Annotated[str, Meta(max_length=64)]
    header: Raw
    arrays: _Digest
    digest: str  # of the other fields

    def sealed(self) -> str:
        """The digest that belongs to the other fields."""
        fields = (str(self.format), self.kind, self.arrays)
        return _digest([*(field.encode() for field in fields), bytes(self.header)])


class _Layout(NamedTuple):
    envelope: _Envelope
    entries: dict[str, _Entry]  # in the order of the file


def write(
    path: Path, kind: str, header: msgspec.Struct, arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Writes or replaces the file in one step; the same content gives the same bytes."""
    import safetensors.numpy

    # safetensors writes the memory behind an array as it lies
    ordered = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    text = Raw(msgspec.json.encode(header))
    envelope = _Envelope(1, kind, text, _digest_of_arrays(ordered), "")
    envelope.digest = envelope.sealed()
    metadata = {"fenchel": msgspec.json.encode(envelope).decode()}
    content = safetensors.numpy.save(ordered, metadata)
    if int.from_bytes(content[:8], "little") > LARGEST_HEADER:
        raise InvalidData(
            f"cannot write {os.fspath(path)}: its settings take more than {LARGEST_HEADER} bytes"
        )
    with replacing(path) as file:
        file.write(content)


def read(path: Path, kind: str, header_type: type[H]) -> tuple[H, Arrays]:
    """The header and the arrays of a file of that kind; InvalidData if anything is amiss."""
    return read_any(path, {kind: header_type})


def read_any(path: Path, kinds: Mapping[str, type[H]]) -> tuple[H, Arrays]:
    """The same of a file of one of those kinds, each with its type of header."""
    with naming(path), _opened(path) as (file, size):
        layout = _read_layout(file, size, kinds)
        header = decode("header", layout.envelope.header, kinds[layout.envelope.kind])
        arrays = {name: _read_array(file, entry) for name, entry in layout.entries.items()}
        if _digest_of_arrays(arrays) != layout.envelope.arrays:
            raise InvalidData("its arrays are damaged: they do not fit their digest")
        return header, arrays


def take(
    arrays: Arrays, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Removes and returns an array that must have that type and shape."""
    if name not in arrays:
        raise InvalidData(f"its array {name!r} is missing")
    array = arrays.pop(name)
    if array.dtype != dtype or array.shape != shape:
        raise InvalidData(
            f"its array {name!r} must be {np.dtype(dtype)} of shape {shape}; "
            f"it is {array.dtype} of shape {array.shape}"
        )
    return array


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts the file's name before what is wrong with it."""
    try:
        yield
    except InvalidData as error:
        raise InvalidData(f"cannot use {os.fspath(path)}: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BufferedReader, int]]:
    """The open file and its size; nothing but a regular file, and no waiting for a FIFO."""
    descriptor = os.open(path, _READING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidData("it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            yield file, status.st_size
    finally:
        os.close(descriptor)


def _read_layout(file: BufferedReader, size: int, kinds: Collection[str]) -> _Layout:
    """Everything before the arrays, checked."""
    start = _read_bytes(file, min(size, 8))
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(LARGEST_HEADER, size - 8):
        raise InvalidData(_instead(start, length, size))
    raw = decode("list of arrays", _read_bytes(file, length), _List)
    metadata = raw.pop("__metadata__", None)
    if metadata is None:
        raise InvalidData("it is a safetensors file, but not one of fenchel's")
    entries = {name: decode("list of arrays", entry, _Entry) for name, entry in raw.items()}
    return _Layout(_read_envelope(metadata, kinds), _tiling(entries, size - 8 - length))


def _read_envelope(raw: Raw, kinds: Collection[str]) -> _Envelope:
    text = decode("metadata", raw, _Metadata).fenchel.encode()
    found = decode("metadata", text, _Format)
    if found.format > FORMAT:
        raise InvalidData(
            f"it was written by a newer fenchel, in format {found.format}; this one, "
            f"{fenchel.__version__}, reads formats up to {FORMAT}: upgrade fenchel"
        )
    envelope = decode("metadata", text, _Envelope)
    if envelope.digest != envelope.sealed():
        raise InvalidData("its header is damaged: it does not fit its digest")
    if envelope.kind not in kinds:
        raise InvalidData(f"it holds a {envelope.kind}, not a {' or a '.join(kinds)}")
    return envelope


def _tiling(entries: dict[str, _Entry], size: int) -> dict[str, _Entry]:
    """The entries in the order of the file, which they must fill without gaps or overlaps."""
    ordered = sorted(entries.items(), key=lambda item: item[1].data_offsets)
    end = 0
    for name, entry in ordered:
        nbytes = math.prod(entry.shape) * _TYPES[entry.dtype].itemsize
        if entry.data_offsets != (end, end + nbytes):
            raise InvalidData(f"its array {name[:40]!r} is not where its shape puts it")
        end += nbytes
    if end != size:
        raise InvalidData(
            f"it should have {end} bytes of arrays but has {size}: the file was cut off or added to"
        )
    return dict(ordered)


def _read_array(file: BufferedReader, entry: _Entry) -> npt.NDArray[Any]:
    dtype = _TYPES[entry.dtype]
    array = np.empty(entry.shape, dtype)
    if file.readinto(_bytes_of(array)) != array.nbytes:
        raise InvalidData("it became shorter while it was read")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_bytes(file: BufferedReader, count: int) -> bytes:
    content = file.read(count)
    if len(content) != count:
        raise InvalidData("it became shorter while it was read")
    return content


def _instead(start: bytes, length: int, size: int) -> str:
    """What a file might be that does not begin with the length of a header."""
    if not start:
        return "it is empty"
    if start[:1] == b"\x80" and start[1:2] <= b"\x05":
        return "it is a pickle, which can run any code when loaded; fenchel never loads one"
    if start[:4] == b"PK\x03\x04":
        return "it is a zip archive (.npz, .zip), not a file that fenchel.save wrote"
    return (
        f"it has {size} bytes and claims a header of {length} bytes; it was cut off, or is not a "
        "file that fenchel.save wrote"
    )


def decode(what: str, text: bytes | Raw, kind: type[T]) -> T:
    """JSON of exactly that type, in which no key comes twice (msgspec would take the last)."""
    try:
        decoded = msgspec.json.decode(text, type=kind)
        json.loads(bytes(text).decode(), object_pairs_hook=_without_twins)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidData(f"its {what} cannot be understood: {error}") from error
    return decoded


def _without_twins(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key comes twice")


def _digest_of_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    return _digest(_parts(arrays))


def _parts(arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Names, types, shapes and bytes, in the order of the names."""
    for name in sorted(arrays):
        array = arrays[name]
        yield f"{name} {array.dtype.str} {array.shape}".encode()
        yield _bytes_of(array)


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _digest(parts: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))  # so that nothing can move between parts
        digest.update(part)
    return digest.hexdigest()
