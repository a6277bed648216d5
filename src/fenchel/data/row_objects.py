"""Rows of a table that come as objects, from names of columns to values, in place of a file."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.data import cells, tables
from fenchel.data.table_facts import TableColumn, TableFacts
from fenchel.errors import InvalidData

Value = float | str | bool | None


def features_of(
    rows: Sequence[Mapping[str, Value]], facts: TableFacts
) -> dict[str, npt.NDArray[np.float64] | cells.TextLevels]:
    """The columns that features are made of; None is a missing value, but each must be there."""
    for i, row in enumerate(rows):
        for name in facts.names:
            if name not in row:
                raise InvalidData(f"row {i} lacks column {name!r}; a missing value is null", row=i)
    return {
        column.name: _column([row[column.name] for row in rows], column, facts)
        for column in facts.columns
    }


def _column(values: Sequence[Value], column: TableColumn, facts: TableFacts) -> Any:
    pa, name = tables.arrow(""), column.name
    if column.kind == "number" and not any(isinstance(value, str) for value in values):
        return cells.numbers(name, pa.chunked_array([pa.array(values, pa.float64())]))
    texts = [None if value is None else _text(value) for value in values]
    if column.kind == "date":
        moments = [None if text is None else _moment(name, i, text) for i, text in enumerate(texts)]
        return cells.days(name, pa.chunked_array([pa.array(moments, pa.timestamp("us"))]))
    whole = pa.chunked_array([pa.array(texts, pa.string())])
    if column.kind == "number":
        return cells.numbers(name, whole, facts.decimal, facts.na)
    return cells.levels(name, whole, facts.na)


def _text(value: float | str | bool) -> str:
    """As a file would have it: 1, not 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment(name: str, i: int, text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(
            f"row {i}: column {name!r} is to hold a date, such as 2024-01-31; got {text!r}", row=i
        ) from None
