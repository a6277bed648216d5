"""The out-of-core store: a data set in one file, of which a chunk at a time is in memory.

    "FENCHEL" and the number of the format      8 bytes
    arrays, each from a multiple of 64 on       a chunk's are row_start, column and value, or values
    footer                                      JSON: where the arrays are, with their digests
    length and digest of the footer             8 + 16 bytes
    "FENCHEL" and the number of the format      8 bytes

Chunks are read into memory for each thing that is done with them and let go of again; while one
is worked on, the system reads the next. A chunk's digests are checked when a process first reads
it, and a file that changes while it is in use is an error. Chunks are not mapped: a file that is
cut short under a mapping ends the process by a signal, and a copy out of the system's cache into
memory that was just let go of takes no longer than the faults of a mapping.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fenchel._system.container import naming
from fenchel._system.files import replacing
from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.checked import checked_matrix
from fenchel.data.dataset import Dataset
from fenchel.data.kept_files import FileIdentity, identity, prefetch, unchanged
from fenchel.data.rows import DenseRows, Rows, SparseRows
from fenchel.data.shards import cut
from fenchel.errors import InvalidData

Path = str | os.PathLike[str]

FORMAT = 1
_MAGIC = b"FENCHEL" + bytes([FORMAT])
_ALIGNED = 64
_LONGEST_FOOTER = 1 << 28
_TRAILER = 8 + 16 + len(_MAGIC)

_Size = Annotated[int, Meta(ge=0, le=1 << 50)]


class _Array(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where an array is."""

    dtype: Annotated[str, Meta(pattern="^<([if][48]|U[0-9]{1,6})$")]
    shape: Annotated[list[_Size], Meta(min_length=1, max_length=2)]
    offset: _Size
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class _Footer(msgspec.Struct, forbid_unknown_fields=True):
    n_columns: _Size
    chunks: list[list[_Array]]  # of a sparse one three arrays, of a dense one one
    y: _Array | None
    qid: _Array | None
    feature_names: tuple[str, ...] | None
    index_base: int | None


class Piece(NamedTuple):
    """Some rows of a data set, in order."""

    rows: SparseRows | DenseRows
    y: npt.NDArray[Any] | None
    qid: npt.NDArray[np.int64] | None


def write_store(dataset: Dataset, path: Path) -> None:
    """Writes a data set; its chunks are its blocks, or else the shards it would be cut into."""
    parts: Sequence[Rows]
    if isinstance(dataset.X, Blocks):
        parts = dataset.X.parts
    else:
        parts = _shards(dataset)
    ends = np.cumsum([0, *(part.n_rows for part in parts)])
    pieces = (
        Piece(
            rows,
            None if dataset.y is None else dataset.y[i:j],
            None if dataset.qid is None else dataset.qid[i:j],
        )
        for part, (i, j) in zip(parts, itertools.pairwise(ends), strict=True)
        for rows in _opened(part)
    )
    about = parts[0].n_columns, dataset.feature_names, dataset.index_base
    write_pieces(pieces, path, lambda: about)


def _shards(dataset: Dataset) -> list[Rows]:
    rows = checked_matrix(dataset.X)
    starts = None
    if dataset.qid is not None:
        changes = np.flatnonzero(np.diff(dataset.qid)) + 1
        starts = np.array([0, *changes.tolist(), rows.n_rows], dtype=np.int64)
    return [shard.rows for shard in cut(rows, np.zeros(rows.n_rows), None, starts)]


def _opened(part: Rows) -> Iterator[SparseRows | DenseRows]:
    """The rows themselves, once."""
    if isinstance(part, KeptRows):
        with part.opened() as rows:
            yield rows
    else:
        assert isinstance(part, SparseRows | DenseRows)
        yield part


def write_pieces(pieces: Iterable[Piece], path: Path, about: Any) -> None:
    """Writes pieces as they come, each a chunk; `about`, called at the end, tells the rest.

    That is the number of columns, the names of the features and the base of the indices.
    """
    chunks: list[list[_Array]] = []
    labels: list[npt.NDArray[Any]] = []
    queries: list[npt.NDArray[np.int64]] = []
    with replacing(path) as file:
        file.write(_MAGIC)
        for rows, y, qid in pieces:
            chunks.append([_written(file, array) for array in _arrays(rows)])
            labels += [] if y is None else [y]
            queries += [] if qid is None else [qid]
            del rows  # before the next piece is made
        y_array = _written(file, np.concatenate(labels)) if labels else None
        qid_array = _written(file, np.concatenate(queries)) if queries else None
        n_columns, names, base = about()
        footer = msgspec.json.encode(_Footer(n_columns, chunks, y_array, qid_array, names, base))
        digest = hashlib.blake2b(footer, digest_size=16).digest()
        file.write(footer + len(footer).to_bytes(8, "little") + digest + _MAGIC)


