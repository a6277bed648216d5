"""CSV and TSV files, plain or compressed.

Fields are divided by the most frequent of comma, semicolon and tab in the first line, and quoted
with " or, where a field of the first rows is wrapped in it, with '. The first row holds names if
some of its fields are text and either none is a number or one stands above a number; so a first
row of numbers is data, and so is one that ends in text like the next.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from fenchel._system.memory import require
from fenchel.data import frames, tables
from fenchel.data.compression import reading, suffixes, writing
from fenchel.data.dataset import Dataset
from fenchel.errors import InvalidData

_HEAD = 1 << 22  # bytes within which the first two rows must end
_METERED = 1 << 26
_BLOCK = 1 << 26  # bytes that are parsed at a time
_MOST_LEVELS = 1 << 20  # that a column of text is coded by while it is read
_MISSING = {"", "NA", "N/A", "n/a", "NULL", "null", "#N/A"}


@dataclass(frozen=True)
class Layout:
    """How a file is written: its marks, the names of its columns and the rows above the data."""

    delimiter: str
    quote: str
    names: list[str]
    above: int
    named: bool


def read_delimited(
    path: str | os.PathLike[str],
    *,
    target: str | int | None,
    features: Sequence[str] | None,
    n_features: int | None,
    offset: str | None = None,
) -> Dataset:
    """The data set of a CSV or TSV file; what is wanted as `tables.roles` takes it."""
    with _placed(path, None):
        layout = _layout(path)
    if not layout.named and features is not None:
        n_features, features = len(features), None
    with _placed(path, layout):
        parts = tables.roles(
            layout.names, target=target, features=features, n_features=n_features, offset=offset
        )
        content = _table(path, layout, parts)
        return tables.dataset(content, parts.among(parts.used()), named=layout.named)


def text_columns(path: str | os.PathLike[str], chosen: Callable[[list[str]], list[str]]) -> Any:
    """Columns of a CSV or TSV file as they stand there, by their names."""
    with _placed(path, None):
        layout = _layout(path)
        return _parsed(path, layout, chosen(layout.names), {})


class DelimitedTable:
    """A CSV or TSV file whose columns are read as they are: numbers, text, dates."""

    counts: tuple[int, ...] = ()

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        with _placed(path, None):
            self.layout = _layout(path)
        self.names, self.named = self.layout.names, self.layout.named

    @property
    def comma_divides(self) -> bool:
        """Whether a comma between digits divides fields, if it is not quoted."""
        return self.layout.delimiter == ","

    def placed(self) -> contextlib.AbstractContextManager[None]:
        """Puts the file, and the line if a row is at fault, before an error."""
        return _placed(self.path, self.layout)

    def read(
        self, used: list[str], *, text: Collection[str], decimal: str | None, na: Collection[str]
    ) -> Any:
        """These columns as a pyarrow table; those of `text` as text, whatever they look like."""
        pa, module = tables.arrow(""), tables.arrow("csv")
        kind = pa.dictionary(pa.int32(), pa.string())
        options = module.ConvertOptions(
            column_types={name: kind for name in used if name in text},
            include_columns=used,
            decimal_point=decimal or ".",
            null_values=[*module.ConvertOptions().null_values, *na],
            strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=_MOST_LEVELS,
        )
        try:
            return _converted(self.path, self.layout, options)
        except pa.ArrowInvalid as error:
            raise _misshapen(self.path, self.layout, error) from error


@contextlib.contextmanager
def _placed(path: str | os.PathLike[str], layout: Layout | None) -> Iterator[None]:
    """Puts the file before an error that does not name it, and the line if a row is at fault."""
    try:
        yield
    except csv.Error as error:
        raise InvalidData(f"{os.fspath(path)}: this is no table of text: {error}") from error
    except InvalidData as error:
        if str(error).startswith(f"{os.fspath(path)}:"):
            raise
        line = "" if layout is None or error.row is None else f"{_line(path, layout, error.row)}:"
        raise InvalidData(f"{os.fspath(path)}:{line} ", *error.args, row=error.row) from error


def write_delimited(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """With a row of names, the target last; numbers in as many digits as they need."""
    pa, module = tables.arrow(""), tables.arrow("csv")
    content = tables.table(dataset)
    wide = [pa.field(f.name, pa.float64() if f.type == "float" else f.type) for f in content.schema]
    marks = module.WriteOptions(delimiter=usual_delimiter(path))
    with writing(path) as file:
        module.write_csv(content.cast(pa.schema(wide)), file, write_options=marks)


def usual_delimiter(path: str | os.PathLike[str]) -> str:
    """What divides the fields of a file by its name."""
    return "\t" if suffixes(path)[0] == ".tsv" else ","


def _layout(path: str | os.PathLike[str]) -> Layout:
    with reading(path) as file:
        lines = io.StringIO(_decoded(path, file.read(_HEAD)), newline="").readlines()
    blank = sum(1 for _ in itertools.takewhile(str.isspace, lines))
    if blank == len(lines):
        raise InvalidData("the file is empty")
    delimiter = max((usual_delimiter(path), ";", "\t", ","), key=lines[blank].count)
    quote = _quote(lines[blank : blank + 3], delimiter)
    reader = csv.reader(lines[blank:], delimiter=delimiter, quotechar=quote)
    first, second = next(reader), next((record for record in reader if record), [])
    if not _is_header(first, second):
        return Layout(delimiter, quote, [str(j) for j in range(len(first))], blank, named=False)
    return Layout(delimiter, quote, _names(first), blank + 1, named=True)


def _decoded(path: str | os.PathLike[str], head: bytes) -> str:
    """The text, of which the last character may be incomplete."""
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        raise InvalidData(
            f"{os.fspath(path)}:{line}: the line is not UTF-8; convert the file with iconv"
        ) from None


def _names(first: Sequence[str]) -> list[str]:
    names = [name.strip() for name in first]
    if "" in names:
        raise InvalidData(
            f"column {names.index('')} has no name; if it numbers the rows, as pandas does, leave "
            "it out with to_csv(index=False), else give it a name"
        )
    return tables.unique(names)


def _quote(lines: Sequence[str], delimiter: str) -> str:
    fields = [field.strip() for line in lines for field in line.split(delimiter)]
    return "'" if any(len(f) > 1 and f[0] == f[-1] == "'" for f in fields) else '"'


def _is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    text = [_is_text(field) for field in first]
    if all(text) or not any(frames.is_number(field) for field in first):
        return any(text)
    below = zip(text, second, strict=False)
    return any(here and frames.is_number(field) for here, field in below)


def _is_text(field: str) -> bool:
    return field.strip() not in _MISSING and not frames.is_number(field)


def _table(path: str | os.PathLike[str], layout: Layout, parts: tables.Roles) -> Any:
    """All columns that are used, as numbers where the file lets them be."""
    pa = tables.arrow("")
    added = () if parts.offset is None else (parts.offset,)
    numbers = {layout.names[j]: pa.float64() for j in (*parts.features, *added)}
    fixed = {} if parts.groups is None else {layout.names[parts.groups]: pa.int64()}
    label = [] if parts.target is None else [layout.names[parts.target]]
    used = [layout.names[j] for j in parts.used()]
    for known, kind in itertools.product((numbers | fixed, {}), (pa.float64(), pa.string())):
        try:
            return _parsed(path, layout, used, known | dict.fromkeys(label, kind))
        except pa.ArrowInvalid as error:
            refusal = error
    raise _misshapen(path, layout, refusal) from refusal


def _parsed(
    path: str | os.PathLike[str], layout: Layout, used: list[str], types: dict[str, Any]
) -> Any:
    module = tables.arrow("csv")
    return _converted(path, layout, module.ConvertOptions(column_types=types, include_columns=used))


def _converted(path: str | os.PathLike[str], layout: Layout, options: Any) -> Any:
    module = tables.arrow("csv")
    with reading(path) as file:
        return module.read_csv(
            _Metered(file),
            read_options=module.ReadOptions(
                column_names=layout.names, skip_rows_after_names=layout.above, block_size=_BLOCK
            ),
            parse_options=module.ParseOptions(
                delimiter=layout.delimiter, quote_char=layout.quote, newlines_in_values=True
            ),
            convert_options=options,
        )


class _Metered(io.RawIOBase):
    """A stream that stops before the numbers read from it fill the memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._unpaid = file, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._unpaid += len(content)
        if self._unpaid > _METERED:
            worst = 4 * self._unpaid  # two characters make eight bytes
            require(worst, "the columns of the file")
            self._unpaid = 0
        return content


def _records(path: str | os.PathLike[str], layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Lines and fields of the rows of data, slowly."""
    with reading(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(text, delimiter=layout.delimiter, quotechar=layout.quote)
        above = 1
        for i, record in enumerate(reader):
            if record and i >= layout.above:
                yield above, record
            above = reader.line_num + 1


def delimited_line(path: str | os.PathLike[str], row: int) -> int:
    """The line of a row, the first being 1."""
    return _line(path, _layout(path), row)


def _line(path: str | os.PathLike[str], layout: Layout, row: int) -> int:
    return next(itertools.islice(_records(path, layout), row, None))[0]


def _misshapen(path: str | os.PathLike[str], layout: Layout, error: Exception) -> InvalidData:
    n = len(layout.names)
    for line, record in _records(path, layout):
        if len(record) != n:
            quoted = any("\n" in field for field in record)
            hint = ": a quote that is opened there is not closed?" if quoted else ""
            return InvalidData(
                f"{os.fspath(path)}:{line}: {len(record)} fields where the first row has {n}{hint}"
            )
    return InvalidData(f"{os.fspath(path)}: {error}")
