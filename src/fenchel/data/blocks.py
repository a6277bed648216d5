"""Rows that are kept elsewhere, in blocks: in files, on a device, or by the workers of a cluster.

What a solver needs of rows stays the same; a block is fetched for each thing that is done with it,
and let go of again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel._system.memory import require
from fenchel.data.rows import Array, DenseRows, Rows, SparseRows
from fenchel.errors import InvalidData


class KeptRows(ABC):
    """A block of rows that are kept elsewhere."""

    n_rows: int
    n_columns: int
    n_numbers: int

    @abstractmethod
    def opened(self) -> AbstractContextManager[SparseRows | DenseRows]:
        """The rows themselves, for as long as they are needed."""

    def widened(self, n_columns: int) -> KeptRows:
        """The same rows with zeros in further columns."""
        raise InvalidData(f"X has {self.n_columns} columns; {n_columns} are expected")

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
        self, dual: _kernels.DualProblem | _kernels.BlockProblem, *state: Any
    ) -> tuple[float | Array, int, int, float, float]:
        """Steps on some rows: see kernels/dual_ascent.hpp."""
        with self.opened() as rows:
            return rows.sweep(dual, *state)

    def matrix(self) -> Any:
        """A copy of the rows as a NumPy or SciPy matrix."""
        with self.opened() as rows:
            return rows.matrix().copy()

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        with self.opened() as all_rows:
            return all_rows.take(rows)


class ReadOnce(KeptRows):
    """A block that stays where it is, but that a worker who is sent it keeps once it is read."""

    def __init__(self, block: KeptRows, *, keep: bool = False):
        self.block, self.keep = block, keep
        self.n_rows, self.n_columns, self.n_numbers = block.n_rows, block.n_columns, block.n_numbers
        self._rows: SparseRows | DenseRows | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without rows that were kept; whoever unpickles it keeps its own."""
        return _to_keep, (self.block,)

    @contextmanager
    def opened(self) -> Iterator[SparseRows | DenseRows]:
        """The rows, from memory if they are there."""
        if self._rows is not None:
            yield self._rows
            return
        with self.block.opened() as rows:
            self._rows = rows if self.keep else None
            yield rows


def _to_keep(block: KeptRows) -> ReadOnce:
    return ReadOnce(block, keep=True)


@dataclass(frozen=True, eq=False)
class Blocks:
    """All rows of X, in blocks; each that is not empty becomes a shard."""

    parts: Sequence[KeptRows]
    n_columns: int

    def __post_init__(self) -> None:
        if not self.n_rows:
            raise InvalidData("X has no rows: all its blocks are empty; at least 1 row is needed")

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_numbers(self) -> int:
        """The number of stored entries."""
        return sum(part.n_numbers for part in self.parts)

    @property
    def nnz(self) -> int:
        """The same, as SciPy calls it."""
        return self.n_numbers

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns), as arrays have it."""
        return self.n_rows, self.n_columns

    def __getitem__(self, chosen: Any) -> Any:
        """The rows that a mask chooses: itself, or a matrix in memory."""
        if np.shape(chosen) != (self.n_rows,):
            raise InvalidData("of rows that are kept elsewhere no columns can be chosen")
        if np.all(chosen):
            return self
        parts = np.split(chosen, np.cumsum([part.n_rows for part in self.parts])[:-1])
        taken = [
            part.take(np.flatnonzero(mask)).matrix()
            for part, mask in zip(self.parts, parts, strict=True)
        ]
        return _stacked(taken)

    def widened(self, n_columns: int) -> Blocks:
        """The same rows with zeros in further columns."""
        return Blocks([part.widened(n_columns) for part in self.parts], n_columns)

    def read_once(self) -> Blocks:
        """The same rows, which workers who are sent them read once and keep in their memory."""
        return Blocks([ReadOnce(part) for part in self.parts], self.n_columns)

    def scores(self, w: Array) -> Array:
        """z = X w."""
        return np.concatenate([part.scores(w) for part in self.parts])

    def matrix(self) -> Any:
        """All rows in memory, as a NumPy or SciPy matrix."""
        require(16 * self.n_numbers, "all rows", "a store and --stream leave them on disk")
        return _stacked([part.matrix() for part in self.parts])


def _stacked(parts: Sequence[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
