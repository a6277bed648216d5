"""The penalty of columns, and their Gram matrices sum_i h_i x_i x_i' by three ways of storage.

Each way gives the matrix in some columns and sum_i h_i x_i. Row by row is best where columns are
few and rows sparse; blocks of dense rows, by BLAS, where most numbers are not 0; column by column
where columns are sparse and few of them are asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.data.rows import NUMBERS_PER_BLOCK, SparseRows
from fenchel.risks.base import Array

Which = npt.NDArray[np.int32]  # indices of columns

_FLAT = 1e-3  # of the mean curvature
_BLOCKS = 8  # of NUMBERS_PER_BLOCK that are made dense at a time


class Penalty(NamedTuple):
    """t_j |w_j| + m_j/2 w_j^2 for some columns, and the units of violations."""

    t: Array
    m: Array
    unit: Array

    def of(self, which: Which) -> Penalty:
        """The same for some of them."""
        return Penalty(*(each[which] for each in self))

    def value(self, w: Array) -> float:
        """The penalty of w."""
        return float(self.t @ np.abs(w) + 0.5 * (self.m @ (w * w)))

    def violation(self, w: Array, v: Array) -> Array:
        """How far 0 is from the subdifferential, given the risk's slopes v, in units."""
        at_zero = np.maximum(0.0, np.abs(v) - self.t)
        off_zero = np.abs(v + self.m * w + np.copysign(self.t, w))
        return np.where(w == 0, at_zero, off_zero) / self.unit


class Gram(NamedTuple):
    """A Gram matrix of some columns, about their means."""

    which: Which
    h: Array | None  # the curvatures it was made of
    G: Array
    mean: Array  # sum_i h_i x_i / sum_i h_i, or 0 without an intercept
    total: float  # sum_i h_i


def bent_and_flat(h: Array) -> tuple[Array, Array]:
    """The curvatures without those far below their mean, and those.

    Of a logistic loss most rows may be so flat. Of their products the squares alone are kept, which
    takes a pass at most; the others make no difference to where Newton's step leads.
    """
    flat = h < _FLAT * float(np.mean(h))
    return np.where(flat, 0.0, h), np.where(flat, h, 0.0)


def row_gram(rows: SparseRows, which: Which, h: Array) -> tuple[Array, Array]:
    """Row by row, in all columns."""
    whole = np.zeros((rows.n_columns + 1,) * 2)
    bent = np.flatnonzero(h).astype(np.int32)
    _kernels.csr_gram(rows.row_start, rows.column, rows.value, h, bent, len(bent), whole)
    whole += np.tril(whole, -1).T
    return np.ascontiguousarray(whole[np.ix_(which, which)]), whole[-1, which]


def column_gram(native: _kernels.Columns, which: Which, h: Array) -> tuple[Array, Array]:
    """Column by column."""
    k = len(which)
    G, mean, square = np.empty((k, k)), np.empty(k), np.empty(k)
    native.gram(which, h, 0.0, G)
    native.chosen_moments(which, h, 0.0, mean, square)
    return G, mean


def dense_gram(values: Any, which: Which, h: Array | float) -> tuple[Array, Array]:
    """By dense blocks of rows: products of a matrix with itself, which take BLAS half the time."""
    n, k = values.shape[0], len(which)
    G, mean, every = np.zeros((k, k)), np.zeros(k), k == values.shape[1]
    step = max(64, _BLOCKS * NUMBERS_PER_BLOCK // max(k, 1))
    for first in range(0, n, step):
        block = values[first : first + step]
        block = block if every else block[:, which]
        X = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        if isinstance(h, float):
            G += X.T @ X
            mean += np.ones(len(X)) @ X
        else:
            part = h[first : first + step]
            mean += part @ X
            X = np.sqrt(part)[:, np.newaxis] * X
            G += X.T @ X
    return (h * G, h * mean) if isinstance(h, float) else (G, mean)
