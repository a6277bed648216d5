"""Measures of all rows with their maxima made soft, and what that proves of the maxima themselves.

A measure's loss is a maximum over labellings, or a mean of such over pairs or queries. L_mu has the
maxima soft (losses/soft_counts.py, [Zhang11] section 5.4), and its gradient is a mean of tangents
of L: so it is a cut of L itself, whose height is known with it and says nothing of mu. The evidence
is the place and the level, as for chains (soft_chains.py). L_mu is a function of the scores: where
they are known it costs no pass, and its gradient one.

[Zhang11] takes the entropy over all labellings of F_beta, O(n^2) time (losses/labeling.py has that,
too): 0.9 s for a gradient on 10,000 rows. Here it is O(n log n), 0.015 s.
"""

from __future__ import annotations

import numpy as np

from fenchel.engines import PerShard
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.intercept import profile
from fenchel.risks.multivariate import MultivariateRisk, SoftTouch
from fenchel.risks.views.forms import PrimalPoint
from fenchel.risks.views.images import Imaged, Linearisation, RowVector
from fenchel.risks.views.prox_functions import ProxFunction
from fenchel.risks.views.soft_chains import SoftPoint
from fenchel.risks.views.whole_form import WholeForm
from fenchel.tolerances import OFFSET_BLUR
from fenchel.witness import Bracket


def is_soft_measure(risk: Risk) -> bool:
    """Its loss of all scores has soft tangents."""
    return isinstance(risk, MultivariateRisk) and risk.loss.soft


class SoftMeasureForm(WholeForm):
    """R_mu + lambda Omega over w."""

    risk: MultivariateRisk

    def __init__(self, problem: Problem, mu: float, prox: ProxFunction | None = None):
        super().__init__(problem, prox)
        self.mu = mu
        self.guess = self.prox.stretch / mu  # as if all rows counted alike

    _last: SoftPoint  # where the last tangent was taken

    def newest(self, x: PrimalPoint) -> SoftPoint:
        """The place with the newest cut: no pass."""
        return self._last

    def f(self, at: PrimalPoint) -> float:
        """R_mu."""
        return self._soft(at.image.parts)[0].value

    def tangent(self, at: PrimalPoint) -> Linearisation[Array, RowVector]:
        """R_mu and its gradient."""
        (c, g, value, lack), bracket = self._soft(at.image.parts)
        slopes = RowVector(self.risk, g)
        a, engine = self.adjoint(slopes), self.risk.engine
        size = self.risk.length * float(np.sqrt(engine.total(engine.map(shardwork.energy, g))))
        self._last = SoftPoint(at.x, self.mu, value, a, c, lack / self.mu, size, bracket)
        return Linearisation(value, a, Imaged(slopes, a))

    def _soft(self, z: PerShard[Array]) -> tuple[SoftTouch, Bracket]:
        """R_mu at these scores, and the offset's bracket."""
        if not self.risk.facts.has_intercept:
            return self.risk.soft_tangent(z, self.mu), Bracket()
        engine, met = self.risk.engine, {}

        def sums(b: float) -> tuple[float, float]:
            met[b] = touch = self.risk.soft_tangent(engine.map(shardwork.shifted, z, b), self.mu)
            return touch.value, float(engine.total(engine.map(shardwork.total, touch.g)))

        resolution = OFFSET_BLUR * (1.0 + max(engine.map(shardwork.largest, z)))
        assert isinstance(self.b, float)
        found = profile(sums, self.b, resolution, smooth=True)
        self.b, (low, high, *weights) = found.best, found.bracket
        below, above = met[low], met[high]
        g = engine.map(shardwork.mixed, below.g, above.g, *weights) if low < high else below.g
        c, lack = (
            float(np.dot(weights, pair)) for pair in zip(below[::3], above[::3], strict=True)
        )
        return SoftTouch(c, g, found.floor, lack), found.bracket
