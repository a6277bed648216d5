"""The rows of a file, to be trained on or in the columns of a model, whatever its format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli import inputs, raw
from fenchel.cli.settings import Settings
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset


def read_rows(path: Path, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """The rows to fit, from a table or from a file of numbers."""
    if inputs.is_table(str(path)) and not settings.stream:
        return raw.read(path, terminal, settings)
    dataset, seconds = inputs.read(
        path,
        terminal,
        target=settings.target,
        index_base=settings.index_base,
        stream=settings.stream,
        offset=settings.offset,
        exposure=settings.exposure,
    )
    if inputs.is_table(str(path)):
        dataset = raw.remembered(path, dataset, settings, terminal)
    return dataset, seconds


def read_for(
    model: Any, path: Path, terminal: Terminal, *, target: str | None, index_base: int | None
) -> inputs.FileRows:
    """A file's rows in the columns of a model, with targets, queries and offsets if it has any."""
    if getattr(model, "table_", None) is not None and inputs.is_table(str(path)):
        return raw.read_like(model, path, terminal, target=target)
    if getattr(model, "encoder_", None) is not None:
        raise InvalidData(
            f"{inputs.name(path)} is no table, but the model was trained on one with columns such "
            f"as {model.table_.names[0]!r}: give a .csv, .tsv or .parquet file"
        )
    trained = getattr(model, "index_base_", None)
    names = getattr(model, "feature_names_in_", None)
    dataset, _ = inputs.read(
        path,
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
            f"{inputs.name(path)} has an index 0, while the training data counted from 1: what "
            "stands at index 0 is left out. If this file counts from 0, give --index-base 0"
        )
        X = X[:, 1:]
    wide = _as_wide(X, model.n_features_in_, path)
    return inputs.FileRows(wide, dataset.y, dataset.qid, dataset.offset)


def _as_wide(X: Any, n_features: int, path: Path) -> Any:
    """Sparse rows may name fewer features than the model has: the others are 0."""
    from scipy import sparse

    from fenchel.data.blocks import Blocks

    if isinstance(X, Blocks) and X.shape[1] < n_features:
        return X.widened(n_features)
    if X.shape[1] > n_features or (X.shape[1] < n_features and not sparse.issparse(X)):
        raise InvalidData(
            f"{inputs.name(path)} has {X.shape[1]:,} features, but the model was trained on "
            f"{n_features:,}"
        )
    if X.shape[1] < n_features:
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return X
