"""Tables as people have them: which columns are read, what each is for, and their cells."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from fenchel.data import cells, table_kinds, tables
from fenchel.data.frames import check_complete
from fenchel.data.joined_tables import joined
from fenchel.data.table_facts import Kind, TableColumn, TableFacts
from fenchel.data.table_sources import Source
from fenchel.errors import InvalidData, Setting

_FOR = {"ignore": " to leave out", "dates": " of dates", "categorical": " of text"}


@dataclass(frozen=True)
class Wanted:
    """What is asked of a table; names of columns."""

    target: str | None = None
    columns: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    dates: Sequence[str] = ()
    offset: str | None = None
    weight: str | None = None
    group: str | None = None
    decimal: cells.Decimal | None = None
    na: Sequence[str] = ()

    def among(self, names: Sequence[str]) -> Wanted:
        """With the names that a table has: a list may be one text, with commas between them."""
        lists: dict[str, Any] = {
            part: None if given is None else _listed(names, given, _FOR.get(part, ""))
            for part in ("columns", "ignore", "categorical", "dates")
            for given in [getattr(self, part)]
        }
        for name in set(lists["dates"] or ()).intersection(lists["categorical"] or ()):
            raise InvalidData(f"column {name!r} is asked for both as dates and as text")
        return replace(self, **lists)


def _listed(names: Sequence[str], given: Sequence[str], what: str) -> list[str]:
    parts = [[text] if text in names else text.split(",") for text in given]
    return [names[tables.column_of(names, part.strip(), what)] for each in parts for part in each]


class Cells(NamedTuple):
    """What the rows of a table hold, column by column."""

    features: dict[str, npt.NDArray[np.float64] | cells.TextLevels]
    y: npt.NDArray[Any] | None
    group: npt.NDArray[np.int64] | None
    offset: npt.NDArray[np.float64] | None
    weight: npt.NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        first = next(iter(self.features.values()))
        return len(first.codes if isinstance(first, cells.TextLevels) else first)


@dataclass
class Read:
    """A table that was read, what is known of it, and what its reader should hear of."""

    facts: TableFacts
    cells: Cells
    guessed: bool = False  # the target, by its place
    said: list[str] = field(default_factory=list)
    counts: tuple[int, ...] = ()  # of the rows of each of several files


def read_table(paths: Sequence[os.PathLike[str]], wanted: Wanted) -> Read:
    """A table to be trained on, which may come in several files."""
    found = joined(paths)
    with found.placed():
        wanted = wanted.among(found.names)
        read = _learned(found, _roles(found, wanted), wanted)
        read.counts = found.counts
        return read


def numbers_only(paths: Sequence[os.PathLike[str]], wanted: Wanted) -> tuple[TableFacts, bool]:
    """What there is to know of a table of numbers, and whether the target is a guess."""
    found = joined(paths)
    with found.placed():
        parts = _roles(found, wanted)
        columns = [TableColumn(found.names[j], "number") for j in parts.features]
        facts = _facts(found, parts, columns, wanted, None)
        return facts, _guessed(facts, wanted)


def _roles(found: Source, wanted: Wanted) -> tables.Roles:
    return tables.roles(
        found.names,
        target=wanted.target,
        features=wanted.columns,
        n_features=None,
        offset=wanted.offset,
        weight=wanted.weight,
        group=wanted.group,
        ignore=wanted.ignore,
    )


def _facts(
    found: Source,
    parts: tables.Roles,
    columns: list[TableColumn],
    wanted: Wanted,
    decimal: cells.Decimal | None,
) -> TableFacts:
    names = found.names
    return TableFacts(
        columns,
        target=_name(names, parts.target),
        weight=_name(names, parts.weight),
        group=_name(names, parts.groups),
        decimal=decimal,
        na=list(wanted.na),
        named=found.named,
        width=len(names),
    )


def _guessed(facts: TableFacts, wanted: Wanted) -> bool:
    """Whether the target is one by its place alone."""
    known = facts.target is None or facts.target.lower() in tables.TARGETS
    return wanted.target is None and not known


def _learned(found: Source, parts: tables.Roles, wanted: Wanted) -> Read:
    """The cells, and of what kind each column is."""
    names, decimal = found.names, wanted.decimal
    used, features = [names[j] for j in parts.used()], [names[j] for j in parts.features]
    content, texts = _content(found, used, features, wanted, decimal)
    if decimal is None and table_kinds.has_decimal_commas(found, texts):
        decimal = ","
        content, texts = _content(found, used, features, wanted, decimal)
    kinds = {
        name: _asked(name, content.column(name), wanted)
        or table_kinds.kind_of(name, content.column(name), texts.get(name), decimal)
        for name in features
    }
    columns = [TableColumn(name, kind) for name, kind in kinds.items() if kind is not None]
    facts = _facts(found, parts, columns, wanted, decimal)
    if not columns:
        raise InvalidData("all its columns are empty")
    read = Read(facts, _cells(content, facts, texts, offset=_name(names, parts.offset)))
    read.guessed = _guessed(facts, wanted)
    empty = [name for name, kind in kinds.items() if kind is None]
    read.said = list(_remarks(read, empty, commas=decimal != wanted.decimal))
    return read


def _content(
    found: Source,
    used: list[str],
    features: Sequence[str],
    wanted: Wanted,
    decimal: cells.Decimal | None,
) -> tuple[Any, dict[str, cells.TextLevels]]:
    """The columns, and the levels of those features that are text."""
    content = found.read(used, text=wanted.categorical, decimal=decimal, na=wanted.na)
    _check_rows(content)
    texts = {
        name: cells.levels(name, content.column(name), wanted.na)
        for name in features
        if cells.is_text(content.column(name).type) and name not in wanted.dates
    }
    return content, texts


def _asked(name: str, column: Any, wanted: Wanted) -> Kind | None:
    """The kind that a column was asked for as, if it has values."""
    if column.null_count == len(column):
        return None
    if name in wanted.categorical:
        return "text"
    return "date" if name in wanted.dates else None


def _remarks(read: Read, empty: Sequence[str], *, commas: bool) -> Iterator[str]:
    """What the reader of a table should hear of."""
    for name in empty:
        yield f"column {name!r} has no values at all, and is left out"
    if commas:
        yield "numbers with decimal commas are read as such; else give --decimal ."
    for name, column in read.cells.features.items():
        if (
            isinstance(column, cells.TextLevels)
            and 2 * len(column.texts) > len(column.codes) >= 100
        ):
            yield (
                f"column {name!r} has {len(column.texts):,} levels in {len(column.codes):,} rows: "
                f"if it names the rows leave it out with --ignore {name}"
            )


def _name(names: Sequence[str], j: int | None) -> str | None:
    return None if j is None else names[j]


def _check_rows(content: Any) -> None:
    if not content.num_rows:
        raise InvalidData("it has no rows")


def read_like(
    paths: Sequence[os.PathLike[str]],
    facts: TableFacts,
    *,
    target: str | None,
    offset: str | None,
) -> Read:
    """Another table of the columns of one that is known; target, weights and groups if there."""
    found = joined(paths)
    with found.placed():
        here = _called_here(found, facts, target)
        _check_there(found, facts, here, offset)
        if target is not None and target not in here:
            here[target] = found.names[tables.column_of(found.names, target)]
        parts = {"target": target or facts.target, "weight": facts.weight, "group": facts.group}
        now = msgspec.structs.replace(
            facts, **{part: name if name in here else None for part, name in parts.items()}
        )
        others = (now.target, now.weight, now.group, offset)
        used = list(dict.fromkeys(n for n in (*now.names, *others) if n is not None))
        content = found.read(
            [here[name] for name in used],
            text={here[name] for name in now.of_kind("text")},
            decimal=now.decimal,
            na=now.na,
        ).rename_columns(used)
        _check_rows(content)
        return Read(now, _cells(content, now, {}, offset=offset), counts=found.counts)


def _check_there(
    found: Source, facts: TableFacts, here: dict[str, str], offset: str | None
) -> None:
    """Refuses a table that lacks a column of the model's."""
    missing = [name for name in facts.names if name not in here]
    if missing:
        more = f" ({len(missing)} of {len(facts.names)} are not there)" if len(missing) > 1 else ""
        tables.column_of(found.names, missing[0], f", which the model was trained on{more}")
    if offset is not None and offset not in here:
        tables.column_of(found.names, offset, " of offsets")


