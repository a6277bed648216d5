"""X with contiguous columns, as the kernels of column descent take it."""

from __future__ import annotations

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, Rows, SparseRows


def native_columns(rows: Rows) -> _kernels.Columns:
    """The columns in C++, of a copy unless they are contiguous as they are."""
    if isinstance(rows, SparseRows):
        X = rows.matrix().tocsc()
        start, row = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
        return _kernels.sparse_columns(start, row, X.data, rows.n_rows)
    assert isinstance(rows, DenseRows)
    return _kernels.dense_columns(np.asfortranarray(rows.values))
