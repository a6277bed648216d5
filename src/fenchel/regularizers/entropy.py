"""The entropy of weights that sum up to 1 ([Zhang11] example 5)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import wrightomega, xlogy

from fenchel import _kernels
from fenchel.errors import InvalidData, Setting
from fenchel.regularizers.base import Array, Regularizer
from fenchel.settings import positive
from fenchel.tolerances import DOMAIN_EDGE, EPSILON

_TINY = np.finfo(float).tiny
_LOWEST = -800.0  # of which the exponential is 0


class Entropy(Regularizer):
    """Omega(w) = sum_j w_j log(d w_j) on the simplex {w >= 0, sum w = 1, w <= cap}, else inf.

    It is 0 for equal weights 1/d. With respect to the L1 norm its strong convexity is 1.
    """

    finite = False

    def __init__(self, cap: float | None = None):
        self.cap = None if cap is None else positive("cap", cap)

    @property
    def _cap(self) -> float:
        return 1.0 if self.cap is None else min(self.cap, 1.0)

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """None; the simplex must not be empty."""
        if n_parameters * self._cap < 1 - DOMAIN_EDGE:
            raise InvalidData(
                f"no {n_parameters} weights of at most cap = {self.cap} sum up to 1: the cap must "
                f"be at least 1/{n_parameters} = {1 / n_parameters:.6g}"
            )
        return super().free(n_parameters)

    def start(self, n_parameters: int) -> Array:
        return np.full(n_parameters, 1.0 / n_parameters)

    def check(self, w: Array) -> None:
        """The weights are in the simplex."""
        low, high, total = float(np.min(w)), float(np.max(w)), float(np.sum(w))
        if low < -DOMAIN_EDGE:
            which = f"[{int(np.argmin(w))}] is {low}"
            raise InvalidData(Setting("w0"), " must hold weights >= 0; ", Setting("w0"), which)
        if high > self._cap + DOMAIN_EDGE:
            raise InvalidData(
                Setting("w0"),
                f" must hold weights <= {self._cap}, the cap; ",
                Setting("w0"),
                f"[{int(np.argmax(w))}] is {high}",
            )
        if abs(total - 1) > DOMAIN_EDGE:
            raise InvalidData(
                Setting("w0"), f" must hold weights that sum up to 1; their sum is {total}"
            )

    @property
    def strong_convexity(self) -> float:
        """max(2, 1 / cap).

        For p with sum p = 0,  sum p_j^2 / w_j  is >= ||p||_1^2 >= 2 ||p||^2  and >= ||p||^2 / cap.
        """
        return max(2.0, 1.0 / self._cap)

    def value(self, w: Array) -> float:
        """sum_j w_j log(d w_j), inf outside the simplex."""
        try:
            self.check(w)
        except InvalidData:
            return math.inf
        entropy = float(np.sum(xlogy(w, len(w) * np.maximum(w, 0.0))))
        return max(entropy, 0.0)  # in this order nan stays nan

    def subgradient(self, w: Array) -> Array:
        """1 + log(d w); where w = 0, as for the least number above it."""
        return np.asarray(1.0 + np.log(len(w) * np.maximum(w, _TINY)))

    def prox(self, v: Array, step: float) -> Array:
        """x_j = min(cap, step omega(z_j)) with omega(z) + log omega(z) = z, Wright's function.

        The conditions 1 + log(d x_j) + (x_j - v_j) / step = mu give z_j; mu makes the sum 1.
        """
        z = v / step - 1.0 - math.log(len(v)) - math.log(step)
        even = (1.0 / len(v) - v) / step + 1.0  # the mu for which x_j is 1/d

        def x(mu: float) -> Array:
            return np.asarray(np.minimum(self._cap, step * wrightomega(z + mu)))

        low, high = float(np.min(even)), float(np.max(even))
        if x(low).sum() >= 1 or x(high).sum() <= 1:  # all are equal, to round-off
            return self.start(len(v))
        # An error of mu is one of x relative to it, however small mu is itself.
        return x(brentq(lambda mu: x(mu).sum() - 1.0, low, high, xtol=1e-15, rtol=1e-15))

    @property
    def relative_convexity(self) -> float:
        """1: d is Omega itself, 1-strongly convex in the L1 norm."""
        return 1.0

    def d(self, x: Array) -> float:
        return self.value(x)

    def d_gradient(self, x: Array) -> Array:
        return self.subgradient(x)

    def norm(self, x: Array) -> float:
        """The L1 norm."""
        return float(np.sum(np.abs(x)))

    def ground(self, s: Array, c: float, weight: float) -> Array:
        """In closed form, but for the cap."""
        return self.conjugate_argmax(s / -(weight + c))

    def stretch(self, squares: Array) -> float:
        """The largest: <x_i, v>^2 <= sum_j |v_j| x_ij^2."""
        return float(np.max(squares))

    def conjugate(self, u: Array) -> float:
        """log of the mean of exp(u_j), without a cap; inf where u overflowed.

        That is the least over the multiplier t of  sum_j phi(u_j + t) - 1 - t - log d,  where phi
        is exp up to log(cap) and goes on straight from there. At any t it is an upper bound, so
        that the t at hand will do, with the round-off of its own terms added: phi's slope times
        that of u_j + t. t is the logarithm of one of the weights w_k less u_k: a single number
        would be too coarse where u is large.
        """
        if not np.isfinite(u).all():
            return math.inf
        w, level = self.conjugate_argmax(u), math.log(self._cap)
        free = np.where(w < self._cap, w, 0.0)
        k = int(np.argmax(free))
        base, rest = float(u[k]), math.log(free[k]) if free[k] > 0 else level
        if rest == level:  # all weights are 0 or the cap
            base = float(np.min(u[w >= self._cap]))
        with np.errstate(over="ignore"):
            v = np.maximum((u - base) + rest, _LOWEST)
        slope = np.exp(np.minimum(v, level))
        phi = float(np.sum(slope * (1 + np.maximum(v - level, 0.0))))
        terms = phi, -1.0, -rest, base, -math.log(len(u))
        doubt = 8 * math.fsum(map(abs, terms)) + float(slope @ (np.abs(v) + 2 * abs(rest)))
        return math.fsum(terms) + EPSILON * doubt

    def conjugate_argmax(self, u: Array) -> Array:
        """min(cap, exp(u_j + t)), with the t for which the sum is 1.

        A u that overflowed tells no direction: the weights are equal.
        """
        if not np.isfinite(u).all():
            return self.start(len(u))
        w = np.empty_like(u)
        _kernels.entropy_prox(-u, 1.0, None, self._cap, w)
        return w

    def dual_scale(self, u: Array) -> float:
        """1: Omega* is finite."""
        return 1.0

    def conjugate_curvature(self, u: Array) -> Array:
        """w_j where w_j < cap, else 0."""
        w = self.conjugate_argmax(u)
        return np.where(w < self._cap, w, 0.0)

    def conjugate_coupling(self, u: Array) -> Array:
        """The roots of the same, of length 1."""
        root = np.sqrt(self.conjugate_curvature(u))
        return np.asarray(root / (float(np.linalg.norm(root)) or 1.0))

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"cap": self.cap}
