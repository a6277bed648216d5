"""X with contiguous columns, as the kernels of column descent take it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import DenseRows, Rows, SparseRows


def native_columns(rows: Rows) -> tuple[_kernels.Columns, npt.NDArray[np.int64]]:
    """The columns in C++, of a copy unless they are contiguous as they are.

    Beside them where each begins among the numbers.
    """
    if isinstance(rows, SparseRows):
        start, row, value = rows.by_columns()
        return _kernels.sparse_columns(start, row, value, rows.n_rows), start
    assert isinstance(rows, DenseRows)
    start = np.arange(rows.n_columns + 1, dtype=np.int64) * rows.n_rows
    return _kernels.dense_columns(np.asfortranarray(rows.values)), start
