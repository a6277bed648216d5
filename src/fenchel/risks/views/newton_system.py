"""One Newton system of a linear risk: (diagonal + sum_i h_i x_i x_i') p = g.

The rows with h_i > 0 are called bent. The system has as many unknowns as there are columns or bent
rows, whichever is less; where both are many it is solved roughly, by conjugate gradients, whose
products are made where the rows are. Blocks of work are cut by the sizes of the system alone, so
that its solution has the same bits whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from fenchel import _kernels
from fenchel._system.threads import shared
from fenchel.data.blocks import KeptRows
from fenchel.data.rows import Rows, SparseRows
from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.risks.base import Array
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.factored import RIDGES, solved

MOST_UNKNOWNS = 3000  # of a system that is factored
_BLOCK = 128  # bent rows whose products with the others are made at a time


class NewtonSystem:
    """The rows `bent` of each shard, with the curvatures `h` of all its rows."""

    def __init__(self, risk: LinearRisk, bent: PerShard[npt.NDArray[np.int32]], h: PerShard[Array]):
        self.risk, self.bent, self.h = risk, bent, h
        n_bent, self.h_total = risk.engine.totals(*risk.engine.map(_sums, bent, h).split(2))
        self.n_bent = int(n_bent)

    def solved(self, diagonal: Array, g: Array, offset_slope: float) -> tuple[Array, float]:
        """p, and what it says of the offset, whose slope is given."""
        risk = self.risk
        risk.passes += round(self.n_bent / risk.n_rows)
        # Without an intercept b stays where it is; with one, it has a little inertia of its own,
        # unless nothing is penalised: then that of `_solve` is all that keeps steps finite.
        penalised = bool(diagonal.any())
        inertia = (1e-6 * self.h_total or 1.0) if penalised else 0.0
        g = np.append(g, offset_slope if risk.facts.has_intercept else 0.0)
        diagonal = np.append(diagonal, inertia if risk.facts.has_intercept else 1.0)
        if not penalised:
            p = self._in_columns(diagonal, g, RIDGES[2:])
        elif min(self.n_bent, len(g)) > MOST_UNKNOWNS:
            p = self._by_gradients(diagonal, g)
        elif self.n_bent >= len(g):
            p = self._in_columns(diagonal, g)
        else:
            p = self._in_rows(diagonal, g)
        return p[:-1], float(p[-1]) if risk.facts.has_intercept else 0.0

    def _in_columns(self, diagonal: Array, g: Array, ridges: Sequence[float] = RIDGES) -> Array:
        H: Array = self.risk.engine.total(self.risk.engine.map(_gram, self.bent, self.h))
        if not self.risk.facts.has_intercept:
            H[-1] = 0.0  # the row of the column of ones; its column is in the upper triangle
        H.flat[:: len(H) + 1] += diagonal
        return solved(H, g, self.risk.engine.n_threads, ridges)

    def _in_rows(self, diagonal: Array, g: Array) -> Array:
        """As many unknowns as bent rows: the inverse of diagonal + X'X by Woodbury's formula."""
        X, n_threads = self._chosen(), self.risk.engine.n_threads
        inverse = 1 / diagonal
        H = _row_products(X, inverse, n_threads)
        H.flat[:: len(H) + 1] += 1.0
        inner = solved(H, X @ (inverse * g), n_threads) if len(H) else np.zeros(0)
        step: Array = inverse * (g - X.T @ inner)
        return step

    def _by_gradients(self, diagonal: Array, g: Array) -> Array:
        """Conjugate gradients; the bent rows are copied once, and stay where they are."""
        engine, d, ones = self.risk.engine, len(g), self.risk.facts.has_intercept
        parts, n_products = engine.map(_bent_part, self.bent, self.h), 0
        squares: Array = engine.total(engine.map(_squares, parts, ones))

        def product(p: Array) -> Array:
            nonlocal n_products
            n_products += 1
            bent: Array = engine.total(engine.map(_bent_product, parts, p, ones))
            return diagonal * p + bent

        H = LinearOperator((d, d), matvec=product, dtype=float)
        shape = LinearOperator((d, d), matvec=lambda p: p / (diagonal + squares), dtype=float)
        found: Array = cg(H, g, rtol=0.1, maxiter=50, M=shape)[0]
        self.risk.passes += round(2 * n_products * self.n_bent / self.risk.n_rows)
        return found

    def _chosen(self) -> Any:
        """The bent rows with the roots of their curvatures, and their column of ones."""
        engine = self.risk.engine
        parts = list(engine.map(_bent_rows, self.bent, self.h, self.risk.facts.has_intercept))
        stacked = sparse.vstack if sparse.issparse(parts[0]) else np.vstack
        return stacked(parts).astype(np.float64)


def _row_products(X: Any, scale: Array, n_threads: int) -> Array:
    """The lower triangle of X diag(scale) X', by blocks of rows."""
    H = np.zeros((X.shape[0],) * 2)
    blocks = [(first, min(first + _BLOCK, len(H))) for first in range(0, len(H), _BLOCK)]
    product = _sparse_products(X, scale, H) if sparse.issparse(X) else _products(X, scale, H)
    shared(n_threads, product, blocks)
    return H


