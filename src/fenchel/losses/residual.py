"""Losses of real targets and novelty ([Teo07] table 1, [Smola07] and [Zhang11]).

Letters: z the score, y the target, r = z - y the residual, alpha the dual variable of one row.
Each class has a twin in kernels/losses.hpp.
"""

from __future__ import annotations

import numpy as np

from fenchel.losses.base import Array, Conjugable, Labels, Pieces, pieces_of
from fenchel.losses.table import DELTA, EPSILON, EXPECTILE, QUANTILE, RHO


class _Residual(Conjugable):
    """A loss >= 0 whose conjugate lives on all of R, unless it says otherwise."""

    nonnegative = True

    def domain(self, y: Array) -> tuple[Array, Array]:
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)


class SquaredError(_Residual):
    """l(z, y) = 1/2 (z - y)^2."""

    differentiable = True
    smoothness = 1.0

    def value(self, z: Array, y: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        return z - y

    def pieces(self, y: Array) -> Pieces:
        return pieces_of(y, -y, 1.0)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + alpha^2 / 2."""
        return alpha * y + 0.5 * alpha**2


class AbsoluteError(_Residual):
    """l(z, y) = |z - y|."""

    def value(self, z: Array, y: Array) -> Array:
        return np.abs(z - y)

    def slope(self, z: Array, y: Array) -> Array:
        return np.sign(z - y)

    def pieces(self, y: Array) -> Pieces:
        """A kink at z = y."""
        return pieces_of(y, -1.0, 0.0, (y, 2.0, 0.0))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 1]."""
        return np.full(len(y), -1.0), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y on [-1, 1]."""
        return self.within(alpha, y, alpha * y)


class Quantile(_Residual):
    """l(z, y) = max(q (y - z), (1 - q) (z - y)), q the quantile level as in scikit-learn."""

    def __init__(self, quantile: float = 0.5):
        self.quantile = QUANTILE.checked(quantile)

    def value(self, z: Array, y: Array) -> Array:
        """The pinball loss; [Teo07] table 1 prints tau on over-prediction, users mean the level."""
        return np.maximum(self.quantile * (y - z), (1 - self.quantile) * (z - y))

    def slope(self, z: Array, y: Array) -> Array:
        """1 - q where z > y, else -q."""
        return np.where(z > y, 1 - self.quantile, -self.quantile)

    def pieces(self, y: Array) -> Pieces:
        """A kink at z = y."""
        return pieces_of(y, -self.quantile, 0.0, (y, 1.0, 0.0))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-q, 1 - q]."""
        return np.full(len(y), -self.quantile), np.full(len(y), 1 - self.quantile)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y on [-q, 1 - q]."""
        return self.within(alpha, y, alpha * y)


class Expectile(_Residual):
    """l(z, y) = 1/2 |q - [z > y]| (z - y)^2, q the level: at 0.5 half the squared error.

    What the quantile is to the absolute error, the expectile is to the squared one: it minimises
    squares that count q where it is too low, and 1 - q where it is too high.
    """

    differentiable = True

    def __init__(self, expectile: float = 0.5):
        self.expectile = EXPECTILE.checked(expectile)

    @property
    def smoothness(self) -> float:
        """max(q, 1 - q)."""
        return max(self.expectile, 1 - self.expectile)

    def _weight(self, r: Array) -> Array:
        return np.where(r > 0, 1 - self.expectile, self.expectile)

    def value(self, z: Array, y: Array) -> Array:
        """A parabola on either side of z = y."""
        return 0.5 * self._weight(z - y) * (z - y) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """(1 - q) r where z > y, else q r."""
        return self._weight(z - y) * (z - y)

    def pieces(self, y: Array) -> Pieces:
        """Another curvature from z = y on."""
        q = self.expectile
        return pieces_of(y, -q * y, q, (y, 0.0, 1 - 2 * q))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + alpha^2 / (2 q) where alpha <= 0, alpha y + alpha^2 / (2 (1 - q)) beyond."""
        return alpha * y + 0.5 * alpha**2 / self._weight(alpha)


class EpsilonInsensitive(_Residual):
    """l(z, y) = max(0, |z - y| - epsilon): support vector regression."""

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = EPSILON.checked(epsilon)

    def value(self, z: Array, y: Array) -> Array:
        """max(0, |r| - epsilon)."""
        return np.maximum(0.0, np.abs(z - y) - self.epsilon)

    def slope(self, z: Array, y: Array) -> Array:
        """sign(r) outside the tube."""
        return np.where(np.abs(z - y) > self.epsilon, np.sign(z - y), 0.0)

    def pieces(self, y: Array) -> Pieces:
        """Kinks at z = y - epsilon and z = y + epsilon."""
        return pieces_of(y, -1.0, 0.0, (y - self.epsilon, 1.0, 0.0), (y + self.epsilon, 1.0, 0.0))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 1]."""
        return np.full(len(y), -1.0), np.ones(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + epsilon |alpha| on [-1, 1]."""
        return self.within(alpha, y, alpha * y + self.epsilon * np.abs(alpha))


