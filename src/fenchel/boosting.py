"""Totally corrective boosting: the problem that each round of ERLPBoost solves (004 example 5).

Over weights d of the n rows, with u_q the edges y_i h_q(x_i) of the t hypotheses found so far,

    min over d in the capped simplex of  P(d) = max_q <u_q, d> + Omega(d) / eta,

Omega the entropy. Its dual is smooth, with w the weights of the hypotheses in the simplex:

    max over w of  D(w) = min over d of <U'w, d> + Omega(d) / eta = -Omega*(-eta U'w) / eta,

and D's gradient is U d(w), d(w) being the d that attains it. In the entropy's geometry -D has the
Lipschitz constant L = eta max |u|^2 = eta, since Omega is strongly convex in the L1 norm.
AGM-EF-inf with adaptive L (004 algorithm 2; Psi the simplex, lambda_1 = lambda_2 = 0, sigma = 1)
maximises it, and the mean of the d(u_i) with the weights a_i (eq. 22) is the primal point, so that
P(d) - D(w) is a gap that is known in each iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.regularizers import Entropy

Array = npt.NDArray[np.float64]

_DOWN, _UP = 1.5, 2.0  # gamma_d and gamma_u of algorithm 2
_OPTIMISM = 0.1  # the first estimate of L, relative to eta: the paper's experience
_ROUND_OFF = 1e-12  # of the terms in eq. 15
_NEW = 0.1  # the weight of a new hypothesis where a round starts
_MOST = 20_000  # iterations of a round


class Corrected(NamedTuple):
    """What a round found: weights of the rows and of the hypotheses, with P(d) and D(w)."""

    d: Array
    w: Array
    upper: float
    lower: float


class EdgeProblem(NamedTuple):
    """The edges U, a row for each hypothesis, with the entropy and what it is divided by."""

    U: Array
    entropy: Entropy
    eta: float

    def upper(self, d: Array) -> float:
        """P(d)."""
        return float(np.max(self.U @ d)) + self.entropy.value(d) / self.eta

    def lower(self, mixed: Array) -> float:
        """D(w) with mixed = U'w."""
        return -self.entropy.conjugate(-self.eta * mixed) / self.eta

    def weights(self, mixed: Array) -> Array:
        """d(w) with mixed = U'w."""
        return self.entropy.conjugate_argmax(-self.eta * mixed)


def corrected(problem: EdgeProblem, w: Array, gap: float) -> Corrected:
    """Maximises D, from the weights w of the older hypotheses, until the gap is at most `gap`."""
    x = _with_new(w, len(problem.U))
    model = _Model(problem, x)
    best = model.found()
    for _ in range(_MOST):
        if best.upper - best.lower <= gap:
            break
        model.step()
        best = _better(best, model.found())
    return best


class _Model:
    """004 algorithm 2: x_k and z_k in the simplex of hypotheses, and psi_k.

    Beside each of them stands its U'x, so that a step needs two products with U for each L tried.
    """

    def __init__(self, problem: EdgeProblem, x: Array):
        self.problem, self.start = problem, x
        self.x, self.Ux = x, x @ problem.U
        self.Uz = self.Ux
        self.A, self.L = 0.0, _OPTIMISM * problem.eta
        self.slopes, self.constant = np.zeros(len(x)), 0.0  # psi_k without Delta(., x_0)
        self.d = problem.weights(self.Ux)
        self.lower = problem.lower(self.Ux)

    def found(self) -> Corrected:
        """The mean d and x_k."""
        return Corrected(self.d, self.x, self.problem.upper(self.d), self.lower)

    def step(self) -> None:
        """Lines 6 to 11."""
        self.L /= _DOWN
        while not self._tried():
            self.L *= _UP

    def _tried(self) -> bool:
        """Takes the step for this L, if it keeps A_k J(x_k) <= min psi_k (eq. 15)."""
        problem, U = self.problem, self.problem.U
        a = (1 + np.sqrt(1 + 4 * self.L * self.A)) / (2 * self.L)  # a + A = L a^2
        share = a / (self.A + a)
        Uu = (1 - share) * self.Ux + share * self.Uz
        d = problem.weights(Uu)
        slopes = self.slopes - a * (U @ d)  # -U d is the gradient of -D at u
        constant = self.constant - a * (problem.lower(Uu) - float(Uu @ d))
        z = np.empty_like(self.x)
        least = constant + _kernels.entropy_prox(slopes, 1.0, self.start, 1.0, z)  # psi(z)
        Uz = z @ U
        Ux = (1 - share) * self.Ux + share * Uz
        lower = problem.lower(Ux)
        if -(self.A + a) * lower > least + _ROUND_OFF * (abs(least) + abs(constant)):
            return False
        self.x, self.Ux, self.Uz = (1 - share) * self.x + share * z, Ux, Uz
        self.A, self.slopes, self.constant = self.A + a, slopes, constant
        self.d, self.lower = (1 - share) * self.d + share * d, lower
        return True


def _with_new(w: Array, n: int) -> Array:
    """Weights of n hypotheses, the last of them new."""
    new = np.full(n - len(w), (_NEW if len(w) else 1.0) / (n - len(w)))
    return np.concatenate([(1 - _NEW) * w, new])


def _better(one: Corrected, other: Corrected) -> Corrected:
    """The better of both sides: d and w need not come from the same iteration."""
    rows = one if one.upper <= other.upper else other
    hypotheses = one if one.lower >= other.lower else other
    return Corrected(rows.d, hypotheses.w, rows.upper, hypotheses.lower)
