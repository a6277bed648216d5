"""Everything a kernel relies on, checked before it sees the data.

Nothing of the caller's is modified, and arrays that can be used as they are are not copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Sized
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.callers import users_line
from fenchel.data import dataset, frames
from fenchel.data.arrays import is_array, to_host
from fenchel.data.rows import Array, DenseRows, SparseRows
from fenchel.errors import FenchelWarning, InvalidData
from fenchel.losses.base import Labels

# Squares of scores and gradients must stay finite for every bound to mean something.
LARGEST = 1e100


def checked_matrix(X: Any, *, distinct: bool = True) -> SparseRows | DenseRows:
    """X as rows the kernels can read: float32 or float64, finite, in range.

    Sparse rows name no column twice, unless `distinct=False`: products add up what they do.
    """
    if frames.is_frame(X):
        X, _ = frames.columns(X)
    if not sparse.issparse(X):
        return _dense(X)
    rows = _sparse(X)
    return _without_duplicates(rows) if distinct else rows


def checked_weights(sample_weight: Any, n_rows: int, *, of: str = "row") -> Array | None:
    """Sample weights as float64, finite, >= 0 and not all 0; None stays None.

    `of` is what messages call that which is weighed.
    """
    if sample_weight is None:
        return None
    s = _column("sample_weight", sample_weight, n_rows, of)
    if (s < 0).any():
        i = int(np.argmax(s < 0))
        raise InvalidData(
            f"sample_weight must be >= 0; found {int((s < 0).sum())} negative entries, the first "
            f"is sample_weight[{i}] = {s[i]:g}"
        )
    if not s.any():
        raise InvalidData(
            f"sample_weight is 0 for every {of}: weights of zero leave nothing to fit"
        )
    if s.max() < 1 / LARGEST:
        raise InvalidData(f"sample_weight is at most {s.max():g}: rescale it")
    return s


def checked_offset(offset: Any, n_rows: int) -> Array | None:
    """What is added to the score of each row, as finite float64; None stays None."""
    return None if offset is None else _column("offset", offset, n_rows)


def checked_groups(groups: Any, n_rows: int) -> npt.NDArray[np.int64] | None:
    """The query of each row, as numbers that stand together; None stays None."""
    if groups is None:
        return None
    return dataset.groups(one_dimensional("groups", groups, n_rows), "groups")


def checked_labels(y: Any, labels: Labels, n_rows: int) -> Array:
    """y as the loss expects it; of two classes the smaller as -1, the larger as +1."""
    if labels is Labels.NONE:
        return np.zeros(n_rows)
    if y is None:
        raise InvalidData(f"y is missing: the loss needs {labels.value}, one for each row of X")
    if labels is Labels.BINARY:
        return _two_classes(y, n_rows)
    numbers = _column("y", y, n_rows)
    for kind, rule, outside in (
        (Labels.COUNT, "y >= 0", numbers < 0),
        (Labels.POSITIVE, "y > 0", numbers <= 0),
    ):
        if labels is kind and outside.any():
            i = int(np.argmax(outside))
            raise InvalidData(f"the loss needs {rule}; y[{i}] is {numbers[i]:g}", row=i)
    return numbers


def checked_classes(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """(the distinct values of y in order, at least two; the place of each row's among them)."""
    y = one_dimensional("y", y, n_rows)
    bad = ~np.isfinite(y) if y.dtype.kind == "f" else np.asarray(y != y)  # nan among objects
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidData(f"y holds nan or inf; the first is y[{i}] = {y[i]}", row=i)
    try:
        classes, codes = _distinct(y)
    except TypeError as error:
        raise InvalidData(f"y mixes types that cannot be compared: {error}") from error
    if len(classes) == 1:
        raise InvalidData(
            f"y holds a single class, {classes.tolist()[0]!r}; one class is not enough, "
            "a classifier needs two"
        )
    return classes, codes


def _distinct(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """As np.unique, which sorts them all; numbers of which there are two are told by comparing."""
    if y.dtype.kind in "biuf" and len(y):
        ends = np.array([y.min(), y.max()])
        upper = y == ends[1]
        if ends[0] != ends[1] and np.all(upper | (y == ends[0])):
            return ends, upper.astype(np.intp)
    return np.unique(y, return_inverse=True)


def unmasked(name: str, values: Any) -> Any:
    """The values themselves, unless some are masked: NumPy would go on with what lies beneath.

    Arrays of other libraries come as NumPy's; those on a device are copied.
    """
    if is_array(values):
        try:
            return to_host(values)
        except (TypeError, RuntimeError) as error:  # numbers or a layout that NumPy does not have
            raise InvalidData(f"{name} cannot be read as a NumPy array: {error}") from error
    if np.ma.is_masked(values):
        raise InvalidData(f"{name} has masked entries; fill or drop them before fitting")
    return values


def _dense(X: Any) -> DenseRows:
    values = floating("X", as_array("X", X))
    check_shape(values.shape)
    if not _readable(values):
        values = np.ascontiguousarray(values)
    _check_range(values, lambda i, j: (i, j))
    return DenseRows(values)


def check_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns), at least one of each."""
    if len(shape) != 2:
        raise InvalidData(
            f"X must have two dimensions, rows and columns; got shape {shape}. "
            "For a single column use X.reshape(-1, 1), for a single row X.reshape(1, -1)"
        )
    _check_nonempty(*shape)
    return shape


def _readable(values: npt.NDArray[Any]) -> bool:
    """Whether the kernels can walk the array: one axis contiguous, the other in whole steps."""
    size = values.itemsize
    whole = all(stride % size == 0 for stride in values.strides)
    return values.flags.aligned and whole and size in values.strides


def _sparse(X: Any) -> SparseRows:
    if X.ndim != 2:
        raise InvalidData(f"X must have two dimensions, rows and columns; got shape {X.shape}")
    _check_nonempty(*X.shape)
    if X.format != "csr":
        X = _converted(X)
    n_rows, n_columns = X.shape
    row_start, column = _structure(X.indptr, X.indices, X.data, n_rows, n_columns, "column")
    value = floating("X", np.require(X.data[: row_start[-1]], requirements=["C", "A"]))
    ones = _kernels.all_ones(value)
    if not ones:
        _check_range(value[np.newaxis], lambda _, k: (_row_of(row_start, k), int(column[k])))
    return SparseRows(row_start, _narrow(column, n_columns), value, n_columns, ones)


def _narrow(
    column: npt.NDArray[np.signedinteger[Any]], n_columns: int
) -> npt.NDArray[np.signedinteger[Any]]:
    """Columns in 32 bits where these suffice: scikit-learn's loader has 64, of which each pass
    reads twice as much; the copy takes less than half a pass and a quarter of X's memory."""
    return column.astype(np.int32, copy=False) if n_columns <= 1 << 31 else column


def _converted(X: Any) -> sparse.csr_array:
    """Another format as CSR, from a view of the caller's arrays that were checked first.

    SciPy trusts the indices it converts, and its own check replaces the arrays it looks at.
    """
    n_rows, n_columns = X.shape
    if X.format == "csc":
        start, index = _structure(X.indptr, X.indices, X.data, n_columns, n_rows, "row")
        value = floating("X", X.data[: start[-1]])
        return sparse.csc_array((value, index, start), shape=X.shape).tocsr()
    if X.format == "bsr":
        height, width = X.data.shape[1:] if X.data.ndim == 3 else (0, 0)
        if not height or not width or n_rows % height or n_columns % width:
            raise InvalidData(f"X's blocks, {X.data.shape}, do not fit its shape {X.shape}")
        sizes = n_rows // height, n_columns // width
        start, index = _structure(X.indptr, X.indices, X.data, *sizes, "column of blocks")
        value = floating("X", X.data[: start[-1]])
        return sparse.bsr_array((value, index, start), shape=X.shape).tocsr()
    if X.format == "coo":
        lengths = [len(part) for part in (*X.coords, X.data)]
        if len(set(lengths)) > 1:
            raise InvalidData(f"X's row, column and data arrays differ in length: {lengths}")
        for indices, size, axis in zip(X.coords, X.shape, ("row", "column"), strict=True):
            _check_indices(indices, size, axis)
        return sparse.coo_array((floating("X", X.data), X.coords), shape=X.shape).tocsr()
    return sparse.csr_array(X.tocsr())


def _structure(
    indptr: Any, indices: Any, data: Any, n_lines: int, size: int, axis: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.signedinteger[Any]]]:
    """Pointers and indices of a compressed matrix, checked, in types that the kernels read."""
    start = np.ascontiguousarray(indptr, dtype=np.int64)
    if len(start) != n_lines + 1 or start[0] != 0 or (start[1:] < start[:-1]).any():
        raise InvalidData(
            f"X.indptr is damaged: it must have {n_lines + 1} entries that start at 0 and never "
            "decrease. The matrix was built from wrong arrays"
        )
    used = start[-1]
    if used > len(indices) or used > len(data):
        raise InvalidData(
            f"X.indptr ends at {used}, but X.indices has {len(indices)} and X.data {len(data)}"
        )
    index = np.require(indices[:used], requirements=["C", "A"])
    _check_indices(index, size, axis)
    if index.dtype not in (np.int32, np.int64) or not index.dtype.isnative:
        index = index.astype(np.int64)
    return start, index


