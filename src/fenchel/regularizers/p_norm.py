"""The squared p-norm, between L1 and L2 ([Smola07] section 4)."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from fenchel.errors import InvalidData
from fenchel.regularizers.base import Array, Regularizer
from fenchel.settings import real
from fenchel.tolerances import EPSILON

_NEWTON_STEPS = 100


class SquaredPNorm(Regularizer):
    """Omega(w) = 1/2 |w|_p^2, 1 < p <= 2."""

    def __init__(self, p: float = 1.5):
        if not 1 < real("p", p) <= 2:
            raise InvalidData(f"p must lie in (1, 2]; got {p!r}")
        self.p = real("p", p)

    @property
    def q(self) -> float:
        """The dual exponent: 1/p + 1/q = 1."""
        return self.p / (self.p - 1)

    @property
    def strong_convexity(self) -> float:
        """p - 1: with respect to the p-norm, and so to the smaller Euclidean norm."""
        return self.p - 1

    def value(self, w: Array) -> float:
        return _half_square(_norm(w, self.p))

    def subgradient(self, w: Array) -> Array:
        return _gradient(w, self.p)

    def prox(self, v: Array, step: float) -> Array:
        """x = N s with |s|_p = 1, where N (s_j + step s_j^(p-1)) = |v_j| for each j.

        That is x_j + step x_j^(p-1) |x|_p^(2-p) = |v_j|. Divided by the largest |v_j| and by
        1 + step, with G for the inverse of what is left of N, it reads

            alpha s_j + beta s_j^(p-1) = G |v_j| / max |v|,    alpha + beta = 1,

        where all numbers are of the size of 1 whatever those of v and the step. The largest s_j
        lies between that of equal ones and 1, and with it G; |s|_p grows with it.
        """
        p, top = self.p, float(np.max(np.abs(v), initial=0.0))
        if p == 2 or top == 0 or not math.isfinite(top + step):
            return v / (1.0 + step)
        a, alpha, beta = np.abs(v) / top, 1 / (1 + step), step / (1 + step)
        equal = len(v) ** (-1 / p)

        def excess(G: float) -> float:
            return _norm(_roots(G * a, alpha, beta, p), p) - 1.0

        low, G = alpha * equal + beta * equal ** (p - 1), 1.0
        if excess(low) >= 0:  # all are equal, to round-off
            G = low
        elif excess(G) > 0:  # else one of them is 1, to round-off
            G = brentq(excess, low, G, xtol=1e-300, rtol=1e-15)
        return np.copysign(_roots(G * a, alpha, beta, p) * (top * alpha / G), v)

    def conjugate(self, u: Array) -> float:
        return _half_square(_norm(u, self.q))

    def conjugate_argmax(self, u: Array) -> Array:
        return _gradient(u, self.q)

    def dual_scale(self, u: Array) -> float:
        """1: Omega* is finite."""
        return 1.0

    def conjugate_curvature(self, u: Array) -> Array:
        """(q - 1) t^(q-2), t = |u| / |u|_q."""
        return np.asarray((self.q - 1) * _relative(u, self.q) ** (self.q - 2))

    def conjugate_coupling(self, u: Array) -> Array:
        """sqrt((q - 2) / (q - 1)) sign(u) t^(q/2)."""
        share = (self.q - 2) / (self.q - 1)
        return np.asarray(np.sqrt(share) * np.sign(u) * _relative(u, self.q) ** (self.q / 2))

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"p": self.p}


def _half_square(norm: float) -> float:
    """inf where a power would raise an error."""
    return 0.5 * norm * norm


def _norm(w: Array, p: float) -> float:
    """|w|_p, whatever the size of w; not finite where w is not."""
    a = np.abs(w)
    top = float(np.max(a, initial=0.0))
    if top == 0 or not math.isfinite(top):
        return top
    return top * float(np.sum((a / top) ** p) ** (1 / p))


def _relative(w: Array, p: float) -> Array:
    """|w| / |w|_p; 0 at w = 0."""
    return np.abs(w) / (_norm(w, p) or 1.0)


def _gradient(w: Array, p: float) -> Array:
    """That of 1/2 |w|_p^2: sign(w) |w|^(p-1) |w|_p^(2-p)."""
    return np.asarray(np.sign(w) * _norm(w, p) * _relative(w, p) ** (p - 1))


def _roots(g: Array, alpha: float, beta: float, p: float) -> Array:
    """The s >= 0 with alpha s + beta s^(p-1) = g, by Newton's method for y = s^(p-1).

    alpha y^r + beta y, r = 1 / (p - 1) > 1, is convex: from y where it is too large, the steps
    never pass the root. Where either part alone is g, it is too large by a factor of 2 at most.
    """
    r = 1 / (p - 1)
    with np.errstate(over="ignore"):
        y = (g / alpha) ** (p - 1)
        if beta > 0:
            y = np.minimum(y, g / beta)
    for _ in range(_NEWTON_STEPS):
        power = alpha * y ** (r - 1)
        step = (power * y + beta * y - g) / (r * power + beta)
        y = np.maximum(y - np.maximum(step, 0.0), 0.0)
        if not np.any(step > EPSILON * y):
            break
    return np.asarray(y**r)
