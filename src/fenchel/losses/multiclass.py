"""Losses of one right class among K (000 section 6.1, 003 table 2).

Letters: z the K scores of a row, y its class as a code 0 .. K-1, alpha its K dual variables and
p = alpha + e_y, which both losses keep in the simplex. Each class has a twin in
kernels/vector_losses.hpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from fenchel.losses.base import Array, Labels
from fenchel.losses.vector import ConjugableVector, CostLoss

Codes = npt.NDArray[np.int64]

_ROUND_OFF = 1e-12  # of a sum of dual variables


class _Multiclass(ConjugableVector):
    """A loss whose conjugate lives where p is in the simplex."""

    labels = Labels.CLASSES

    def feasible(self, alpha: Array, y: Codes) -> Array:
        """The wrong classes' >= 0 with a sum of at most 1, which the right one's takes off again.

        Without 1 - (1 - alpha), which would leave nothing of a tiny alpha.
        """
        right = _unit(alpha, y) > 0
        wrong = np.where(right, 0.0, np.maximum(alpha, 0.0))
        total = np.sum(wrong, axis=1, keepdims=True)
        wrong /= np.maximum(total, 1.0)
        return np.where(right, -np.minimum(total, 1.0), wrong)

    def within(self, alpha: Array, y: Codes, inside: Array) -> Array:
        """The conjugate's value inside its domain, inf outside."""
        p = alpha + _unit(alpha, y)
        balanced = np.abs(np.sum(alpha, axis=1)) <= _ROUND_OFF
        return np.where(balanced & np.all(p >= -_ROUND_OFF, axis=1), inside, np.inf)


class MulticlassHinge(CostLoss, _Multiclass):
    """l(z, y) = max over k of Delta(k, y) + z_k - z_y (000 eq. 42)."""

    def pieces(self, Z: Array, y: Codes) -> Array:
        """One for each class."""
        return Z + self.costs(Z.shape[1]).T[y] - _of(Z, y)

    def value(self, Z: Array, y: Codes) -> Array:
        """The highest piece."""
        return np.asarray(np.max(self.pieces(Z, y), axis=1))

    def slope(self, Z: Array, y: Codes) -> Array:
        """e_k - e_y for the worst class k."""
        worst = np.argmax(self.pieces(Z, y), axis=1)
        return _unit(Z, worst) - _unit(Z, y)

    def conjugate(self, alpha: Array, y: Codes) -> Array:
        """-sum_k Delta(k, y) p_k for p in the simplex; as Delta(y, y) = 0, alpha does for p."""
        costs = self.costs(alpha.shape[1]).T[y]
        return self.within(alpha, y, -np.sum(costs * alpha, axis=1))


class Softmax(_Multiclass):
    """l(z, y) = log sum_k exp(z_k) - z_y.

    Its Hessian diag(p) - pp' has norm <= 1/2: u'Hu is the variance of u_k under p, at most a
    quarter of (max u - min u)^2 <= 2 |u|^2.
    """

    nonnegative = True
    differentiable = True
    smoothness = 0.5

    def value(self, Z: Array, y: Codes) -> Array:
        """The largest score apart, so that nothing overflows and no digits are lost."""
        best = np.argmax(Z, axis=1)
        e = np.exp(Z - _of(Z, best))
        rest = np.sum(np.where(_unit(Z, best) > 0, 0.0, e), axis=1)
        return np.asarray((_of(Z, best) - _of(Z, y))[:, 0] + np.log1p(rest))

    def slope(self, Z: Array, y: Codes) -> Array:
        """P - e_y."""
        e = np.exp(Z - np.max(Z, axis=1, keepdims=True))
        right = _unit(Z, y) > 0
        others = np.sum(np.where(right, 0.0, e), axis=1, keepdims=True)
        return np.asarray(np.where(right, -others, e) / (others + _of(e, y)))

    def conjugate(self, alpha: Array, y: Codes) -> Array:
        """sum_k p_k log p_k."""
        p = np.clip(alpha + _unit(alpha, y), 0.0, 1.0)
        return self.within(alpha, y, np.sum(xlogy(p, p), axis=1))

    def steepest(self, y: Any) -> float:
        """One score up by 1, one down, in the limit."""
        return float(np.sqrt(2.0))


def _unit(Z: Array, y: npt.NDArray[np.signedinteger[Any]]) -> Array:
    """e_y for each row."""
    units = np.zeros(Z.shape)
    units[np.arange(len(y)), y] = 1.0
    return units


def _of(Z: Array, y: npt.NDArray[np.signedinteger[Any]]) -> Array:
    """Z's entry at y for each row, as a column."""
    column: Array = Z[np.arange(len(y)), y][:, np.newaxis]
    return column