def read_store(path: Path, *, n_features: int | None = None) -> Dataset:
    """The data set in a store: labels and groups in memory, the rows where they are."""
    path = os.path.abspath(path)
    with naming(path), open(path, "rb") as file:
        seen = identity(file)
        footer = _footer(file, seen.size)
        y = None if footer.y is None else _loaded(file, footer.y)
        qid = None if footer.qid is None else _loaded(file, footer.qid)
        n_columns = footer.n_columns
        if n_features not in (None, n_columns):
            raise InvalidData(f"it has {n_columns} features, but {n_features} are expected")
        ends = [*footer.chunks[1:], []]
        parts = [
            StoredRows(path, seen, tuple(chunk), tuple(after), n_columns, k)
            for k, (chunk, after) in enumerate(zip(footer.chunks, ends, strict=True))
        ]
        return Dataset(Blocks(parts, n_columns), y, qid, footer.feature_names, footer.index_base)


_checked: set[tuple[str, FileIdentity, int]] = set()  # chunks whose digests were found right


class StoredRows(KeptRows):
    """A chunk of a store."""

    def __init__(
        self,
        path: str,
        seen: FileIdentity,
        chunk: tuple[_Array, ...],
        after: tuple[_Array, ...],
        n_columns: int,
        number: int,
    ):
        self.path, self.seen, self.chunk, self.after = path, seen, chunk, after
        self.n_columns, self.number = n_columns, number
        self.n_rows = chunk[0].shape[0] - (len(chunk) == 3)
        self.n_numbers = math.prod(chunk[-1].shape)

    def widened(self, n_columns: int) -> StoredRows:
        """The same rows with zeros in further columns."""
        if len(self.chunk) != 3:
            raise InvalidData(f"{self.path} has {self.n_columns} features, not {n_columns}")
        return StoredRows(self.path, self.seen, self.chunk, self.after, n_columns, self.number)

    @contextmanager
    def opened(self) -> Iterator[SparseRows | DenseRows]:
        """The chunk; the system reads the next one meanwhile."""
        with unchanged(self.path, self.seen, f"chunk {self.number}") as file:
            if self.after:
                prefetch(file, *_span(self.after))
            arrays = self._read(file)
        self._check(arrays)
        if len(arrays) == 3:
            yield SparseRows(arrays[0], arrays[1], arrays[2], self.n_columns)
        else:
            yield DenseRows(arrays[0])

    def _read(self, file: BufferedReader) -> list[npt.NDArray[Any]]:
        """The arrays of the chunk."""
        first, last = _span(self.chunk)
        memory = _memory(last - first)
        file.seek(first)
        found = file.readinto(memory.data)
        if found != last - first:
            raise InvalidData(
                f"{self.path} was cut short while it was in use: of the {last - first} bytes of "
                f"chunk {self.number} there are {found}; start afresh"
            )
        memory.setflags(write=False)
        return [
            np.frombuffer(memory, each.dtype, math.prod(each.shape), each.offset - first).reshape(
                each.shape
            )
            for each in self.chunk
        ]

    def _check(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """The digests, and that indices stay within the matrix: kernels rely on it."""
        key = self.path, self.seen, self.number
        if key in _checked:
            return
        for array, about in zip(arrays, self.chunk, strict=True):
            if _digest(array) != about.digest:
                raise InvalidData(
                    f"{self.path}: chunk {self.number} is damaged: it does not fit its digest"
                )
        if len(arrays) == 3:
            start, column, value = arrays
            sound = start[0] == 0 and start[-1] == len(column) == len(value)
            if not (sound and (start[1:] >= start[:-1]).all()) or (
                len(column) and not 0 <= column.min() <= column.max() < self.n_columns
            ):
                raise InvalidData(f"{self.path}: chunk {self.number} holds no sparse rows")
        _checked.add(key)


_spare: list[bytearray] = []  # as many as chunks were ever read at one time


def _memory(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Memory for a chunk. When the last array in it is gone, it is for the next one.

    New memory for each would cost the faults that a mapping costs, or be broken up by what else is
    asked for, so that there would be more than a chunk for each thread.
    """
    try:
        memory = _spare.pop()
    except IndexError:
        memory = bytearray()
    if len(memory) < n_bytes:
        memory = bytearray(n_bytes)
    # What every array made of it has as its base: NumPy looks for one that is a view of no other.
    used = np.frombuffer(memory, np.uint8, n_bytes)
    weakref.finalize(used, _spare.append, memory).atexit = False
    return used


def _span(chunk: Sequence[_Array]) -> tuple[int, int]:
    """The bytes between which a chunk is."""
    return chunk[0].offset, chunk[-1].offset + chunk[-1].n_bytes


def _arrays(rows: SparseRows | DenseRows) -> list[npt.NDArray[Any]]:
    """The arrays of a chunk, in the byte order of the file."""
    if isinstance(rows, DenseRows):
        return [_little(np.ascontiguousarray(rows.values))]
    first, last = rows.row_start[0], rows.row_start[-1]
    parts = rows.row_start - first, rows.column[first:last], rows.value[first:last]
    return [_little(np.ascontiguousarray(part)) for part in parts]


def _little(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _written(file: BinaryIO, array: npt.NDArray[Any]) -> _Array:
    file.write(bytes(-file.tell() % _ALIGNED))
    array = _little(np.ascontiguousarray(array))
    offset = file.tell()
    file.write(_bytes(array))
    return _Array(array.dtype.str, list(array.shape), offset, _digest(array))


def _loaded(file: BinaryIO, about: _Array) -> npt.NDArray[Any]:
    file.seek(about.offset)
    array = np.frombuffer(file.read(about.n_bytes), about.dtype).reshape(about.shape)
    if _digest(array) != about.digest:
        raise InvalidData("its labels or groups are damaged: they do not fit their digest")
    return array


def _footer(file: BinaryIO, size: int) -> _Footer:
    if size < len(_MAGIC) + _TRAILER or file.read(8)[:7] != _MAGIC[:7]:
        raise InvalidData("it is no store that fenchel convert wrote")
    file.seek(size - _TRAILER)
    trailer = file.read(_TRAILER)
    if trailer[-8:-1] != _MAGIC[:7]:
        raise InvalidData("it was cut off: its end is missing")
    if trailer[-1] > FORMAT:
        raise InvalidData(
            f"it was written by a newer fenchel, in format {trailer[-1]}; this one reads formats "
            f"up to {FORMAT}: upgrade fenchel"
        )
    length = int.from_bytes(trailer[:8], "little")
    if length > min(_LONGEST_FOOTER, size - _TRAILER - len(_MAGIC)):
        raise InvalidData("its footer is damaged")
    file.seek(size - _TRAILER - length)
    text = file.read(length)
    if hashlib.blake2b(text, digest_size=16).digest() != trailer[8:24]:
        raise InvalidData("its footer is damaged: it does not fit its digest")
    return _sound(_decoded(text), size - _TRAILER - length)


def _decoded(text: bytes) -> _Footer:
    try:
        return msgspec.json.decode(text, type=_Footer)
    except msgspec.MsgspecError as error:
        raise InvalidData(f"its footer cannot be understood: {error}") from error


def _sound(footer: _Footer, end: int) -> _Footer:
    """The footer, if all arrays are where arrays can be and chunks are rows."""
    others = [array for array in (footer.y, footer.qid) if array is not None]
    for array in (*itertools.chain(*footer.chunks), *others):
        if array.offset % _ALIGNED or array.offset + array.n_bytes > end:
            raise InvalidData("an array of its footer lies outside the file")
    for chunk in footer.chunks:
        dtypes, dims = [array.dtype for array in chunk], [len(array.shape) for array in chunk]
        sparse = dims == [1, 1, 1] and dtypes[0] == "<i8" and dtypes[1] in ("<i4", "<i8")
        dense = dims == [2] and chunk[0].shape[1] == footer.n_columns
        if not ((sparse or dense) and dtypes[-1] in ("<f4", "<f8")):
            raise InvalidData("a chunk of its footer holds no rows")
    if not footer.chunks:
        raise InvalidData("it has no rows")
    return footer


def _digest(array: npt.NDArray[Any]) -> str:
    return hashlib.blake2b(_bytes(array), digest_size=16).hexdigest()


def _bytes(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
