"""A data set: what a file holds, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel._system.memory import require
from fenchel.data.blocks import Blocks
from fenchel.data.table_facts import TableFacts
from fenchel.errors import InvalidData, Setting


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows X with their targets y, groups qid, names of columns and base of indices, where known.

    y is float64, or text of NumPy's type `str` for classes with names. Rows of a group stand
    together. `index_base` is what the file called the first column: 0 or 1. `offset` is what a
    column that was asked for holds, to be added to the scores of rows; `weight` is how much each
    counts. `facts` and `encoder` say how X was made of the columns of a table, if it was. `counts`
    are the numbers of rows that came from each of several files.
    """

    X: npt.NDArray[np.floating[Any]] | sparse.csr_array | Blocks
    y: npt.NDArray[Any] | None = None
    qid: npt.NDArray[np.int64] | None = None
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None
    offset: npt.NDArray[np.float64] | None = None
    weight: npt.NDArray[np.float64] | None = None
    facts: TableFacts | None = None
    encoder: Any = None
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n_rows, n_columns = self.X.shape
        for name, part, n in (
            ("targets", self.y, n_rows),
            ("groups", self.qid, n_rows),
            ("offsets", self.offset, n_rows),
            ("weights", self.weight, n_rows),
            ("feature names", self.feature_names, n_columns),
        ):
            if part is not None and len(part) != n:
                axis = "columns" if part is self.feature_names else "rows"
                raise InvalidData(f"X has {n} {axis} but there are {len(part)} {name}")
        if self.y is not None:
            object.__setattr__(self, "y", targets(self.y))
        if self.qid is not None:
            object.__setattr__(self, "qid", groups(self.qid))
        if self.index_base not in (None, 0, 1):
            raise InvalidData(Setting("index_base"), f" must be 0 or 1; got {self.index_base!r}")


def targets(values: Any) -> npt.NDArray[Any]:
    """Numbers as float64, text as `str`; nothing missing."""
    y = np.asarray(values)
    if y.ndim != 1:
        raise InvalidData(f"y must have one dimension; got shape {y.shape}")
    if y.dtype.kind == "U" or (y.dtype.kind == "O" and all(isinstance(v, str) for v in y)):
        require(4 * y.size * max(map(len, y), default=0), "the text of the targets")
        return y.astype(str)
    if y.dtype.kind not in "biufO":
        raise InvalidData(f"y holds {y.dtype.name} values, neither numbers nor text")
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"y mixes numbers with something else: {error}") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        where = f"the first in row {bad[0]}"
        raise InvalidData(
            f"y holds {len(bad)} values that are nan or inf, {where}", row=int(bad[0])
        )
    return numbers


def groups(values: Any, name: str = "qid") -> npt.NDArray[np.int64]:
    """Whole numbers, of which equal ones stand together."""
    qid = np.asarray(values)
    with np.errstate(invalid="ignore"):
        whole = qid.astype(np.int64) if qid.dtype.kind in "iuf" else None
    if whole is None or not np.array_equal(qid, whole):
        raise InvalidData(f"{name} must hold whole numbers, one for each row")
    return _together(whole, name)


def _together(qid: npt.NDArray[np.int64], name: str) -> npt.NDArray[np.int64]:
    starts = np.flatnonzero(np.diff(qid, prepend=qid[:1] - 1))
    _, first = np.unique(qid[starts], return_index=True)
    if len(first) < len(starts):
        row = starts[np.setdiff1d(np.arange(len(starts)), first)[0]]
        raise InvalidData(
            f"{name} {qid[row]} in row {row} comes back after other groups; sort the rows by "
            f"{name}, so that each group stands together",
            row=int(row),
        )
    return qid
