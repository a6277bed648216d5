"""Blocks of rows: what a matrix must do for a risk, whatever its storage.

Three verbs, defined by formula:  scores z = X w,  adjoint g = X' a,  and both with a loss between.
The first two take K outputs as well:  Z = X W  and  G = X' A,  with arrays of K columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel._system.threads import shared

Array = npt.NDArray[np.float64]

T = TypeVar("T")

# Dense rows of so many numbers, of which at most this share is not 0, are taken as sparse.
_MANY, _SPARSE = 1 << 20, 0.25
_PARTS = 16  # in which rows are compressed
_SAMPLE = 1000  # rows that tell of most data that they have more

NUMBERS_PER_BLOCK = 1 << 16  # of float32 that are converted at a time: half a megabyte


class Rows(Protocol):
    """A block of rows of X."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def n_numbers(self) -> int: ...  # of X that are stored

    def scores(self, w: Array) -> Array:
        """z = X w."""

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z) in one sweep over the rows."""

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2; with K weights s_i a row, K numbers a column."""

    def matrix(self) -> Any:
        """The same rows as a NumPy or SciPy matrix that shares their memory."""

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """A copy of some rows."""


def filled(X: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """An empty SciPy matrix with these numbers: its constructor would copy slices of arrays."""
    X.data, X.indices, X.indptr = data, indices, indptr
    return X


class SweptRows(Rows, Protocol):
    """Rows for dual coordinate ascent, which takes them one by one."""

    def row_squares(self, scale: Array | None) -> Array:
        """q_i = sum_j x_ij^2 scale_j."""

    def sweep(
        self, dual: _kernels.DualProblem | _kernels.BlockProblem, *state: Any
    ) -> tuple[float | Array, int, int, float, float]:
        """Steps on some rows: see kernels/dual_ascent.hpp."""


@dataclass(frozen=True)
class SparseRows:
    """Rows in compressed sparse row storage; column and value are the whole matrix's arrays."""

    row_start: npt.NDArray[np.int64]
    column: npt.NDArray[np.signedinteger[Any]]
    value: npt.NDArray[np.floating[Any]]
    n_columns: int
    ones: bool = False  # all numbers are known to be 1: products need not read them

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the rows of others."""
        first, last = self.row_start[0], self.row_start[-1]
        parts = self.row_start - first, self.column[first:last], self.value[first:last]
        return SparseRows, (*parts, self.n_columns, self.ones)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.row_start) - 1

    @property
    def n_numbers(self) -> int:
        """The number of stored entries."""
        return int(self.row_start[-1] - self.row_start[0])

    def scores(self, w: Array) -> Array:
        """z = X w."""
        if len(w) != self.n_columns:  # the kernel takes its number of columns from w
            raise ValueError(f"w has length {len(w)}; expected {self.n_columns}")
        z = np.empty((self.n_rows, *w.shape[1:]))
        if w.ndim == 2:
            _kernels.csr_scores(self.row_start, self.column, self.value, w, z)
        else:
            _kernels.csr_scores(self.row_start, self.column, self.value, w, z, self.ones)
        return z

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""
        g = np.zeros((self.n_columns, *a.shape[1:]))
        if a.ndim == 2:
            _kernels.csr_adjoint(self.row_start, self.column, self.value, a, g)
        else:
            _kernels.csr_adjoint(self.row_start, self.column, self.value, a, g, self.ones)
        return g

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z) in one sweep over the rows."""
        z, a, g = np.empty(self.n_rows), np.empty(self.n_rows), np.zeros(self.n_columns)
        total = _kernels.csr_evaluate(
            self.row_start, self.column, self.value, loss, y, s, w, z, a, g, self.ones
        )
        return total, g, z

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2."""
        if s is not None and s.ndim == 2:
            return replace(self, value=self.value**2).adjoint(s)
        g = np.zeros(self.n_columns)
        _kernels.csr_squares(self.row_start, self.column, self.value, s, g, self.ones)
        return g

    def row_squares(self, scale: Array | None) -> Array:
        """q_i = sum_j x_ij^2 scale_j."""
        q = np.empty(self.n_rows)
        _kernels.csr_row_squares(self.row_start, self.column, self.value, self.n_columns, scale, q)
        return q

    def sweep(
        self, dual: _kernels.DualProblem | _kernels.BlockProblem, *state: Any
    ) -> tuple[float | Array, int, int, float, float]:
        """Steps on some rows: see kernels/dual_ascent.hpp."""
        return _kernels.csr_sweep(self.row_start, self.column, self.value, dual, *state)

    def pegasos(self, rows: _kernels.SampledProblem, *state: Any) -> int:
        """Steps on batches of rows: see kernels/pegasos.hpp."""
        return _kernels.csr_pegasos(self.row_start, self.column, self.value, rows, *state)

    def matrix(self) -> sparse.csr_array:
        """The same rows as a SciPy matrix that shares their memory."""
        first, last = self.row_start[0], self.row_start[-1]
        start = self.row_start - first
        if start[-1] <= np.iinfo(self.column.dtype).max:  # of two types, SciPy copies one
            start = start.astype(self.column.dtype)
        empty = sparse.csr_array((self.n_rows, self.n_columns))
        return filled(empty, self.value[first:last], self.column[first:last], start)

    def by_columns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Any]:
        """A copy in compressed column storage: where columns start, rows, and values."""
        start = np.empty(self.n_columns + 1, dtype=np.int64)
        row = np.empty(self.n_numbers, dtype=np.int32)
        value = np.empty(self.n_numbers, dtype=self.value.dtype)
        _kernels.csr_by_columns(self.row_start, self.column, self.value, start, row, value)
        return start, row, value

    def take(self, rows: npt.NDArray[np.intp]) -> SparseRows:
        X = self.matrix()[rows]
        return SparseRows(X.indptr.astype(np.int64), X.indices, X.data, self.n_columns, self.ones)


@dataclass(frozen=True)
class DenseRows:
    """Rows of a dense matrix in C or Fortran order, strided along the other axis."""

    values: npt.NDArray[np.floating[Any]]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in the order they have, on which the order of sums depends."""
        by_column = self.values.strides[0] == self.values.itemsize != self.values.strides[1]
        return DenseRows, (np.asarray(self.values, order="F" if by_column else "C"),)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def n_numbers(self) -> int:
        """The number of entries."""
        return int(self.values.size)

    def scores(self, w: Array) -> Array:
        """z = X w."""
        if w.ndim == 2:
            Z = np.empty((self.n_rows, w.shape[1]))
            for first, block in self._blocks():
                np.matmul(block, w, out=Z[first : first + len(block)])
            return Z
        z = np.empty(self.n_rows)
        _kernels.dense_scores(self.values, w, z)
        return z

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""
        if a.ndim == 2:
            return self._outputs_adjoint(a)
        g = np.zeros(self.n_columns)
        _kernels.dense_adjoint(self.values, a, g)
        return g

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z) in one sweep over the rows."""
        z, a, g = np.empty(self.n_rows), np.empty(self.n_rows), np.zeros(self.n_columns)
        return _kernels.dense_evaluate(self.values, loss, y, s, w, z, a, g), g, z

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2."""
        if s is not None and s.ndim == 2:
            total = np.zeros((self.n_columns, s.shape[1]))
            for first, block in self._blocks(NUMBERS_PER_BLOCK):
                total += (block * block).T @ s[first : first + len(block)]
            return total
        g = np.zeros(self.n_columns)
        _kernels.dense_squares(self.values, s, g)
        return g

    def row_squares(self, scale: Array | None) -> Array:
        """q_i = sum_j x_ij^2 scale_j."""
        q = np.empty(self.n_rows)
        _kernels.dense_row_squares(self.values, scale, q)
        return q

    def sweep(
        self, dual: _kernels.DualProblem | _kernels.BlockProblem, *state: Any
    ) -> tuple[float | Array, int, int, float, float]:
        """Steps on some rows: see kernels/dual_ascent.hpp."""
        return _kernels.dense_sweep(self.values, dual, *state)

    def pegasos(self, rows: _kernels.SampledProblem, *state: Any) -> int:
        """Steps on batches of rows: see kernels/pegasos.hpp."""
        return _kernels.dense_pegasos(self.values, rows, *state)

    def matrix(self) -> npt.NDArray[np.floating[Any]]:
        return self.values

    def take(self, rows: npt.NDArray[np.intp]) -> DenseRows:
        return DenseRows(self.values[rows])

    def _outputs_adjoint(self, A: Array) -> Array:
        """X'A as (A'X)', which BLAS does in half the time."""
        total = np.zeros((A.shape[1], self.n_columns))
        for first, block in self._blocks():
            total += A[first : first + len(block)].T @ block
        return np.ascontiguousarray(total.T)

    def _blocks(self, most: int | None = None) -> Iterator[tuple[int, Array]]:
        """The rows in float64, whose products with several columns are best left to BLAS.

        All at once, unless they are to be converted or `most` says how many numbers at a time.
        """
        if most is None:
            most = self.values.size if self.values.dtype == np.float64 else NUMBERS_PER_BLOCK
        step = most // self.n_columns
        for first in range(0, self.n_rows, max(1, step)):
            yield first, self.values[first : first + step].astype(np.float64, copy=False)


