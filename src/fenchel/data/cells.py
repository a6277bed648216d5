"""The cells of a column of a table: as numbers, or as levels of text with a code for each row.

Whatever is done to text is done to its levels, each once; rows have but codes. White space around
text does not count. A number may be written with a decimal comma, or with marks between thousands,
if `decimal` says which of the two marks is which.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.tables import arrow
from fenchel.errors import InvalidData

Decimal = Literal[".", ","]
Floats = npt.NDArray[np.float64]

_SPACES = "[ '\u00a0\u2009\u202f]"
_WRITTEN = {  # thousands in front of the decimal mark
    ".": re.compile(rf"[+-]?\d{{1,3}}((,\d{{3}})+|({_SPACES}\d{{3}})+)(\.\d*)?"),
    ",": re.compile(
        rf"[+-]?(\d{{1,3}}((\.\d{{3}})+|({_SPACES}\d{{3}})+)|\d*)(,\d*)?([eE][+-]?\d+)?"
    ),
}
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
_DAY = 86_400


class TextLevels(NamedTuple):
    """Different texts, and which of them each row has; len(texts) where it has none."""

    texts: list[str]
    codes: npt.NDArray[np.intp]

    def rows(self) -> npt.NDArray[np.intp]:
        """How many rows have each of them, and last how many have none."""
        return np.bincount(self.codes, minlength=len(self.texts) + 1)

    def first(self, code: int) -> int:
        """The first row that has it."""
        return int(np.argmax(self.codes == code))


def counted(n_rows: int) -> str:
    """So many rows."""
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"


def is_text(kind: Any) -> bool:
    """Whether a column of that type holds text."""
    types = arrow("types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
        )
    )


def is_moment(kind: Any) -> bool:
    """Whether a column of that type holds dates or times."""
    types = arrow("types")
    return bool(types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind))


def levels(name: str, column: Any, na: Collection[str] = ()) -> TextLevels:
    """The text of a column; what is empty or one of `na` is missing."""
    pa, types = arrow(""), arrow("types")
    if types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    else:
        column = column.cast(pa.string() if not is_text(column.type) else column.type)
        column = column.dictionary_encode()
    whole = column.combine_chunks()
    whole = whole if isinstance(whole, pa.DictionaryArray) else pa.concat_arrays(whole.chunks)
    indices = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _cleaned(name, whole.dictionary.to_pylist(), indices, na)


def _cleaned(
    name: str, found: list[Any], indices: npt.NDArray[Any], na: Collection[str]
) -> TextLevels:
    """Trimmed, without twins, sorted, and only those that rows have."""
    used = np.bincount(indices + 1, minlength=len(found) + 1)[1:] > 0
    trimmed = [_trimmed(name, text, indices, i) for i, text in enumerate(found)]
    kept = [text in ("", *na) or not there for text, there in zip(trimmed, used, strict=True)]
    texts = sorted({text for text, out in zip(trimmed, kept, strict=True) if not out})
    place = {text: code for code, text in enumerate(texts)}
    new = [len(texts) if out else place[t] for t, out in zip(trimmed, kept, strict=True)]
    return TextLevels(texts, np.array([*new, len(texts)], dtype=np.intp)[indices])


def _trimmed(name: str, text: Any, indices: npt.NDArray[Any], code: int) -> str:
    what = "a NUL byte"
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        what = "bytes that are not UTF-8"
    if isinstance(text, str) and "\0" not in text:
        return text.strip()
    row = int(np.argmax(indices == code))
    raise InvalidData(f"column {name!r} holds {what}, in row {row}: no text, or damaged", row=row)


def as_number(text: str, decimal: Decimal | None) -> float | None:
    """The number that a text says; None if it says none."""
    if decimal == "," or (decimal == "." and _WRITTEN["."].fullmatch(text)):
        if decimal == "," and not (_WRITTEN[","].fullmatch(text) and any(map(str.isdigit, text))):
            return None
        text = re.sub(_SPACES, "", text).replace("." if decimal == "," else ",", "")
        text = text.replace(",", ".")
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def says_a_number(text: str) -> bool:
    """Whether it is a number, whichever mark comes before the decimals."""
    return any(as_number(text, mark) is not None for mark in (".", ","))


def marked(texts: Collection[str], decimal: Decimal) -> bool:
    """Whether all are numbers once that is the decimal mark, of which some were none before."""
    numbers = [as_number(text, None) is not None for text in texts]
    return not all(numbers) and all(as_number(text, decimal) is not None for text in texts)


def look_like_dates(texts: Collection[str]) -> bool:
    """Whether all are dates, in whatever order of day, month and year."""
    return bool(texts) and all(_DATE.fullmatch(text) for text in texts)


def numbers(name: str, column: Any, decimal: Decimal | None = None, na: Any = ()) -> Floats:
    """The numbers of a column, nan where there is none; text must say numbers."""
    pa, types = arrow(""), arrow("types")
    kind = column.type
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if is_text(kind):
        return _parsed(name, levels(name, column, na), decimal)
    if is_moment(kind):
        raise InvalidData(
            f"column {name!r} holds dates or times, where numbers are expected", row=0
        )
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not types.is_floating(kind):
        raise InvalidData(f"column {name!r} is of type {kind}, neither numbers nor text", row=0)
    return _finite(name, column.cast(pa.float64()).fill_null(np.nan).to_numpy())


def _finite(name: str, values: Floats) -> Floats:
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        row = int(infinite[0])
        raise InvalidData(
            f"column {name!r} holds {len(infinite)} values that are infinite, the first in row "
            f"{row}. Replace them, or leave the column out",
            row=row,
        )
    return values


def _parsed(name: str, found: TextLevels, decimal: Decimal | None) -> Floats:
    values = [as_number(text, decimal) for text in found.texts]
    bad = [code for code, value in enumerate(values) if value is None]
    if bad:
        row = min(found.first(code) for code in bad[:1000])
        text = found.texts[found.codes[row]]
        hint = "it is the name of the column: a second header?" if text == name else "no number"
        raise InvalidData(f"column {name!r} has {text!r} in row {row}: {hint}", row=row)
    table = np.array([*values, np.nan], dtype=np.float64)
    return _finite(name, table[found.codes])


def days(name: str, column: Any) -> Floats:
    """Dates and times as days since the beginning of 1970, times alone as parts of a day."""
    pa, types = arrow(""), arrow("types")
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not is_moment(column.type):
        raise _no_dates(name, column)
    if types.is_time(column.type):
        micro = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    else:
        plain = column.cast(pa.timestamp("us"), safe=False)
        micro = plain.cast(pa.int64())
    return _finite(name, micro.cast(pa.float64()).fill_null(np.nan).to_numpy() / (1e6 * _DAY))


def _no_dates(name: str, column: Any) -> InvalidData:
    """What keeps a column from being dates, and where."""
    found = levels(name, column)
    bad = [code for code, text in enumerate(found.texts) if not _is_date(text)]
    row = min((found.first(code) for code in bad[:1000]), default=0)
    text = found.texts[found.codes[row]]
    return InvalidData(
        f"column {name!r} is to hold dates, but has {text!r} in row {row}; write dates as "
        "2024-01-31 or 2024-01-31 12:30:00",
        row=row,
    )


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
