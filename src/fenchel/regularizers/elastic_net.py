"""The elastic net: sparse like L1, strongly convex like L2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData, Setting
from fenchel.piecewise import Slope
from fenchel.regularizers.base import (
    Array,
    Weighted,
    absolute_kinks,
    absolute_slope,
    elastic_net_prox,
    over,
    soft_threshold,
    squared_slope,
)
from fenchel.settings import between, real


class ElasticNet(Weighted):
    """Omega(w) = sum_j c_j (rho |w_j| + (1 - rho)/2 w_j^2), rho = l1_ratio in (0, 1)."""

    def __init__(self, l1_ratio: float = 0.5, weights: npt.ArrayLike | None = None):
        super().__init__(weights)
        if real("l1_ratio", l1_ratio) in (0, 1):
            name = "l1" if l1_ratio else "l2"
            raise InvalidData(
                Setting("l1_ratio"), f" = {l1_ratio!r} is the regulariser {name}; use that"
            )
        self.l1_ratio = between("l1_ratio", l1_ratio, 0, 1)

    @property
    def strong_convexity(self) -> float:
        """(1 - rho) min_j c_j."""
        return (1 - self.l1_ratio) * self.least_weight

    def value(self, w: Array) -> float:
        """sum_j c_j (rho |w_j| + (1 - rho)/2 w_j^2)."""
        rho = self.l1_ratio
        return float(np.sum(self.c * (rho * np.abs(w) + (1 - rho) / 2 * w**2)))

    def subgradient(self, w: Array) -> Array:
        """c (rho sign(w) + (1 - rho) w)."""
        return self.c * (self.l1_ratio * np.sign(w) + (1 - self.l1_ratio) * w)

    def support(self, w: Array, p: Array) -> Array:
        """c (rho sign(w) + (1 - rho) w), with sign(p) where w = 0."""
        sign = np.where(w == 0, np.sign(p), np.sign(w))
        return self.c * (self.l1_ratio * sign + (1 - self.l1_ratio) * w)

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        rho = self.l1_ratio
        absolute, squared = absolute_slope(w, p, self.c, eta), squared_slope(w, p, self.c, eta)
        slope = rho * absolute.slope + (1 - rho) * squared.slope
        return Slope(slope, (1 - rho) * squared.curvature)

    def kinks(self, w: Array, p: Array, low: float, high: float) -> Array:
        """Where a coordinate changes its sign."""
        return absolute_kinks(w, p, self.l1_ratio * self.c, low, high)

    def orthant_curvature(self, n_parameters: int) -> Array:
        """(1 - rho) c."""
        return np.array(np.broadcast_to((1 - self.l1_ratio) * self.c, n_parameters))

    def prox(self, v: Array, step: float) -> Array:
        """Soft thresholding at step c rho, then shrinking by 1 + step c (1 - rho)."""
        rho = self.l1_ratio
        return elastic_net_prox(v, step * rho, step * (1 - rho), self.weights)

    def scaled_prox(self, v: Array, steps: Array) -> Array:
        return elastic_net_prox(v, self.l1_ratio, 1 - self.l1_ratio, steps * self.c)

    def conjugate(self, u: Array) -> float:
        """sum_j max(0, |u_j| - c_j rho)^2 / (2 c_j (1 - rho))."""
        if np.any(u[self.free(len(u))]):
            return np.inf
        excess = soft_threshold(u, self.c * self.l1_ratio)
        return 0.5 * float(np.dot(over(excess, self.c), excess)) / (1 - self.l1_ratio)

    def conjugate_argmax(self, u: Array) -> Array:
        """Soft threshold of u at c rho, over c (1 - rho)."""
        return over(soft_threshold(u, self.c * self.l1_ratio), self.c) / (1 - self.l1_ratio)

    def extended_argmax(self, u: Array) -> Array:
        """The same, and an end of the line where c = 0."""
        excess = soft_threshold(u, self.c * self.l1_ratio)
        return over(excess, self.c, np.inf) / (1 - self.l1_ratio)

    def shrinkage(self, n_parameters: int) -> tuple[Array, Array] | None:
        """(c rho, 1 / (c (1 - rho)))."""
        c = np.broadcast_to(np.asarray(self.c), n_parameters)
        return c * self.l1_ratio, over(np.ones(n_parameters), c) / (1 - self.l1_ratio)

    def conjugate_curvature(self, u: Array) -> Array:
        """1 / (c (1 - rho)) where |u| > c rho, else 0."""
        moves = (np.abs(u) > self.c * self.l1_ratio).astype(np.float64)
        return over(moves, self.c) / (1 - self.l1_ratio)

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"l1_ratio": self.l1_ratio, "weights": self.weights}
