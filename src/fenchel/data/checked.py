"""Everything a kernel relies on, checked before it sees the data.

Nothing of the caller's is modified, and arrays that can be used as they are are not copied.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.data.rows import Array, DenseRows, SparseRows
from fenchel.errors import FenchelWarning, InvalidData
from fenchel.losses.base import Labels

# Squares of scores and gradients must stay finite for every bound to mean something.
LARGEST = 1e100


def checked_matrix(X: Any) -> SparseRows | DenseRows:
    """X as rows the kernels can read: float32 or float64, finite, in range."""
    return _sparse(X) if sparse.issparse(X) else _dense(X)


def checked_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """Sample weights as float64, finite, >= 0 and not all 0; None stays None."""
    if sample_weight is None:
        return None
    s = _column("sample_weight", sample_weight, n_rows)
    if (s < 0).any():
        i = int(np.argmax(s < 0))
        raise InvalidData(
            f"sample_weight must be >= 0; found {int((s < 0).sum())} negative entries, the first "
            f"is sample_weight[{i}] = {s[i]:g}"
        )
    if not s.any():
        raise InvalidData("sample_weight is 0 for every row: there is nothing to fit")
    return s


def checked_labels(y: Any, labels: Labels, n_rows: int) -> tuple[Array, npt.NDArray[Any] | None]:
    """y as the loss expects it, and the two classes that -1 and +1 stand for."""
    if labels is Labels.NONE:
        return np.zeros(n_rows), None
    if y is None:
        raise InvalidData(f"y is missing: the loss needs {labels.value}, one for each row of X")
    if labels is Labels.BINARY:
        return _two_classes(_one_dimensional("y", np.asarray(y), n_rows))
    numbers = _column("y", y, n_rows)
    if labels is Labels.COUNT and (numbers < 0).any():
        i = int(np.argmax(numbers < 0))
        raise InvalidData(f"the loss needs y >= 0; y[{i}] is {numbers[i]:g}")
    return numbers, None


def _dense(X: Any) -> DenseRows:
    values = _floating("X", np.asarray(X))
    if values.ndim != 2:
        raise InvalidData(
            f"X must have two dimensions, rows and columns; got shape {values.shape}. "
            "For a single column use X.reshape(-1, 1), for a single row X.reshape(1, -1)"
        )
    _nonempty(*values.shape)
    if values.itemsize not in values.strides:
        values = np.ascontiguousarray(values)
    _in_range(values, lambda i, j: (i, j))
    return DenseRows(values)


def _sparse(X: Any) -> SparseRows:
    if X.ndim != 2:
        raise InvalidData(f"X must have two dimensions, rows and columns; got shape {X.shape}")
    _nonempty(*X.shape)
    if X.format != "csr":
        X = _converted(X)
    n_rows, n_columns = X.shape
    row_start = np.ascontiguousarray(X.indptr, dtype=np.int64)
    column, value = np.ascontiguousarray(X.indices), np.ascontiguousarray(X.data)
    if column.dtype not in (np.int32, np.int64) or not column.dtype.isnative:
        column = column.astype(np.int64)
    _structure(row_start, column, value, n_rows, n_columns)
    value = _floating("X", value)
    _in_range(value[np.newaxis], lambda _, k: (_row_of(row_start, k), int(column[k])))
    rows = SparseRows(row_start, column, value, n_columns)
    return _without_duplicates(rows)


def _converted(X: Any) -> Any:
    """Another sparse format as CSR, its indices checked first: SciPy's conversion trusts them."""
    if X.format in ("csc", "bsr"):
        X.check_format(full_check=True)
    if X.format == "coo":
        for axis, (indices, size) in enumerate(zip(X.coords, X.shape, strict=True)):
            _indices_within(indices, size, ("row", "column")[axis])
    return X.tocsr()


def _structure(
    row_start: npt.NDArray[np.int64], column: Any, value: Any, n_rows: int, n_columns: int
) -> None:
    if len(row_start) != n_rows + 1 or row_start[0] != 0 or (np.diff(row_start) < 0).any():
        raise InvalidData(
            f"X.indptr is damaged: it must have {n_rows + 1} entries that start at 0 and never "
            "decrease. The matrix was built from wrong arrays"
        )
    used = row_start[-1]
    if used > len(column) or used > len(value):
        raise InvalidData(
            f"X.indptr ends at {used}, but X.indices has {len(column)} and X.data {len(value)}"
        )
    _indices_within(column[:used], n_columns, "column")


