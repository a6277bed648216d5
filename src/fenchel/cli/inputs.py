"""Data files: read and announced, and brought into the shape a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.sources import Files, name
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset


def read(
    source: Files,
    terminal: Terminal,
    *,
    target: str | None = None,
    index_base: int | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    stream: bool = False,
    check: bool = True,
    offset: str | None = None,
    exposure: str | None = None,
) -> tuple[Dataset, float]:
    """What files hold, and the seconds it took to read; the options are those of `files.read`.

    `exposure` is a column whose logarithms are the offsets.
    """
    from fenchel.data import files

    wanted: dict[str, Any] = {
        "target": target,
        "index_base": index_base,
        "features": features,
        "n_features": n_features,
        "stream": stream,
        "check": check,
        "offset": exposure if offset is None else offset,
    }
    with terminal.step(f"read {source}") as step:
        dataset = source.read(lambda data: files.read(data, **wanted))
        step.found = size(dataset.X)
    return with_exposure(source, dataset, exposure), step.seconds


def with_exposure(source: Files, dataset: Dataset, exposure: str | None) -> Dataset:
    """The data set with the logarithms of its offsets in their place, if they are exposures."""
    if exposure is None:
        return dataset
    with source.placed(dataset.counts):
        return replace(dataset, offset=logarithms(dataset.offset, exposure))


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


def check_queries(qid: Any, path: Path, what: str = "query") -> None:
    """Raises InvalidData if a file that is to be ranked has no queries, or no sequences."""
    if qid is not None:
        return
    if is_table(str(path)):
        raise InvalidData(f"{name(path)}:1: no column is called qid, for the query of a row")
    raise InvalidData(
        f"{name(path)}:1: the line has no {what}, nor has any other; write it as qid:7 right "
        f"after the label, lines of a {what} one after the other"
    )


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
