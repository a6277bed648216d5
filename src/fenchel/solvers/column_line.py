"""Where J is lower on the line to the minimiser of its quadratic model, without a look at X.

Backwards the search is that of Tseng and Yun (2009): J must fall by a part of what its slope, and
the change of the penalty, promise. It also goes on beyond the minimiser of the model where J still
falls there steeply. Far from the minimum of a logistic loss it often does: its curvature is largest
at scores of 0, so that the first steps of Newton's method are too short by a factor of up to 4.
"""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array
from fenchel.risks.views.columns import Columns, RowState
from fenchel.risks.views.grams import Penalty
from fenchel.tolerances import ROUND_OFF

_SUFFICIENT = 0.01  # of the decrease that the model promises
_TRIALS = 40
_STEEP = 0.1  # of the promise: a slope at the model's minimiser at which the search goes on
_FURTHEST = 8  # times as far as that


class ModelLine:
    """w + eta p in some columns, where the scores are z + eta q and the offset b + eta c."""

    def __init__(
        self,
        columns: Columns,
        rows: RowState,
        change: tuple[Array, float],
        penalty: Penalty,
        way: tuple[Array, Array],
    ):
        self.columns, self.rows, self.penalty = columns, rows, penalty
        self.q, self.c = change
        self.w, self.p = way

    def lower(self) -> tuple[float, RowState, int] | None:
        """An eta, the rows there, and how many others were tried in vain; None if all were."""
        here = self.penalty.value(self.w)
        J, to = self.rows.value + here, self.penalty.value(self.w + self.p)
        promised, eta = min(self._rate(self.rows) + to - here, 0.0), 1.0
        for trial in range(_TRIALS):
            if self._value(eta) <= J + _SUFFICIENT * eta * promised + ROUND_OFF * abs(J):
                rows = self._at(eta)
                return (*(self._beyond(rows, promised) if eta == 1 else (eta, rows)), trial)
            eta *= 0.5
        return None

    def _beyond(self, rows: RowState, promised: float) -> tuple[float, RowState]:
        """The last of 1, 2, 4, 8 up to which J falls, given the rows at 1; and the rows there.

        Not where columns have just become 0: they would come out on the other side.
        """
        penalty, eta, to = self.penalty, 1.0, self.w + self.p
        slope = self._rate(rows) + float((penalty.t * np.sign(to) + penalty.m * to) @ self.p)
        if slope > _STEEP * promised or np.any((to == 0) & (self.w != 0)):
            return eta, rows
        value = rows.value + penalty.value(to)
        while eta < _FURTHEST and (there := self._value(2 * eta)) < value:
            eta, value = 2 * eta, there
        return eta, rows if eta == 1 else self._at(eta)

    def _rate(self, rows: RowState) -> float:
        """How fast the loss changes along the line at the rows' slopes."""
        return float(rows.alpha @ self.q) + self.c * float(np.sum(rows.alpha))

    def _value(self, eta: float) -> float:
        rows = self.rows
        value = self.columns.value(rows.z + eta * self.q, rows.b + eta * self.c)
        return value + self.penalty.value(self.w + eta * self.p)

    def _at(self, eta: float) -> RowState:
        rows = self.rows
        return self.columns.at(rows.z + eta * self.q, rows.b + eta * self.c)