def _indices_within(indices: Any, size: int, axis: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        k = int(np.argmax((indices < 0) | (indices >= size)))
        raise InvalidData(
            f"X has {size} {axis}s but stored entry {k} names {axis} {indices[k]}; valid are 0 to "
            f"{size - 1}. Give the right shape, or subtract 1 from one-based indices"
        )


def _without_duplicates(rows: SparseRows) -> SparseRows:
    seen = np.full(rows.n_columns, -1, dtype=np.int64)
    row = _kernels.csr_first_duplicate(rows.row_start, rows.column, rows.value, seen)
    if row == rows.n_rows:
        return rows
    warnings.warn(
        f"X stores a column more than once in row {row}; such entries were added up in a copy. "
        "Call X.sum_duplicates() to avoid the copy",
        FenchelWarning,
        stacklevel=5,
    )
    summed = rows.matrix().copy()
    summed.sum_duplicates()
    row_start = summed.indptr.astype(np.int64)
    return SparseRows(row_start, summed.indices, summed.data, rows.n_columns)


def _row_of(row_start: npt.NDArray[np.int64], k: int) -> int:
    return int(np.searchsorted(row_start, k, side="right")) - 1


def _in_range(values: Any, place: Any) -> None:
    nonfinite, i, j, largest = _kernels.scan(values)
    if nonfinite:
        row, column = place(i, j)
        raise InvalidData(
            f"X holds {nonfinite} values that are nan or inf; the first is {values[i, j]} at row "
            f"{row}, column {column}. Impute or drop them before fitting"
        )
    if largest > LARGEST:
        raise InvalidData(
            f"X holds values as large as {largest:.3g}, whose squares overflow: rescale its columns"
        )


def _two_classes(y: npt.NDArray[Any]) -> tuple[Array, npt.NDArray[Any]]:
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        i = int(np.argmax(~np.isfinite(y)))
        raise InvalidData(f"y holds nan or inf; the first is y[{i}] = {y[i]}")
    try:
        classes = np.unique(y)
    except TypeError as error:
        raise InvalidData(f"y mixes types that cannot be compared: {error}") from error
    if len(classes) == 1:
        raise InvalidData(f"y holds a single class, {classes[0]!r}; a classifier needs two")
    if len(classes) > 2:
        shown = ", ".join(repr(c) for c in classes[:4].tolist())
        raise InvalidData(
            f"the loss needs two classes but y has {len(classes)} distinct values ({shown}, ...). "
            "For real targets choose a regression loss such as squared_error"
        )
    return np.where(y == classes[1], 1.0, -1.0), classes


def _column(name: str, values: Any, n_rows: int) -> Array:
    numbers = _floating(name, _one_dimensional(name, np.asarray(values), n_rows))
    bad = ~np.isfinite(numbers)
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidData(
            f"{name} holds {int(bad.sum())} values that are nan or inf; the first is "
            f"{name}[{i}] = {numbers[i]}"
        )
    if (np.abs(numbers) > LARGEST).any():
        raise InvalidData(f"{name} holds values beyond {LARGEST:g}: rescale it")
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _one_dimensional(name: str, values: npt.NDArray[Any], n_rows: int) -> npt.NDArray[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidData(f"{name} must have one dimension; got shape {values.shape}")
    if len(values) != n_rows:
        raise InvalidData(f"X has {n_rows} rows but {name} has {len(values)} entries")
    return values


def _floating(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float32 and float64 in native byte order as they are; other numbers as float64."""
    if values.dtype in (np.float32, np.float64):
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "c":
        raise InvalidData(f"{name} holds complex numbers; only real data can be used")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{name} holds values that are not numbers: {error}") from error


def _nonempty(n_rows: int, n_columns: int) -> None:
    if n_rows < 1 or n_columns < 1:
        raise InvalidData(
            f"X has {n_rows} rows and {n_columns} columns; at least 1 of each is needed"
        )
