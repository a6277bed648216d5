"""The rows of files, to be trained on or in the columns of a model, whatever their format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from fenchel.cli import inputs, label_files, places, raw, several
from fenchel.cli.choices import SETS
from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings
from fenchel.cli.sources import Files
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.blocks import Blocks
    from fenchel.data.dataset import Dataset


def read_rows(
    source: Files, terminal: Terminal, settings: Settings, *, held: bool = False
) -> tuple[Dataset, float]:
    """The rows to fit, with the targets that the loss needs, and the seconds it took to read.

    With `held`, those of a streamed table are kept in memory by workers who are sent them.
    """
    if settings.loss in several.LOSSES:
        return several.read_several(source, terminal, settings)
    check = not places.elsewhere(settings)  # else those who read the rows look at them
    if source.is_table and settings.stream:
        dataset, seconds = raw.streamed(source, terminal, settings, check=check)
        dataset = replace(dataset, X=cast("Blocks", dataset.X).read_once()) if held else dataset
    elif source.is_table:
        dataset, seconds = raw.read(source, terminal, settings)
    else:
        dataset, seconds = inputs.read(
            source,
            terminal,
            target=settings.target,
            index_base=settings.index_base,
            stream=bool(settings.stream),
            check=check,
            offset=settings.offset,
            exposure=settings.exposure,
        )
    return label_files.applied(settings, dataset), seconds


def read_for(
    model: Any,
    loss: str,
    source: Files,
    terminal: Terminal,
    *,
    target: str | None,
    index_base: int | None,
    stream: bool = False,
) -> inputs.FileRows:
    """The rows of files in the columns of a model, with what targets its loss has.

    With `stream` they stay in the files, and are read when something is asked of them.
    """
    if loss in SETS and not source.is_table:
        return _sets_for(model, source, terminal, index_base, stream)
    if loss in several.LOSSES:
        rows = _rows_for(model, source, terminal, None, index_base, stream)
        return rows._replace(y=several.targets_for(model, loss, source, target))
    rows = _rows_for(model, source, terminal, target, index_base, stream)
    return rows._replace(y=label_files.as_leaves(rows.y, model))


def _sets_for(
    model: Any, source: Files, terminal: Terminal, index_base: int | None, stream: bool
) -> inputs.FileRows:
    if stream:
        raise UsageError("svmlight with sets of labels is read as a whole: leave out --stream")
    trained = getattr(model, "index_base_", None)
    base = trained if index_base is None else index_base
    rows, sets, _ = several.read_sets(source, terminal, index_base=base)
    return inputs.FileRows(_as_wide(rows.X, model.n_features_in_, source), sets, None, None)


def _rows_for(
    model: Any,
    source: Files,
    terminal: Terminal,
    target: str | None,
    index_base: int | None,
    stream: bool,
) -> inputs.FileRows:
    """Rows, one target, queries, offsets and weights, of which the files may lack some."""
    if getattr(model, "table_", None) is not None and source.is_table:
        read_table = raw.stream_like if stream else raw.read_like
        return read_table(model, source, terminal, target=target)
    if getattr(model, "encoder_", None) is not None:
        raise InvalidData(
            f"{source} is no table, but the model was trained on one with columns such as "
            f"{model.table_.names[0]!r}: give a .csv, .tsv or .parquet file"
        )
    trained = getattr(model, "index_base_", None)
    names = getattr(model, "feature_names_in_", None)
    dataset, _ = inputs.read(
        source,
        terminal,
        target=target,
        # An index 0 may turn up in what should count from 1: leave it to the reader to find it.
        index_base=trained if index_base is None and trained == 0 else index_base,
        features=None if names is None else [str(name) for name in names],
        n_features=model.n_features_in_ if trained is None else None,
        stream=stream,
        check=False,
        offset=getattr(model, "offset_column_", None),
        exposure=getattr(model, "exposure_column_", None),
    )
    X: Any = dataset.X
    if index_base is None and (trained, dataset.index_base) == (1, 0):
        X = _without_first(X, source, terminal)
    wide = _as_wide(X, model.n_features_in_, source)
    return inputs.FileRows(wide, dataset.y, dataset.qid, dataset.offset)


def _without_first(X: Any, source: Files, terminal: Terminal) -> Any:
    """The columns from index 1 on, which is where the training data counted from."""
    from fenchel.data.blocks import Blocks

    said = f"{source} has an index 0, while the training data counted from 1"
    if isinstance(X, Blocks):
        raise InvalidData(
            f"{said}, and rows that stay in their file have all columns: if this file counts from "
            "0, give --index-base 0, for a store to fenchel convert; else leave out --stream"
        )
    terminal.warn(
        f"{said}: what stands at index 0 is left out. If this file counts from 0, give "
        "--index-base 0"
    )
    return X[:, 1:]


def _as_wide(X: Any, n_features: int, source: Files) -> Any:
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
