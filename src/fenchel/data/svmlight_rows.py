"""Rows that stay in a svmlight file, and are parsed anew for each thing that is done with them.

The file is read through once to find where blocks of rows begin and what their labels are; labels
and queries stay in memory. The blocks are the chunks that `fenchel convert` would make of it.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import numpy as np

from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.compression import suffixes
from fenchel.data.dataset import Dataset
from fenchel.data.kept_files import FileIdentity, identity, prefetch, unchanged
from fenchel.data.rows import SparseRows
from fenchel.data.shards import NUMBERS_PER_SHARD
from fenchel.data.svmlight import (
    Array,
    Queries,
    Svmlight,
    either_base,
    parse_lines,
    stream_svmlight,
)
from fenchel.errors import InvalidData

Path = str | os.PathLike[str]

_LOOK_BACK = 1 << 16  # bytes, for the beginning of a query


def sparse_rows(part: Svmlight, n_columns: int) -> SparseRows:
    """The rows of a part, as wide as all of the file."""
    X = part.X
    return SparseRows(X.indptr.astype(np.int64), X.indices, X.data, n_columns)


class _Lines(NamedTuple):
    """Some rows of the file: where they are, and what is kept of them."""

    first: int  # byte
    last: int
    y: Array
    qid: Queries | None
    n_columns: int  # seen by then
    n_numbers: int


class SvmlightRows(KeptRows):
    """The rows between two bytes of a file."""

    def __init__(
        self, path: str, seen: FileIdentity, lines: _Lines, after: int, n_columns: int, base: int
    ):
        self.path, self.seen, self.base = path, seen, base
        self.first, self.last, self.after = lines.first, lines.last, after
        self.n_rows, self.n_numbers = len(lines.y), lines.n_numbers
        self.n_columns = n_columns

    def widened(self, n_columns: int) -> SvmlightRows:
        """The same rows with zeros in further columns."""
        wide = copy.copy(self)
        wide.n_columns = n_columns
        return wide

    @contextmanager
    def opened(self) -> Iterator[SparseRows]:
        """The rows, parsed; meanwhile the system reads the next."""
        part = f"its bytes from {self.first} to {self.last}"
        with unchanged(self.path, self.seen, part) as file:
            prefetch(file, self.last, self.after)
            found = parse_lines(self.path, file, self.first, self.last, self.base)
        yield sparse_rows(found, self.n_columns)


def stream_rows(
    path: Path,
    *,
    n_features: int | None = None,
    index_base: int | None = None,
    numbers: int = NUMBERS_PER_SHARD,
) -> Dataset:
    """The data set in a svmlight file: labels and queries in memory, the rows where they are."""
    if suffixes(path)[1]:
        raise InvalidData(
            f"{os.fspath(path)}: compressed text cannot be read from its middle; unpack it, or "
            "make a store of it with fenchel convert"
        )
    with open(path, "rb") as file:
        seen = identity(file)
        base, found = either_base(
            index_base, lambda base: (base, list(_scanned(path, file, numbers, base)))
        )
    n_columns = found[-1].n_columns
    if n_features is not None and n_columns > n_features:
        raise InvalidData(
            f"{os.fspath(path)}: it has {n_columns} features, but {n_features} are expected"
        )
    n_columns = max(n_columns, n_features or 0)
    ends = [*(lines.last for lines in found[1:]), found[-1].last]
    rows = [
        SvmlightRows(os.path.abspath(path), seen, lines, after, n_columns, base)
        for lines, after in zip(found, ends, strict=True)
    ]
    queries = [lines.qid for lines in found if lines.qid is not None]
    return Dataset(
        Blocks(rows, n_columns),
        np.concatenate([lines.y for lines in found]),
        np.concatenate(queries) if queries else None,
        None,
        base,
    )


def _scanned(path: Path, file: BinaryIO, numbers: int, base: int) -> Iterator[_Lines]:
    first = 0
    for part, end, n_left in stream_svmlight(path, numbers, index_base=base):
        last = _beginning(file, end, n_left)
        yield _Lines(first, last, part.y, part.qid, part.X.shape[1], part.X.nnz)
        first = last
        del part  # before the next one is read


def _beginning(file: BinaryIO, end: int, n_rows: int) -> int:
    """The byte where the last rows before `end` begin."""
    size = _LOOK_BACK
    while n_rows:
        size = min(size, end)
        file.seek(end - size)
        lines, place, left = file.read(size).split(b"\n"), end, n_rows
        for line in reversed(lines[:-1]):
            place -= len(line) + 1
            left -= bool(line.partition(b"#")[0].strip())
            if not left and (place > end - size or size == end):
                return place
        size *= 4
    return end
