"""The best mean of the cuts of soft maxima so far, and what it proves of J and of J_mu.

Each place at which an accelerated method takes a gradient of R_mu has a cut of R itself
(risks/views/soft_chains.py). Of those at the last places the weights that prove most are the
solution of the cutting-plane model's dual, as for linear risks (_dual_hull.py): no pass. A place is
kept whole, as it is the evidence for its cut; so there are few.
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

_FEW = 30  # places that are kept
_FEW_L1 = 100  # the same under L1, where a mean of few is not in the box that it must be in


class SoftCuts:
    """Cuts at the last places."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.few = _FEW_L1 if LinearPlanes.suit(problem) else _FEW
        self._met: list[SoftPoint] = []
        self.smoothed_bound = -np.inf  # what the last bound's cuts prove of J_mu

    def add(self, soft: SoftPoint) -> None:
        """A place, unless it is the last one."""
        if not self._met or self._met[-1] is not soft:
            self._met = [*self._met[1 - self.few :], soft]

    def bound(self, mu: float) -> Bound:
        """What the best mean proves; of the newest place alone where there is no model."""
        weights = self._weights()
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
