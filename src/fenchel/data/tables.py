"""Tables of columns as data sets: which column is what, and Parquet files.

The target is the column asked for; else the one called y, target, label, class, response or
outcome, in this order; else the last. The groups are the column asked for, else the one called qid.
All others are features, but for those with another part to play and those to be left out.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel._system.files import replacing
from fenchel._system.memory import require
from fenchel.data import frames
from fenchel.data.checked import checked_matrix
from fenchel.data.dataset import Dataset
from fenchel.data.shards import NUMBERS_PER_SHARD
from fenchel.errors import FenchelError, InvalidData

TARGETS = ("y", "target", "label", "class", "response", "outcome")
GROUPS = "qid"
LARGEST_TABLE = 1 << 30  # bytes of a sparse matrix written out in full


@dataclass(frozen=True)
class Roles:
    """Positions of the features, target, groups, offsets and weights among a table's columns."""

    features: tuple[int, ...]
    target: int | None
    groups: int | None
    offset: int | None = None
    weight: int | None = None

    def used(self) -> list[int]:
        """The positions of all of them, in order."""
        return sorted({j for j in (*self.features, *self._others()) if j is not None})

    def among(self, used: Sequence[int]) -> Roles:
        """The same columns of a table that has only these."""
        at = {j: used.index(j) for j in used}
        places = (None if j is None else at[j] for j in self._others())
        return Roles(tuple(at[j] for j in self.features), *places)

    def _others(self) -> tuple[int | None, ...]:
        return self.target, self.groups, self.offset, self.weight


def arrow(module: str) -> Any:
    """A module of pyarrow, or an error that says how to get it."""
    try:
        return importlib.import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError as error:
        raise ImportError(
            'CSV and Parquet files are read and written by pyarrow: pip install "fenchel[tables]"'
        ) from error


def roles(
    names: Sequence[str],
    *,
    target: str | int | None,
    features: Sequence[str] | None,
    n_features: int | None,
    offset: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    ignore: Sequence[str] = (),
) -> Roles:
    """What each column is, by its name and by what was asked for.

    With `features`, or where there are just n_features columns, a target need not be there.
    """
    groups = names.index(GROUPS) if GROUPS in names and GROUPS not in (features or ()) else None
    if group is not None:
        groups = column_of(names, group, " of groups")
    added = None if offset is None else column_of(names, offset, " of offsets")
    weights = None if weight is None else column_of(names, weight, " of weights")
    out = [column_of(names, name, " to leave out") for name in ignore]
    others = [j for j in range(len(names)) if j not in (groups, added, weights, *out)]
    if target is not None:
        chosen: int | None = column_of(names, target)
    elif features is None and len(others) == n_features:
        chosen = None
    else:
        chosen = _usual_target(names, others, features)
    if features is None:
        used = [j for j in others if j != chosen]
    else:
        used = [column_of(names, name) for name in features]
    _check_apart(
        names,
        {"the target": [chosen], "a feature": used, "to be left out": out},
        {"offset": added, "weight": weights, "group": groups},
    )
    if not used or n_features not in (None, len(used)):
        raise InvalidData(f"it has {len(used)} feature columns; {n_features or 'some'} are needed")
    return Roles(tuple(used), chosen, groups, added, weights)


def _check_apart(
    names: Sequence[str],
    columns: Mapping[str, Sequence[int | None]],
    single: dict[str, int | None],
) -> None:
    """Refuses a column that is two things."""
    taken: dict[int, str] = {}
    parts: list[tuple[str, Sequence[int | None]]] = [(what, [j]) for what, j in single.items()] + [
        *columns.items()
    ]
    for what, used in parts:
        for j in {j for j in used if j is not None}:
            if j in taken:
                raise InvalidData(f"column {names[j]!r} cannot be both {taken[j]} and {what}")
            taken[j] = what


def _usual_target(
    names: Sequence[str], others: Sequence[int], features: Sequence[str] | None
) -> int | None:
    free = [j for j in others if names[j] not in (features or ())]
    for usual in TARGETS:
        for j in free:
            if names[j].lower() == usual:
                return j
    return free[-1] if free and features is None else None


