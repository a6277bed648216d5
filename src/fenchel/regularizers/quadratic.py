"""The squared Euclidean norm."""

from __future__ import annotations

import numpy as np

from fenchel.piecewise import Slope
from fenchel.regularizers.base import Array, Weighted, over, squared_slope


class L2(Weighted):
    """Omega(w) = 1/2 sum_j c_j w_j^2."""

    smooth = quadratic = True

    @property
    def strong_convexity(self) -> float:
        """min_j c_j."""
        return float(np.min(self.c))

    def value(self, w: Array) -> float:
        """1/2 sum_j c_j w_j^2."""
        return 0.5 * float(np.dot(self.c * w, w))

    def subgradient(self, w: Array) -> Array:
        """c w."""
        return self.c * w

    def support(self, w: Array, p: Array) -> Array:
        """c w, the gradient."""
        return self.c * w

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        """A straight line."""
        return squared_slope(w, p, self.c, eta)

    def curvature(self, n_parameters: int) -> Array:
        """C itself."""
        return np.array(np.broadcast_to(self.c, n_parameters))

    def prox(self, v: Array, step: float) -> Array:
        """v / (1 + step c)."""
        return v / (1.0 + step * self.c)

    def conjugate(self, u: Array) -> float:
        """1/2 sum_j u_j^2 / c_j; inf unless u_j = 0 where c_j = 0."""
        if np.any(u[self.free(len(u))]):
            return np.inf
        return 0.5 * float(np.dot(over(u, self.c), u))

    def conjugate_argmax(self, u: Array) -> Array:
        """u / c."""
        return over(u, self.c)

    def extended_argmax(self, u: Array) -> Array:
        """u / c, and an end of the line where c = 0."""
        return over(u, self.c, np.inf)

    def shrinkage(self, n_parameters: int) -> tuple[Array, Array] | None:
        """(0, 1 / c)."""
        if self.weights is None:
            return None
        return np.zeros(n_parameters), over(np.ones(n_parameters), self.weights)

    def conjugate_curvature(self, u: Array) -> Array:
        """1 / c."""
        return over(np.ones_like(u), self.c)
