"""Rows that are kept elsewhere, in blocks: in files, or by the workers of a cluster.

What a solver needs of rows stays the same; a block is fetched for each thing that is done with it,
and let go of again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import Array, DenseRows, Rows, SparseRows


class KeptRows(ABC):
    """A block of rows that are kept elsewhere."""

    n_rows: int
    n_columns: int
    n_numbers: int

    @abstractmethod
    def opened(self) -> AbstractContextManager[SparseRows | DenseRows]:
        """The rows themselves, for as long as they are needed."""

    def scores(self, w: Array) -> Array:
        """z = X w."""
        with self.opened() as rows:
            return rows.scores(w)

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""
        with self.opened() as rows:
            return rows.adjoint(a)

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z) in one sweep over the rows."""
        with self.opened() as rows:
            return rows.evaluate(loss, y, s, w)

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2."""
        with self.opened() as rows:
            return rows.squares(s)

    def row_squares(self, scale: Array | None) -> Array:
        """q_i = sum_j x_ij^2 scale_j."""
        with self.opened() as rows:
            return rows.row_squares(scale)

    def sweep(
        self, dual: _kernels.DualProblem, *state: Any
    ) -> tuple[float, int, int, float, float]:
        """Steps on some rows: see kernels/dual_ascent.hpp."""
        with self.opened() as rows:
            return rows.sweep(dual, *state)

    def matrix(self) -> Any:
        """A copy of the rows as a NumPy or SciPy matrix."""
        with self.opened() as rows:
            return rows.matrix().copy()

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """A copy of some rows."""
        with self.opened() as all_rows:
            return all_rows.take(rows)


@dataclass(frozen=True, eq=False)
class Blocks:
    """All rows of X, in blocks; each becomes a shard."""

    parts: Sequence[KeptRows]
    n_columns: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_numbers(self) -> int:
        """The number of stored entries."""
        return sum(part.n_numbers for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    def scores(self, w: Array) -> Array:
        """z = X w."""
        return np.concatenate([part.scores(w) for part in self.parts])
