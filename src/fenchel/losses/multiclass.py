"""Losses of one right class among K ([Yu10] section 6.1, [Teo07] table 2).

Letters: z the K scores of a row, y its class as a code 0 .. K-1, alpha its K dual variables and
p = alpha + e_y, which softmax and the hinge of rescaled margins keep in the simplex. Each has a
twin in kernels/multiclass_losses.hpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax, xlog1py, xlogy

from fenchel.losses.base import Array, Labels
from fenchel.losses.table import RESCALING
from fenchel.losses.vector import ConjugableVector, Cost, CostLoss, Curved, Softened
from fenchel.tolerances import ZERO_SUM

Codes = npt.NDArray[np.int64]


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
        balanced = np.abs(np.sum(alpha, axis=1)) <= ZERO_SUM
        return np.where(balanced & np.all(p >= -ZERO_SUM, axis=1), inside, np.inf)


class MulticlassHinge(CostLoss, Softened, _Multiclass):
    """The hinge of the worst class, its cost Delta in the margin or as a factor.

    rescaling="margin": l(z, y) = max over k of Delta(k, y) + z_k - z_y ([Yu10] eq. 42);
    rescaling="slack":  l(z, y) = max over k of Delta(k, y) (1 + z_k - z_y),
    which asks for the same margin of 1 from all classes, and charges by cost those that miss it
    (Tsochantaridis et al., JMLR 2005, eq. 9; [Teo07] table 2 prints Delta in the place of the 1).
    """

    def __init__(self, cost: Cost = None, rescaling: str = "margin"):
        super().__init__(cost)
        self.rescaling = RESCALING.checked(rescaling)

    def pieces(self, Z: Array, y: Codes) -> Array:
        """One for each class."""
        costs = self.costs(Z.shape[1]).T[y]
        if self.rescaling == "slack":
            return costs * (1 + (Z - _of(Z, y)))
        return Z + costs - _of(Z, y)

    def value(self, Z: Array, y: Codes) -> Array:
        return np.asarray(np.max(self.pieces(Z, y), axis=1))

    def slope(self, Z: Array, y: Codes) -> Array:
        """e_k - e_y for the worst class k, times Delta where that is a factor."""
        worst = np.argmax(self.pieces(Z, y), axis=1)
        slope = _unit(Z, worst) - _unit(Z, y)
        if self.rescaling == "slack":
            slope *= self.costs(Z.shape[1])[worst, y][:, np.newaxis]
        return slope

    def conjugate(self, alpha: Array, y: Codes) -> Array:
        """-sum_k Delta(k, y) p_k for p in the simplex; as Delta(y, y) = 0, alpha does for p.

        With Delta as a factor, alpha is a mean of Delta(k, y) (e_k - e_y) with the weights p_k =
        alpha_k / Delta(k, y), where that is no 0 / 0, and again l* = -sum_k Delta(k, y) p_k: now
        minus the sum of the alpha_k, which is alpha_y.
        """
        costs = self.costs(alpha.shape[1]).T[y]
        if self.rescaling == "margin":
            return self.within(alpha, y, -np.sum(costs * alpha, axis=1))
        wrong, p = self._wrong(alpha, y), self._shares(alpha, y)
        inside = np.all(p >= -ZERO_SUM, axis=1) & (np.sum(p, axis=1) <= 1 + ZERO_SUM)
        largest = np.maximum(1.0, np.max(costs, axis=1))
        inside &= np.all(np.where(costs > 0, 0.0, wrong) == 0, axis=1)
        inside &= np.abs(np.sum(alpha, axis=1)) <= ZERO_SUM * largest
        return np.where(inside, -np.sum(wrong, axis=1), np.inf)

    def feasible(self, alpha: Array, y: Codes) -> Array:
        """Of rescaled slacks, the weights p >= 0, with a sum of at most 1."""
        if self.rescaling == "margin":
            return super().feasible(alpha, y)
        p = np.maximum(self._shares(alpha, y), 0.0)
        p /= np.maximum(np.sum(p, axis=1, keepdims=True), 1.0)
        wrong = p * self.costs(alpha.shape[1]).T[y]
        return np.where(_unit(alpha, y) > 0, -np.sum(wrong, axis=1, keepdims=True), wrong)

    def largest_slope(self, y: Any) -> float:
        """One score up, one down."""
        if self.rescaling == "margin":
            return super().largest_slope(y)
        if callable(self.cost):  # before the classes are known
            return np.inf
        return float(np.sqrt(2.0) * np.max(1.0 if self.cost is None else np.asarray(self.cost)))

    def n_pieces(self, y: Codes, K: int) -> Array:
        """One for each class."""
        return np.full(len(y), float(K))

    def entropy(self, alpha: Array, y: Codes) -> Array:
        """That of p. Of rescaled slacks, classes that cost nothing are evenly what is left of 1."""
        if self.rescaling == "margin":
            p = np.clip(alpha + _unit(alpha, y), 0.0, 1.0)
            return np.asarray(-np.sum(xlogy(p, p), axis=1))
        p = np.clip(self._shares(alpha, y), 0.0, 1.0)
        left = np.maximum(0.0, 1 - np.sum(p, axis=1))
        free = np.sum(self.costs(alpha.shape[1]).T[y] == 0, axis=1)
        return np.asarray(-np.sum(xlogy(p, p), axis=1) - xlogy(left, left / free))

    @property
    def spread(self) -> float:
        """Of D_k (e_k - e_y) and D_j (e_j - e_y): D_k^2 + D_j^2 + (D_k - D_j)^2 <= 2 max D^2."""
        return self.largest_slope(None) ** 2

    def _wrong(self, alpha: Array, y: Codes) -> Array:
        """The dual variables of the wrong classes, 0 for the right one."""
        return np.where(_unit(alpha, y) > 0, 0.0, alpha)

    def _shares(self, alpha: Array, y: Codes) -> Array:
        """Of rescaled slacks, the weights p_k of the wrong classes."""
        costs = self.costs(alpha.shape[1]).T[y]
        shares = np.zeros_like(alpha)
        np.divide(self._wrong(alpha, y), costs, out=shares, where=costs > 0)
        return shares


class Softmax(Curved, _Multiclass):
    """l(z, y) = log sum_k exp(z_k) - z_y.

    Its Hessian diag(p) - pp', with p the probabilities, has norm <= 1/2: u'Hu is the variance of
    u_k under p, at most a quarter of (max u - min u)^2 <= 2 |u|^2.
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
        """The probabilities less 1 for the right class; there, minus the sum of the others."""
        e = np.exp(Z - np.max(Z, axis=1, keepdims=True))
        right = _unit(Z, y) > 0
        others = np.sum(np.where(right, 0.0, e), axis=1, keepdims=True)
        return np.asarray(np.where(right, -others, e) / (others + _of(e, y)))

    def conjugate(self, alpha: Array, y: Codes) -> Array:
        """sum_k p_k log p_k; for the right class of a p that is 1 - (a tiny number), too."""
        p = np.clip(alpha + _unit(alpha, y), 0.0, 1.0)
        right = xlog1py(p, np.clip(alpha, -1.0, 0.0))
        each = np.where(_unit(alpha, y) > 0, right, xlogy(p, p))
        return self.within(alpha, y, np.sum(each, axis=1))

    def largest_slope(self, y: Any) -> float:
        """One score up by 1, one down, in the limit."""
        return float(np.sqrt(2.0))

    def curvature(self, Z: Array) -> Array:
        """The probabilities p."""
        p: Array = softmax(Z, axis=1)
        return p

    def bend(self, h: Array, Q: Array) -> Array:
        """p_k (q_k - sum_l p_l q_l)."""
        bent = h * Q
        bent -= h * np.sum(bent, axis=1, keepdims=True)
        return bent

    def bends(self, h: Array) -> Array:
        """p_k (1 - p_k)."""
        return h * (1 - h)


def _unit(Z: Array, y: npt.NDArray[np.signedinteger[Any]]) -> Array:
    """e_y for each row."""
    units = np.zeros(Z.shape)
    units[np.arange(len(y)), y] = 1.0
    return units


def _of(Z: Array, y: npt.NDArray[np.signedinteger[Any]]) -> Array:
    """Z's entry at y for each row, as a column."""
    column: Array = Z[np.arange(len(y)), y][:, np.newaxis]
    return column
