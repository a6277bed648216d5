"""Of what kind a column of a table is.

    number   numbers and truth values; text that says numbers once the decimal mark is known
    text     all other text, to be coded by its levels, and whatever is asked for as such
    date     dates and times, where they are asked for as numbers of days

A column of dates that nobody asked for, of text that is numbers for the most part, or of text that
differs in every row is refused: only who made the table knows what it means. A column without any
value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fenchel.data import cells
from fenchel.data.table_facts import Kind
from fenchel.data.table_sources import Source
from fenchel.errors import InvalidData, Setting

_TOO_MANY = 20  # rows of which each has a text of its own


def has_decimal_commas(found: Source, texts: Mapping[str, cells.TextLevels]) -> bool:
    """Whether a column of text says numbers with decimal commas and nothing else."""
    return not found.comma_divides and any(
        cells.marked(levels.texts, ",") for levels in texts.values()
    )


def kind_of(
    name: str, column: Any, levels: cells.TextLevels | None, decimal: cells.Decimal | None
) -> Kind | None:
    """What a column is, which has levels if it is text; None if it is empty."""
    if column.null_count == len(column) or (levels is not None and not levels.texts):
        return None
    if levels is not None:
        if decimal and all(cells.as_number(each, decimal) is not None for each in levels.texts):
            return "number"
        _check_text(name, levels, decimal)
        return "text"
    if cells.is_moment(column.type):
        raise InvalidData(
            f"column {name!r} holds dates or times: take them as numbers of days with ",
            Setting("dates", name),
            ", or leave them out with ",
            Setting("ignore", name),
            row=0,
        )
    cells.numbers(name, column[:1])  # refuses what is neither
    return "number"


def _check_text(name: str, levels: cells.TextLevels, decimal: cells.Decimal | None) -> None:
    """Refuses text that is likely to be something else."""
    n_rows = levels.rows()
    plain = [cells.as_number(text, decimal) is not None for text in levels.texts]
    if not decimal and not all(plain) and all(map(cells.says_a_number, levels.texts)):
        code = plain.index(False)
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
    share = n_rows[:-1] @ np.array(plain) / n_rows[:-1].sum()
    if 0.5 <= share < 1:
        _refuse_mixed(name, levels, plain)
    if share < 1 and len(levels.texts) == len(levels.codes) >= _TOO_MANY:
        raise InvalidData(
            f"column {name!r} has another text in each of the {len(levels.codes)} rows, from which "
            "nothing can be learned: leave it out with ",
            Setting("ignore", name),
            ", or take each as a level with ",
            Setting("categorical", name),
        )


def _refuse_mixed(name: str, levels: cells.TextLevels, numbers: Sequence[bool]) -> None:
    others = [code for code, is_number in enumerate(numbers) if not is_number]
    row = min(levels.first(code) for code in others[:1000])
    text, count = levels.texts[levels.codes[row]], int(levels.rows()[others].sum())
    if text == name:
        raise InvalidData(
            f"column {name!r} has its own name in row {row}: a second header", row=row
        )
    raise InvalidData(
        f"column {name!r} holds numbers, but for {cells.counted(count)}, the first with {text!r} "
        f"in row {row}: correct them, have them read as missing with ",
        Setting("na", text),
        ", or take all as levels with ",
        Setting("categorical", name),
        row=row,
    )
