"""A loss that has met its rows: it keeps their labels and weights, and answers for all of them.

A risk asks a `RowLoss` for sums over the rows of a shard, their slopes, kinks, curvatures and
conjugates; it need not know whether C++ or the Python formula answers, nor whether a row has one
score or K. `bound` in binding.py makes one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.losses.base import Array, Conjugable, Loss
from fenchel.losses.vector import ConjugableVector, VectorLoss

Indices = npt.NDArray[np.intp]


class Choices(Protocol):
    """The slopes that rows on a kink may have, without their weights."""

    def towards(self, q: Array) -> Array:
        """For each row the slope a with the largest <a, q>."""


class RowLoss(ABC):
    """A loss with the labels y and the weights s of some rows (None: all 1).

    z holds the score of each row, or a row of K scores where the loss is a vector loss; b is added
    to all scores of a scalar loss, and stays 0 for a vector loss.
    """

    fused: _kernels.Loss | None = None  # for kernels that read X and the loss in one sweep

    def __init__(self, loss: Loss, y: npt.NDArray[Any], s: Array | None = None):
        self.loss, self.y, self.s = loss, y, s

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the native loss, which is made anew."""
        return type(self), (self.loss, self.y, self.s)

    def take(self, rows: Indices) -> Self:
        """The loss of some of the rows."""
        return self._with(y=self.y[rows], s=None if self.s is None else self.s[rows])

    def unweighted(self) -> Self:
        """The loss of the same rows, each with the weight 1."""
        return self._with(s=None)

    def _with(self, **rows: Any) -> Self:
        """The same loss with other rows: what was made for the loss alone is not made again."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **rows)
        return other

    @abstractmethod
    def slopes(self, z: Array, b: float = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i l'(z_i + b, y_i))."""

    def sums(self, z: Array, b: float) -> tuple[float, float]:
        """(sum_i s_i l(z_i + b, y_i), its slope in b)."""
        value, a = self.slopes(z, b)
        return value, float(np.sum(a))

    @abstractmethod
    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i), and its slope, just right of eta."""

    @abstractmethod
    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""

    @abstractmethod
    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows whose scores lie on a kink, up to tolerance (1 + the scores' size)."""

    @abstractmethod
    def choices(self, z: Array, tolerance: float) -> Choices:
        """The slopes, without s, that the rows may have, where all of them lie on a kink."""

    def smoothed(
        self, z: Array, mu: float, widths: Array | None, b: float
    ) -> tuple[float, float, float, Array]:
        """(sum_i s_i l_mu(z_i + b, y_i), its slope in b, how fast that rises, slopes without s).

        l_mu is the loss less mu times a strongly convex function in its dual: see
        risks/views/smoothing.py. Without smoothing (mu = 0) it is the loss itself.
        """
        assert mu == 0
        value, a = self.slopes(z, b)
        return value, float(np.sum(a)), 0.0, self._without_weights(a)

    def _without_weights(self, a: Array) -> Array:
        if self.s is None:
            return a
        each = np.divide(1.0, self.s, out=np.zeros_like(self.s), where=self.s > 0)
        return (a.T * each).T

    def conjugates(self, a: Array) -> float:
        """sum_i s_i l*(a_i, y_i), for slopes without their weights; inf outside the domain."""
        return self.conjugate_sums(a)[0]

    def conjugate_sums(self, a: Array) -> tuple[float, float]:
        """The same, and the sum of the terms' magnitudes, with which its round-off goes."""
        each = self._conjugate(a)
        if self.s is not None:
            each = self.s * np.where(self.s > 0, each, 0.0)
        return float(np.sum(each)), float(np.sum(np.abs(each)))

    def _conjugate(self, a: Array) -> Array:
        assert isinstance(self.loss, Conjugable | ConjugableVector)
        return self.loss.conjugate(a, self.y)

    def feasible(self, a: Array) -> Array:
        """Slopes moved into the conjugate's domain, which round-off may have led them out of."""
        assert isinstance(self.loss, Conjugable | ConjugableVector)
        return self.loss.feasible(a, self.y)

    @property
    def largest_slope(self) -> float:
        """The largest slope that the loss can have on these rows; inf where it is not known."""
        if isinstance(self.loss, Conjugable | VectorLoss):
            return self.loss.largest_slope(self.y)
        return np.inf
