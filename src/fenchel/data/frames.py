"""Data frames of any library as matrices of numbers: pandas, polars, pyarrow and their relatives.

A column of a frame must hold numbers or booleans, without gaps. Sparse columns of pandas stay
sparse.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.errors import Incompatible, InvalidData

if TYPE_CHECKING:
    import narwhals as nw

_ORDINARY = (np.ndarray, list, tuple, np.generic)  # not worth importing narwhals for


def is_frame(X: Any) -> bool:
    """Whether X is a data frame or a table of a library that narwhals knows."""
    if isinstance(X, _ORDINARY) or sparse.issparse(X):
        return False
    from narwhals import dependencies

    return dependencies.is_into_dataframe(X) or dependencies.is_polars_lazyframe(X)


def is_series(y: Any) -> bool:
    """Whether y is a column of a library that narwhals knows."""
    if isinstance(y, _ORDINARY):
        return False
    from narwhals import dependencies

    return dependencies.is_into_series(y)


def columns(
    X: Any,
) -> tuple[npt.NDArray[np.floating[Any]] | sparse.csr_array, tuple[str, ...] | None]:
    """The numbers of a frame, and its column names where they are text.

    float32 if every column is, else float64; CSR if a column of the frame is sparse.
    """
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(X):
        raise InvalidData("X is a lazy frame, whose rows are not known yet: call X.collect() first")
    names = _names(X)
    frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    if any(_is_sparse(column) for column in _pandas_columns(X)):
        return _compressed(frame), names
    return _dense(frame), names


def series(name: str, y: Any) -> npt.NDArray[Any]:
    """The values of a column; a missing one is an error that says where."""
    import narwhals as nw

    column: nw.Series[Any] = nw.from_native(y, series_only=True)
    check_complete(name, np.flatnonzero(column.is_null().to_numpy()))
    return np.asarray(y)


def _names(X: Any) -> tuple[str, ...] | None:
    """As scikit-learn has it: all text or none of it, and none counts as no names."""
    names = list(getattr(X, "column_names", X.columns))
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        raise InvalidData(f"X has more than one column named {twice[0]!r}; rename or drop them")
    kinds = {isinstance(name, str) for name in names}
    if len(kinds) == 2:
        other = next(name for name in names if not isinstance(name, str))
        raise Incompatible(
            f"some of X's column names are text and some are not, such as {other!r} of type "
            f"{type(other).__name__}; use X.columns = X.columns.astype(str)"
        )
    return tuple(names) if kinds == {True} else None


def _dense(frame: nw.DataFrame[Any]) -> npt.NDArray[np.floating[Any]]:
    kinds = {str(kind) for kind in frame.schema.values()}
    if len(kinds) == 1 and kinds <= {"Float32", "Float64"}:
        values: npt.NDArray[np.floating[Any]] = frame.to_numpy()  # pandas need not copy
        missing = np.isnan(values)
        for j in np.flatnonzero(missing.any(axis=0)).tolist():
            check_complete(_called(frame.columns[j]), np.flatnonzero(missing[:, j]))
        return values
    values = np.empty(frame.shape, order="F")
    for j, column in enumerate(frame.iter_columns()):
        values[:, j] = _numbers(_called(column.name), column)
    return values


def _numbers(name: str, column: nw.Series[Any]) -> npt.NDArray[np.float64]:
    """A column as float64, complete."""
    import narwhals as nw

    kind = column.dtype
    if kind == nw.Object or kind == nw.Unknown:
        numbers = _objects(name, column)
    elif kind.is_numeric() or kind == nw.Boolean:
        numbers = column.cast(nw.Float64).to_numpy()
    elif kind in (nw.String, nw.Categorical, nw.Enum):
        raise _text(name, column)
    else:
        check_complete(name, np.flatnonzero(column.is_null().to_numpy()))
        raise InvalidData(
            f"{name} is of type {kind}, not numbers; convert it to numbers or drop it", row=0
        )
    check_complete(name, np.flatnonzero(np.isnan(numbers)))
    return numbers


def _objects(name: str, column: nw.Series[Any]) -> npt.NDArray[np.float64]:
    check_complete(name, np.flatnonzero(column.is_null().to_numpy()))
    try:
        return column.to_numpy().astype(np.float64)
    except (TypeError, ValueError):
        raise _text(name, column) from None


def _text(name: str, column: nw.Series[Any]) -> InvalidData:
    values = column.to_list()
    bad = [i for i, value in enumerate(values) if not is_number(value)]
    if not bad:
        remedy = "convert the column to a type of numbers"
        return InvalidData(f"{name} holds numbers written as text; {remedy}", row=0)
    return InvalidData(
        f"{name} holds text: {len(bad)} of {len(values)} values are not numbers, the first is "
        f"{values[bad[0]]!r} in row {bad[0]}. Replace them, or turn a column of categories into "
        "columns of 0 and 1 (one-hot coding: pandas.get_dummies, polars' to_dummies or "
        "sklearn.preprocessing.OneHotEncoder)",
        row=bad[0],
    )


def is_number(value: Any) -> bool:
    """Whether it is a number, or text that says one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not (isinstance(value, str) and "_" in value)


def check_complete(name: str, rows: npt.NDArray[np.signedinteger[Any]]) -> None:
    """Refuses a column that has no value in some rows, namely these."""
    if len(rows):
        values = "1 missing value" if len(rows) == 1 else f"{len(rows)} missing values"
        raise InvalidData(
            f"{name} has {values} (null or nan), the first in row {rows[0]}. Impute or drop them",
            row=int(rows[0]),
        )


def _called(name: Any) -> str:
    return f"column {name!r}"


def _pandas_columns(X: Any) -> list[Any]:
    from narwhals import dependencies

    if not dependencies.is_pandas_dataframe(X):
        return []
    return [X.iloc[:, j].array for j in range(X.shape[1])]


def _is_sparse(column: Any) -> bool:
    return hasattr(column, "sp_index")


def _compressed(frame: nw.DataFrame[Any]) -> sparse.csr_array:
    """Column after column, of which a sparse one is never written out in full."""
    parts = [
        _entries(_called(column.name), column, native)
        for column, native in zip(
            frame.iter_columns(), _pandas_columns(frame.to_native()), strict=True
        )
    ]
    rows, values = zip(*parts, strict=True)
    start = np.cumsum([0, *map(len, rows)])
    stored = np.concatenate(values), np.concatenate(rows), start
    return sparse.csc_array(stored, shape=frame.shape).tocsr()


def _entries(
    name: str, column: nw.Series[Any], native: Any
) -> tuple[npt.NDArray[np.signedinteger[Any]], npt.NDArray[np.float64]]:
    """The rows and values of a column's entries that are not 0."""
    if _is_sparse(native) and not native.fill_value:  # 0, 0.0 or False between the entries
        rows = native.sp_index.indices
        try:
            values = np.asarray(native.sp_values).astype(np.float64)
        except (TypeError, ValueError):
            raise _text(name, column) from None
        check_complete(name, rows[np.isnan(values)])
        return rows, values
    dense = _numbers(name, column)
    rows = np.flatnonzero(dense)
    return rows, dense[rows]
