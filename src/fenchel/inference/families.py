"""What a loss says of how its labels are distributed: a family, with means of the scores.

Each loss here is a deviance, up to a factor and terms without the score: with mu the mean and V its
variance function, Var(y) = phi V(mu) / s for a row of weight s. Of canonical links the curvature
l'' does not depend on y; of the log link of gamma and Tweedie distributions it does, and its
expectation mu^2 / V(mu) is what model-based standard errors are made of (Fisher's scoring).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, log_wright_bessel

from fenchel.losses import Gamma, Logistic, Loss, Poisson, SquaredError, Tweedie

Array = npt.NDArray[np.float64]


class Family(ABC):
    """The distribution of labels y, given scores z; all functions are of arrays over rows."""

    name: ClassVar[str]
    dispersed: ClassVar[bool] = False  # phi is estimated, not 1
    exact: ClassVar[bool] = False  # estimates have t distributions, not only nearly normal ones

    def __init__(self, loss: Any):
        self.loss = loss

    @abstractmethod
    def mean(self, z: Array) -> Array:
        """The expected y, which is in {0, 1} where labels are classes."""

    @abstractmethod
    def variance(self, mu: Array) -> Array:
        """V(mu)."""

    @abstractmethod
    def curvature(self, z: Array, y: Array) -> Array:
        """l''(z, y)."""

    def information(self, z: Array) -> Array:
        """The expectation of l''(z, y); that of canonical links is l'' at any y."""
        return self.curvature(z, np.ones_like(z))

    @abstractmethod
    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """The logarithm of the density of y with dispersion phi, a number for each row."""

    def response(self, y: Array) -> Array:
        """The labels as numbers that have the mean `mean`."""
        return y


class NormalFamily(Family):
    """Normal distributions, with the score as their mean."""

    name, dispersed, exact = "linear regression (Gaussian)", True, True

    def mean(self, z: Array) -> Array:
        """z."""
        return z

    def variance(self, mu: Array) -> Array:
        """1."""
        return np.ones_like(mu)

    def curvature(self, z: Array, y: Array) -> Array:
        """1."""
        return np.ones_like(z)

    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """-(y - z)^2 / (2 phi) - log(2 pi phi) / 2."""
        return -((y - z) ** 2) / (2 * phi) - np.log(2 * np.pi * phi) / 2


class BinomialFamily(Family):
    """Two classes, the second with probability 1 / (1 + exp(-z))."""

    name = "logistic regression (binomial)"

    def mean(self, z: Array) -> Array:
        """1 / (1 + exp(-z))."""
        return np.asarray(expit(z))

    def variance(self, mu: Array) -> Array:
        """mu (1 - mu)."""
        return mu * (1 - mu)

    def curvature(self, z: Array, y: Array) -> Array:
        """The variance of the class."""
        return np.asarray(expit(z) * expit(-z))

    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """The logarithm of the probability of the class."""
        return -np.asarray(self.loss.value(z, y)) / phi

    def response(self, y: Array) -> Array:
        """1 for the second class."""
        return (y + 1) / 2


class PoissonFamily(Family):
    """Poisson distributions, whose mean has the score as its logarithm."""

    name = "Poisson regression (log link)"

    def mean(self, z: Array) -> Array:
        """exp(z)."""
        return np.exp(z)

    def variance(self, mu: Array) -> Array:
        """mu."""
        return mu

    def curvature(self, z: Array, y: Array) -> Array:
        """exp(z)."""
        return np.exp(z)

    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """Of y / phi, as of counts in other units."""
        return np.asarray((y * z - np.exp(z) - gammaln(y + 1)) / phi)


class GammaFamily(PoissonFamily):
    """Gamma distributions, whose mean has the score as its logarithm."""

    name, dispersed = "gamma regression (log link)", True

    def variance(self, mu: Array) -> Array:
        """mu^2."""
        return mu**2

    def curvature(self, z: Array, y: Array) -> Array:
        """y exp(-z)."""
        return y * np.exp(-z)

    def information(self, z: Array) -> Array:
        """1."""
        return np.ones_like(z)

    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """With the shape k = 1 / phi."""
        k = 1 / phi
        ratio = y * np.exp(-z)
        return np.asarray(k * np.log(k * ratio) - k * ratio - gammaln(k) - np.log(y))


class TweedieFamily(PoissonFamily):
    """Tweedie's compound distributions: sums of a Poisson number of gamma variables."""

    name, dispersed = "Tweedie regression (log link)", True

    def variance(self, mu: Array) -> Array:
        """mu^p."""
        return np.asarray(mu**self.loss.power)

    def curvature(self, z: Array, y: Array) -> Array:
        """(2 - p) exp((2 - p) z) + (p - 1) y exp(-(p - 1) z)."""
        a, b = self.loss.power - 1, 2 - self.loss.power
        return np.asarray(b * np.exp(b * z) + a * y * np.exp(-a * z))

    def information(self, z: Array) -> Array:
        """exp((2 - p) z)."""
        return np.asarray(np.exp((2 - self.loss.power) * z))

    def log_density(self, y: Array, z: Array, phi: Array) -> Array:
        """(y theta - kappa) / phi + log W(r, 0, x) - log y, and without W where y = 0.

        It is the series of Dunn & Smyth 2005: with r = (2 - p) / (p - 1),
        theta = -exp(-(p-1) z) / (p-1), kappa = exp((2-p) z) / (2-p),
        x = y^r / ((p-1)^r phi^(1+r) (2-p)), and Wright's W(r, 0, x) = sum_j x^j / (j! Gamma(r j)).
        """
        p = self.loss.power
        r = (2 - p) / (p - 1)
        theta, kappa = -np.exp(-(p - 1) * z) / (p - 1), np.exp((2 - p) * z) / (2 - p)
        level = np.where(y > 0, y, 1.0)
        log_x = r * np.log(level / (p - 1)) - (1 + r) * np.log(phi) - np.log(2 - p)
        density = np.asarray(log_wright_bessel(r, 0.0, np.exp(log_x))) - np.log(level)
        return np.asarray((y * theta - kappa) / phi + np.where(y > 0, density, 0.0))


_FAMILIES: dict[type[Loss], type[Family]] = {
    SquaredError: NormalFamily,
    Logistic: BinomialFamily,
    Poisson: PoissonFamily,
    Gamma: GammaFamily,
    Tweedie: TweedieFamily,
}


def family_of(loss: Loss) -> Family | None:
    """The family of a loss; None where it is no likelihood."""
    kind = _FAMILIES.get(type(loss))
    return None if kind is None else kind(loss)
