"""The scalar losses of 003 table 1, 001 and 004, with their conjugates.

Letters: z the score, y the label, u = y z the margin of a label +-1, r = z - y the residual,
alpha the dual variable of one row and beta = y alpha. Each class has a twin in kernels/losses.hpp.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Conjugable, Labels
from fenchel.naming import between, positive, real


def _within(alpha: Array, domain: tuple[Array, Array], inside: Array) -> Array:
    lowest, highest = domain
    return np.where((lowest <= alpha) & (alpha <= highest), inside, np.inf)


def _between(a: Array, b: Array) -> tuple[Array, Array]:
    return np.minimum(a, b), np.maximum(a, b)


class _Scalar(Conjugable):
    """Facts that hold for every loss of this file."""

    nonnegative = True


class _Margin(_Scalar):
    """A loss of the margin u = y z, non-increasing: its conjugate lives on beta <= 0."""

    labels = Labels.BINARY


class _SmoothMargin(_Margin):
    """A differentiable loss of the margin."""

    differentiable = True

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta <= 0."""
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)


class Perceptron(_Margin):
    """l(z, y) = max(0, -yz). Under L2, L1 or both the minimiser is w = 0."""

    def value(self, z: Array, y: Array) -> Array:
        """max(0, -u)."""
        return np.maximum(0.0, -y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y where u < 0."""
        return np.where(y * z < 0, -y, 0.0)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at u = 0."""
        return np.zeros((1, len(y)))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta in [-1, 0]."""
        return _between(-y, np.zeros_like(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """0 on beta in [-1, 0]."""
        return _within(alpha, self.domain(y), np.zeros_like(alpha))


class SquaredPerceptron(_SmoothMargin):
    """l(z, y) = 1/2 max(0, -yz)^2. Its minimiser is w = 0 too."""

    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        """1/2 max(0, -u)^2."""
        return 0.5 * np.maximum(0.0, -y * z) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """z where u < 0."""
        return np.where(y * z < 0, z, 0.0)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta^2 / 2 on beta <= 0."""
        return _within(alpha, self.domain(y), 0.5 * alpha**2)


class Hinge(_Margin):
    """l(z, y) = max(0, 1 - yz): the support vector machine's loss."""

    def value(self, z: Array, y: Array) -> Array:
        """max(0, 1 - u)."""
        return np.maximum(0.0, 1.0 - y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y where u < 1."""
        return np.where(y * z < 1, -y, 0.0)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at u = 1."""
        return y[np.newaxis]

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta in [-1, 0]."""
        return _between(-y, np.zeros_like(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta on [-1, 0]."""
        return _within(alpha, self.domain(y), y * alpha)


class SquaredHinge(_SmoothMargin):
    """l(z, y) = 1/2 max(0, 1 - yz)^2."""

    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        """1/2 max(0, 1 - u)^2."""
        return 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """z - y where u < 1."""
        return np.where(y * z < 1, z - y, 0.0)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta + beta^2 / 2 on beta <= 0."""
        return _within(alpha, self.domain(y), y * alpha + 0.5 * alpha**2)


class SmoothedHinge(_Margin):
    """l(z, y) = 0 if u >= 1; (1 - u)^2 / (2 mu) if 1 - mu <= u; else 1 - u - mu / 2."""

    differentiable = True

    def __init__(self, mu: float = 1.0):
        self.mu = positive("mu", mu)

    @property
    def smoothness(self) -> float:
        """1 / mu."""
        return 1.0 / self.mu

    def value(self, z: Array, y: Array) -> Array:
        """The Moreau envelope of the hinge."""
        gap = np.maximum(0.0, 1.0 - y * z)
        return np.where(gap < self.mu, gap**2 / (2 * self.mu), gap - self.mu / 2)

    def slope(self, z: Array, y: Array) -> Array:
        """-y min(1, (1 - u) / mu) where u < 1."""
        return -y * np.clip((1.0 - y * z) / self.mu, 0.0, 1.0)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta in [-1, 0]."""
        return _between(-y, np.zeros_like(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta + mu beta^2 / 2 on [-1, 0]."""
        return _within(alpha, self.domain(y), y * alpha + self.mu * alpha**2 / 2)


class Exponential(_SmoothMargin):
    """l(z, y) = exp(-yz); inf beyond the range of floating point, without a warning."""

    def value(self, z: Array, y: Array) -> Array:
        """exp(-u)."""
        with np.errstate(over="ignore"):
            return np.exp(-y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y exp(-u)."""
        with np.errstate(over="ignore"):
            return -y * np.exp(-y * z)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """-beta log(-beta) + beta on beta <= 0."""
        inside: Array = np.maximum(-y * alpha, 0.0)
        return _within(alpha, self.domain(y), xlogy(inside, inside) - inside)


class Logistic(_Margin):
    """l(z, y) = log(1 + exp(-yz))."""

    differentiable = True
    smoothness = 0.25

    def value(self, z: Array, y: Array) -> Array:
        """log(1 + exp(-u)), exact for any u."""
        return np.logaddexp(0.0, -y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y / (1 + exp(u))."""
        p: Array = expit(-y * z)
        return -y * p

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta in [-1, 0]."""
        return _between(-y, np.zeros_like(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(-beta) log(-beta) + (1 + beta) log(1 + beta) on [-1, 0]."""
        p = np.clip(-y * alpha, 0.0, 1.0)
        return _within(alpha, self.domain(y), xlogy(p, p) + xlogy(1 - p, 1 - p))


class Novelty(_Scalar):
    """l(z) = max(0, rho - z): novelty detection, which has no labels."""

    labels = Labels.NONE
    intercept = False  # b -> inf would explain everything

    def __init__(self, rho: float = 1.0):
        self.rho = positive("rho", rho)

    def value(self, z: Array, y: Array) -> Array:
        """max(0, rho - z)."""
        return np.maximum(0.0, self.rho - z)

    def slope(self, z: Array, y: Array) -> Array:
        """-1 where z < rho (003 prints z >= 0 for the flat side; it is z >= rho)."""
        return np.where(z < self.rho, -1.0, 0.0)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at z = rho."""
        return np.full((1, len(y)), self.rho)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 0]."""
        return np.full(len(y), -1.0), np.zeros(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """rho alpha on [-1, 0]."""
        return _within(alpha, self.domain(y), self.rho * alpha)


class SquaredError(_Scalar):
    """l(z, y) = 1/2 (z - y)^2."""

    differentiable = True
    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        """r^2 / 2."""
        return 0.5 * (z - y) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """r."""
        return z - y

    def domain(self, y: Array) -> tuple[Array, Array]:
        """All of R."""
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + alpha^2 / 2."""
        return alpha * y + 0.5 * alpha**2


class AbsoluteError(_Scalar):
    """l(z, y) = |z - y|."""

    def value(self, z: Array, y: Array) -> Array:
        """|r|."""
        return np.abs(z - y)

    def slope(self, z: Array, y: Array) -> Array:
        """sign(r)."""
        return np.sign(z - y)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at z = y."""
        return y[np.newaxis]

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 1]."""
        return np.full(len(y), -1.0), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y on [-1, 1]."""
        return _within(alpha, self.domain(y), alpha * y)


class Quantile(_Scalar):
    """l(z, y) = max(q (y - z), (1 - q) (z - y)), q the quantile level as in scikit-learn."""

    def __init__(self, quantile: float = 0.5):
        self.quantile = between("quantile", quantile, 0, 1)

    def value(self, z: Array, y: Array) -> Array:
        """The pinball loss (003 table 1 prints tau on over-prediction; users mean the level)."""
        return np.maximum(self.quantile * (y - z), (1 - self.quantile) * (z - y))

    def slope(self, z: Array, y: Array) -> Array:
        """1 - q where z > y, else -q."""
        return np.where(z > y, 1 - self.quantile, -self.quantile)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at z = y."""
        return y[np.newaxis]

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-q, 1 - q]."""
        return np.full(len(y), -self.quantile), np.full(len(y), 1 - self.quantile)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y on [-q, 1 - q]."""
        return _within(alpha, self.domain(y), alpha * y)


class EpsilonInsensitive(_Scalar):
    """l(z, y) = max(0, |z - y| - epsilon): support vector regression."""

    def __init__(self, epsilon: float = 0.1):
        if real("epsilon", epsilon) < 0:
            raise InvalidData(f"epsilon must be >= 0; got {epsilon!r}")
        self.epsilon = real("epsilon", epsilon)

    def value(self, z: Array, y: Array) -> Array:
        """max(0, |r| - epsilon)."""
        return np.maximum(0.0, np.abs(z - y) - self.epsilon)

    def slope(self, z: Array, y: Array) -> Array:
        """sign(r) outside the tube."""
        return np.where(np.abs(z - y) > self.epsilon, np.sign(z - y), 0.0)

    def kinks(self, y: Array) -> Array:
        """The slope jumps at z = y - epsilon and z = y + epsilon."""
        return np.stack([y - self.epsilon, y + self.epsilon])

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 1]."""
        return np.full(len(y), -1.0), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + epsilon |alpha| on [-1, 1]."""
        return _within(alpha, self.domain(y), alpha * y + self.epsilon * np.abs(alpha))


class SquaredEpsilonInsensitive(_Scalar):
    """l(z, y) = 1/2 max(0, |z - y| - epsilon)^2."""

    differentiable = True
    smoothness = 1.0

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = EpsilonInsensitive(epsilon).epsilon

    def value(self, z: Array, y: Array) -> Array:
        """1/2 max(0, |r| - epsilon)^2."""
        return 0.5 * np.maximum(0.0, np.abs(z - y) - self.epsilon) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """sign(r) max(0, |r| - epsilon)."""
        r = z - y
        return np.sign(r) * np.maximum(0.0, np.abs(r) - self.epsilon)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """All of R."""
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + epsilon |alpha| + alpha^2 / 2."""
        return alpha * y + self.epsilon * np.abs(alpha) + 0.5 * alpha**2


class Huber(_Scalar):
    """l(z, y) = r^2 / 2 where |r| <= delta, else delta |r| - delta^2 / 2."""

    differentiable = True
    smoothness = 1.0

    def __init__(self, delta: float = 1.0):
        self.delta = positive("delta", delta)

    def value(self, z: Array, y: Array) -> Array:
        """Quadratic near 0, linear beyond delta."""
        r = np.abs(z - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def slope(self, z: Array, y: Array) -> Array:
        """r clipped to [-delta, delta]."""
        return np.clip(z - y, -self.delta, self.delta)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-delta, delta]."""
        return np.full(len(y), -self.delta), np.full(len(y), self.delta)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + alpha^2 / 2 on [-delta, delta]."""
        return _within(alpha, self.domain(y), alpha * y + 0.5 * alpha**2)


class Poisson(_Scalar):
    """l(z, y) = exp(z) - y z + (y log y - y): half the Poisson deviance, log link.

    The constant keeps the loss >= 0, which the bundle's zero cut needs.
    """

    labels = Labels.COUNT
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
        return _within(alpha, self.domain(y), xlogy(rate, rate) - rate - (xlogy(y, y) - y))
