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
from fenchel.losses.soft_counts import SoftTangent, prefixes

Lower = npt.NDArray[np.bool_]


class PairwiseHinge(MultivariateLoss):
    """The mean over groups of the mean over their pairs."""

    nonnegative = True
    weighted = True
    soft = True
    cost: Array | None = None

    def check(self, sample: Sample) -> None:
        """There is a pair."""
        if not pair_weights(sample).any():
            raise InvalidData(f"nothing is to be ordered: {self._empty}")

    _empty = "all rows with a weight > 0 have the same y"

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """Weights of the pairs that are too close, added up by rows."""
        s, share, g, c = sample.weights, _shares(sample), np.zeros_like(z), 0.0
        for rows, lower, node, cost in self._splits(sample):
            close = _close(z[rows], s[rows], lower, node) * s[rows] * cost * share[rows]
            g[rows] += np.where(lower, close, -close)
            c += float(np.sum(close[~lower]))
        return Tangent(c, g)

    def soft_tangent(self, z: Array, sample: Sample, mu: float) -> SoftTangent:
        """A pair's hinge is max over 0 <= alpha <= 1 of alpha t, t = 1 + z_i - z_j.

        With mu alpha^2 taken off it is alpha = clip(t / (2 mu), 0, 1).
        """
        s, share, g, c, lack = sample.weights, _shares(sample), np.zeros_like(z), 0.0, 0.0
        for rows, lower, node, cost in self._splits(sample):
            first, second = _soft_close(z[rows], s[rows], lower, node, 2 * mu)
            each = s[rows] * cost * share[rows]
            g[rows] += np.where(lower, first, -first) * each
            c += float(np.sum((first * each)[~lower]))
            lack += mu * float(np.sum((second * each)[~lower]))
        return SoftTangent(c, g, lack)

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


def _shares(sample: Sample) -> Array:
    """One over the weight of all pairs of a row's group, times the group's share."""
    each = pair_weights(sample)
    share = np.divide(1.0, each * sample.n_groups, out=np.zeros_like(each), where=each > 0)
    return np.asarray(share[sample.groups])


def _soft_close(
    z: Array, s: Array, lower: Lower, node: Indices, width: float
) -> tuple[Array, Array]:
    """The sums of s_j alpha and of s_j alpha^2 over the rows of the other kind in its node.

    alpha = clip((key_i - key_j) / width, 0, 1) with the keys z_i and z_j - 1 of lower and upper
    rows: sums of 1, key and key^2 over the keys in an interval.
    """
    key = np.where(lower, z, z - 1.0)
    side = np.where(lower, -width, width)  # where alpha is 1, from the row's own key
    first, second = np.empty_like(z), np.empty_like(z)
    for kind in (lower, ~lower):
        at = key[kind]
        others = _Keys(key[~kind], s[~kind], node[~kind])
        near, far = (others.below(at + by, node[kind]) for by in (0.0, side[kind]))
        full, some = (
            (far, near - far) if kind is lower else (others.all(node[kind]) - far, far - near)
        )
        sign = 1.0 if kind is lower else -1.0
        first[kind] = full[0] + sign * (at * some[0] - some[1]) / width
        squares = some[2] - 2 * at * some[1] + at * at * some[0]
        second[kind] = full[0] + np.maximum(squares, 0.0) / width**2
    return np.maximum(first, 0.0), second


class _Keys:
    """Rows by node and key, with running sums of s, s key and s key^2."""

    def __init__(self, key: Array, s: Array, node: Indices):
        order = np.lexsort((key, node))
        self.key, self.node, s = key[order], node[order], s[order]
        self._sums = prefixes(np.stack([s, s * self.key, s * self.key**2]))

    def below(self, key: Array, node: Indices) -> Array:
        """The sums over the rows of the same node with a lower key."""
        joined = np.concatenate([self.key, key]), np.concatenate([self.node, node])
        asks = np.arange(len(joined[0])) >= len(self.key)
        order = np.lexsort((~asks, *joined))
        places = np.empty(len(key), dtype=np.int64)
        places[order[asks[order]] - len(self.key)] = np.cumsum(~asks[order])[asks[order]]
        return self._between(np.searchsorted(self.node, node), places)

    def all(self, node: Indices) -> Array:
        """The sums over all rows of the node."""
        return self._between(
            np.searchsorted(self.node, node), np.searchsorted(self.node, node, side="right")
        )

    def _between(self, first: Indices, last: Indices) -> Array:
        high, low = self._sums
        return np.asarray((high[:, last] - high[:, first]) + (low[:, last] - low[:, first]))


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
    lowers = np.stack(prefixes(np.where(lower, s, 0.0)[order]))
    uppers = np.stack(prefixes(np.where(lower, 0.0, s)[order]))
    after = lowers[:, 1:][:, last[number]] - lowers[:, 1:]
    before = uppers[:, 1:] - uppers[:, first[number]]
    close = np.empty_like(z)
    close[order] = np.where(lower[order], before.sum(axis=0), after.sum(axis=0))
    return close


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