def _check_indices(indices: Any, size: int, axis: str) -> None:
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
        stacklevel=users_line(),
    )
    summed = rows.matrix().copy()
    summed.sum_duplicates()
    row_start = summed.indptr.astype(np.int64)
    return SparseRows(row_start, summed.indices, summed.data, rows.n_columns)


def _row_of(row_start: npt.NDArray[np.int64], k: int) -> int:
    return int(np.searchsorted(row_start, k, side="right")) - 1


def _check_range(values: Any, place: Any) -> None:
    if _kernels.within(values, LARGEST):  # eight times faster than the scan
        return
    count, i, j, largest = _kernels.scan(values)
    if count:
        raise nonfinite(count, values[i, j], *place(i, j))
    if largest > LARGEST:
        raise too_large(largest)


def nonfinite(count: int, first: Any, row: int, column: int) -> InvalidData:
    """Says that so many values of X cannot be used, and where the first is."""
    return InvalidData(
        f"X holds {count} values that are nan or inf; the first is {first} at row {row}, column "
        f"{column}. Impute or drop them before fitting",
        row=row,
    )


def too_large(largest: float) -> InvalidData:
    """Says that finite values of X are beyond what can be squared."""
    return InvalidData(
        f"X holds values as large as {largest:.3g}, whose squares overflow: rescale its columns"
    )


