"""Files with columns: CSV, TSV and Parquet, read as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from fenchel.data import files, tables
from fenchel.data.compression import suffixes
from fenchel.data.delimited import DelimitedTable


class Source(Protocol):
    """A file with columns."""

    names: list[str]
    named: bool
    counts: tuple[int, ...]  # of the rows that each file gave, where there are several

    @property
    def comma_divides(self) -> bool:
        """Whether a comma between digits divides fields, if it is not quoted."""

    def placed(self) -> AbstractContextManager[None]:
        """Puts the file, and the line if a row is at fault, before an error."""

    def read(self, used: list[str], *, text: Any, decimal: Any, na: Any) -> Any:
        """These columns as a pyarrow table."""


class ParquetTable:
    """A Parquet file, which knows the types of its columns."""

    named, comma_divides = True, True
    counts: tuple[int, ...] = ()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        with tables.naming(path):
            schema = tables.arrow("parquet").read_schema(path)
            self.names = tables.own(schema)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Puts the file before an error."""
        with tables.naming(self.path):
            yield

    def read(self, used: list[str], *, text: Any, decimal: Any, na: Any) -> Any:
        """These columns as a pyarrow table; types are those of the file."""
        return tables.arrow("parquet").read_table(self.path, columns=used).select(used)


def source(path: str | os.PathLike[str]) -> Source:
    """The table in a file."""
    if suffixes(path)[0] == ".parquet":
        return ParquetTable(path)
    files.first_line(path)  # refuses what is no table of text
    return DelimitedTable(path)
