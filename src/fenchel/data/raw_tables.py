"""Tables as people have them: which columns are read, of what kind each is, and their cells.

    number   numbers and truth values; text that says numbers once the decimal mark is known
    text     all other text, to be coded by its levels, and whatever is asked for as such
    date     dates and times, where they are asked for as numbers of days

A column of dates that nobody asked for, of text that is numbers for the most part, or of text that
differs in every row is refused: only who made the table knows what it means. A column without any
value is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fenchel.data import cells, tables
from fenchel.data.compression import suffixes
from fenchel.data.delimited import DelimitedTable
from fenchel.data.frames import check_complete
from fenchel.data.table_facts import Column, Kind, TableFacts
from fenchel.errors import InvalidData, Setting

_TOO_MANY = 20  # rows of which each has a text of its own


class Source(Protocol):
    """A file with columns."""

    names: list[str]
    named: bool
    comma_divides: bool

    def placed(self) -> AbstractContextManager[None]:
        """Puts the file, and the line if a row is at fault, before an error."""

    def read(self, used: list[str], *, text: Any, decimal: Any, na: Any) -> Any:
        """These columns as a pyarrow table."""


class ParquetTable:
    """A Parquet file, which knows the types of its columns."""

    named, comma_divides = True, True

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
        lists = {
            part: None if given is None else _listed(names, given)
            for part in ("columns", "ignore", "categorical", "dates")
            for given in [getattr(self, part)]
        }
        for name in set(lists["dates"] or ()).intersection(lists["categorical"] or ()):
            raise InvalidData(f"column {name!r} is asked for both as dates and as text")
        return replace(self, **lists)


def _listed(names: Sequence[str], given: Sequence[str]) -> list[str]:
    parts = [[text] if text in names else text.split(",") for text in given]
    return [names[tables.column_of(names, part.strip())] for texts in parts for part in texts]


class Cells(NamedTuple):
    """What the rows of a table hold, column by column."""

    features: dict[str, npt.NDArray[np.float64] | cells.Levels]
    y: npt.NDArray[Any] | None
    group: npt.NDArray[np.int64] | None
    offset: npt.NDArray[np.float64] | None
    weight: npt.NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        first = next(iter(self.features.values()))
        return len(first.codes if isinstance(first, cells.Levels) else first)


@dataclass
class Read:
    """A table that was read, what is known of it, and what its reader should hear of."""

    facts: TableFacts
    cells: Cells
    guessed: bool = False  # the target, by its place
    said: list[str] = field(default_factory=list)


def source(path: str | os.PathLike[str]) -> Source:
    """The table in a file."""
    return ParquetTable(path) if suffixes(path)[0] == ".parquet" else DelimitedTable(path)


def read_table(path: str | os.PathLike[str], wanted: Wanted) -> Read:
    """A table to be trained on."""
    found = source(path)
    with found.placed():
        names = found.names
        wanted = wanted.among(names)
        parts = tables.roles(
            names,
            target=wanted.target,
            features=wanted.columns,
            n_features=None,
            offset=wanted.offset,
            weight=wanted.weight,
            group=wanted.group,
            ignore=wanted.ignore,
        )
        return _learned(found, parts, wanted)


def _learned(found: Source, parts: tables.Roles, wanted: Wanted) -> Read:
    names, decimal = found.names, wanted.decimal
    used = [names[j] for j in parts.used()]
    text = set(wanted.categorical)
    content = found.read(used, text=text, decimal=decimal, na=wanted.na)
    _check_rows(content)
    features = [names[j] for j in parts.features]
    if decimal is None and _has_decimal_commas(found, content, features, text):
        decimal = ","
        content = found.read(used, text=text, decimal=decimal, na=wanted.na)
    kinds = {name: _kind(name, content.column(name), decimal, wanted) for name in features}
    columns = [Column(name, kind) for name, kind in kinds.items() if kind is not None]
    if not columns:
        raise InvalidData("all its columns are empty")
    named = [None if j is None else names[j] for j in (parts.target, parts.weight, parts.groups)]
    facts = TableFacts(
        columns,
        *named,
        decimal=decimal,
        na=list(wanted.na),
        named=found.named,
        width=len(names),
    )
    read = Read(facts, _cells(content, facts, offset=_name(names, parts.offset)))
    for name, kind in kinds.items():
        if kind is None:
            read.said.append(f"column {name!r} has no values at all, and is left out")
    _say_levels(read)
    if decimal == "," != wanted.decimal:
        read.said.append("numbers with decimal commas are read as such; else give --decimal .")
    last = bool(parts.target is not None and wanted.target is None)
    read.guessed = last and names[parts.target or 0].lower() not in tables.TARGETS
    return read


def _name(names: Sequence[str], j: int | None) -> str | None:
    return None if j is None else names[j]


def _check_rows(content: Any) -> None:
    if not content.num_rows:
        raise InvalidData("it has no rows")


def _has_decimal_commas(
    found: Source, content: Any, features: Sequence[str], text: set[str]
) -> bool:
    """Whether a column says numbers with decimal commas and nothing else."""
    if found.comma_divides:
        return False
    candidates = [n for n in features if n not in text and cells.is_text(content.column(n).type)]
    return any(cells.marked(cells.levels(n, content.column(n)).texts, ",") for n in candidates)


def _kind(name: str, column: Any, decimal: cells.Decimal | None, wanted: Wanted) -> Kind | None:
    """What a column is; None if it is empty."""
    if column.null_count == len(column):
        return None
    if name in wanted.categorical:
        return "text"
    if name in wanted.dates:
        return "date"
    if cells.is_moment(column.type):
        raise InvalidData(
            f"column {name!r} holds dates or times: take them as numbers of days with ",
            Setting("dates", name),
            ", or leave them out with ",
            Setting("ignore", name),
            row=0,
        )
    if not cells.is_text(column.type):
        cells.numbers(name, column[:1])  # refuses what is neither
        return "number"
    levels = cells.levels(name, column, wanted.na)
    if not levels.texts:
        return None
    if decimal and all(cells.as_number(each, decimal) is not None for each in levels.texts):
        return "number"
    _check_text(name, levels, decimal)
    return "text"


def _check_text(name: str, levels: cells.Levels, decimal: cells.Decimal | None) -> None:
    """Refuses text that is likely to be something else."""
    n_rows = levels.rows()
    if cells.marked(levels.texts, ".") or cells.marked(levels.texts, ","):
        code = next(k for k, t in enumerate(levels.texts) if cells.as_number(t, None) is None)
        raise InvalidData(
            f"column {name!r} holds numbers such as {levels.texts[code]!r}: say which mark comes "
            "before the decimals with ",
            Setting("decimal", ","),
            " or ",
            Setting("decimal", "."),
            row=levels.first(code),
        )
    if cells.look_like_dates(levels.texts):
        raise InvalidData(
            f"column {name!r} holds what may be dates, such as {levels.texts[0]!r}: write them as "
            "2024-01-31 and give ",
            Setting("dates", name),
            ", leave them out with ",
            Setting("ignore", name),
            ", or take each as a level with ",
            Setting("categorical", name),
            row=levels.first(0),
        )
    numbers = [cells.as_number(text, decimal) is not None for text in levels.texts]
    share = n_rows[:-1] @ np.array(numbers) / n_rows[:-1].sum()
    if 0.5 <= share < 1:
        _refuse_mixed(name, levels, numbers)
    if share < 1 and len(levels.texts) == len(levels.codes) >= _TOO_MANY:
        raise InvalidData(
            f"column {name!r} has another text in each of the {len(levels.codes)} rows, from which "
            "nothing can be learned: leave it out with ",
            Setting("ignore", name),
            ", or take each as a level with ",
            Setting("categorical", name),
        )


def _refuse_mixed(name: str, levels: cells.Levels, numbers: Sequence[bool]) -> None:
    others = [code for code, is_number in enumerate(numbers) if not is_number]
    row = min(levels.first(code) for code in others[:1000])
    text, count = levels.texts[levels.codes[row]], int(levels.rows()[others].sum())
    if text == name:
        raise InvalidData(
            f"column {name!r} has its own name in row {row}: a second header", row=row
        )
    raise InvalidData(
        f"column {name!r} holds numbers, but for {count} rows, the first with {text!r} in row "
        f"{row}: correct them, have them read as missing with ",
        Setting("na", text),
        ", or take all as levels with ",
        Setting("categorical", name),
        row=row,
    )


def _say_levels(read: Read) -> None:
    for name, column in read.cells.features.items():
        if isinstance(column, cells.Levels) and 2 * len(column.texts) > len(column.codes) >= 100:
            read.said.append(
                f"column {name!r} has {len(column.texts):,} levels in {len(column.codes):,} rows: "
                f"if it names the rows leave it out with --ignore {name}"
            )


def read_like(
    path: str | os.PathLike[str], facts: TableFacts, *, target: str | None, offset: str | None
) -> Read:
    """Another table of the columns of one that is known; target, weights and groups if there."""
    found = source(path)
    with found.placed():
        renamed = _placed_names(found, facts, target)
        here = {known: own for own, known in renamed.items() if known is not None}
        missing = [name for name in facts.names if name not in here]
        if missing:
            tables.column_of(
                found.names,
                missing[0],
                f", which the model needs ({len(missing)} "
                f"of its {len(facts.names)} columns are not there)",
            )
        others = [facts.weight, facts.group, offset]
        wanted_target = facts.target if target is None else target
        if target is not None and target not in here:
            here[target] = found.names[tables.column_of(found.names, target)]
        others.append(wanted_target)
        if offset is not None and offset not in here:
            tables.column_of(found.names, offset, " of offsets")
        used = list(dict.fromkeys(n for n in (*facts.names, *others) if n in here))
        content = found.read(
            [here[name] for name in used],
            text={here[name] for name in facts.of_kind("text") if name in here},
            decimal=facts.decimal,
            na=facts.na,
        ).rename_columns(used)
        _check_rows(content)
        known = {name: name if name in here else None for name in others if name is not None}
        now = _with(facts, known, wanted_target)
        return Read(now, _cells(content, now, offset=offset))


def _with(facts: TableFacts, known: dict[str, str | None], target: str | None) -> TableFacts:
    """The facts, without what is not there."""
    import msgspec

    parts = {"target": target, "weight": facts.weight, "group": facts.group}
    return msgspec.structs.replace(
        facts, **{part: known.get(name) if name else None for part, name in parts.items()}
    )


def _placed_names(found: Source, facts: TableFacts, target: str | None) -> dict[str, str | None]:
    """What the model calls each column: by name, or by place where one of the two has no names."""
    names = found.names
    if found.named and facts.named:
        return {name: name for name in names}
    if not facts.named and len(names) == facts.width:
        return {name: str(j) for j, name in enumerate(names)}
    if not facts.named and facts.target is not None and len(names) == facts.width - 1:
        places = [str(j) for j in range(facts.width) if str(j) != facts.target]
        return dict(zip(names, places, strict=True))
    if facts.named and len(names) == len(facts.names):
        return dict(zip(names, facts.names, strict=True))
    if facts.named and facts.target and len(names) == len(facts.names) + 1 and target is None:
        return dict(zip(names, [*facts.names, facts.target], strict=True))
    needed = facts.width if not facts.named else len(facts.names)
    raise InvalidData(
        f"it has {len(names)} columns, and there are no names to know them by; {needed} are needed"
    )


def _cells(content: Any, facts: TableFacts, *, offset: str | None) -> Cells:
    """The cells of the columns, each as its kind has it."""
    features: dict[str, Any] = {}
    for column in facts.columns:
        values = content.column(column.name)
        if column.kind == "text":
            features[column.name] = cells.levels(column.name, values, facts.na)
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
        raise InvalidData(f"the target {name!r} holds dates or times, neither numbers nor classes")
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
