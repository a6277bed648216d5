"""Where the rows of a command come from: files, globs and stdin, read as one data set.

Rows stand in the order in which the files are given. All of them must have the columns of the
first; where a row is at fault, the file it stands in is named, and its line there.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fenchel.cli.choices import nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.terminal import short
from fenchel.errors import InvalidData, Phrase, Setting

if TYPE_CHECKING:
    from fenchel.data.blocks import Blocks
    from fenchel.data.dataset import Dataset

T = TypeVar("T")

STDIN = Path("-")
Format = Literal["svmlight", "csv", "tsv", "parquet"]
_SUFFIXES = {"svmlight": ".svm", "csv": ".csv", "tsv": ".tsv", "parquet": ".parquet"}
_WILD = "*?["


def expanded(given: Iterable[Path]) -> list[Path]:
    """The files, with those that a glob stands for in their alphabetical order."""
    found: list[Path] = []
    for path in given:
        found += [path] if _plain(path) else _matches(path)
    if found.count(STDIN) > 1:
        raise UsageError("- stands for stdin, which can be read only once: give it once")
    return found


def _plain(path: Path) -> bool:
    return path.exists() or not any(mark in str(path) for mark in _WILD)


def _matches(pattern: Path) -> list[Path]:
    found = [Path(name) for name in sorted(glob.glob(str(pattern), recursive=True))]
    files = [path for path in found if not path.is_dir()]
    if not files:
        raise UsageError(f"no file matches {str(pattern)!r}")
    return files


def check_readable(path: Path) -> None:
    """Raises UsageError if there is nothing to read."""
    if path != STDIN and not path.exists():
        raise UsageError(f"there is no file {short(path)}")


def name(path: Path) -> str:
    """The file as messages call it."""
    return "stdin" if path == STDIN else short(path)


def said(paths: Sequence[Path]) -> str:
    """The files as messages call them together."""
    first = name(paths[0])
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


@contextmanager
def file(path: Path, kind: Format | None = None) -> Iterator[Path]:
    """The file under a name that says what it is: itself, a link to it, or a copy of stdin."""
    check_readable(path)
    if path != STDIN and kind is None:
        yield path
        return
    from fenchel.data.compression import suffixes

    with tempfile.TemporaryDirectory(prefix="fenchel-") as folder:
        compression = "" if path == STDIN else suffixes(path)[1]
        named = Path(folder) / f"data{_SUFFIXES[kind or 'svmlight']}{compression}"
        if path == STDIN:
            with named.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            if kind is None:
                _check_svmlight(named)
        else:
            os.symlink(path.absolute(), named)
        yield named


def _check_svmlight(path: Path) -> None:
    """Refuses text from stdin that looks like a table, of which nothing says so."""
    with path.open("rb") as file:
        first = file.readline(4096)
    label = first.split(None, 1)[0] if first.split() else b""
    if b":" not in first and (b";" in first or any(c.isalpha() for c in label.decode("latin1"))):
        raise InvalidData("stdin: this looks like a table; give --format csv")


@dataclass(frozen=True)
class Files:
    """The files of a command, and their format where it was given."""

    paths: tuple[Path, ...]
    kind: Format | None = None

    def __str__(self) -> str:
        return said(self.paths)

    @property
    def path(self) -> Path:
        """The first file."""
        return self.paths[0]

    @property
    def names(self) -> list[str]:
        """All files as they were given."""
        return [str(path) for path in self.paths]

    def only(self, what: str) -> Path:
        """The file, which must be the only one, for `what` is read from one."""
        if len(self.paths) > 1:
            raise UsageError(f"{what} is read from one file; got {len(self.paths)}")
        return self.path

    @property
    def is_table(self) -> bool:
        """Whether the files have columns, one of which is the target."""
        from fenchel.data import files
        from fenchel.data.compression import suffixes

        if self.kind is not None:
            return self.kind != "svmlight"
        return suffixes(self.path)[0] == ".parquet" or files.is_delimited(self.path)

    @property
    def is_stdin(self) -> bool:
        """Whether stdin is among them."""
        return STDIN in self.paths

    @contextmanager
    def opened(self) -> Iterator[list[Path]]:
        """All files, each under a name that says what it is; errors call them as users do."""
        with contextlib.ExitStack() as stack:
            found = [stack.enter_context(file(path, self.kind)) for path in self.paths]
            for data, path in zip(found, self.paths, strict=True):
                stack.enter_context(renaming(data, path))
            yield found

    def each(self, work: Callable[[Path], T]) -> Iterator[T]:
        """What `work` makes of each file, under a name that says what it is."""
        for path in self.paths:
            with file(path, self.kind) as data, renaming(data, path):
                yield work(data)

    def read(self, read_one: Callable[[Path], Dataset]) -> Dataset:
        """The rows of all files, each of which `read_one` reads."""
        parts: list[Dataset] = []
        for part, path in zip(self.each(read_one), self.paths, strict=True):
            parts.append(part)
            _check_like(parts[0], part, self.path, path)
        return parts[0] if len(parts) == 1 else joined(parts, self.paths)

    @contextmanager
    def placed(self, counts: Sequence[int] = ()) -> Iterator[None]:
        """Errors that name a row name its file and line, where it still is and has lines.

        `counts` are the numbers of rows that each file gave, where there are several.
        """
        try:
            yield
        except InvalidData as error:
            where = None if error.row is None else self._line(error.row, counts)
            if where is None:
                raise
            raise InvalidData(f"{where}: ", *error.args, row=error.row) from error

    def _line(self, row: int, counts: Sequence[int]) -> str | None:
        from fenchel.data import files

        which = 0
        while which < len(counts) - 1 and row >= counts[which]:
            row, which = row - counts[which], which + 1
        path = self.paths[which]
        if path == STDIN or not path.is_file():
            return None
        with file(path, self.kind) as data:
            line = files.line_of(data, row)
        return None if line is None else f"{name(path)}:{line}"


def source(given: Iterable[Path] | None, kind: str | None = None) -> Files | None:
    """The files that a command was given, all of them there; None for none."""
    paths = expanded(given or ())
    return Files(tuple(paths), _format(kind)) if paths else None


def _format(kind: str | None) -> Format | None:
    if kind is not None and kind not in _SUFFIXES:
        close = nearest(kind, _SUFFIXES)
        raise UsageError(
            f"--format: unknown format {kind!r}{close or ';'} available are {', '.join(_SUFFIXES)}"
        )
    return kind  # type: ignore[return-value]  # one of them


@contextmanager
def renaming(data: Path, path: Path) -> Iterator[None]:
    """Errors of a file that was read in place of another, such as stdin, name the other."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:  # what is written on the way, a store or a copy of stdin
            raise
        raise UsageError(f"cannot read {name(path)}: {error.strerror or error}") from error
    except InvalidData as error:
        raise renamed(error, data, path) from error


