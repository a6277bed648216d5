"""A table that comes in several files, read as one.

The columns of the first file hold for all, by name and in any order. A column that is text in one
file is text in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fenchel.data import cells, tables
from fenchel.data.table_sources import Source, source
from fenchel.errors import InvalidData


def joined(paths: Sequence[str | os.PathLike[str]]) -> Source:
    """The table in a file, or in several."""
    return source(paths[0]) if len(paths) == 1 else JoinedTable(paths)


class JoinedTable:
    """Files with the same columns, whose rows follow each other."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        self.paths, self.parts = paths, [source(path) for path in paths]
        first = self.parts[0]
        self.names, self.named = first.names, first.named
        self.counts: tuple[int, ...] = ()
        for path, part in zip(paths[1:], self.parts[1:], strict=True):
            _check_columns(paths[0], first, path, part)

    @property
    def comma_divides(self) -> bool:
        """Whether a comma between digits divides fields, in one of the files."""
        return any(part.comma_divides for part in self.parts)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Puts the file before an error whose row is known, and its line there."""
        try:
            yield
        except InvalidData as error:
            known = any(str(error).startswith(f"{os.fspath(path)}:") for path in self.paths)
            if known or error.row is None or not self.counts:
                raise
            which, row = self._find(error.row)
            with self.parts[which].placed():
                raise InvalidData(*error.args, row=row) from error

    def _find(self, row: int) -> tuple[int, int]:
        """The file of a row, and its number there."""
        which = 0
        while which < len(self.counts) - 1 and row >= self.counts[which]:
            row, which = row - self.counts[which], which + 1
        return which, row

    def read(self, used: list[str], *, text: Collection[str], decimal: Any, na: Any) -> Any:
        """These columns of all files as one pyarrow table."""
        found = self._parts(used, text, decimal, na)
        mixed = {name for name in used if _is_mixed(part.column(name).type for part in found)}
        if mixed:
            found = self._parts(used, {*text, *mixed}, decimal, na)
        self.counts = tuple(part.num_rows for part in found)
        plain = [_with_plain_text(part) for part in found]
        return tables.arrow("").concat_tables(plain, promote_options="permissive")

    def _parts(self, used: list[str], text: Collection[str], decimal: Any, na: Any) -> list[Any]:
        found = []
        for part in self.parts:
            with part.placed():
                found.append(part.read(used, text=text, decimal=decimal, na=na))
        return found


def _is_mixed(kinds: Iterator[Any]) -> bool:
    """Whether some files have text, and others values that are none."""
    null = tables.arrow("types").is_null
    texts = {cells.is_text(kind) for kind in kinds if not null(kind)}
    return len(texts) > 1


def _with_plain_text(part: Any) -> Any:
    """Text without dictionaries, which each file has its own of."""
    pa = tables.arrow("")
    for j, field in enumerate(part.schema):
        if cells.is_text(field.type):
            part = part.set_column(j, field.name, part.column(j).cast(pa.string()))
    return part


def _check_columns(
    path: str | os.PathLike[str], first: Source, other: str | os.PathLike[str], part: Source
) -> None:
    here, there = os.fspath(other), os.fspath(path)
    if first.named is not part.named:
        has = "names of columns, unlike" if part.named else "no names of columns, unlike"
        raise InvalidData(f"{here}: it has {has} {there}")
    lacking = [name for name in first.names if name not in part.names]
    if lacking:
        raise InvalidData(f"{here}: it lacks column {lacking[0]!r} of {there}")
    more = [name for name in part.names if name not in first.names]
    if more:
        raise InvalidData(f"{here}: it has a column {more[0]!r} that is not in {there}")