class SquaredEpsilonInsensitive(_Residual):
    """l(z, y) = 1/2 max(0, |z - y| - epsilon)^2."""

    differentiable = True
    smoothness = 1.0

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = EPSILON.checked(epsilon)

    def value(self, z: Array, y: Array) -> Array:
        """1/2 max(0, |r| - epsilon)^2."""
        return 0.5 * np.maximum(0.0, np.abs(z - y) - self.epsilon) ** 2

    def slope(self, z: Array, y: Array) -> Array:
        """sign(r) max(0, |r| - epsilon)."""
        r = z - y
        return np.sign(r) * np.maximum(0.0, np.abs(r) - self.epsilon)

    def pieces(self, y: Array) -> Pieces:
        """Flat between z = y - epsilon and z = y + epsilon."""
        return pieces_of(
            y, self.epsilon - y, 1.0, (y - self.epsilon, 0.0, -1.0), (y + self.epsilon, 0.0, 1.0)
        )

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + epsilon |alpha| + alpha^2 / 2."""
        return alpha * y + self.epsilon * np.abs(alpha) + 0.5 * alpha**2


class Huber(_Residual):
    """l(z, y) = r^2 / 2 where |r| <= delta, else delta |r| - delta^2 / 2."""

    differentiable = True
    smoothness = 1.0

    def __init__(self, delta: float = 1.0):
        self.delta = DELTA.checked(delta)

    def value(self, z: Array, y: Array) -> Array:
        """Quadratic near 0, linear beyond delta."""
        r = np.abs(z - y)
        return np.where(r <= self.delta, 0.5 * r**2, self.delta * (r - 0.5 * self.delta))

    def slope(self, z: Array, y: Array) -> Array:
        """r clipped to [-delta, delta]."""
        return np.clip(z - y, -self.delta, self.delta)

    def pieces(self, y: Array) -> Pieces:
        """Curved between z = y - delta and z = y + delta."""
        return pieces_of(
            y, -self.delta, 0.0, (y - self.delta, 0.0, 1.0), (y + self.delta, 0.0, -1.0)
        )

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-delta, delta]."""
        return np.full(len(y), -self.delta), np.full(len(y), self.delta)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """alpha y + alpha^2 / 2 on [-delta, delta]."""
        return self.within(alpha, y, alpha * y + 0.5 * alpha**2)


class Novelty(_Residual):
    """l(z) = max(0, rho - z): novelty detection, which has no labels."""

    labels = Labels.NONE
    intercept = False  # b -> inf would explain everything

    def __init__(self, rho: float = 1.0):
        self.rho = RHO.checked(rho)

    def value(self, z: Array, y: Array) -> Array:
        """max(0, rho - z)."""
        return np.maximum(0.0, self.rho - z)

    def slope(self, z: Array, y: Array) -> Array:
        """-1 where z < rho ([Teo07] prints z >= 0 for the flat side; it is z >= rho)."""
        return np.where(z < self.rho, -1.0, 0.0)

    def pieces(self, y: Array) -> Pieces:
        """A kink at z = rho."""
        return pieces_of(y, -1.0, 0.0, (self.rho, 1.0, 0.0))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Alpha in [-1, 0]."""
        return np.full(len(y), -1.0), np.zeros(len(y))

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """rho alpha on [-1, 0]."""
        return self.within(alpha, y, self.rho * alpha)
