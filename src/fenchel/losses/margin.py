"""Losses of two classes: functions of the margin ([Teo07] table 1, [Smola07] and [Zhang11]).

Letters: z the score, y = +-1 the label, u = y z the margin, alpha the dual variable of one row and
beta = y alpha, which is <= 0 because the losses do not increase in u. Each class has a twin in
kernels/losses.hpp.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from fenchel.losses.base import Array, Conjugable, Labels, Pieces, pieces_of
from fenchel.losses.table import MU


class _Margin(Conjugable):
    """A loss of the margin whose slope is at most 1: its conjugate lives on beta in [-1, 0]."""

    labels = Labels.BINARY
    nonnegative = True

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Beta in [-1, 0]."""
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


class _UnboundedMargin(_Margin):
    """A differentiable loss of the margin with any slope: its conjugate lives on beta <= 0."""

    differentiable = True

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Slopes of any size, but downhill in the margin: y alpha <= 0."""
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)


class Perceptron(_Margin):
    """l(z, y) = max(0, -yz). Under L2, L1 or both the minimiser is w = 0."""

    def value(self, z: Array, y: Array) -> Array:
        return np.maximum(0.0, -y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y where u < 0."""
        return np.where(y * z < 0, -y, 0.0)

    def pieces(self, y: Array) -> Pieces:
        """A kink at u = 0."""
        return pieces_of(y, np.minimum(-y, 0.0), 0.0, (0.0, 1.0, 0.0))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """0 on beta in [-1, 0]."""
        return self.within(alpha, y, np.zeros_like(alpha))


class SquaredPerceptron(_UnboundedMargin):
    """l(z, y) = 1/2 max(0, -yz)^2. Its minimiser is w = 0 too."""

    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        return 0.5 * np.maximum(0.0, -y * z) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """z where u < 0."""
        return np.where(y * z < 0, z, 0.0)

    def pieces(self, y: Array) -> Pieces:
        """Flat beyond u = 0."""
        return pieces_of(y, 0.0, y > 0, (0.0, 0.0, -y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta^2 / 2 on beta <= 0."""
        return self.within(alpha, y, 0.5 * alpha**2)


class Hinge(_Margin):
    """l(z, y) = max(0, 1 - yz): the support vector machine's loss."""

    def value(self, z: Array, y: Array) -> Array:
        """max(0, 1 - u)."""
        return np.maximum(0.0, 1.0 - y * z)

    def slope(self, z: Array, y: Array) -> Array:
        """-y where u < 1."""
        return np.where(y * z < 1, -y, 0.0)

    def pieces(self, y: Array) -> Pieces:
        """A kink at u = 1."""
        return pieces_of(y, np.minimum(-y, 0.0), 0.0, (y, 1.0, 0.0))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta on [-1, 0]."""
        return self.within(alpha, y, y * alpha)


class SquaredHinge(_UnboundedMargin):
    """l(z, y) = 1/2 max(0, 1 - yz)^2."""

    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        """1/2 max(0, 1 - u)^2."""
        return 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """z - y where u < 1."""
        return np.where(y * z < 1, z - y, 0.0)

    def pieces(self, y: Array) -> Pieces:
        """Flat beyond u = 1."""
        return pieces_of(y, np.minimum(-y, 0.0), y > 0, (y, 0.0, -y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta + beta^2 / 2 on beta <= 0."""
        return self.within(alpha, y, y * alpha + 0.5 * alpha**2)


class SmoothedHinge(_Margin):
    """l(z, y) = 0 if u >= 1; (1 - u)^2 / (2 mu) if 1 - mu <= u; else 1 - u - mu / 2."""

    differentiable = True

    def __init__(self, mu: float = 1.0):
        self.mu = MU.checked(mu)

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, z: Array, y: Array) -> Array:
        """The Moreau envelope of the hinge."""
        gap = np.maximum(0.0, 1.0 - y * z)
        return np.where(gap < self.mu, gap**2 / (2 * self.mu), gap - self.mu / 2)

    def slope(self, z: Array, y: Array) -> Array:
        """-y min(1, (1 - u) / mu) where u < 1."""
        return -y * np.clip((1.0 - y * z) / self.mu, 0.0, 1.0)

    def pieces(self, y: Array) -> Pieces:
        """Curved between u = 1 - mu and u = 1."""
        return pieces_of(
            y,
            np.minimum(-y, 0.0),
            0.0,
            (y * (1 - self.mu), 0.0, y / self.mu),
            (y, 0.0, -y / self.mu),
        )

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """beta + mu beta^2 / 2 on [-1, 0]."""
        return self.within(alpha, y, y * alpha + self.mu * alpha**2 / 2)


class Exponential(_UnboundedMargin):
    """l(z, y) = exp(-yz); inf beyond the range of floating point, without a warning."""

    def value(self, z: Array, y: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-y * z)

    def slope(self, z: Array, y: Array) -> Array:
        with np.errstate(over="ignore"):
            return -y * np.exp(-y * z)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """-beta log(-beta) + beta on beta <= 0."""
        inside: Array = np.maximum(-y * alpha, 0.0)
        return self.within(alpha, y, xlogy(inside, inside) - inside)


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

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """(-beta) log(-beta) + (1 + beta) log(1 + beta) on [-1, 0]."""
        p = np.clip(-y * alpha, 0.0, 1.0)
        return self.within(alpha, y, xlogy(p, p) + xlog1py(1 - p, -p))