def column_of(names: Sequence[str], wanted: str | int, what: str = "") -> int:
    """The position of a column given by its name, or by its number from 0."""
    if wanted in names:
        return names.index(wanted)
    try:
        return range(len(names))[int(wanted)]
    except (ValueError, IndexError):
        close = difflib.get_close_matches(str(wanted), names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
        raise InvalidData(f"no column {wanted!r}{what}: {hint}it has {shown}") from None


def dataset(table: Any, parts: Roles, *, named: bool) -> Dataset:
    """The columns of a pyarrow table as a data set."""
    require(8 * table.num_rows * len(parts.features), "the table as a matrix")
    if not table.num_rows:
        raise InvalidData("it has no rows")
    X, names = frames.columns(table.select(list(parts.features)))
    X = checked_matrix(X).matrix()
    y = None if parts.target is None else values(table, parts.target)
    qid = None if parts.groups is None else values(table, parts.groups)
    added = None if parts.offset is None else numbers(table, parts.offset)
    return Dataset(X, y, qid, names if named else None, offset=added)


def numbers(table: Any, j: int) -> npt.NDArray[np.float64]:
    """A column of finite numbers."""
    found: npt.NDArray[np.float64] = frames.columns(table.select([j]))[0][:, 0].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        name, row = table.column_names[j], int(bad[0])
        raise InvalidData(
            f"column {name!r} holds {len(bad)} values that are inf, the first in row {row}", row=row
        )
    return found


def values(table: Any, j: int) -> npt.NDArray[Any]:
    """A column of targets or groups, complete."""
    column, pa = table.column(j), arrow("")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    name = f"column {table.column_names[j]!r}"
    found = frames.series(name, column)
    if found.dtype.kind == "O":
        frames.check_complete(name, np.flatnonzero(found == ""))
    return found


def table(dataset: Dataset) -> Any:
    """The data set as a pyarrow table: groups, features, target; x1, x2, ... for want of names."""
    X: Any = dataset.X
    first = 1 if dataset.index_base is None else dataset.index_base
    size = 8 * X.shape[0] * X.shape[1]
    if sparse.issparse(X) and size > LARGEST_TABLE:
        raise InvalidData(
            f"as a table, with its zeros, this sparse matrix of {X.shape[0]} rows and {X.shape[1]} "
            f"columns would take {size / 2**30:.1f} GiB; .npz and .svm files keep it sparse"
        )
    names = dataset.feature_names or tuple(f"x{j + first}" for j in range(X.shape[1]))
    for taken in {TARGETS[0], GROUPS}.intersection(names):
        raise InvalidData(f"a feature is called {taken!r}, which says something else in a table")
    if sparse.issparse(X):
        require(size, "the table")
        X = X.toarray()
    columns = {name: X[:, j] for j, name in enumerate(names)}
    before = {} if dataset.qid is None else {GROUPS: dataset.qid}
    after = {} if dataset.y is None else {TARGETS[0]: dataset.y}
    return arrow("").table(before | columns | after)


def read_parquet(path: str | os.PathLike[str], **wanted: Any) -> Dataset:
    """The data set of a Parquet file; `wanted` as `roles` takes it."""
    with open(path, "rb") as file, naming(path):
        source = arrow("parquet").ParquetFile(file)
        names = own(source.schema_arrow)
        parts = roles(names, **wanted)
        kept = parts.used()
        require(8 * source.metadata.num_rows * len(kept), "the table")
        content = source.read(columns=[names[j] for j in kept])
        return dataset(content, parts.among(kept), named=True)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Puts the name of a Parquet file before what is wrong with it."""
    try:
        yield
    except FenchelError as error:
        raise InvalidData(f"{os.fspath(path)}: ", *error.args) from error
    except (arrow("").ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidData(f"{os.fspath(path)}: no readable Parquet file: {error}") from error


def own(schema: Any) -> list[str]:
    """The names of the columns, without an index that pandas wrote beside them."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return unique([name for name in schema.names if name not in index])


def unique(names: list[str]) -> list[str]:
    """The names, which must differ."""
    if len(set(names)) < len(names):
        j = next(j for j, name in enumerate(names) if name in names[:j])
        raise InvalidData(f"columns {names.index(names[j])} and {j} are both called {names[j]!r}")
    return names


def write_parquet(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """A column for each feature, with the target last."""
    content = table(dataset)
    rows = max(1, NUMBERS_PER_SHARD // content.num_columns)  # so that they can be streamed
    with replacing(path) as file:
        arrow("parquet").write_table(content, file, row_group_size=rows)