def renamed(error: InvalidData, data: Path, path: Path) -> InvalidData:
    """The error with the other file's name; for stdin, with what to do about its format."""
    return InvalidData(*(_renamed(part, data, path) for part in error.args))


def _renamed(part: Any, data: Path, path: Path) -> Any:
    if isinstance(part, Setting | Phrase):
        return part
    return str(part).replace(str(data), name(path))


def _check_like(first: Dataset, part: Dataset, path: Path, other: Path) -> None:
    names, others = first.feature_names, part.feature_names
    if names != others:
        raise InvalidData(f"{name(other)}: {_difference(names, others)} {name(path)}")
    for what in ("y", "qid", "offset"):
        if (getattr(first, what) is None) is not (getattr(part, what) is None):
            raise InvalidData(
                f"{name(other)}: one of {name(path)} and this file has {_WHAT[what]}, the other not"
            )
    if first.y is not None and part.y is not None and _kind(first.y) != _kind(part.y):
        raise InvalidData(
            f"{name(other)}: its targets are {_kind(part.y)}, those of {name(path)} are "
            f"{_kind(first.y)}"
        )


_WHAT = {"y": "targets", "qid": "queries", "offset": "offsets"}


def _kind(y: Any) -> str:
    return "text" if y.dtype.kind == "U" else "numbers"


