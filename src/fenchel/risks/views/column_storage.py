"""X with contiguous columns, as the kernels of column descent take it."""

from __future__ import annotations

import functools
from weakref import ref

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import DenseRows, Rows, SparseRows
from fenchel.risks.base import Array, Risk
from fenchel.risks.linear import LinearRisk


class StoredColumns:
    """What all views of a risk by columns have: the columns, and an account of passes."""

    risk: ref[LinearRisk]  # which keeps its columns
    rows: Rows
    unpaid: float  # passes that were not yet counted

    @functools.cached_property
    def stored(self) -> tuple[_kernels.Columns, npt.NDArray[np.int64]]:
        """The columns in C++, and where each begins among the numbers.

        They are a copy unless columns are contiguous as they are.
        """
        if isinstance(self.rows, SparseRows):
            start, row, value = self.rows.by_columns()
            return _kernels.sparse_columns(start, row, value, self.rows.n_rows), start
        assert isinstance(self.rows, DenseRows)
        start = np.arange(self.rows.n_columns + 1, dtype=np.int64) * self.rows.n_rows
        return _kernels.dense_columns(np.asfortranarray(self.rows.values)), start

    @property
    def native(self) -> _kernels.Columns:
        """The columns in C++."""
        return self.stored[0]

    @functools.cached_property
    def norms(self) -> Array:
        """The roots of the columns' mean squares."""
        risk = self.risk()
        assert risk is not None
        return np.sqrt(risk.squares)

    def pay(self, risk: Risk) -> None:
        """Counts the passes that were made since the last time."""
        passes = int(self.unpaid)
        risk.passes += passes
        self.unpaid -= passes
