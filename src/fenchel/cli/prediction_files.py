"""Predictions as a table in a file, .csv, .tsv or .parquet, or as JSON: with ids of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fenchel.cli.exits import UsageError
from fenchel.cli.sources import Files
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.model.answers import Said

ROW = "row"  # the column of ids, if none was named: they are numbers from 0
_TABLES = (".csv", ".tsv", ".parquet")


class Predicted(msgspec.Struct):
    """The report of `fenchel predict`. Fields may be added; none will change its meaning."""

    version: str
    model: str
    data: str
    files: list[str]
    rows: int
    loss: str
    output: str | None  # where the predictions are; null if they are here
    columns: list[str] | None  # of the table that was written
    classes: list[Any] | None
    ids: list[Any] | None
    predictions: list[Any] | None
    scores: list[Any] | None
    probabilities: list[list[float]] | None


def is_table(path: Path | None) -> bool:
    """Whether a file to be written is a table by its name."""
    from fenchel.data.compression import suffixes

    return path is not None and suffixes(path)[0] in _TABLES


def check_ids(source: Files, column: str | None) -> None:
    """Refuses ids that the files have no column for."""
    if column is None:
        return
    if not source.is_table:
        raise UsageError(f"--id is a column of a table, which {source} is not by its name")
    if source.is_stdin:
        raise UsageError(
            "--id takes a second look at DATA, which stdin does not allow: give a file"
        )


def ids(source: Files, column: str | None, n_rows: int) -> tuple[str, Any]:
    """The name of the column of ids, and these: what DATA have there, or numbers from 0."""
    import numpy as np

    if column is None:
        return ROW, np.arange(n_rows)
    from fenchel.data.columns import read_column

    parts = list(source.each(lambda path: read_column(path, column)))
    found = np.concatenate([part.astype(object) for part in parts]) if parts[1:] else parts[0]
    if len(found) != n_rows:
        raise InvalidData(f"{source}: column {column!r} has {len(found)} ids for {n_rows} rows")
    return column, found


def columns(answer: Said, named: tuple[str, Any]) -> dict[str, Any]:
    """All columns of the table, the ids first."""
    name, values = named
    found = answer.table()
    return {name: values} | {f"{key}_" if key == name else key: found[key] for key in found}


def write(table: dict[str, Any], path: Path) -> None:
    """Writes the table; the file is old or new, never half."""
    from fenchel.data.columns import write_columns

    write_columns(table, path)
