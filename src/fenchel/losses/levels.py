"""The quantile loss of rows that each have a level of their own."""

from __future__ import annotations

import numpy as np

from fenchel.losses.base import Array, Conjugable, Pieces, pieces_of


class QuantileLevels(Conjugable):
    """l(z, i) = max(q_i (t_i - z), (1 - q_i) (z - t_i)) for the target t_i and the level q_i.

    The label of a row is its number i, so that rows may be taken in any order and in part.
    """

    nonnegative = True

    def __init__(self, targets: Array, levels: Array):
        self.targets, self.levels = targets, levels

    def _of(self, y: Array) -> tuple[Array, Array]:
        """The targets and levels of some rows."""
        rows = y.astype(np.intp)
        return self.targets[rows], self.levels[rows]

    def value(self, z: Array, y: Array) -> Array:
        """The pinball loss."""
        t, q = self._of(y)
        return np.maximum(q * (t - z), (1 - q) * (z - t))

    def slope(self, z: Array, y: Array) -> Array:
        """1 - q where z > t, else -q."""
        t, q = self._of(y)
        return np.where(z > t, 1 - q, -q)

    def pieces(self, y: Array) -> Pieces:
        """A kink at z = t."""
        t, q = self._of(y)
        return pieces_of(y, -q, 0.0, (t, 1.0, 0.0))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-q, 1 - q]."""
        _, q = self._of(y)
        return -q, 1 - q

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha t on [-q, 1 - q]."""
        t, _ = self._of(y)
        return self.within(alpha, y, alpha * t)

    def __repr__(self) -> str:
        return f"QuantileLevels({', '.join(f'{q:g}' for q in np.unique(self.levels))})"