def _called_here(found: Source, facts: TableFacts, target: str | None) -> dict[str, str]:
    """What the file calls each column of the model's; by place where one of them has no names."""
    names = found.names
    if found.named and facts.named:
        return {name: name for name in names}
    if not facts.named and len(names) == facts.width:
        return {str(j): name for j, name in enumerate(names)}
    if not facts.named and facts.target is not None and len(names) == facts.width - 1:
        places = [str(j) for j in range(facts.width) if str(j) != facts.target]
        return dict(zip(places, names, strict=True))
    if facts.named and len(names) == len(facts.names):
        return dict(zip(facts.names, names, strict=True))
    if facts.named and facts.target and len(names) == len(facts.names) + 1 and target is None:
        return dict(zip([*facts.names, facts.target], names, strict=True))
    needed = facts.width if not facts.named else len(facts.names)
    raise InvalidData(
        f"it has {len(names)} columns, and there are no names to know them by; {needed} are needed"
    )


def _cells(
    content: Any, facts: TableFacts, texts: Mapping[str, cells.TextLevels], *, offset: str | None
) -> Cells:
    """The cells of the columns, each as its kind has it."""
    features: dict[str, Any] = {}
    for column in facts.columns:
        values = content.column(column.name)
        if column.kind == "text":
            known = texts.get(column.name)
            features[column.name] = known or cells.levels(column.name, values, facts.na)
        elif column.kind == "date":
            features[column.name] = cells.days(column.name, values)
        else:
            features[column.name] = cells.numbers(column.name, values, facts.decimal, facts.na)
    y = None if facts.target is None else _target(content.column(facts.target), facts)
    group = None if facts.group is None else _group(facts.group, content.column(facts.group))
    numbers = [
        None if name is None else _complete(name, content.column(name), facts)
        for name in (offset, facts.weight)
    ]
    if facts.weight is not None:
        _check_weights(facts.weight, numbers[1])
    return Cells(features, y, group, *numbers)


