"""Measures of the ranking of each query's documents, by the worst ranking ([Teo07] section 3.1).

[Teo07] has  max over pi of  Delta(pi) + sum_p c_p (z_pi(p) - z_p)  for documents by relevance,
with a falling sequence c of one's choice and an assignment solver (and prints the second term with
the opposite sign). Where c falls between places of documents of the same relevance it asks for an
order among them that does not exist: on mq2008, where most documents are irrelevant, w = 0 is
certified to a gap of 1e-3 if c are the discounts of NDCG. So c is constant up to the last place of
a relevant document, and 0 behind it:

    l(z) = max over pi of  Delta(pi) + mean of z over the first n places - over the n relevant ones.

For more than two levels of relevance the measure is a sum over thresholds j of relevance, of
measures with relevant documents y >= y_j alone; l is the sum of their losses. It is at least the
Delta of the ranking by z, which maximises the second term of each. The worst ranking needs no
assignment: t irrelevant documents, the highest, take the places of the t lowest relevant ones.

L is the mean over queries. Those with nothing to be ordered, such as those of one document, count
with l = 0.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.multivariate import MultivariateLoss, Sample, Tangent, descending
from fenchel.losses.ordinal import PairwiseHinge, levels
from fenchel.losses.soft_counts import SoftSets, SoftTangent, mean_shares, soft_maximum
from fenchel.losses.table import HALF_LIFE, K

Indices = npt.NDArray[np.int_]

_LARGEST = 100.0  # relevance, of which 2 to that power is taken


class RankHinge(PairwiseHinge):
    """The mean over pairs of each query with y_i < y_j of max(0, 1 + z_i - z_j) (RankSVM)."""

    labels = Labels.REAL
    grouped = True
    _empty = "no query has two documents of different y with a weight > 0"


class Ranking(MultivariateLoss):
    """A measure that is a sum over thresholds of relevance."""

    labels = Labels.COUNT
    nonnegative = True
    grouped = True
    soft = True

    @abstractmethod
    def graded(self, sample: Sample) -> tuple[Indices, Array]:
        """(levels, from 0 in each query, and their gains): a threshold weighs a step of gains."""

    @abstractmethod
    def whole(self, n: int) -> float:
        """The measure of a right ranking of n relevant documents, over the gain's step."""

    @abstractmethod
    def lost(self, t: Indices, n: int, m: int) -> Array:
        """What the worst ranking loses of it with t of the first n of m places to irrelevant ones.

        They stand before the n - t relevant ones there, and the other t relevant ones come last.
        """

    def check(self, sample: Sample) -> None:
        """Some query has documents of different relevance."""
        if not self.graded(sample)[0].any():
            raise InvalidData(
                "nothing is to be ordered: no query has a relevant document (y > 0) and one of "
                "another y"
            )

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """Query by query, threshold by threshold."""
        g, c = np.zeros_like(z), 0.0
        for relevant, irrelevant, weight in self._thresholds(z, sample):
            c += self._add_worst(z, relevant, irrelevant, weight, g)
        return Tangent(c / sample.n_groups, g / sample.n_groups)

    def soft_tangent(self, z: Array, sample: Sample, mu: float) -> SoftTangent:
        """Shares of documents for each t, and a soft maximum over t (soft_counts.py)."""
        g, c, lack = np.zeros_like(z), 0.0, 0.0
        for relevant, irrelevant, weight in self._thresholds(z, sample):
            more, less = self._add_soft(z, relevant, irrelevant, weight, mu, g)
            c, lack = c + more, lack + less
        return SoftTangent(c / sample.n_groups, g / sample.n_groups, lack / sample.n_groups)

    def _thresholds(self, z: Array, sample: Sample) -> Iterator[tuple[Indices, Indices, float]]:
        """The relevant documents, the others, both in falling order of z, and the gains' step."""
        level, gain = self.graded(sample)
        for first, last in itertools.pairwise(sample.starts):
            order = first + descending(z[first:last])
            gains = np.zeros(level[order].max() + 1)
            gains[level[order]] = gain[order]
            for threshold, weight in enumerate(np.diff(gains), start=1):
                relevant = level[order] >= threshold
                yield order[relevant], order[~relevant], float(weight)

    def _add_worst(
        self, z: Array, relevant: Indices, irrelevant: Indices, weight: float, g: Array
    ) -> float:
        """Adds one threshold's slopes to g; the documents come in falling order of z."""
        n, m = len(relevant), len(relevant) + len(irrelevant)
        t = np.arange(min(n, m - n) + 1)
        rise = z[irrelevant[: t[-1]]] - z[relevant[::-1][: t[-1]]]
        factor, lost = weight * self.whole(n) / n, weight * self.lost(t, n, m)
        worst = int(np.argmax(lost + factor * np.concatenate([[0.0], np.cumsum(rise)])))
        g[irrelevant[:worst]] += factor
        g[relevant[n - worst :]] -= factor
        return float(lost[worst])

    def _add_soft(
        self, z: Array, relevant: Indices, irrelevant: Indices, weight: float, mu: float, g: Array
    ) -> tuple[float, float]:
        """The same with shares: what is lost, and what the prox-functions take off."""
        n, m = len(relevant), len(relevant) + len(irrelevant)
        t, whole = np.arange(min(n, m - n) + 1), weight * self.whole(n)
        if whole == 0 or len(t) == 1:
            return 0.0, 0.0
        nu, tau, lost = mu / 2, whole * mu / (2 * np.log(len(t))), weight * self.lost(t, n, m)
        found, fallen = SoftSets(z[irrelevant], nu), SoftSets(-z[relevant[::-1]], nu)
        kappa, lambda_ = found.kappa(t), fallen.kappa(t)
        squares = found.squares(kappa) + fallen.squares(lambda_)
        gained = found.worth(kappa) + fallen.worth(lambda_) - nu / 2 * squares
        theta, lack = soft_maximum(lost + whole / n * gained, tau)
        g[irrelevant] += whole / n * mean_shares(z[irrelevant], kappa, theta, nu)
        g[relevant] -= whole / n * mean_shares(-z[relevant], lambda_, theta, nu)
        return float(theta @ lost), tau * lack + whole / n * nu / 2 * float(theta @ squares)


