"""Where J is lower on the line to the minimiser of a model of blocks, without a look at X.

The search of column_line.py, where it is explained, for rows of K scores and penalties of groups;
and where J falls by little at the minimiser of the model, for a nearer place at which it falls by
more. A look costs the loss of all rows, which is little beside the model of the next step.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.risks.base import Array
from fenchel.risks.views.block_columns import BlockColumns, BlockRows
from fenchel.risks.views.block_penalty import BlockPenalty
from fenchel.tolerances import ROUND_OFF

_SUFFICIENT = 0.01  # of the decrease that the model promises
_TRIALS = 40
_STEEP = 0.1  # of the promise: a slope at the model's minimiser at which the search goes on
_FURTHEST = 8  # times as far as that
_NEARER = 0.7  # of an eta: another at which J seems to be least is looked at
_LOOKS = 5  # at such


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
        self._start = rows.value + penalty.value(self.w)

    def end(self) -> BlockRows:
        """The rows at the minimiser of the model."""
        return self._at(1.0)

    def lower(self) -> tuple[float, BlockRows, int] | None:
        """An eta, the rows there, and how many others were tried in vain; None if all were."""
        J, grown = self._start, self.penalty.value(self.to) - self.penalty.value(self.w)
        promised, eta = min(self._rate(self.rows) + grown, 0.0), 1.0
        for trial in range(_TRIALS):
            rows = self._at(eta)
            fallen = rows.value + self._penalty(eta) - J
            if fallen <= _SUFFICIENT * eta * promised + ROUND_OFF * abs(J):
                if eta == 1 and self._falls_on(rows, promised):
                    return *self._beyond(rows), trial
                return *self._nearer(eta, rows, fallen, promised), trial
            eta *= 0.5
        return None

    def _nearer(
        self, eta: float, rows: BlockRows, fallen: float, promised: float
    ) -> tuple[float, BlockRows]:
        """Where J has fallen further than at eta, if it has: by parabolas through what is known."""
        for _ in range(_LOOKS):
            bend = fallen - eta * promised  # is c eta^2 of the parabola promised eta + c eta^2
            least = -0.5 * promised * eta * eta / bend if bend > 0 else math.inf
            if least > _NEARER * eta:
                break
            there = self._at(least)
            further = there.value + self._penalty(least) - self._start
            if not further < fallen:
                break
            eta, rows, fallen = least, there, further
        return eta, rows

    def _falls_on(self, rows: BlockRows, promised: float) -> bool:
        """Whether J still falls at the minimiser of the model.

        Not where blocks have just become 0: they would come out on the other side.
        """
        if np.any((self.to == 0) & (self.w != 0)):
            return False
        slope = self._rate(rows) + self.penalty.slope(self.to, self.to - self.w)
        return slope <= _STEEP * promised

    def _beyond(self, rows: BlockRows) -> tuple[float, BlockRows]:
        """The last of 1, 2, 4, 8 up to which J falls, given the rows at 1; and the rows there."""
        eta, value = 1.0, rows.value + self._penalty(1.0)
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
