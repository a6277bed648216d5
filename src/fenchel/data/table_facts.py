"""What a model remembers of the table it was trained on, so that it can read another one."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Kind = Literal["number", "text", "date"]
Missing = Literal["median", "most_frequent", "indicator", "refuse"]
Text = Annotated[str, Meta(max_length=10_000)]


class TableColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of features, and how its values are read."""

    name: Text
    kind: Kind


class TableFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which columns of a table are what, by name.

    A table without a row of names has the numbers of its columns for names, from 0; `width` is how
    many columns it had. `decimal` is the mark between the digits of numbers that were written with
    one other than a point, or with marks between thousands; `na` are words that stand for missing
    values besides the usual ones.
    """

    columns: Annotated[list[TableColumn], Meta(min_length=1)]
    target: Text | None = None
    weight: Text | None = None
    group: Text | None = None
    missing: Missing = "refuse"
    decimal: Literal[".", ","] | None = None
    na: list[Text] = []  # msgspec makes a new one for each
    named: bool = True
    width: Annotated[int, Meta(ge=1)] = 1

    @property
    def names(self) -> list[str]:
        """Of the columns that features are made of."""
        return [column.name for column in self.columns]

    def of_kind(self, *kinds: Kind) -> list[str]:
        """The names of the columns of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]
