"""Losses of numbers that cannot be negative: the score z is the logarithm of what is predicted.

Each is half the deviance of its family from the label y, so that it is 0 at z = log y and never
negative, which the bundle's zero cut needs. Each class has a twin in kernels/losses.hpp.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from fenchel.losses.base import Array, Conjugable, Labels


class Poisson(Conjugable):
    """l(z, y) = exp(z) - y z + (y log y - y): half the Poisson deviance, for counts and rates."""

    labels = Labels.COUNT
    nonnegative = True
    differentiable = True

    def value(self, z: Array, y: Array) -> Array:
        """exp(z) - y z + (y log y - y); inf beyond the range of floating point."""
        with np.errstate(over="ignore"):
            deviance: Array = np.exp(z) - y * z + (xlogy(y, y) - y)
        return np.maximum(0.0, deviance)

    def slope(self, z: Array, y: Array) -> Array:
        """exp(z) - y."""
        with np.errstate(over="ignore"):
            return np.exp(z) - y

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha >= -y."""
        return -y, np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(alpha + y) log(alpha + y) - (alpha + y) - (y log y - y) on alpha >= -y."""
        rate = np.maximum(alpha + y, 0.0)
        return self.within(alpha, y, xlogy(rate, rate) - rate - (xlogy(y, y) - y))


class Gamma(Conjugable):
    """l(z, y) = y exp(-z) + z - (1 + log y): half the deviance of gamma distributions."""

    labels = Labels.POSITIVE
    nonnegative = True
    differentiable = True

    def value(self, z: Array, y: Array) -> Array:
        """y exp(-z) + z - (1 + log y); inf beyond the range of floating point."""
        with np.errstate(over="ignore"):
            deviance: Array = y * np.exp(-z) + z - (1.0 + np.log(y))
        return np.maximum(0.0, deviance)

    def slope(self, z: Array, y: Array) -> Array:
        """1 - y exp(-z)."""
        with np.errstate(over="ignore"):
            return 1.0 - y * np.exp(-z)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha <= 1."""
        return np.full(len(y), -np.inf), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(1 - alpha) log(1 - alpha) + alpha (1 + log y) on alpha <= 1.

        The slope is alpha at z = log y - log(1 - alpha), where y exp(-z) = 1 - alpha.
        """
        below = np.minimum(alpha, 1.0)
        inside: Array = xlog1py(1.0 - below, -below) + below * (1.0 + np.log(y))
        return self.within(alpha, y, inside)