class DiscountedGain(Ranking):
    """Delta(pi) = 1 - sum_p a_p gain_pi(p) over what a right ranking has, a_p >= a_p+1 >= 0."""

    @abstractmethod
    def worth(self, places: Array) -> Array:
        """a_p for places counted from 1."""

    @abstractmethod
    def gain(self, y: Array) -> Array:
        """What a document of relevance y brings, times the worth of its place."""

    def graded(self, sample: Sample) -> tuple[Indices, Array]:
        """All levels; gains over the sum that a right ranking has, 0 where none is relevant."""
        order = np.lexsort((-sample.y, sample.groups))
        place = np.arange(1.0, len(sample.y) + 1.0) - sample.starts[sample.groups]
        gain = self.gain(sample.y)
        total = np.bincount(sample.groups, weights=self.worth(place) * gain[order])
        return levels(sample), gain / np.where(total > 0, total, 1.0)[sample.groups]

    def sums(self, n: int) -> Array:
        """What the first 0, 1, ..., n places are worth."""
        return np.concatenate([[0.0], np.cumsum(self.worth(np.arange(1.0, n + 1.0)))])

    def whole(self, n: int) -> float:
        """What the first n places are worth."""
        return float(self.sums(n)[n])

    def lost(self, t: Indices, n: int, m: int) -> Array:
        """The first t places instead of the last t."""
        sums = self.sums(m)
        return np.asarray(sums[t] - (sums[m] - sums[m - t]))


class NDCG(DiscountedGain):
    """Normalised discounted cumulative gain of the first k places; k=None is all of them.

    a_p = 1 / log2(1 + p), gain 2^y - 1.
    """

    def __init__(self, k: int | None = 10):
        self.k = None if k is None else K.checked(k)

    def worth(self, places: Array) -> Array:
        """1 / log2(1 + p), 0 behind place k."""
        worth = 1.0 / np.log2(1.0 + places)
        return worth if self.k is None else np.where(places <= self.k, worth, 0.0)

    def gain(self, y: Array) -> Array:
        return np.asarray(np.exp2(y) - 1.0)

    def check(self, sample: Sample) -> None:
        """2^y can be told from other numbers."""
        if np.max(sample.y) > _LARGEST:
            raise InvalidData(
                f"y is as large as {np.max(sample.y):g}, but ndcg has gains of 2^y - 1: give "
                "relevances such as 0 .. 4"
            )
        super().check(sample)


class ERU(DiscountedGain):
    """Expected rank utility (Breese et al. 1998): a place is worth half after `half_life` - 1 more.

    a_p = 2^((1 - p) / (half_life - 1)), gain y.
    """

    def __init__(self, half_life: float = 5.0):
        self.half_life = HALF_LIFE.checked(half_life)

    def worth(self, places: Array) -> Array:
        """2^((1 - p) / (half_life - 1))."""
        return np.asarray(np.exp2((1.0 - places) / (self.half_life - 1.0)))

    def gain(self, y: Array) -> Array:
        return y


class MRR(Ranking):
    """Mean reciprocal rank: Delta(pi) = 1 - 1/r, r the first place of a document with y > 0."""

    def graded(self, sample: Sample) -> tuple[Indices, Array]:
        """Relevant or not: grades above 0 are all the same."""
        relevant = sample._replace(y=(sample.y > 0).astype(np.float64))
        return levels(relevant), relevant.y

    def whole(self, n: int) -> float:
        return 1.0

    def lost(self, t: Indices, n: int, m: int) -> Array:
        """1 - 1/r, where the first relevant row has the rank r."""
        return np.asarray(1.0 - 1.0 / np.where(t < n, t + 1, m - n + 1))
