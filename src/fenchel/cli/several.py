"""Rows with several targets each: sets of labels, or vectors of numbers, as the commands read them.

svmlight has sets of labels, `1,3,7 index:value ...`. In a table each label or target is a column,
and --target names them all, with commas between: of labels they hold 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fenchel.cli import label_files
from fenchel.cli.choices import SETS, VECTORS
from fenchel.cli.exits import UsageError
from fenchel.cli.inputs import FileRows, as_wide, read, read_for, size
from fenchel.cli.sources import STDIN, Source, joined, name
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.cli.settings import Settings
    from fenchel.data.dataset import Dataset

LOSSES = (*SETS, *VECTORS)


@dataclass(frozen=True)
class Several:
    """Rows and their targets, a list of sets or a table; else the fields of a data set."""

    X: Any
    y: Any
    feature_names: tuple[str, ...] | None
    index_base: int | None
    counts: tuple[int, ...] = ()
    qid: None = None
    offset: None = None


def read_several(source: Source, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """What files hold, with the targets of such a loss, and the seconds it took to read."""
    if source.is_table:
        return _read_columns(source, terminal, settings)
    if settings.loss in VECTORS:
        raise UsageError(
            f"--loss {settings.loss} needs several targets, which only tables have: give a .csv, "
            ".tsv or .parquet, and --target a,b,c"
        )
    rows, sets, seconds = _read_sets(source, terminal, index_base=settings.index_base)
    found = Several(rows.X, sets, None, rows.index_base, rows.counts)
    return cast("Dataset", found), seconds


def rows_for(
    model: Any,
    loss: str,
    source: Source,
    terminal: Terminal,
    *,
    target: str | None,
    index_base: int | None,
) -> FileRows:
    """A file's rows in the columns of a model, with what targets its loss has."""
    if loss in LOSSES:
        return _several_for(model, loss, source, terminal, target, index_base)
    rows = read_for(model, source, terminal, target=target, index_base=index_base)
    return rows._replace(y=label_files.as_leaves(rows.y, model))


def _several_for(
    model: Any,
    loss: str,
    source: Source,
    terminal: Terminal,
    target: str | None,
    index_base: int | None,
) -> FileRows:
    """A file's rows in the columns of a model of such a loss, with their targets if it has any."""
    if not source.is_table and loss in SETS:
        trained = getattr(model, "index_base_", None)
        base = trained if index_base is None else index_base
        rows, sets, _ = _read_sets(source, terminal, index_base=base)
        return FileRows(as_wide(rows.X, model.n_features_in_, source), sets, None, None)
    names = _targets_of(model, target, loss)
    found = read_for(model, source, terminal, target=None, index_base=index_base)
    if not names or not source.is_table or source.is_stdin:
        return found._replace(y=None)
    return found._replace(y=_columns_of(source, names, loss))


def _targets_of(model: Any, target: str | None, loss: str) -> list[str]:
    """The columns of targets: those asked for, else those that the model was trained on."""
    if target is not None:
        return split(target)
    known = getattr(model, "target_names_" if loss in VECTORS else "classes_", ())
    return [each for each in list(known) if isinstance(each, str)]


def split(target: str) -> list[str]:
    """The names of columns with commas between them."""
    names = [part.strip() for part in target.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise UsageError(f"--target: expected names of columns, as in a,b,c; got {target!r}")
    return names


def _read_columns(source: Source, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """The first target by the reader's own means; the others are taken from among the features."""
    import numpy as np

    names = [] if settings.target is None else split(settings.target)
    if len(names) < 2:
        raise UsageError(
            f"--loss {settings.loss} has several targets: name their columns with --target a,b,c"
        )
    found, seconds = read(source, terminal, target=names[0])
    columns = found.feature_names
    if columns is None:
        raise InvalidData(f"{source}: its columns have no names, of which --target has {names}")
    for each in names[1:]:
        if each not in columns:
            raise InvalidData(f"{source}: no column {each!r}, of which --target speaks")
    places = [columns.index(each) for each in names[1:]]
    kept = [j for j in range(len(columns)) if j not in places]
    if not kept:
        raise InvalidData(f"{source}: no columns are left beside the targets")
    X: Any = found.X
    first = np.asarray(found.y)
    if first.dtype.kind == "U":
        raise InvalidData(f"{source}: column {names[0]!r} holds text such as {first[0]!r}")
    values = np.column_stack([first, X[:, places]])
    rows = Several(
        X[:, kept],
        _of(settings.loss, values, names, source),
        tuple(columns[j] for j in kept),
        None,
        found.counts,
    )
    return cast("Dataset", rows), seconds


def _columns_of(source: Source, names: Sequence[str], loss: str) -> Any:
    """The targets in columns of a table that is read again for them; None where they are not."""
    from fenchel.data import files

    found = source.read(lambda path: files.read(path, features=list(names)))
    return _of(loss, found.X, names, source)


def _of(loss: str, values: Any, names: Sequence[str], source: Source) -> Any:
    """Numbers as a table with names; zeros and ones as sets of names."""
    import numpy as np

    if loss in VECTORS:
        from fenchel.data.tables import arrow

        return arrow("").table({each: values[:, k] for k, each in enumerate(names)})
    odd = np.argwhere((values != 0) & (values != 1))
    if len(odd):
        i, k = odd[0].tolist()
        raise InvalidData(
            f"{source}: column {names[k]!r} is a label, which rows have or have not, 1 or 0; in "
            f"row {i} it is {values[i, k]:g}",
            row=i,
        )
    return [[names[int(k)] for k in np.flatnonzero(line)] for line in values]


def _read_sets(
    source: Source, terminal: Terminal, *, index_base: int | None
) -> tuple[Dataset, list[tuple[float, ...]], float]:
    from fenchel.data.dataset import Dataset
    from fenchel.data.svmlight_sets import read_sets

    parts: list[Dataset] = []
    sets: list[tuple[float, ...]] = []
    with terminal.step(f"read {source}") as step:
        for path in source.paths:
            _check_svmlight(path)
        for found in source.each(lambda data: read_sets(data, index_base=index_base)):
            parts.append(Dataset(found.rows.X, index_base=found.rows.index_base))
            sets += found.sets
        rows = parts[0] if len(parts) == 1 else joined(parts, source.paths)
        step.found = size(rows.X)
    return rows, sets, step.seconds


def _check_svmlight(path: Path) -> None:
    from fenchel.data.compression import suffixes
    from fenchel.data.files import BINARY

    if path != STDIN and suffixes(path)[0] in BINARY:
        raise InvalidData(
            f"{name(path)}: sets of labels are read from svmlight and from the columns of a table"
        )
