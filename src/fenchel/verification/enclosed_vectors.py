"""Losses of K scores a row and their conjugates, from above, in exact arithmetic.

A row's score k less its score of the right class is bounded by the ends of both. Conjugates are
taken of dual variables t of weighted rows, as s l*(t / s): see grid.py for their domains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import losses
from fenchel.errors import Incompatible
from fenchel.verification import elementary
from fenchel.verification.enclosed_losses import HALF
from fenchel.verification.grid import SignedRows, balanced_columns
from fenchel.verification.intervals import Array, Interval, exact, up

_WITHOUT = (
    "multilabel_hinge needs one cost for all, multivariate_squared the identity for M, and a loss "
    "of your own is not known here; fenchel.verify without rigorous=True checks them in float64"
)

Mask = npt.NDArray[np.bool_]


class EnclosedVectors(ABC):
    """A vector loss on its rows, which have weights s > 0."""

    def __init__(self, y: npt.NDArray[Any], s: Array):
        self.y, self.s = y, s

    @abstractmethod
    def value_above(self, Z: Interval) -> Array:
        """No less than l(z_i, y_i), for each row."""

    @abstractmethod
    def duals(self, t: Array, balance: bool) -> Array:
        """Exact dual variables near t, inside their domain, with the sum 0 for each score."""

    @abstractmethod
    def conjugate_above(self, t: Interval) -> Array:
        """No less than s_i l*(t_i / s_i, y_i), for each row."""

    def at_scores(self, t: Array) -> Array:
        """The dual variables of the scores, where t are those of something that is added up."""
        return t


class _Signed(EnclosedVectors):
    """A loss with a set of right classes."""

    def __init__(self, y: npt.NDArray[Any], s: Array, right: Mask, slack: Array | None = None):
        super().__init__(y, s)
        self.right, self.slack = right, slack

    def duals(self, t: Array, balance: bool) -> Array:
        rows = SignedRows(t, self.right, self.s, self.slack)
        if balance and not rows.balance():
            return np.zeros_like(t)
        return rows.numbers

    def _wrong(self, t: Interval) -> Interval:
        return Interval(*(np.where(self.right, 0.0, np.maximum(end, 0.0)) for end in t))


class _Hinge(_Signed):
    """max over k of Delta_k + z_k - z_y, or of Delta_k (1 + z_k - z_y)."""

    def __init__(self, y: npt.NDArray[Any], s: Array, costs: Array, rescaled: bool):
        right = np.arange(costs.shape[1]) == y[:, np.newaxis]
        super().__init__(y, s, right, costs if rescaled else None)
        self.costs = costs

    def value_above(self, Z: Interval) -> Array:
        margin = _less(Z, _of_right(Z, self.right))
        if self.slack is None:
            pieces = margin.plus(exact(self.costs)).hi
        else:
            pieces = margin.plus(exact(1.0)).times(exact(self.costs)).hi
        return np.asarray(np.max(np.where(self.right, 0.0, pieces), axis=1))

    def conjugate_above(self, t: Interval) -> Array:
        wrong = self._wrong(t)
        each = wrong.lo if self.slack is not None else wrong.times(exact(self.costs)).lo
        return _row_sums_above(-each)


class _Softmax(_Signed):
    def __init__(self, y: npt.NDArray[Any], s: Array, K: int):
        super().__init__(y, s, np.arange(K) == y[:, np.newaxis])

    def value_above(self, Z: Interval) -> Array:
        """The largest m of z_k - z_y, or 0, plus log(1 + the others' exp(. - m))."""
        margin = np.where(self.right, 0.0, _less(Z, _of_right(Z, self.right)).hi)
        best = np.argmax(margin, axis=1)
        largest = margin[np.arange(len(best)), best]
        below = exact(margin).minus(exact(largest[:, np.newaxis]))
        others = np.arange(margin.shape[1]) != best[:, np.newaxis]
        rest = _row_sums_above(np.where(others, elementary.exp(below).hi, 0.0))
        return exact(largest).plus(elementary.log1p(exact(rest))).hi

    def conjugate_above(self, t: Interval) -> Array:
        """s sum_k p_k log p_k with p = t / s, and 1 + t / s for the right class."""
        p = t.over(exact(self.s[:, np.newaxis]))
        wrong = elementary.x_log_x_above(p.clipped(0.0, 1.0))
        right = elementary.one_plus_x_log_above(p.clipped(-1.0, 0.0))
        each = _row_sums_above(np.where(self.right, right, wrong))
        return exact(each).times(exact(self.s)).hi


class _Multilabel(_Signed):
    def __init__(self, y: npt.NDArray[Any], s: Array, cost: float):
        super().__init__(y, s, np.asarray(y, dtype=bool))
        self.cost = cost

    def value_above(self, Z: Interval) -> Array:
        """max(0, tau + max over wrong z - min over right z); 0 where one is over nothing."""
        wrong = np.max(np.where(self.right, -np.inf, Z.hi), axis=1)
        right = np.min(np.where(self.right, Z.lo, np.inf), axis=1)
        gap = exact(wrong).minus(exact(right)).plus(exact(self.cost)).hi
        return np.where(np.isfinite(wrong) & np.isfinite(right), np.maximum(0.0, gap), 0.0)

    def conjugate_above(self, t: Interval) -> Array:
        return _row_sums_above(-self._wrong(t).times(exact(self.cost)).lo)


class _Squared(EnclosedVectors):
    """1/2 |z - y|^2."""

    def value_above(self, Z: Interval) -> Array:
        return _row_sums_above(Z.minus(exact(self.y)).squared().times(HALF).hi)

    def duals(self, t: Array, balance: bool) -> Array:
        return balanced_columns(t) if balance else t

    def conjugate_above(self, t: Interval) -> Array:
        curved = t.squared().over(exact(2 * self.s[:, np.newaxis]))
        return _row_sums_above(t.times(exact(self.y)).plus(curved).hi)


class _OfLeaves(EnclosedVectors):
    """A loss of sums over the paths P to leaves; the leaves' dual variables are those of theirs."""

    def __init__(self, inner: _Signed, paths: Array, leaf: npt.NDArray[Any]):
        super().__init__(inner.y, inner.s)
        self.inner, self.paths, self.leaf = inner, paths > 0, leaf

    def value_above(self, Z: Interval) -> Array:
        F = [_summed_over(Z, path) for path in self.paths]
        return self.inner.value_above(
            Interval(*(np.stack(e, axis=1) for e in zip(*F, strict=True)))
        )

    def duals(self, t: Array, balance: bool) -> Array:
        return self.inner.duals(t[:, self.leaf], balance)

    def conjugate_above(self, t: Interval) -> Array:
        return self.inner.conjugate_above(t)

    def at_scores(self, t: Array) -> Array:
        """Sums over the leaves below each node: multiples of one unit, exact if they are few."""
        return np.asarray(t @ self.paths.astype(np.float64))


def enclosed_vectors(loss: Any, K: int, y: npt.NDArray[Any], s: Array) -> EnclosedVectors:
    """The loss on its rows; Incompatible where there is no formula for it."""
    if type(loss) is losses.MulticlassHinge:
        return _Hinge(y, s, loss.costs(K).T[y], loss.rescaling == "slack")
    if type(loss) is losses.Softmax:
        return _Softmax(y, s, K)
    if type(loss) is losses.MultilabelHinge and loss.uniform is not None:
        return _Multilabel(y, s, loss.uniform)
    if type(loss) is losses.MultivariateSquared and loss.M is None:
        return _Squared(y, s)
    if type(loss) in (losses.HierarchicalHinge, losses.HierarchicalSoftmax):
        tree = loss.for_classes(np.arange(K)).tree
        inner = enclosed_vectors(loss.of_leaves, len(tree.leaf), y, s)
        assert isinstance(inner, _Signed)
        return _OfLeaves(inner, tree.paths, tree.leaf)
    raise Incompatible(f"there is no rigorous bound for {loss!r}: {_WITHOUT}")


def _of_right(Z: Interval, right: Mask) -> Interval:
    """The scores of the one right class of each row, as a column."""
    return Interval(*(end[right][:, np.newaxis] for end in Z))


def _less(Z: Interval, column: Interval) -> Interval:
    return Z.minus(column)


def _summed_over(Z: Interval, some: Mask) -> Interval:
    columns = [Interval(lo, hi) for lo, hi in zip(Z.lo.T[some], Z.hi.T[some], strict=True)]
    total = columns[0]
    for each in columns[1:]:
        total = total.plus(each)
    return total


def _row_sums_above(x: Array) -> Array:
    """No less than the exact sums of rows: each addition is rounded up."""
    total = x[:, 0]
    for column in x.T[1:]:
        total = up(total + column)
    return total
