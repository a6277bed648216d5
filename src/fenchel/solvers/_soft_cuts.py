"""The best mean of the cuts of soft maxima so far, and what it proves of J and of J_mu.

Each place at which an accelerated method takes a gradient of R_mu has a cut of R itself
(risks/views/soft_chains.py). Of those that are kept the weights that prove most are the solution of
the cutting-plane model's dual, as for linear risks (_dual_hull.py): no pass. A place is kept whole,
as it is the evidence for its cut; so there are few, and those go first that had the least weight in
the last bound. Were it the oldest, what is left would prove 0.95 on OCR letters at strength 1e-3
after 360 steps of the excessive gap technique, whose own mean of all cuts proves 1.21.
"""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.soft_chains import SoftPoint
from fenchel.solvers._cutting_planes import CuttingPlanes, InnerFailure
from fenchel.solvers._gradient_bound import Bound
from fenchel.solvers._linear_planes import LinearPlanes
from fenchel.solvers.bmrm import cutting_planes, has_model
from fenchel.witness import mixture

_FEW = 30  # places that are kept where parameters are many
_MANY = 100  # the same of few; and under L1, where a mean of few is not in the box it must be in
_ROOM = 2e8  # bytes for places and gradients, beyond which there are few


class SoftCuts:
    """Cuts at the places that proved most, and at the newest."""

    def __init__(self, problem: Problem):
        self.problem = problem
        fit = int(_ROOM / (16 * problem.risk.n_parameters))
        self.few = _MANY if LinearPlanes.suit(problem) else int(np.clip(fit, _FEW, _MANY))
        self._met: list[SoftPoint] = []
        self._shares: list[float] = []  # in the last bound; inf for those since then
        self.smoothed_bound = -np.inf  # what the last bound's cuts prove of J_mu

    def add(self, soft: SoftPoint) -> None:
        """A place, unless it is the last one."""
        if self._met and self._met[-1] is soft:
            return
        if len(self._met) == self.few:
            least = int(np.argmin(self._shares))  # of several the oldest
            del self._met[least], self._shares[least]
        self._met.append(soft)
        self._shares.append(np.inf)

    def bound(self, mu: float) -> Bound:
        """What the best mean proves; of the newest place alone where there is no model."""
        weights = self._weights()
        self._shares = weights.tolist()
        parts = [soft.cut() for soft in self._met]
        a = weights @ np.array([part.a for part in parts])
        b = float(weights @ [part.b for part in parts])
        scale = self.problem.regularizer.dual_scale(-a / self.problem.strength)
        size = max(soft.size for soft in self._met)
        bound = self.problem.bound(scale * a, scale * b, (size, b))
        lack = float(weights @ [soft.lack for soft in self._met])
        self.smoothed_bound = bound - mu * lack
        used = np.flatnonzero(weights)
        chosen = [self._met[k] for k in used]
        shares = (scale * weights[used]).tolist()
        return bound, lambda: mixture([soft.witness() for soft in chosen], shares)

    def _weights(self) -> Array:
        newest = np.zeros(len(self._met))
        newest[-1] = 1.0
        if not has_model(self.problem):
            return newest
        model: CuttingPlanes = cutting_planes(self.problem, 2 * self.few)
        for soft in self._met:
            model.append(soft.gradient, soft.cost, soft.witness())
        try:
            model.maximize()
        except InnerFailure:
            return newest
        weights = model.alpha[-len(self._met) :]
        return weights if weights.any() else newest
