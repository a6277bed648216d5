"""The objective of a risk of which values and gradients alone are known, as f + Psi over w."""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.forms import OverParameters
from fenchel.risks.views.images import Imaged, Linearisation
from fenchel.risks.views.prox_functions import OwnGeometry, ProxFunction

NO_IMAGE = np.empty(0)


class BlackBoxForm(OverParameters[Array]):
    """R + lambda Omega, where R is known by values and gradients: two passes for each x.

    A point has no image, and the other problem's point is the gradient.
    """

    def __init__(self, problem: Problem, prox: ProxFunction | None = None):
        super().__init__(problem)
        self.measured_by(OwnGeometry(problem) if prox is None else prox)
        self.L = np.inf
        self._last: Point | None = None  # as it is asked for again

    def imaged(self, x: Array) -> Imaged[Array, Array]:
        return Imaged(x, NO_IMAGE)

    def start(self, w: Array) -> Imaged[Array, Array]:
        return self.imaged(w)

    def unpacked_dual(self, packed: Array) -> Imaged[Array, Array]:
        return Imaged(packed, NO_IMAGE)

    def f(self, at: Imaged[Array, Array]) -> float:
        return self._at(at.x).value

    def tangent(self, at: Imaged[Array, Array]) -> Linearisation[Array, Array]:
        point = self._at(at.x)
        return Linearisation(point.value, point.subgradient, Imaged(point.subgradient, NO_IMAGE))

    def point(self, x: Imaged[Array, Array], alpha: Imaged[Array, Array]) -> Point:
        return self._at(x.x)

    def _at(self, w: Array) -> Point:
        """Two passes, unless it was the last."""
        if self._last is None or not np.array_equal(self._last.w, w):
            self.problem.pulse()
            self._last = self.problem.risk.at(w)
        return self._last
