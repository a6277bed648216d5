"""Measures of the ranking of each query's documents, by the worst ranking (003 section 3.1).

    l(z) = max over pi of  Delta(pi) + sum_p a_p z_pi(p) - <right, z>,      L the mean over queries,

with pi(p) the document in place p, a_p what that place is worth, and right_d what the place of
document d is worth in a right ranking; documents of the same relevance share their places, so the
order of the rows does not matter. 003 prints the second term with the opposite sign, and a sequence
c_p of its own for it: c = a makes every worst ranking one sort away (kernels/rankings.hpp).

As the ranking by z maximises sum_p a_p z_pi(p), l is at least its Delta; and at least 0, as right
rankings have Delta = 0 and <right, z> is a mean over them. Queries with nothing to be ordered, such
as those of one document, count with l = 0.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.multivariate import (
    Indices,
    MultivariateLoss,
    Sample,
    Tangent,
    descending,
)
from fenchel.losses.ordinal import PairwiseHinge
from fenchel.naming import positive, whole

_LARGEST = 100.0  # relevance, of which 2 to that power is taken


class RankHinge(PairwiseHinge):
    """The mean over pairs of each query with y_i < y_j of max(0, 1 + z_i - z_j) (RankSVM)."""

    labels = Labels.REAL
    grouped = True
    _empty = "no query has two documents of different y with a weight > 0"


class Ranking(MultivariateLoss):
    """A measure whose places are worth a_1 >= a_2 >= ... >= 0."""

    labels = Labels.COUNT
    nonnegative = True
    grouped = True

    @abstractmethod
    def worth(self, places: Array) -> Array:
        """a_p for places counted from 1."""

    def check(self, sample: Sample) -> None:
        """Some query has documents of different relevance, and one that is relevant."""
        if not np.any(orderable(sample)):
            raise InvalidData(
                "nothing is to be ordered: no query has a relevant document (y > 0) and one of "
                "another y"
            )


class GainRanking(Ranking):
    """Delta(pi) = 1 - sum_p a_p gain_pi(p), over what the best ranking has."""

    @abstractmethod
    def gain(self, y: Array) -> Array:
        """What a document of relevance y brings, times the worth of its place."""

    def gains(self, sample: Sample) -> Array:
        """The gains over the best sum; 0 in queries with nothing to be ordered."""
        gain = np.where(orderable(sample)[sample.groups], self.gain(sample.y), 0.0)
        total = np.bincount(sample.groups, weights=gain * shared_worth(self, sample))
        return gain / np.where(total > 0, total, 1.0)[sample.groups]

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """The documents of each query in falling order of z - gain (rearrangement inequality)."""
        gain, counted = self.gains(sample), orderable(sample)
        order = np.lexsort((gain - z, sample.groups))
        place = np.empty(len(z))
        place[order] = places(sample)
        worth = self.worth(place)
        g = np.where(counted[sample.groups], worth - shared_worth(self, sample), 0.0)
        loss = np.sum(counted) - np.sum(worth * gain)
        return Tangent(float(loss) / sample.n_groups, g / sample.n_groups)


class NDCG(GainRanking):
    """Normalised discounted cumulative gain of the first k places; k=None is all of them.

    a_p = 1 / log2(1 + p), gain 2^y - 1.
    """

    def __init__(self, k: int | None = 10):
        self.k = None if k is None else whole("k", k, least=1)

    def worth(self, places: Array) -> Array:
        """1 / log2(1 + p), 0 behind place k."""
        worth = 1.0 / np.log2(1.0 + places)
        return worth if self.k is None else np.where(places <= self.k, worth, 0.0)

    def gain(self, y: Array) -> Array:
        """2^y - 1."""
        return np.asarray(np.exp2(y) - 1.0)

    def check(self, sample: Sample) -> None:
        """2^y can be told from other numbers."""
        if np.max(sample.y) > _LARGEST:
            raise InvalidData(
                f"y is as large as {np.max(sample.y):g}, but ndcg has gains of 2^y - 1: give "
                "relevances such as 0 .. 4"
            )
        super().check(sample)


class ERU(GainRanking):
    """Expected rank utility (Breese et al. 1998): a place is worth half after `half_life` - 1 more.

    a_p = 2^((1 - p) / (half_life - 1)), gain y.
    """

    def __init__(self, half_life: float = 5.0):
        self.half_life = positive("half_life", half_life)
        if not self.half_life > 1:
            raise InvalidData(f"half_life must be > 1; got {half_life!r}")

    def worth(self, places: Array) -> Array:
        """2^((1 - p) / (half_life - 1))."""
        return np.asarray(np.exp2((1.0 - places) / (self.half_life - 1.0)))

    def gain(self, y: Array) -> Array:
        """The relevance itself."""
        return y


class MRR(Ranking):
    """Mean reciprocal rank: Delta(pi) = 1 - 1/r, r the first place with a relevant document, y > 0.

    With several relevant documents no assignment gives the worst ranking. It has the highest r - 1
    irrelevant documents in front, for some r, and all others in falling order behind them.
    """

    def worth(self, places: Array) -> Array:
        """1/p."""
        return 1.0 / places

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """Query by query, all r of it."""
        g, loss, counted = np.zeros_like(z), 0.0, orderable(binary(sample))
        for q in np.flatnonzero(counted):
            rows = slice(*sample.starts[q : q + 2])
            delta, place = self._worst(z[rows], sample.y[rows] > 0)
            g[rows] = self.worth(place)
            loss += delta
        g -= np.where(counted[sample.groups], shared_worth(self, binary(sample)), 0.0)
        return Tangent(loss / sample.n_groups, g / sample.n_groups)

    def _worst(self, z: Array, relevant: npt.NDArray[np.bool_]) -> tuple[float, Array]:
        order = descending(z)
        wrong, place = order[~relevant[order]], np.empty(len(z))
        right = z[order[relevant[order]]]
        above = np.cumsum(relevant[order])[~relevant[order]]  # relevant ones before each wrong one
        a = self.worth(np.arange(1.0, len(z) + 1.0))
        rise = np.empty(len(wrong))  # of sum_p a_p z_pi(p), each wrong one put in front
        for r, t in enumerate(above):
            fall = a[r : r + t] - a[r + 1 : r + t + 1]
            rise[r] = z[wrong[r]] * (a[r] - a[r + t]) - right[:t] @ fall
        delta = 1.0 - 1.0 / np.arange(1.0, len(wrong) + 2.0)
        first = int(np.argmax(delta + np.concatenate([[0.0], np.cumsum(rise)])))
        behind = order[~np.isin(order, wrong[:first])]
        place[np.concatenate([wrong[:first], behind])] = np.arange(1.0, len(z) + 1.0)
        return float(delta[first]), place


def orderable(sample: Sample) -> npt.NDArray[np.bool_]:
    """Which queries have documents of different y, and one with y > 0."""
    first = sample.starts[:-1]
    most, least = np.maximum.reduceat(sample.y, first), np.minimum.reduceat(sample.y, first)
    return np.asarray((most > least) & (most > 0))


def binary(sample: Sample) -> Sample:
    """The same with relevances 0 and 1."""
    return sample._replace(y=(sample.y > 0).astype(np.float64))


def places(sample: Sample) -> Array:
    """1, 2, ... in each query."""
    return np.arange(1.0, len(sample.y) + 1.0) - sample.starts[sample.groups]


def shared_worth(loss: Ranking, sample: Sample) -> Array:
    """What a document's place is worth in a right ranking, on average over all of them."""
    order = np.lexsort((-sample.y, sample.groups))
    y, groups = sample.y[order], sample.groups[order]
    change = np.concatenate([[True], (y[1:] != y[:-1]) | (groups[1:] != groups[:-1])])
    tied: Indices = np.cumsum(change) - 1
    mean = np.bincount(tied, weights=loss.worth(places(sample))) / np.bincount(tied)
    shared = np.empty(len(y))
    shared[order] = mean[tied]
    return shared
