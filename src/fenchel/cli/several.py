"""Rows with several targets each: sets of labels, or vectors of numbers, as the commands read them.

svmlight has sets of labels, `1,3,7 index:value ...`. In a table each label or target is a column,
and --target names them all, with commas between: of labels they hold 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fenchel.cli import raw
from fenchel.cli.choices import SETS, VECTORS
from fenchel.cli.exits import UsageError
from fenchel.cli.inputs import size
from fenchel.cli.sources import STDIN, Files, joined, name
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.cli.settings import Settings
    from fenchel.data.dataset import Dataset

LOSSES = (*SETS, *VECTORS)


@dataclass(frozen=True)
class SeveralTargets:
    """Rows and their targets, a list of sets or a table; else the fields of a data set."""

    X: Any
    y: Any
    feature_names: tuple[str, ...] | None
    index_base: int | None
    counts: tuple[int, ...] = ()
    weight: Any = None
    facts: Any = None
    encoder: Any = None
    qid: None = None
    offset: None = None


def read_several(source: Files, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """What files hold, with the targets of such a loss, and the seconds it took to read."""
    if source.is_table:
        return _read_columns(source, terminal, settings)
    if settings.loss in VECTORS:
        raise UsageError(
            f"--loss {settings.loss} needs several targets, which only tables have: give a .csv, "
            ".tsv or .parquet, and --target a,b,c"
        )
    rows, sets, seconds = read_sets(source, terminal, index_base=settings.index_base)
    found = SeveralTargets(rows.X, sets, None, rows.index_base, rows.counts)
    return cast("Dataset", found), seconds


def targets_for(model: Any, loss: str, source: Files, target: str | None) -> Any:
    """The targets of rows in a table: columns asked for, or those that the model was trained on."""
    names = _targets_of(model, target, loss)
    if not names or not source.is_table or source.is_stdin:
        return None
    if target is None and not _has(source, names):
        return None
    return _columns_of(source, names, loss)


def _has(source: Files, names: Sequence[str]) -> bool:
    """Whether the table has all these columns: rows to predict need not have targets."""
    from fenchel.data.joined_tables import joined as tables

    with source.opened() as paths:
        found = tables(paths).names
    return all(name in found for name in names)


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


def _read_columns(source: Files, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """The first target as tables have one; the others are left out, and read by themselves."""
    names = [] if settings.target is None else split(settings.target)
    if len(names) < 2:
        raise UsageError(
            f"--loss {settings.loss} has several targets: name their columns with --target a,b,c"
        )
    if source.is_stdin:
        raise UsageError("several targets are read in a second look at DATA: give a file")
    ignored = settings.ignore or []
    left_out = [*([ignored] if isinstance(ignored, str) else ignored), *names[1:]]
    one = msgspec.structs.replace(settings, target=names[0], ignore=left_out)
    found, seconds = raw.read(source, terminal, one)
    rows = SeveralTargets(
        found.X,
        _columns_of(source, names, settings.loss),
        found.feature_names,
        None,
        found.counts,
        found.weight,
        found.facts,
        found.encoder,
    )
    return cast("Dataset", rows), seconds


def _columns_of(source: Files, names: Sequence[str], loss: str) -> Any:
    """The targets in columns of a table that is read again for them; None where they are not."""
    from fenchel.data import files

    found = source.read(lambda path: files.read(path, features=list(names)))
    return _of(loss, found.X, names, source)


def _of(loss: str, values: Any, names: Sequence[str], source: Files) -> Any:
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


def read_sets(
    source: Files, terminal: Terminal, *, index_base: int | None
) -> tuple[Dataset, list[tuple[float, ...]], float]:
    from fenchel.data.dataset import Dataset
    from fenchel.data.svmlight_sets import read_sets as read_one

    parts: list[Dataset] = []
    sets: list[tuple[float, ...]] = []
    with terminal.step(f"read {source}") as step:
        for path in source.paths:
            _check_svmlight(path)
        for found in source.each(lambda data: read_one(data, index_base=index_base)):
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