def _two_classes(y: Any, n_rows: int) -> Array:
    classes, codes = checked_classes(y, n_rows)
    if len(classes) > 2:
        shown = ", ".join(repr(c) for c in classes[:4].tolist())
        raise InvalidData(
            f"the loss needs two classes but y has {len(classes)} distinct values ({shown}, ...). "
            "For real targets choose a regression loss such as squared_error"
        )
    return np.where(codes == 1, 1.0, -1.0)


def _column(name: str, values: Any, n_rows: int, of: str = "row") -> Array:
    column = one_dimensional(name, values, n_rows, of)
    numbers = np.require(floating(name, column), dtype=np.float64, requirements=["C", "A"])
    if (np.abs(numbers) <= LARGEST).all():
        return numbers
    bad = ~np.isfinite(numbers)
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidData(
            f"{name} holds {int(bad.sum())} values that are nan or inf; the first is "
            f"{name}[{i}] = {numbers[i]}",
            row=i,
        )
    raise InvalidData(f"{name} holds values beyond {LARGEST:g}: rescale it")


def one_dimensional(name: str, given: Any, n_rows: int, of: str = "row") -> npt.NDArray[Any]:
    """Values, one for each row, as an array of one dimension."""
    values = as_array(name, given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidData(
            f"{name} must be one number or label for each {of}; got shape {values.shape}"
        )
    if len(values) != n_rows:
        raise InvalidData(f"X has {n_rows} {of}s but {name} has {len(values)} entries")
    return values


def as_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Anything rectangular as an array."""
    values = unmasked(name, values)
    if frames.is_series(values):
        values = frames.series(name, values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        uneven = _uneven(values) or error
        raise InvalidData(f"{name} is not a rectangular array of numbers: {uneven}") from error


def _uneven(rows: Any) -> str | None:
    """The first row of a list that is not as long as row 0; None if there is no such row."""
    if not isinstance(rows, list | tuple):
        return None
    lengths = [len(row) if isinstance(row, Sized) else None for row in rows]
    i = next((i for i, n in enumerate(lengths) if n != lengths[0]), None)
    if i is None:
        return None
    first, other = ("no list" if n is None else f"{n} long" for n in (lengths[0], lengths[i]))
    return f"row 0 is {first}, row {i} is {other}"


def floating(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float32 and float64 in native byte order as they are; other real numbers as float64."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f" and size in (4, 8):
        return values if values.dtype.isnative else values.astype(f"f{size}")
    if kind in "cmM":
        raise unreal(name, values.dtype.name)
    try:
        if kind == "O" and any(isinstance(value, complex) for value in values.flat):
            raise TypeError("complex numbers")
        with np.errstate(over="ignore"):
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{name} holds values that are not numbers: {error}") from error


def unreal(name: str, kind: str) -> InvalidData:
    """Says that values are of a kind that is not ordered, such as complex numbers."""
    return InvalidData(f"{name} holds {kind} values, which are not numbers on a line")


def _check_nonempty(n_rows: int, n_columns: int) -> None:
    if n_rows < 1 or n_columns < 1:
        raise InvalidData(
            f"X has {n_rows} rows and {n_columns} columns; at least 1 of each is needed"
        )
