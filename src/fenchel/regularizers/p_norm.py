"""The squared p-norm, between L1 and L2 ([Smola07] section 4)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from fenchel.errors import InvalidData
from fenchel.regularizers.base import Array, Regularizer
from fenchel.settings import real

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
        return 0.5 * _norm(w, self.p) ** 2

    def subgradient(self, w: Array) -> Array:
        return _gradient(w, self.p)

    def prox(self, v: Array, step: float) -> Array:
        """x_j + step c x_j^(p-1) = |v_j| for each j, with c = |x|_p^(2-p)."""
        a, p = np.abs(v), self.p
        most = _norm(a, p) ** (2 - p)
        if p == 2 or most == 0:
            return v / (1.0 + step)

        def excess(c: float) -> float:
            norm = _norm(_roots(a, step * c, p), p)
            return float(norm ** (2 - p)) - c

        c = brentq(excess, 0.0, most, xtol=1e-300, rtol=1e-15)
        return np.copysign(_roots(a, step * c, p), v)

    def conjugate(self, u: Array) -> float:
        return 0.5 * _norm(u, self.q) ** 2

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


def _norm(w: Array, p: float) -> float:
    """|w|_p, whatever the size of w."""
    a = np.abs(w)
    top = float(np.max(a, initial=0.0))
    return top * float(np.sum((a / top) ** p)) ** (1 / p) if top > 0 else 0.0


def _relative(w: Array, p: float) -> Array:
    """|w| / |w|_p; 0 at w = 0."""
    return np.abs(w) / (_norm(w, p) or 1.0)


def _gradient(w: Array, p: float) -> Array:
    """That of 1/2 |w|_p^2: sign(w) |w|^(p-1) |w|_p^(2-p)."""
    return np.asarray(np.sign(w) * _norm(w, p) * _relative(w, p) ** (p - 1))


def _roots(a: Array, k: float, p: float) -> Array:
    """The x >= 0 with x + k x^(p-1) = a, by Newton's method for y = x^(p-1).

    y^r + k y, r = 1 / (p - 1) > 1, is convex: from y where it is too large, the steps never pass
    the root.
    """
    if k == 0:
        return a
    r = 1 / (p - 1)
    y = np.minimum(a ** (p - 1), a / k)
    for _ in range(_NEWTON_STEPS):
        power = y ** (r - 1)
        step = (power * y + k * y - a) / (r * power + k)
        y = np.maximum(y - np.maximum(step, 0.0), 0.0)
        if not np.any(step > 1e-16 * y):
            break
    return np.asarray(y**r)
