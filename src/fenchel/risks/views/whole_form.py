"""The primal form of losses of all scores at once, and which form a linear risk has."""

from __future__ import annotations

import numpy as np

from fenchel.engines import PerShard
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem
from fenchel.risks.multivariate import MultivariateRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.forms import LinearForm, PrimalForm, PrimalPoint
from fenchel.risks.views.images import Imaged, Linearisation, RowVector
from fenchel.risks.views.prox_functions import OwnGeometry, ProxFunction


class WholeForm(PrimalForm):
    """The same for a smooth loss of all scores at once: its points know all that is needed.

    Rows' slopes come with their weights here. How fast they change is not known.
    """

    def __init__(self, problem: Problem, prox: ProxFunction | None = None):
        LinearForm.__init__(self, problem, mu=0.0)
        self.measured_by(OwnGeometry(problem) if prox is None else prox)
        self.L = np.inf

    def f(self, at: PrimalPoint) -> float:
        return self._touched(at).value

    def foresee(self, at: PrimalPoint) -> None:
        """A point of its own is asked for."""
        return None

    def tangent(self, at: PrimalPoint) -> Linearisation[Array, RowVector]:
        point = self._touched(at)
        slopes = Imaged(RowVector(self.risk, point.slopes), point.subgradient)
        return Linearisation(point.value, point.subgradient, slopes)

    def _touched(self, at: PrimalPoint) -> LinearPoint:
        point = self.risk.point(self.risk, at.x, at.image.parts, self.b)
        self.b = point.intercept
        return point

    def adjoint(self, u: RowVector) -> Array:
        """X'u: weights and the division by S are in these slopes already. A pass."""
        self.problem.pulse()
        self.risk.passes += 1
        image: Array = self.risk.engine.total(self.risk.engine.map(shardwork.adjoint, u.parts))
        return image


def primal_form(
    problem: Problem,
    mu: float,
    widths: PerShard[Array] | None = None,
    prox: ProxFunction | None = None,
) -> PrimalForm:
    """R of a linear model, smoothed by mu where it is a sum over rows, plus strength * Omega."""
    if isinstance(problem.risk, MultivariateRisk):
        return WholeForm(problem, prox)
    return PrimalForm(problem, mu, widths, prox)