def _target(column: Any, facts: TableFacts) -> npt.NDArray[Any]:
    """Numbers, or text if some of it is no number."""
    name = str(facts.target)
    if cells.is_moment(column.type):
        raise InvalidData(
            f"the target {name!r} holds dates or times, neither numbers nor classes: name another "
            "with ",
            Setting("target"),
        )
    if cells.is_text(column.type):
        found = cells.levels(name, column, facts.na)
        check_complete(f"the target {name!r}", np.flatnonzero(found.codes == len(found.texts)))
        if facts.decimal and all(
            cells.as_number(t, facts.decimal) is not None for t in found.texts
        ):
            return cells.numbers(name, column, facts.decimal, facts.na)
        return np.array(found.texts, dtype=str)[found.codes]
    values = cells.numbers(name, column)
    check_complete(f"the target {name!r}", np.flatnonzero(np.isnan(values)))
    return values


def _group(name: str, column: Any) -> npt.NDArray[np.int64]:
    """Groups by number, those of text in the order in which they come."""
    if not cells.is_text(column.type):
        values = cells.numbers(name, column)
        check_complete(f"column {name!r}", np.flatnonzero(np.isnan(values)))
        if np.array_equal(values, values.astype(np.int64)):
            return values.astype(np.int64)
    found = cells.levels(name, column)
    check_complete(f"column {name!r}", np.flatnonzero(found.codes == len(found.texts)))
    return found.codes.astype(np.int64)


def _complete(name: str, column: Any, facts: TableFacts) -> npt.NDArray[np.float64]:
    values = cells.numbers(name, column, facts.decimal, facts.na)
    check_complete(f"column {name!r}", np.flatnonzero(np.isnan(values)))
    return values


def _check_weights(name: str, weights: Any) -> None:
    bad = np.flatnonzero(weights < 0)
    if len(bad):
        row = int(bad[0])
        raise InvalidData(
            f"column {name!r} holds weights, which must not be negative; in row {row} it is "
            f"{weights[row]:g}",
            row=row,
        )
