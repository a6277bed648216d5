"""The sparsity-inducing norm."""

from __future__ import annotations

import numpy as np

from fenchel.piecewise import Slope
from fenchel.regularizers.base import (
    Array,
    Weighted,
    absolute_kinks,
    absolute_slope,
    elastic_net_prox,
)
from fenchel.tolerances import INSIDE


class L1(Weighted):
    """Omega(w) = sum_j c_j |w_j|."""

    def value(self, w: Array) -> float:
        return float(np.sum(self.c * np.abs(w)))

    def subgradient(self, w: Array) -> Array:
        return self.c * np.sign(w)

    def support(self, w: Array, p: Array) -> Array:
        """c sign(w), and c sign(p) where w = 0 ([Yu10] section 8.4)."""
        return self.c * np.where(w == 0, np.sign(p), np.sign(w))

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        """Each coordinate falls or rises at its own rate."""
        return absolute_slope(w, p, self.c, eta)

    def kinks(self, w: Array, p: Array, low: float, high: float) -> Array:
        """Where a coordinate changes its sign."""
        return absolute_kinks(w, p, self.c, low, high)

    def orthant_curvature(self, n_parameters: int) -> Array:
        return np.zeros(n_parameters)

    def prox(self, v: Array, step: float) -> Array:
        """Soft thresholding at step c."""
        return elastic_net_prox(v, step, 0.0, self.weights)

    def scaled_prox(self, v: Array, steps: Array) -> Array:
        return elastic_net_prox(v, 1.0, 0.0, steps * self.c)

    def conjugate(self, u: Array) -> float:
        """0 where |u_j| <= c_j for all j, else inf."""
        return 0.0 if np.all(np.abs(u) <= self.c) else np.inf

    def extended_argmax(self, u: Array) -> Array:
        """0 where |u| <= c, else an end of the line."""
        return np.where(np.abs(u) <= self.c, 0.0, np.copysign(np.inf, u))

    def reach(self, u: Array, value: float) -> float:
        """sum_j c_j |w_j| <= value bounds the length by value over the least penalty."""
        return abs(value) / float(np.min(np.extract(np.asarray(self.c) > 0, self.c), initial=1.0))

    def dual_scale(self, u: Array) -> float:
        """min_j c_j / |u_j| where some |u_j| > c_j, else 1; a hair less, so that s u is inside."""
        magnitude = np.abs(u)
        outside = magnitude > self.c
        if not outside.any():
            return 1.0
        c = np.broadcast_to(np.asarray(self.c), u.shape)
        return float(np.min(c[outside] / magnitude[outside])) * (1 - INSIDE)
