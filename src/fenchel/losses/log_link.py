"""Losses of numbers that cannot be negative: the score z is the logarithm of what is predicted.

Each is half the deviance of its family from the label y, so that it is 0 at z = log y and never
negative, which the bundle's zero cut needs. Each class has a twin in kernels/losses.hpp.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from fenchel.losses.base import Array, Conjugable, Labels
from fenchel.losses.table import POWER


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
        with np.errstate(over="ignore"):
            return np.exp(z) - y

    def domain(self, y: Array) -> tuple[Array, Array]:
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
        with np.errstate(over="ignore"):
            return 1.0 - y * np.exp(-z)

    def domain(self, y: Array) -> tuple[Array, Array]:
        return np.full(len(y), -np.inf), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(1 - alpha) log(1 - alpha) + alpha (1 + log y) on alpha <= 1.

        The slope is alpha at z = log y - log(1 - alpha), where y exp(-z) = 1 - alpha.
        """
        below = np.minimum(alpha, 1.0)
        inside: Array = xlog1py(1.0 - below, -below) + below * (1.0 + np.log(y))
        return self.within(alpha, y, inside)


class Tweedie(Conjugable):
    """Half the deviance of compound Poisson-gamma distributions, for numbers >= 0, many of them 0.

    l(z, y) = (exp(b z) - y^b) / b + (y exp(-a z) - y^b) / a,    a = p - 1, b = 2 - p,

    p the power of the mean to which the variance is proportional, 1 < p < 2: towards 1 the loss
    becomes that of Poisson, towards 2 that of gamma distributions.
    """

    labels = Labels.COUNT
    nonnegative = True
    differentiable = True

    def __init__(self, power: float = 1.5):
        self.power = POWER.checked(power)
        self._a, self._b = self.power - 1.0, 2.0 - self.power  # without rounding

    def _forces(self, z: Array, y: Array) -> tuple[Array, Array]:
        """exp(b z) and y exp(-a z), whose difference is the slope."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp(self._b * z), np.where(y > 0, y * np.exp(-self._a * z), 0.0)

    def value(self, z: Array, y: Array) -> Array:
        """0 at z = log y; inf beyond the range of floating point."""
        down, up = self._forces(z, y)
        level = y**self._b
        return np.maximum(0.0, (down - level) / self._b + (up - level) / self._a)

    def slope(self, z: Array, y: Array) -> Array:
        """exp(b z) - y exp(-a z)."""
        down, up = self._forces(z, y)
        return down - up

    def domain(self, y: Array) -> tuple[Array, Array]:
        """All of R, but alpha >= 0 where y = 0."""
        return np.where(y > 0, -np.inf, 0.0), np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(alpha log alpha - alpha) / b where y = 0; else a bound of it from above.

        It is the supremum over z of g(z) = alpha z - l(z, y), which no formula gives. At any z it
        exceeds g(z) by at most 1.4 s^2 / c, for the slope s of g and the curvature c of l there, if
        |s| <= c / 2. For as a, b < 1, the derivative of the curvature is no larger than itself, so
        that it is at least c exp(-|x|) at z + x; the best z is hence no further away than
        -log(1 - |s| / c) <= 1.4 |s| / c, and g is concave. With what rounding may have taken from
        g(z) added, the result is never too small, and what is proved by -l* holds.
        """
        positive = np.where(y > 0, y, 1.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            bound = self._above(alpha, positive)
        zero = np.maximum(alpha, 0.0)
        inside = np.where(y > 0, bound, (xlogy(zero, zero) - zero) / self._b)
        return self.within(alpha, y, inside)

    def _above(self, alpha: Array, y: Array) -> Array:
        """The bound for y > 0; inf where Newton's method did not come close enough for one."""
        a, b, eps = self._a, self._b, np.finfo(np.float64).eps
        level, best = y**b, np.log(y)
        z = best + self._tilt(alpha / level)
        down, up = self._forces(z, y)
        # An argument of exp that is rounded by eps/2 of itself shifts exp by that much in relation.
        down_error, up_error = eps * (4 + b * np.abs(z)) * down, eps * (4 + a * np.abs(z)) * up
        short = np.abs(alpha - (down - up)) + down_error + up_error
        curvature = b * down + a * up
        g = alpha * z - (down - level) / b - (up - level) / a
        constant_error = eps * (4 + b * np.abs(best)) * level / (a * b)
        room = down_error / b + up_error / a + constant_error + 2 * eps * np.abs(alpha * z)
        bound: Array = g + 1.4 * short**2 / curvature + room
        return np.where((short <= curvature / 2) & np.isfinite(bound), bound, np.inf)

    def _tilt(self, beta: Array) -> Array:
        """The t at which exp(b t) - exp(-a t) = beta, nearly.

        Let beta >= 0 (else a and b change places, and t its sign). With u = exp(b t) it is the root
        of u - u^-r - beta, r = a / b, which is concave and increasing. From u = max(1, beta), where
        it is <= 0, Newton's steps go up to the root and never beyond.
        """
        up = beta >= 0
        size, r = np.abs(beta), np.where(up, self._a / self._b, self._b / self._a)
        u = np.maximum(1.0, size)
        for _ in range(100):
            power = u**-r
            step = (size - (u - power)) / (1 + r * power / u)
            u = u + step
            if not np.any(step > 1e-15 * u):
                break
        return np.log(u) / np.where(up, self._b, -self._a)
