"""Where J is lower on the line to the minimiser of a model of blocks, without a look at X.

The search of column_line.py, where it is explained, for rows of K scores and penalties of groups.
"""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array
from fenchel.risks.views.block_columns import BlockColumns, BlockRows
from fenchel.risks.views.block_penalty import BlockPenalty
from fenchel.tolerances import ROUND_OFF

_SUFFICIENT = 0.01  # of the decrease that the model promises
_TRIALS = 40
_STEEP = 0.1  # of the promise: a slope at the model's minimiser at which the search goes on
_FURTHEST = 8  # times as far as that


class BlockLine:
    """w + eta (to - w) in some columns, the scores being z + eta q and the offsets b + eta c."""

    def __init__(
        self,
        columns: BlockColumns,
        rows: BlockRows,
        change: tuple[Array, Array],
        penalty: BlockPenalty,
        ends: tuple[Array, Array],
    ):
        self.columns, self.rows, self.penalty = columns, rows, penalty
        self.q, self.c = change
        self.w, self.to = ends

    def end(self) -> BlockRows:
        """The rows at the minimiser of the model."""
        return self._at(1.0)

    def lower(self) -> tuple[float, BlockRows, int] | None:
        """An eta, the rows there, and how many others were tried in vain; None if all were."""
        here = self.penalty.value(self.w)
        J, to = self.rows.value + here, self.penalty.value(self.to)
        promised, eta = min(self._rate(self.rows) + to - here, 0.0), 1.0
        for trial in range(_TRIALS):
            rows = self._at(eta)
            value = rows.value + self._penalty(eta)
            if value <= J + _SUFFICIENT * eta * promised + ROUND_OFF * abs(J):
                return (*(self._beyond(rows, promised) if eta == 1 else (eta, rows)), trial)
            eta *= 0.5
        return None

    def _beyond(self, rows: BlockRows, promised: float) -> tuple[float, BlockRows]:
        """The last of 1, 2, 4, 8 up to which J falls, given the rows at 1; and the rows there."""
        penalty, eta = self.penalty, 1.0
        slope = self._rate(rows) + penalty.slope(self.to, self.to - self.w)
        if slope > _STEEP * promised or np.any((self.to == 0) & (self.w != 0)):
            return eta, rows
        value = rows.value + penalty.value(self.to)
        while eta < _FURTHEST:
            there = self._at(2 * eta)
            further = there.value + self._penalty(2 * eta)
            if not further < value:
                break
            eta, rows, value = 2 * eta, there, further
        return eta, rows

    def _rate(self, rows: BlockRows) -> float:
        """How fast the loss changes along the line at the rows' slopes."""
        return float(np.vdot(rows.alpha, self.q) + self.c @ np.sum(rows.alpha, axis=0))

    def _penalty(self, eta: float) -> float:
        to = self.to if eta == 1 else self.w + eta * (self.to - self.w)
        return self.penalty.value(to)

    def _at(self, eta: float) -> BlockRows:
        rows = self.rows
        return self.columns.at(rows.z + eta * self.q, rows.b + eta * self.c)
