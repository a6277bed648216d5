"""The matrix of a kernel between all pairs of rows, as the data matrix of a risk.

It is computed by blocks when it is needed, and kept only where all of it is within the memory that
its user grants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.shards import Shard
from fenchel.risks.base import Array

NUMBERS_AT_ONCE = 1 << 21  # of K that are computed at a time: 16 MB
_SHARDS = 8  # of rows that are more than such a block; each works on blocks of its own


class GramMatrix(Protocol):
    """K_ij = k(x_i, x_j), by blocks."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def memory(self) -> int:
        """The memory that may be kept of it."""

    @property
    def diagonal(self) -> Array:
        """k(x, x) of each row."""

    @property
    def doubt(self) -> float:
        """How far a number of `block` may be off."""

    def block(self, rows: Any, columns: Any = None) -> Array:
        """K[rows, columns], all columns by default."""

    def digest(self) -> bytes:
        """What tells it from others."""


@dataclass(frozen=True)
class KernelRows:
    """Some rows of K; kept once they were computed, if all of K is within the memory granted."""

    gram: GramMatrix
    index: npt.NDArray[np.intp]
    _kept: list[Array] = field(default_factory=list, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.index)

    @property
    def n_columns(self) -> int:
        """All rows of the data."""
        return self.gram.n

    @property
    def n_numbers(self) -> int:
        """How many numbers of K these are, whether they are kept or not."""
        return self.n_rows * self.n_columns

    @property
    def fits(self) -> bool:
        """Whether K is kept."""
        return 8 * self.gram.n**2 <= self.gram.memory

    def matrix(self) -> Array:
        """The rows as an array: computed anew unless they are kept."""
        if self._kept:
            return self._kept[0]
        block = self.gram.block(self.index)
        if self.fits:
            self._kept.append(block)
        return block

    def columns(self, some: npt.NDArray[np.intp]) -> Array:
        """Some columns of these rows."""
        if self.fits:
            return np.ascontiguousarray(self.matrix()[:, some])
        return self.gram.block(self.index, some)

    def lines(self, some: npt.NDArray[np.intp]) -> Array:
        """The same of the transpose, which K is: some rows of K, in the columns of these."""
        return self.columns(some).T if self.fits else self.gram.block(some, self.index)

    def scores(self, w: Array) -> Array:
        """K w: of rows without a weight nothing is computed."""
        if self.fits:
            return np.asarray(self.matrix() @ w)
        used = np.flatnonzero(w if w.ndim == 1 else np.any(w, axis=1))
        z, step = np.zeros((self.n_rows, *w.shape[1:])), max(1, NUMBERS_AT_ONCE // self.n_rows)
        for first in range(0, len(used), step):
            some = used[first : first + step]
            z += self.gram.block(self.index, some) @ w[some]
        return z

    def adjoint(self, a: Array) -> Array:
        """K'a, over these rows."""
        if self.fits:
            return np.asarray(self.matrix().T @ a)
        used = np.flatnonzero(a if a.ndim == 1 else np.any(a, axis=1))
        g, step = np.zeros((self.n_columns, *a.shape[1:])), max(1, NUMBERS_AT_ONCE // self.gram.n)
        for first in range(0, len(used), step):
            some = used[first : first + step]
            g += self.gram.block(self.index[some]).T @ a[some]
        return g

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) K_i, z)."""
        z = self.scores(w)
        a = np.empty_like(z)
        total = _kernels.slopes(loss, z, y, s, 0.0, a)
        return total, self.adjoint(a), z

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i K_ij^2."""
        K = self.matrix()
        return np.asarray((K * K).T @ (np.ones(self.n_rows) if s is None else s))

    def take(self, rows: npt.NDArray[np.intp]) -> KernelRows:
        """Some of them, computed when needed."""
        return KernelRows(self.gram, self.index[rows])


def shards_of(
    gram: GramMatrix, y: npt.NDArray[Any], s: Array | None, offset: Array | None
) -> tuple[Shard, ...]:
    """The rows of K in shards, whose number depends on that of the rows alone."""
    step = gram.n if gram.n**2 <= NUMBERS_AT_ONCE else -(-gram.n // _SHARDS)
    parts = [slice(first, first + step) for first in range(0, gram.n, step)]

    def of(values: Array | None, part: slice) -> Array | None:
        return None if values is None else values[part]

    return tuple(
        Shard(
            KernelRows(gram, np.arange(gram.n)[part]),
            y[part],
            of(s, part),
            offset=of(offset, part),
        )
        for part in parts
    )