def _difference(names: tuple[str, ...] | None, others: tuple[str, ...] | None) -> str:
    if names is None or others is None:
        has = "no names of columns, unlike" if others is None else "names of columns, unlike"
        return f"it has {has}"
    lacking = [each for each in names if each not in others]
    if lacking:
        return f"it lacks column {lacking[0]!r} of"
    more = [each for each in others if each not in names]
    if more:
        return f"it has a column {more[0]!r} that is not in"
    return "its columns stand in another order than those of"


def joined(parts: Sequence[Dataset], paths: Sequence[Path]) -> Dataset:
    """The rows of several data sets, one after the other; they have the same columns."""
    import numpy as np

    from fenchel.data.blocks import Blocks
    from fenchel.data.dataset import Dataset

    base = min((part.index_base for part in parts if part.index_base is not None), default=None)
    if any(isinstance(part.X, Blocks) for part in parts):
        X: Any = _left(parts, paths, base)
    else:
        X = _stacked(parts, paths, base)

    def one(what: str) -> Any:
        each = [getattr(part, what) for part in parts]
        return None if each[0] is None else np.concatenate(each)

    qid = one("qid")
    if qid is not None:
        _check_apart(parts, paths)
    counts = tuple(part.X.shape[0] for part in parts)
    names, added = parts[0].feature_names, one("offset")
    return Dataset(X, one("y"), qid, names, base, offset=added, counts=counts)


def _stacked(parts: Sequence[Dataset], paths: Sequence[Path], base: int | None) -> Any:
    """All rows in one matrix."""
    import numpy as np
    from scipy import sparse

    columns = [_based(part, base) for part in parts]
    width = max(X.shape[1] for X in columns)
    for X, path in zip(columns, paths, strict=True):
        if X.shape[1] < width and not sparse.issparse(X):
            raise InvalidData(f"{name(path)} has {X.shape[1]:,} columns, another file {width:,}")
    if any(sparse.issparse(X) for X in columns):
        return sparse.vstack([_widened(sparse.csr_array(X), width) for X in columns], format="csr")
    return np.concatenate(columns)


def _left(parts: Sequence[Dataset], paths: Sequence[Path], base: int | None) -> Blocks:
    """The blocks of all files, each of which is read from its own."""
    from fenchel.data.blocks import Blocks

    found, width = list[Blocks](), max(part.X.shape[1] for part in parts)
    for part, path in zip(parts, paths, strict=True):
        if not isinstance(part.X, Blocks):
            raise InvalidData(
                f"{name(path)} is read into memory, but the rows of another file stay there: make "
                "stores of all with fenchel convert, or give --stream"
            )
        if part.index_base not in (None, base):
            raise InvalidData(
                f"{name(path)}: its indices count from 1, as far as it tells, but another file has "
                "an index 0: give --index-base 0, for a store to fenchel convert"
            )
        found.append(part.X if part.X.shape[1] == width else part.X.widened(width))
    return Blocks([block for each in found for block in each.parts], width)


def _check_apart(parts: Sequence[Dataset], paths: Sequence[Path]) -> None:
    """The rows of a query stand together, in one file."""
    seen: dict[int, Path] = {}
    for part, path in zip(parts, paths, strict=True):
        for qid in set(part.qid.tolist()):  # type: ignore[union-attr]  # all have queries
            if qid in seen:
                raise InvalidData(
                    f"{name(path)}: rows of qid {qid} stand in {name(seen[qid])} too; number the "
                    "queries of all files, and keep each in one"
                )
            seen[qid] = path


def _based(part: Dataset, base: int | None) -> Any:
    """Its columns counted from the base of all: a file without an index 0 seems to have none."""
    from scipy import sparse

    X: Any = part.X
    if part.index_base is None or part.index_base == base:
        return X
    return sparse.hstack([sparse.csr_array((X.shape[0], 1)), X], format="csr")


def _widened(X: Any, width: int) -> Any:
    from scipy import sparse

    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
