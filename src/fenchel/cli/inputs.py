"""Data files: read and announced, and brought into the shape a model was trained on."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.exits import UsageError
from fenchel.cli.terminal import Terminal, short
from fenchel.errors import InvalidData, Setting

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset

STDIN = Path("-")


def read(
    path: Path,
    terminal: Terminal,
    *,
    target: str | None = None,
    index_base: int | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    stream: bool = False,
    offset: str | None = None,
    exposure: str | None = None,
) -> tuple[Dataset, float]:
    """What a file holds, and the seconds it took to read; the options are those of `files.read`.

    `exposure` is a column whose logarithms are the offsets.
    """
    from fenchel.data import files

    with file(path) as data, terminal.step(f"read {name(path)}") as step:
        try:
            dataset = files.read(
                data,
                target=target,
                index_base=index_base,
                features=features,
                n_features=n_features,
                stream=stream,
                offset=exposure if offset is None else offset,
            )
        except OSError as error:
            raise UsageError(f"cannot read {name(path)}: {error.strerror or error}") from error
        except InvalidData as error:
            raise renamed(error, data, path) from error
        step.found = size(dataset.X)
    if exposure is not None:
        with placed(path):
            dataset = replace(dataset, offset=logarithms(dataset.offset, exposure))
    return dataset, step.seconds


def logarithms(exposures: Any, column: str) -> Any:
    """Of a column of exposures."""
    import numpy as np

    short_of = np.flatnonzero(exposures <= 0)
    if len(short_of):
        row = int(short_of[0])
        raise InvalidData(
            f"column {column!r} holds exposures, which must be > 0; in row {row} it is "
            f"{exposures[row]:g}",
            row=row,
        )
    return np.log(exposures)


def renamed(error: InvalidData, data: Path, path: Path) -> InvalidData:
    """The error of a file that was read in place of another, such as stdin, which it then names."""
    parts: tuple[str, ...] = error.args
    return InvalidData(
        *(
            part if isinstance(part, Setting) else part.replace(str(data), name(path))
            for part in parts
        )
    )


@contextmanager
def placed(path: Path) -> Iterator[None]:
    """Errors that name a row name its line in the file as well, where it still is and has lines."""
    from fenchel.data import files

    try:
        yield
    except InvalidData as error:
        if error.row is None or not path.is_file():
            raise
        line = files.line_of(path, error.row)
        if line is None:
            raise
        raise InvalidData(f"{name(path)}:{line}: ", *error.args, row=error.row) from error


class FileRows(NamedTuple):
    """What a file holds, in the columns of a model; None is what it does not hold."""

    X: Any
    y: Any
    qid: Any
    offset: Any
    weight: Any = None

    @property
    def added(self) -> dict[str, Any]:
        """The offsets, for methods of models that have them."""
        return {} if self.offset is None else {"offset": self.offset}


def check_queries(qid: Any, path: Path | str, what: str = "query") -> None:
    """Raises InvalidData if a file that is to be ranked has no queries, or no sequences."""
    if qid is not None:
        return
    if is_table(str(path)):
        raise InvalidData(f"{name(Path(path))}:1: no column is called qid, for the query of a row")
    raise InvalidData(
        f"{name(Path(path))}:1: the line has no {what}, nor has any other; write it as qid:7 right "
        f"after the label, lines of a {what} one after the other"
    )


def check_readable(path: Path) -> None:
    """Raises UsageError if there is nothing to read."""
    if path != STDIN and not path.exists():
        raise UsageError(f"there is no file {short(path)}")


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """The path itself, or a temporary copy of stdin."""
    check_readable(path)
    if path != STDIN:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="fenchel-", suffix=".svm") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)


def name(path: Path) -> str:
    """The file as messages call it."""
    return "stdin" if path == STDIN else short(path)


def is_table(path: str) -> bool:
    """Whether a file has columns, one of which is the target."""
    from fenchel.data import files
    from fenchel.data.compression import suffixes

    return suffixes(path)[0] == ".parquet" or files.is_delimited(path)


def is_svmlight(path: Path) -> bool:
    """Whether the name of a file says that it is svmlight, where it might be CoNLL."""
    from fenchel.data.compression import suffixes

    return suffixes(path)[0] in (".svm", ".svmlight", ".libsvm")


def shape(X: Any) -> tuple[int, int, int | None]:
    """Rows, features and nonzeros, where these are known."""
    import numpy as np

    from fenchel.data.conll import Tokens
    from fenchel.engines.owners import Owners

    if isinstance(X, Tokens):
        return X.n_sequences, len(X.columns), X.n_tokens
    if isinstance(X, list):  # of the rows of each sequence
        return len(X), X[0].shape[1], sum(x.nnz for x in X)
    if isinstance(X, Owners):
        return (*X.shape, None)
    return (*X.shape, int(X.nnz if hasattr(X, "nnz") else np.count_nonzero(X)))


def size(X: Any) -> str:
    """Of a matrix, in words."""
    rows, features, nonzeros = shape(X)
    return f"{rows:,} rows, {features:,} features, {nonzeros:,} nonzeros"
