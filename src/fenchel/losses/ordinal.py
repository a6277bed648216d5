"""The hinge over pairs of rows of different levels ([Teo07] section 3.1).

    L(z) = mean over pairs with y_i < y_j of  cost(y_i, y_j) max(0, 1 + z_i - z_j),

a pair counting s_i s_j. ROC area has two levels, ordinal regression any number; ranking.py takes
the mean for each query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.multivariate import Indices, MultivariateLoss, Sample, Tangent

Lower = npt.NDArray[np.bool_]


class PairwiseHinge(MultivariateLoss):
    """The mean over groups of the mean over their pairs."""

    nonnegative = True
    weighted = True
    cost: Array | None = None

    def check(self, sample: Sample) -> None:
        """There is a pair."""
        if not pair_weights(sample).any():
            raise InvalidData(f"nothing is to be ordered: {self._empty}")

    _empty = "all rows with a weight > 0 have the same y"

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """Weights of the pairs that are too close, added up by rows."""
        s, each, g, c = sample.weights, pair_weights(sample), np.zeros_like(z), 0.0
        share = np.divide(1.0, each * sample.n_groups, out=np.zeros_like(each), where=each > 0)
        share = share[sample.groups]
        for rows, lower, node, cost in self._splits(sample):
            close = _close(z[rows], s[rows], lower, node) * s[rows] * cost * share[rows]
            g[rows] += np.where(lower, close, -close)
            c += float(np.sum(close[~lower]))
        return Tangent(c, g)

    def _splits(
        self, sample: Sample
    ) -> Iterator[tuple[npt.NDArray[np.intp], Lower, Indices, float]]:
        """All pairs of levels, many at once: (rows, is lower, node, cost).

        Every lower row pairs with every upper row of its node. Where all pairs cost the same, the
        levels of a group are halved again and again: pairs of different levels are parted once.
        """
        level, groups = levels(sample), sample.groups
        rows = np.arange(len(level))
        if self.cost is not None:
            for low in range(len(self.cost)):
                for high in range(low + 1, len(self.cost)):
                    some = np.flatnonzero((level == low) | (level == high))
                    yield some, level[some] == low, groups[some], float(self.cost[low, high])
            return
        for bit in range(int(level.max(initial=0)).bit_length()):
            node = (level >> (bit + 1)) + groups * (len(level) + 1)
            yield rows, (level >> bit) % 2 == 0, node, 1.0


class ROC(PairwiseHinge):
    """One minus the area under the ROC curve, every pair by its hinge.

    L(z) = mean over positive i and negative j of max(0, 1 - (z_i - z_j)).
    """

    labels = Labels.BINARY
    _empty = "no two rows of different classes have a weight > 0"


class Ordinal(PairwiseHinge):
    """Ordinal regression with a level for each distinct y.

    `cost` is a matrix of numbers >= 0, cost[l, m] for l < m what it weighs to put a row of level l
    above one of level m, levels counted from 0; its other entries are not used. None: 1 each.
    """

    labels = Labels.REAL

    def __init__(self, cost: Any = None):
        self.cost = None if cost is None else _matrix(cost)

    def check(self, sample: Sample) -> None:
        """The costs are for as many levels as there are."""
        n_levels = len(np.unique(sample.y))
        if self.cost is not None and len(self.cost) != n_levels:
            raise InvalidData(f"cost is for {len(self.cost)} levels, but y has {n_levels}")
        super().check(sample)


def levels(sample: Sample) -> Indices:
    """Each row's level among those of its group, from 0."""
    order = np.lexsort((sample.y, sample.groups))
    y, groups = sample.y[order], sample.groups[order]
    new_group = np.diff(groups, prepend=-1) != 0
    rises = np.concatenate([[False], y[1:] != y[:-1]]) & ~new_group
    count = np.cumsum(rises)
    level = np.empty(len(y), dtype=np.int64)
    level[order] = count - count[new_group][groups]
    return level


def pair_weights(sample: Sample) -> Array:
    """sum over the pairs of different levels of s_i s_j, for each group."""
    level, groups, s = levels(sample), sample.groups, sample.weights
    order = np.lexsort((groups, level))
    change = np.diff(level[order], prepend=-1) | np.diff(groups[order], prepend=-1)
    first = np.flatnonzero(change)
    sums, of, level = np.add.reduceat(s[order], first), groups[order][first], level[order][first]
    pairs, below = np.zeros(sample.n_groups), np.zeros(sample.n_groups)
    for part in np.split(np.arange(len(of)), np.flatnonzero(np.diff(level)) + 1):
        pairs[of[part]] += below[of[part]] * sums[part]
        below[of[part]] += sums[part]
    return pairs


def _close(z: Array, s: Array, lower: Lower, node: Indices) -> Array:
    """For each row the weight of the rows of the other kind in its node with z_j - 1 < z_i.

    Sorted by z_i and z_j - 1, those are the lower rows after an upper one, and the upper ones
    before a lower one, where of equal numbers the lower row comes first.
    """
    key = np.where(lower, z, z - 1.0)
    order = np.lexsort((~lower, key, node))
    starts = np.diff(node[order], prepend=-1) != 0
    first = np.flatnonzero(starts)
    last, number = np.append(first[1:], len(node)) - 1, np.cumsum(starts) - 1
    lowers = _prefixes(np.where(lower, s, 0.0)[order])
    uppers = _prefixes(np.where(lower, 0.0, s)[order])
    after = lowers[:, 1:][:, last[number]] - lowers[:, 1:]
    before = uppers[:, 1:] - uppers[:, first[number]]
    close = np.empty_like(z)
    close[order] = np.where(lower[order], before.sum(axis=0), after.sum(axis=0))
    return close


def _prefixes(s: Array) -> Array:
    """The sums of the first 0, 1, ... numbers, each as a number and what it lost to round-off.

    Differences are taken of them: those of a node of small weights after one of large weights, or
    after all that weigh anything, must be as exact as sums of their own. What an addition loses is
    itself a number, that of Knuth's two-sum.
    """
    total = np.concatenate([[0.0], np.cumsum(s)])
    before, after = total[:-1], total[1:]
    added = after - before
    lost = (before - (after - added)) + (s - added)
    return np.stack([total, np.concatenate([[0.0], np.cumsum(lost)])])


def _matrix(cost: Any) -> Array:
    try:
        matrix = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"cost must be a square matrix of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidData(f"cost must be a square matrix; got shape {matrix.shape}")
    if not (np.isfinite(matrix) & (matrix >= 0)).all():
        raise InvalidData("costs must be finite and >= 0")
    matrix.setflags(write=False)
    return matrix
