"""Data files: read and announced, and brought into the shape a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.cli.sources import Source, name
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset


def read(
    source: Source,
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
        "offset": exposure if offset is None else offset,
    }
    with terminal.step(f"read {source}") as step:
        dataset = source.read(lambda data: files.read(data, **wanted))
        step.found = size(dataset.X)
    if exposure is not None:
        with source.placed(dataset.counts):
            dataset = replace(dataset, offset=_logarithms(dataset.offset, exposure))
    return dataset, step.seconds


def _logarithms(exposures: Any, column: str) -> Any:
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

    @property
    def added(self) -> dict[str, Any]:
        """The offsets, for methods of models that have them."""
        return {} if self.offset is None else {"offset": self.offset}


def read_for(
    model: Any,
    source: Source,
    terminal: Terminal,
    *,
    target: str | None,
    index_base: int | None,
) -> FileRows:
    """A file's rows in the columns of a model, with targets, queries and offsets if it has any."""
    trained = getattr(model, "index_base_", None)
    names = getattr(model, "feature_names_in_", None)
    dataset, _ = read(
        source,
        terminal,
        target=target,
        # An index 0 may turn up in what should count from 1: leave it to the reader to find it.
        index_base=trained if index_base is None and trained == 0 else index_base,
        features=None if names is None else [str(name) for name in names],
        n_features=model.n_features_in_ if trained is None else None,
        offset=getattr(model, "offset_column_", None),
        exposure=getattr(model, "exposure_column_", None),
    )
    X: Any = dataset.X
    if index_base is None and (trained, dataset.index_base) == (1, 0):
        terminal.warn(
            f"{source} has an index 0, while the training data counted from 1: what stands "
            "at index 0 is left out. If this file counts from 0, give --index-base 0"
        )
        X = X[:, 1:]
    wide = as_wide(X, model.n_features_in_, source)
    return FileRows(wide, dataset.y, dataset.qid, dataset.offset)


def as_wide(X: Any, n_features: int, source: Source) -> Any:
    """Sparse rows may name fewer features than the model has: the others are 0."""
    from scipy import sparse

    from fenchel.data.blocks import Blocks

    if isinstance(X, Blocks) and X.shape[1] < n_features:
        return X.widened(n_features)
    if X.shape[1] > n_features or (X.shape[1] < n_features and not sparse.issparse(X)):
        raise InvalidData(
            f"{source} has {X.shape[1]:,} features, but the model was trained on {n_features:,}"
        )
    if X.shape[1] < n_features:
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return X


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
    from fenchel.data.compression import suffixes

    return suffixes(path)[0] in (".csv", ".tsv", ".parquet")


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
    rows, features, nonzeros = shape(X)
    return f"{rows:,} rows, {features:,} features, {nonzeros:,} nonzeros"
