"""Totally corrective boosting: the problem of each round of ERLPBoost ([Zhang11] example 5).

Over weights d of the n rows, with u_q the edges y_i h_q(x_i) of the t hypotheses found so far,

    min over d in the capped simplex of  P(d) = max_q <u_q, d> + Omega(d) / eta,

Omega the entropy. Its dual is smooth, with w the weights of the hypotheses in the simplex:

    max over w of  D(w) = min over d of <U'w, d> + Omega(d) / eta = -Omega*(-eta U'w) / eta,

and D's gradient is U d(w), d(w) being the d that attains it. AGM-EF-inf maximises D in the geometry
of the hypotheses' own entropy, in which -D has the constant L = eta max |u|^2 = eta, since Omega is
strongly convex in the L1 norm. The mean of the d(u_i) ([Zhang11] eq. 22) is the primal point, so
that the gap P(d) - D(w) is known in each iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from fenchel import _kernels
from fenchel.regularizers import Entropy
from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, Linearisation
from fenchel.solvers import AGMInf

Array = npt.NDArray[np.float64]

_OPTIMISM = 0.1  # the first estimate of L, relative to eta: the paper's experience
_NEW = 0.1  # the weight of a new hypothesis where a round starts
_MOST = 20_000  # iterations of a round


class Corrected(NamedTuple):
    """What a round found: weights of the rows and of the hypotheses, with P(d) and D(w)."""

    d: Array
    w: Array
    upper: float
    lower: float


class Edges(Composite[Array, Array]):
    """-D as AGM-EF sees it: Psi is the simplex of hypotheses, the prox-function their entropy."""

    lambda_2 = 0.0

    def __init__(self, U: Array, entropy: Entropy, eta: float):
        self.U, self.entropy, self.eta = U, entropy, eta
        self.L = eta

    def upper(self, d: Array) -> float:
        """P(d), which no D(w) is above."""
        return self._upper(d, self.U @ d)

    def _upper(self, d: Array, edges: Array) -> float:
        return float(np.max(edges)) + self.entropy.value(d) / self.eta

    def imaged(self, x: Array) -> Imaged[Array, Array]:
        """Weights w of the hypotheses with what they make of each row, U'w."""
        return Imaged(x, x @ self.U)

    def unpacked(self, packed: Array) -> Array:
        """Packed as it is."""
        return packed

    def unpacked_dual(self, packed: Array) -> Imaged[Array, Array]:
        """d with U d."""
        return Imaged(packed, self.U @ packed)

    def f(self, at: Imaged[Array, Array]) -> float:
        """-D(w), from the image U'w."""
        return self.entropy.conjugate(-self.eta * at.image) / self.eta

    def tangent(self, at: Imaged[Array, Array]) -> Linearisation[Array, Array]:
        """-D(w), and its gradient -U d(w)."""
        d = self.entropy.conjugate_argmax(-self.eta * at.image)
        edges = self.U @ d
        return Linearisation(self.f(at), -edges, Imaged(d, edges))

    def Psi(self, x: Array) -> float:
        """0 on the simplex."""
        return 0.0

    def d(self, x: Array) -> float:
        """sum_q w_q log w_q."""
        return float(np.sum(xlogy(x, x)))

    def d_gradient(self, x: Array) -> Array:
        """1 + log w."""
        return np.asarray(1.0 + np.log(x))

    def ground(self, s: Array, c: float, A: float) -> Array:
        """The soft minimum of s / c."""
        w = np.empty_like(s)
        _kernels.entropy_prox(s, c, None, 1.0, w)
        return w

    def corrected(self, w: Array, gap: float) -> Corrected:
        """Maximises D from the weights w of the older hypotheses, until the gap is small enough."""
        start = self.imaged(_with_new(w, len(self.U)))
        at = self.tangent(start)
        best = self._found(start, at.alpha)
        iterates = AGMInf().iterates(self, start, _OPTIMISM * self.L)
        for _, it in zip(range(_MOST), iterates, strict=False):
            best = _better(best, self._found(it.x, it.alpha))
            if best.upper - best.lower <= gap:
                break
        return best

    def _found(self, x: Imaged[Array, Array], alpha: Imaged[Array, Array]) -> Corrected:
        return Corrected(alpha.x, x.x, self._upper(alpha.x, alpha.image), -self.f(x))


def _with_new(w: Array, n: int) -> Array:
    """Weights of n hypotheses, the last of them new; none is 0, which the entropy never leaves."""
    new = np.full(n - len(w), (_NEW if len(w) else 1.0) / (n - len(w)))
    mixed = np.concatenate([(1 - _NEW) * w, new])
    return np.asarray((1 - _NEW) * mixed + _NEW / n)


def _better(one: Corrected, other: Corrected) -> Corrected:
    """The better of both sides: d and w need not come from the same iteration."""
    rows = one if one.upper <= other.upper else other
    hypotheses = one if one.lower >= other.lower else other
    return Corrected(rows.d, hypotheses.w, rows.upper, hypotheses.lower)
