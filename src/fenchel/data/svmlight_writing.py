"""Writes svmlight text that svmlight.py reads back bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.data.compression import writing
from fenchel.data.svmlight import Array, Path, Queries
from fenchel.errors import InvalidData, Setting

_ROWS_AT_ONCE = 1 << 12


def write_svmlight(
    path: Path, X: Any, y: Any, qid: Any | None = None, *, index_base: int = 1
) -> None:
    """Writes rows, labels and query numbers as svmlight text, compressed as the suffix says.

    Numbers are the shortest that read back bit for bit. Entries that a sparse X stores are
    written even where they are 0; those of a dense X are not. The file takes its place whole.
    """
    if index_base not in (0, 1):
        raise InvalidData(Setting("index_base"), f" must be 0 or 1; got {index_base!r}")
    rows = _rows(X)
    n_rows = rows.shape[0]
    labels = _finite("y", np.asarray(y), n_rows)
    queries = None if qid is None else _contiguous(np.asarray(qid), n_rows)
    row_start = rows.indptr.astype(np.int64)
    with writing(path) as file:
        for first in range(0, n_rows, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, n_rows)
            file.write(
                _kernels.svmlight_text(
                    row_start, rows.indices, rows.data, labels, queries, index_base, first, last
                )
            )


def _rows(X: Any) -> sparse.csr_array:
    """X as CSR of float64, checked and without duplicates; the caller's arrays stay as they are."""
    try:
        numbers = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        rows = sparse.csr_array(numbers, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"it has shape {rows.shape} instead of rows and columns")
        rows = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=rows.shape)
        rows.check_format(full_check=True)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"X cannot be written as rows of numbers: {error}") from error
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        k = int(np.argmin(np.isfinite(rows.data)))
        i = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        raise InvalidData(
            f"X[{i}, {rows.indices[k]}] is {rows.data[k]}; svmlight files hold finite numbers only"
        )
    return rows


def _finite(name: str, values: npt.NDArray[Any], n_rows: int) -> Array:
    if values.shape != (n_rows,):
        raise InvalidData(
            f"{name} must hold one number for each of the {n_rows} rows of X; "
            f"got shape {values.shape}"
        )
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{name} must be numbers, {error}; number the classes") from error
    if not np.isfinite(numbers).all():
        i = int(np.argmin(np.isfinite(numbers)))
        raise InvalidData(f"{name}[{i}] is {numbers[i]}; svmlight files hold finite numbers only")
    return numbers


def _contiguous(qid: npt.NDArray[Any], n_rows: int) -> Queries:
    """Query numbers whose rows stand together, as the reader asks for."""
    if qid.shape != (n_rows,) or qid.dtype.kind not in "iu":
        raise InvalidData(
            f"qid must hold one whole number for each of the {n_rows} rows of X; got shape "
            f"{qid.shape} and dtype {qid.dtype}"
        )
    starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1]])
    values, first = np.unique(qid[starts], return_index=True)
    if len(values) < len(starts):
        again = int(np.setdiff1d(np.arange(len(starts)), first)[0])
        raise InvalidData(
            f"the rows of qid {qid[starts[again]]} do not stand together: row {starts[again]} "
            "comes after rows of another query; sort the rows by qid"
        )
    return qid.astype(np.int64)
