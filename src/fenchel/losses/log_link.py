"""Losses of numbers that cannot be negative: the score z is the logarithm of what is predicted.

Each is half the deviance of its family from the label y, so that it is 0 at z = log y and never
negative, which the bundle's zero cut needs. Each class has a twin in kernels/losses.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import xlog1py, xlogy

from fenchel.losses.base import Array, Conjugable, Labels
from fenchel.losses.table import POWER
from fenchel.tolerances import EPSILON


def exp_beyond_tangent(t: Array) -> Array:
    """exp(t) - 1 - t to a few units of itself: Taylor's terms where that would cancel."""
    near = 0.5 * t * t * _polynomial([2.0 / math.factorial(k) for k in range(15, 1, -1)], t)
    return np.where(np.abs(t) < 0.5, near, np.expm1(t) - t)


def relative_entropy(beta: Array) -> Array:
    """(1 + beta) log(1 + beta) - beta on beta >= -1, to a few units of itself.

    It is the conjugate of the function above. Where it would cancel, with s = beta / (2 + beta),
    log(1 + beta) = 2 (s + s^3/3 + s^5/5 ...) and beta = 2 s / (1 - s), so that it is
    2 / (1 - s) times  s^2 + (1 + s) (s^3/3 + s^5/5 ...).
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        s = beta / (2.0 + beta)
        square = s * s
        series = square * _polynomial([1.0 / k for k in range(25, 1, -2)], square)
        near = 2.0 / (1.0 - s) * (square + (1.0 + s) * s * series)
        return np.where(np.abs(beta) < 0.25, near, xlog1py(1.0 + beta, beta) - beta)


def _polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """Horner's rule, the coefficient of the highest power first, in one array."""
    total = np.full_like(x, coefficients[0])
    for each in coefficients[1:]:
        total *= x
        total += each
    return total


class Poisson(Conjugable):
    """l(z, y) = exp(z) - y z + (y log y - y): half the Poisson deviance, for counts and rates."""

    labels = Labels.COUNT
    nonnegative = True
    differentiable = True

    def value(self, z: Array, y: Array) -> Array:
        """y (exp(t) - 1 - t) with t = z - log y; inf beyond the range of floating point.

        So nothing cancels but what an error of t would change as well. Of a large t nothing does
        anyway, while exp(t) may overflow where exp(z) does not; t is inf where y = 0.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            t = z - np.log(y)
            far = np.exp(z) - np.where(y > 0, y * (1.0 + t), 0.0)
            return np.where(t <= 1, y * exp_beyond_tangent(t), far)

    def slope(self, z: Array, y: Array) -> Array:
        """exp(z) - y, which is y (exp(t) - 1)."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            t = z - np.log(y)
            return np.where(t <= 1, y * np.expm1(t), np.exp(z) - y)

    def domain(self, y: Array) -> tuple[Array, Array]:
        return -y, np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(alpha + y) log(alpha + y) - (alpha + y) - (y log y - y) on alpha >= -y.

        With beta = alpha / y that is alpha log y + y ((1 + beta) log(1 + beta) - beta).
        """
        rate = np.maximum(alpha, 0.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            inside = alpha * np.log(y) + y * relative_entropy(np.maximum(alpha / y, -1.0))
        # Nothing cancels where alpha / y is too large for a number.
        sound = np.isfinite(inside) & (y > 0)
        other = xlogy(alpha + y, rate + y) - alpha - xlogy(y, y)
        return self.within(alpha, y, np.where(sound, inside, other))


class Gamma(Conjugable):
    """l(z, y) = y exp(-z) + z - (1 + log y): half the deviance of gamma distributions."""

    labels = Labels.POSITIVE
    nonnegative = True
    differentiable = True

    def value(self, z: Array, y: Array) -> Array:
        """exp(t) - 1 - t with t = log y - z; inf beyond the range of floating point."""
        with np.errstate(over="ignore"):
            return exp_beyond_tangent(np.log(y) - z)

    def slope(self, z: Array, y: Array) -> Array:
        """1 - y exp(-z)."""
        with np.errstate(over="ignore"):
            return -np.expm1(np.log(y) - z)

    def domain(self, y: Array) -> tuple[Array, Array]:
        return np.full(len(y), -np.inf), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(1 - alpha) log(1 - alpha) + alpha (1 + log y) on alpha <= 1.

        The slope is alpha at z = log y - log(1 - alpha), where y exp(-z) = 1 - alpha.
        """
        below = np.minimum(alpha, 1.0)
        return self.within(alpha, y, relative_entropy(-below) + below * np.log(y))