def _products(X: Array, scale: Array, H: Array) -> Callable[[int, int], None]:
    scaled = X * scale

    def product(first: int, last: int) -> None:
        np.matmul(scaled[first:last], X[:last].T, out=H[first:last, :last])

    return product


def _sparse_products(X: Any, scale: Array, H: Array) -> Callable[[int, int], None]:
    by_column, scaled = X.tocsc(), X.data * scale[X.indices]
    start, column_start = (each.indptr.astype(np.int64) for each in (X, by_column))

    def product(first: int, last: int) -> None:
        columns = column_start, by_column.indices, by_column.data
        _kernels.row_products(start, X.indices, scaled, *columns, first, last, H)

    return product


def _sums(shard: Shard, bent: npt.NDArray[np.int32], h: Array) -> tuple[int, float]:
    """How many rows are bent, and their curvatures' sum."""
    return len(bent), float(np.sum(h[bent]))


def _gram(shard: Shard, bent: npt.NDArray[np.int32], h: Array) -> Array:
    """The lower triangle of sum h_i x_i x_i' over some rows, with a last column of ones."""
    rows, d = shard.rows, shard.rows.n_columns
    if isinstance(rows, KeptRows):
        with rows.opened() as found:
            return _gram(replace(shard, rows=found), bent, h)
    G = np.zeros((d + 1, d + 1))
    if isinstance(rows, SparseRows):
        _kernels.csr_gram(rows.row_start, rows.column, rows.value, h, bent, len(bent), G)
    else:
        _kernels.dense_gram(rows.matrix(), h, bent, len(bent), G)
    return G


def _bent_part(shard: Shard, bent: npt.NDArray[np.int32], h: Array) -> tuple[Rows, Array]:
    """A copy of the bent rows, and their curvatures."""
    return shard.rows.take(bent.astype(np.intp)), h[bent]


def _squares(shard: Shard, part: tuple[Rows, Array], ones: bool) -> Array:
    """sum_i h_i x_ij^2 for each column, and for a last one of ones or zeros."""
    rows, h = part
    return np.append(rows.squares(h), np.sum(h) if ones else 0.0)


def _bent_product(shard: Shard, part: tuple[Rows, Array], p: Array, ones: bool) -> Array:
    """sum_i h_i x_i <x_i, p>, with a last column of ones or zeros."""
    rows, h = part
    q = h * (rows.scores(p[:-1]) + (p[-1] if ones else 0.0))
    return np.append(rows.adjoint(q), np.sum(q) if ones else 0.0)


def _bent_rows(shard: Shard, bent: npt.NDArray[np.int32], h: Array, ones: bool) -> Any:
    """Some rows times the roots of their curvatures, with a last column of ones or zeros."""
    X = shard.rows.take(bent.astype(np.intp)).matrix()
    root = np.sqrt(h[bent])
    last = (root if ones else np.zeros(len(bent)))[:, np.newaxis]
    if sparse.issparse(X):
        return sparse.hstack([sparse.diags_array(root) @ X, sparse.csr_array(last)], format="csr")
    return np.hstack([root[:, np.newaxis] * X, last])
