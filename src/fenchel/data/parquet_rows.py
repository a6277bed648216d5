"""Rows that stay in a Parquet file, and are decoded anew for each thing that is done with them.

A block is some consecutive row groups, which a Parquet file is decoded by; a larger group is a
block by itself. Targets and groups of rows stay in memory.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fenchel._system.memory import require
from fenchel.data import frames, tables
from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.checked import checked_matrix
from fenchel.data.dataset import Dataset
from fenchel.data.kept_files import FileIdentity, identity, prefetch, unchanged
from fenchel.data.rows import DenseRows
from fenchel.data.shards import NUMBERS_PER_SHARD
from fenchel.errors import InvalidData

Path = str | os.PathLike[str]


class _Groups(NamedTuple):
    """Consecutive row groups of a file that are read as one block."""

    numbers: tuple[int, ...]
    n_rows: int
    first: int  # byte
    last: int


class ParquetRows(KeptRows):
    """Some columns of some row groups of a file, from its row `first` on."""

    def __init__(
        self,
        path: str,
        seen: FileIdentity,
        groups: _Groups,
        after: _Groups,
        features: Sequence[str],
        first: int,
    ):
        self.path, self.seen, self.groups, self.after = path, seen, groups, after
        self.features, self.first = features, first
        self.n_rows, self.n_columns = groups.n_rows, len(features)
        self.n_numbers = self.n_rows * self.n_columns
        self.sound = False  # as far as is known: whoever reads the rows first finds it out

    @contextmanager
    def opened(self) -> Iterator[DenseRows]:
        """The rows, decoded; meanwhile the system reads the next."""
        part = f"row group {self.groups.numbers[0]}"
        with unchanged(self.path, self.seen, part) as file, tables.naming(self.path):
            prefetch(file, self.after.first, self.after.last)
            source = tables.arrow("parquet").ParquetFile(file)
            content = source.read_row_groups(
                self.groups.numbers, columns=list(self.features), use_threads=False
            ).select(list(self.features))
            with _counted(self.first):
                # In the order of the store, on which the order of sums depends.
                values = np.ascontiguousarray(frames.columns(content)[0])
                if not self.sound:
                    checked_matrix(values)
                    self.sound = True
        yield DenseRows(values)


@contextmanager
def _counted(first: int) -> Iterator[None]:
    """Says in errors which row of the file they call the first."""
    try:
        yield
    except InvalidData as error:
        if not first:
            raise
        raise InvalidData(f"counted from row {first}: ", *error.args) from error


def stream_parquet(
    path: Path, *, numbers: int = NUMBERS_PER_SHARD, check: bool = True, **wanted: Any
) -> Dataset:
    """The data set of a Parquet file, with targets in memory; `wanted` as `tables.roles` takes it.

    Every block is read once, so that what is wrong with its numbers is found before the work;
    without `check` that is left to whoever reads a block first, in this process or in another.
    """
    with open(path, "rb") as file, tables.naming(path):
        seen = identity(file)
        source = tables.arrow("parquet").ParquetFile(file)
        names = tables.own(source.schema_arrow)
        parts = tables.roles(names, **wanted)
        if not source.metadata.num_rows:
            raise InvalidData("it has no rows")
        features = [names[j] for j in parts.features]
        blocks = _blocks(source.metadata, numbers, len(features))
        require(
            8 * max(block.n_rows for block in blocks) * len(features),
            "a row group",
            "write the file with smaller row groups, or make a store of it",
        )
        others = [None if j is None else names[j] for j in (parts.target, parts.groups)]
        y, qid = (None if name is None else _column(source, name) for name in others)
        added = None
        if parts.offset is not None:
            added = tables.numbers(source.read(columns=[names[parts.offset]]), 0)
    firsts = itertools.accumulate((block.n_rows for block in blocks), initial=0)
    rows = [
        ParquetRows(os.path.abspath(path), seen, block, after, features, first)
        for block, after, first in zip(blocks, [*blocks[1:], blocks[-1]], firsts, strict=False)
    ]
    for each in rows if check else ():
        _check(path, each)
    return Dataset(Blocks(rows, len(features)), y, qid, tuple(features), offset=added)


def complete_numbers(path: Path, features: Sequence[str]) -> bool:
    """Whether these columns hold numbers without gaps, as far as the footer of a file tells."""
    with tables.naming(path):
        metadata = tables.arrow("parquet").read_metadata(path)
        schema, types = metadata.schema.to_arrow_schema(), tables.arrow("types")
        numbers = types.is_integer, types.is_floating, types.is_boolean
        kinds = [schema.field(name).type for name in features]
    if not all(any(is_kind(kind) for is_kind in numbers) for kind in kinds):
        return False
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    columns = (group.column(j) for group in groups for j in range(group.num_columns))
    used = (column for column in columns if column.path_in_schema in features)
    return not any(column.statistics and column.statistics.null_count for column in used)


def _column(source: Any, name: str) -> Any:
    return tables.values(source.read(columns=[name]), 0)


def _check(path: Path, rows: ParquetRows) -> None:
    """Finds what is wrong with the numbers of a block, and calls the file as its reader does."""
    try:
        with rows.opened():
            pass
    except InvalidData as error:
        said = str(error).removeprefix(f"{rows.path}: ")
        raise InvalidData(f"{os.fspath(path)}: {said}") from error


def _blocks(metadata: Any, numbers: int, n_columns: int) -> list[_Groups]:
    """Row groups put together up to so many numbers."""
    size, blocks = max(numbers, 16 * n_columns), list[_Groups]()
    for k in range(metadata.num_row_groups):
        group = metadata.row_group(k)
        columns = [group.column(j) for j in range(group.num_columns)]
        first = min(_start(column) for column in columns)
        last = max(_start(column) + column.total_compressed_size for column in columns)
        found = _Groups((k,), group.num_rows, first, last)
        if blocks and (blocks[-1].n_rows + found.n_rows) * n_columns <= size:
            before = blocks.pop()
            n_rows = before.n_rows + found.n_rows
            found = _Groups((*before.numbers, k), n_rows, before.first, last)
        blocks.append(found)
    return [block for block in blocks if block.n_rows]


def _start(column: Any) -> int:
    """Where a column of a row group begins."""
    pages = (column.dictionary_page_offset, column.data_page_offset)
    return int(min(page for page in pages if page is not None))