class Tweedie(Conjugable):
    """Half the deviance of compound Poisson-gamma distributions, for numbers >= 0, many of them 0.

    l(z, y) = (exp(b z) - y^b) / b + (y exp(-a z) - y^b) / a,    a = p - 1, b = 2 - p,

    p the power of the mean to which the variance is proportional, 1 < p < 2: towards 1 the loss
    becomes that of Poisson, towards 2 that of gamma distributions. As a + b = 1, with t = z - log y

    l(z, y) = rise + fall,    rise = y^b (exp(b t) - 1) / b,    fall = y^b (exp(-a t) - 1) / a,

    and l'(z, y) = b rise - a fall, of opposite signs. By expm1 both are exact to a few units of
    themselves, however small a or b; their sum loses no more than an error of t costs anyway.
    """

    labels = Labels.COUNT
    nonnegative = True
    differentiable = True

    def __init__(self, power: float = 1.5):
        self.power = POWER.checked(power)
        self._a, self._b = self.power - 1.0, 2.0 - self.power  # without rounding

    def _parts(self, z: Array, y: Array) -> tuple[Array, Array]:
        """Rise and fall; exp(b z) / b and 0 where y = 0, of which the logarithm is -inf."""
        a, b = self._a, self._b
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            level, t = y**b, z - np.log(y)
            # Of a large t nothing cancels, while exp(b t) may overflow where exp(b z) does not.
            near, far = level * (np.expm1(b * t) / b), (np.exp(b * z) - level) / b
            return np.where(b * t <= 1, near, far), level * (np.expm1(-a * t) / a)

    def value(self, z: Array, y: Array) -> Array:
        """0 at z = log y; inf beyond the range of floating point."""
        rise, fall = self._parts(z, y)
        return np.maximum(0.0, rise + fall)

    def slope(self, z: Array, y: Array) -> Array:
        """exp(b z) - y exp(-a z)."""
        rise, fall = self._parts(z, y)
        return self._b * rise - self._a * fall

    def domain(self, y: Array) -> tuple[Array, Array]:
        """All of R, but alpha >= 0 where y = 0."""
        return np.where(y > 0, -np.inf, 0.0), np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(alpha log alpha - alpha) / b where y = 0; else a bound of it from above.

        It is the supremum over z of g(z) = alpha z - l(z, y), which no formula gives. At any z it
        exceeds g(z) by at most 1.4 s^2 / c, for the slope s of g and the curvature c of l there, if
        |s| <= c / 2. For as a, b < 1, the derivative of the curvature is no larger than itself, so
        that it is at least c exp(-|x|) at z + x; the best z is hence no further away than
        -log(1 - |s| / c) <= 1.4 |s| / c, and g is concave. Elsewhere it is at most s^2 / (2 m), for
        the least curvature m = y^b (a / b)^(b - a), which is that at z = log y + 2 log(a / b). With
        what rounding may have taken from g(z) added, the result is never too small, and what is
        proved by -l* holds.
        """
        positive = np.where(y > 0, y, 1.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            bound = self._above(alpha, positive)
        zero = np.maximum(alpha, 0.0)
        inside = np.where(y > 0, bound, (xlogy(zero, zero) - zero) / self._b)
        return self.within(alpha, y, inside)

    def _above(self, alpha: Array, y: Array) -> Array:
        """The bound for y > 0; inf beyond the range of floating point.

        g is taken at log y + t for the t that was found, so that t has no error.
        """
        a, b = self._a, self._b
        level, best = y**b, np.log(y)
        t = self._tilt(alpha / level)
        rise, fall = level * (np.expm1(b * t) / b), level * (np.expm1(-a * t) / a)
        # Power, expm1 and log may each be off by 4 units. An argument x of expm1 that is rounded
        # by half a unit of itself shifts it by no more than (1 + max(x, 0)) / 2 units.
        rise_error = EPSILON * (10 + np.maximum(b * t, 0)) * np.abs(rise)
        fall_error = EPSILON * (10 + np.maximum(-a * t, 0)) * np.abs(fall)
        short = np.abs(alpha - (b * rise - a * fall)) + b * rise_error + a * fall_error
        curvature = level * (b * np.exp(b * t) + a * np.exp(-a * t))
        g = alpha * best + alpha * t - (rise + fall)
        room = rise_error + fall_error + 8 * EPSILON * np.abs(alpha) * (np.abs(best) + np.abs(t))
        least = level * (a / b) ** (b - a)
        ahead = np.where(short <= curvature / 2, 1.4 * short**2 / curvature, short**2 / (2 * least))
        bound: Array = g + ahead + room
        return np.where(np.isfinite(bound), bound, np.inf)

    def _tilt(self, beta: Array) -> Array:
        """The t at which exp(b t) - exp(-a t) = beta, nearly.

        Let beta >= 0 (else a and b change places, and t its sign). With u = exp(b t) - 1 it is the
        root of u + 1 - (u + 1)^-r - beta, r = a / b, which is concave and increasing. From
        u = max(0, beta - 1), where it is <= 0, Newton's steps go up to the root and never beyond.
        Both parts of u + (1 - (u + 1)^-r) are >= 0, and hence found to a few units of beta.
        """
        up = beta >= 0
        size, r = np.abs(beta), np.where(up, self._a / self._b, self._b / self._a)
        u = np.maximum(0.0, size - 1)
        for _ in range(100):
            fall = np.expm1(-r * np.log1p(u))
            left = size - (u - fall)
            u = u + left / (1 + r * (1 + fall) / (1 + u))
            if not np.any(left > 8 * EPSILON * size):
                break
        t: Array = np.log1p(u) / np.where(up, self._b, -self._a)
        return t
