"""The dual of a max-margin network, with the entropy of chains as its prox-function.

A distribution p of each sequence's labellings makes a cut of the risk (soft_chains.py), with the
slopes a = E_p[psi] and the height c = E_p[Delta]. The dual problem

    min over p of lambda Omega*(-a / lambda) - c

knows p by its cut alone, and so do we: a point is the array (a, c), d + 1 numbers however many
labellings there are. The prox-function d(a, c) is the entropy that p lacks to the even one, for
the p with that cut that lacks least: [Zhang11] section 5.4. Where A Psi + k d plus a linear
function is least over cuts, Psi = -c, p is a soft maximum: with s = (s_a, s_c) and t = A - s_c,

    max over p of t c - <s_a, a> - k d  =  t max of c + <w, a> - mu d,   w = -s_a / t, mu = k / t,

is t R_mu(w). So each ground problem is one evaluation of R_mu, and as w and mu solve it the
gradient of d at that cut is (w, 1) / mu: all that Bregman divergences around it need. The gradient
of f = lambda Omega* is (-w(a), 0) and takes no pass. So an iteration is one evaluation, where the
primal has two.
"""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.forms import Form
from fenchel.risks.views.images import Imaged, Linearisation
from fenchel.risks.views.soft_chains import SoftMaximum, SoftPoint

_FIRST = 0.5  # of J: what the smoothing where a run begins may change it by


class ChainDual(Form[Array, Array]):
    """lambda Omega*(-a / lambda) - c over the cuts (a, c) of distributions of labellings."""

    lambda_2 = 0.0

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.soft = SoftMaximum(problem)
        self.L, self.guess = np.inf, 1 / self.strength

    _first: SoftPoint | None = None  # where the run starts
    _last: SoftPoint  # the newest ground problem's solution

    def start(self, w: Array) -> Imaged[Array, Array]:
        """The soft maximum at w."""
        x = self._met(w, self.softness(self.problem.objective(self.problem.risk.at(w))))
        self._first = self._last
        return self.imaged(x)

    def softness(self, objective: float) -> float:
        """The mu to begin with, where J has that value."""
        size = objective if 0 < objective < np.inf else 1.0
        return _FIRST * size / self.soft.entropy

    def imaged(self, x: Array) -> Imaged[Array, Array]:
        """The cut's slopes are its image."""
        return Imaged(x, x[:-1])

    def unpacked(self, packed: Array) -> Array:
        return packed

    def unpacked_dual(self, packed: Array) -> Imaged[Array, Array]:
        return Imaged(packed, np.append(-packed, 0.0))

    def f(self, at: Imaged[Array, Array]) -> float:
        return self.strength * self.regularizer.conjugate(at.image / -self.strength)

    def tangent(self, at: Imaged[Array, Array]) -> Linearisation[Array, Array]:
        """f and its gradient, by the w whose lambda Omega(w) + <a, w> is least: no pass."""
        other = self.unpacked_dual(self.parameters(at.x))
        return Linearisation(self.f(at), other.image, other)

    def parameters(self, x: Array) -> Array:
        """The w of the primal that belongs to a cut."""
        return self.regularizer.conjugate_argmax(x[:-1] / -self.strength)

    def Psi(self, x: Array) -> float:
        """Minus the cut's height."""
        return -float(x[-1])

    def ground(self, s: Array, c: float, A: float) -> Array:
        t = A - float(s[-1])
        return self._met(s[:-1] / -t, c / t)

    def d(self, x: Array) -> float:
        """The entropy that a soft maximum lacks, the first or the newest: no other is asked for."""
        return self._soft_at(x).lack

    def d_gradient(self, x: Array) -> Array:
        soft = self._soft_at(x)
        return np.append(soft.w, 1.0) / soft.mu

    def _soft_at(self, x: Array) -> SoftPoint:
        first = self._first
        return first if first is not None and np.array_equal(as_array(first), x) else self._last

    def point(self, x: Imaged[Array, Array], alpha: Imaged[Array, Array]) -> Point:
        """The risk itself at the mean of the w: two passes."""
        self.problem.pulse()
        return self.problem.risk.at(alpha.x)

    def newest(self, x: Imaged[Array, Array]) -> SoftPoint:
        """The newest cut's place."""
        return self._last

    def _met(self, w: Array, mu: float) -> Array:
        self._last = self.soft.at(w, mu)
        return as_array(self._last)


def as_array(soft: SoftPoint) -> Array:
    """(a, c) of a soft maximum."""
    return np.append(soft.gradient, soft.cost)
