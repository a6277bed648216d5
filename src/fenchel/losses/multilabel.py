"""Losses of a set of right labels among K ([Yu10] section 6.4).

Letters: z the K scores of a row and y the indicator of its set, alpha its K dual variables. A set
with no label, or with all of them, has no pair of a right and a wrong one: its loss is 0. The class
has two twins in kernels/vector_losses.hpp, for one cost and for several.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from fenchel.errors import Incompatible
from fenchel.losses.base import Array, Labels
from fenchel.losses.vector import ConjugableVector, CostLoss, Softened
from fenchel.tolerances import ZERO_SUM

Sets = npt.NDArray[np.uint8]


class MultilabelHinge(CostLoss, Softened, ConjugableVector):
    """l(z, y) = max over right r and wrong k of Delta(k, r) + z_k - z_r, but at least 0 (eq. 55).

    With one cost tau it is max(0, tau + max over wrong k of z_k - min over right r of z_r) (eq.
    54), and takes the time of K scores, not of K^2 pairs.
    """

    labels = Labels.SETS

    @property
    def has_conjugate(self) -> bool:
        """With several costs the conjugate is the value of a transport problem."""
        return self.uniform is not None

    def pieces(self, Z: Array, y: Sets) -> Array:
        """One for each pair (k, r), and 0 in place of the first, which is no pair."""
        right = np.asarray(y, dtype=bool)
        pairs = ~right[:, :, np.newaxis] & right[:, np.newaxis, :]
        gaps = self.costs(Z.shape[1]) + Z[:, :, np.newaxis] - Z[:, np.newaxis, :]
        pieces = np.where(pairs, gaps, -np.inf).reshape(len(Z), Z.shape[1] ** 2)
        pieces[:, 0] = 0.0
        return pieces

    def value(self, Z: Array, y: Sets) -> Array:
        """The highest piece; of one cost, 0 where a maximum or minimum is over nothing."""
        if self.uniform is None:
            return np.asarray(np.max(self.pieces(Z, y), axis=1))
        wrong, right = _ends(Z, y)
        gap = self.uniform + np.max(wrong, axis=1) - np.min(right, axis=1)
        return np.asarray(np.maximum(0.0, gap))

    def slope(self, Z: Array, y: Sets) -> Array:
        """e_k - e_r for the worst pair, where the loss is > 0."""
        if self.uniform is None:
            k, r = np.divmod(np.argmax(self.pieces(Z, y), axis=1), Z.shape[1])
        else:
            wrong, right = _ends(Z, y)
            k, r = np.argmax(wrong, axis=1), np.argmin(right, axis=1)
        rows, slope, lost = np.arange(len(Z)), np.zeros(Z.shape), self.value(Z, y) > 0
        slope[rows, k] += lost
        slope[rows, r] -= lost
        return slope

    def conjugate(self, alpha: Array, y: Sets) -> Array:
        """-tau sum of alpha's positive part.

        Where alpha >= 0 on the wrong labels, <= 0 on the right ones, with sum 0 and a positive
        part of at most 1: alpha is then a mean of the pieces' gradients, 0 and e_k - e_r, with the
        positive part as the weight of the latter, on each of which l* = -tau.
        """
        if self.uniform is None:
            raise Incompatible(f"{self!r} has no conjugate in closed form; one cost for all has")
        positive = np.sum(np.maximum(alpha, 0.0), axis=1)
        signs = np.where(np.asarray(y, dtype=bool), -alpha, alpha)
        inside = np.all(signs >= -ZERO_SUM, axis=1) & (positive <= 1 + ZERO_SUM)
        inside &= np.abs(np.sum(alpha, axis=1)) <= ZERO_SUM
        return np.where(inside, -self.uniform * positive, np.inf)

    def feasible(self, alpha: Array, y: Sets) -> Array:
        """Signs as they must be, and both parts scaled to the same sum <= 1."""
        right = np.asarray(y, dtype=bool)
        up = np.where(right, 0.0, np.maximum(alpha, 0.0))
        down = np.where(right, np.maximum(-alpha, 0.0), 0.0)
        sums = [np.sum(part, axis=1, keepdims=True) for part in (up, down)]
        common = np.minimum(np.minimum(*sums), 1.0)
        scales = [common / np.where(total > 0, total, 1.0) for total in sums]
        return np.asarray(scales[0] * up - scales[1] * down)

    def n_pieces(self, y: Sets, K: int) -> Array:
        """The pairs, and 0."""
        right = np.sum(np.asarray(y, dtype=np.float64), axis=1)
        return np.asarray(1 + right * (K - right))

    def entropy(self, alpha: Array, y: Sets) -> Array:
        """With one cost: that of p_kr = alpha_k alpha_r / pi, and of 1 - pi.

        pi is the sum of alpha's positive part. All p with the same sums over r and over k have the
        slopes alpha, and the product of the sums has the largest entropy of them.
        """
        parts = np.minimum(np.abs(alpha), 1.0)
        pi = np.minimum(np.sum(np.maximum(alpha, 0.0), axis=1), 1.0)
        lost = np.sum(xlogy(parts, parts), axis=1) - xlogy(pi, pi)
        return np.asarray(-lost - xlogy(1 - pi, 1 - pi))

    @property
    def spread(self) -> float:
        """Of e_k - e_r and e_j - e_s."""
        return 4.0


def _ends(Z: Array, y: Sets) -> tuple[Array, Array]:
    """The scores of the wrong labels, -inf elsewhere; of the right labels, inf elsewhere."""
    right = np.asarray(y, dtype=bool)
    return np.where(right, -np.inf, Z), np.where(right, Z, np.inf)