def compressed(rows: SparseRows | DenseRows | T, n_threads: int = 1) -> SparseRows | DenseRows | T:
    """Dense rows that are mostly zeros as sparse ones, where they are many: a copy, for two passes.

    Products with few nonzeros take less time, and with them everything else: at a quarter of them
    half of it.
    """
    if not isinstance(rows, DenseRows) or rows.n_numbers < _MANY:
        return rows
    some = rows.values[:: max(1, rows.n_rows // _SAMPLE)]
    if np.count_nonzero(some) > 1.2 * _SPARSE * some.size:  # spares most data the count of all
        return rows
    edges = np.linspace(0, rows.n_rows, _PARTS + 1).astype(np.intp)
    blocks = [rows.values[i:j] for i, j in itertools.pairwise(edges)]
    counts = shared(n_threads, np.count_nonzero, [(block,) for block in blocks])
    ends = np.cumsum([0, *counts])
    if ends[-1] > _SPARSE * rows.n_numbers:
        return rows
    row_start, column = np.zeros(rows.n_rows + 1, np.int64), np.empty(ends[-1], np.int32)
    value = np.empty(ends[-1], rows.values.dtype)

    def compress(k: int) -> None:
        own, part = slice(ends[k], ends[k + 1]), np.empty(len(blocks[k]) + 1, np.int64)
        _kernels.dense_compress(blocks[k], part, column[own], value[own])
        row_start[edges[k] + 1 : edges[k + 1] + 1] = part[1:] + ends[k]

    shared(n_threads, compress, [(k,) for k in range(_PARTS)])
    return SparseRows(row_start, column, value, rows.n_columns)


def in_two_sweeps(
    rows: Rows, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
) -> tuple[float, Array, Array]:
    """What `evaluate` gives, by one product after the other."""
    z = rows.scores(w)
    a = np.empty_like(z)
    total = _kernels.slopes(loss, z, y, s, 0.0, a)
    return total, rows.adjoint(a), z


@dataclass(frozen=True)
class WithOnes:
    """Rows with a last column of ones, which is nowhere stored."""

    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows.n_rows

    @property
    def n_columns(self) -> int:
        """The number of columns, the ones included."""
        return self.rows.n_columns + 1

    @property
    def n_numbers(self) -> int:
        """The number of stored entries: the ones are not."""
        return self.rows.n_numbers

    def scores(self, w: Array) -> Array:
        """z = X w."""
        z = self.rows.scores(w[:-1])
        z += w[-1]
        return z

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""
        return np.concatenate([self.rows.adjoint(a), np.sum(a, axis=0, keepdims=True)])

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z)."""
        return in_two_sweeps(self, loss, y, s, w)

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2."""
        ones = np.full(1, self.n_rows) if s is None else np.sum(s, axis=0, keepdims=True)
        return np.concatenate([self.rows.squares(s), ones])

    def matrix(self) -> Any:
        """The rows without the ones."""
        return self.rows.matrix()

    def take(self, rows: npt.NDArray[np.intp]) -> WithOnes:
        return WithOnes(self.rows.take(rows))
