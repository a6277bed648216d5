"""Losses of candidate sets: of each list the right ones should come first ([Andrew07]).

A row is a candidate, `groups` says of which list, and y how good it is: the best of a list, which
must have y > 0, are its gold candidates, whose mean score is g. With s the scores of a list,

    rerank_likelihood   log sum_k exp(s_k) - g          ([Andrew07] section 4, of one gold)
    rerank_margin       max_k (best y - y_k) + s_k - g

Both are >= 0 and convex; the log of a sum over gold candidates in place of g would not be. The mean
over lists is weighted by sample weights, which are the same for all candidates of a list. Plain
NumPy: sums over lists are `reduceat`, which leaves a kernel nothing to gain but memory.
"""

from __future__ import annotations

import numpy as np

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.multivariate import MultivariateLoss, Sample, Tangent, group_weights


class Reranking(MultivariateLoss):
    """A mean over lists of candidates."""

    labels = Labels.COUNT
    grouped = weighted = True
    nonnegative = True

    def check(self, sample: Sample) -> None:
        """Every list needs a gold candidate."""
        best = np.maximum.reduceat(sample.y, sample.starts[:-1])
        if not (best > 0).all():
            i = int(np.argmin(best > 0))
            raise InvalidData(
                f"list {i}, which begins in row {sample.starts[i]}, has no gold candidate: none "
                "with y > 0",
                row=int(sample.starts[i]),
            )
        if sample.s is not None:
            group_weights(sample.s, sample.starts)

    def mass(self, sample: Sample) -> float:
        """The sum of the lists' weights."""
        return float(np.sum(sample.weights[sample.starts[:-1]]))

    def shares(self, sample: Sample) -> Array:
        """The weight of each list, of all; 0 where all are."""
        s = sample.weights[sample.starts[:-1]]
        return s / (self.mass(sample) or 1.0)


class RerankLikelihood(Reranking):
    """The log-likelihood of the gold candidate: log sum_k exp(s_k) - g."""

    differentiable = True

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """Probabilities less the gold candidates' shares; the constant is the entropy."""
        first, lengths = sample.starts[:-1], np.diff(sample.starts)
        z = z - np.repeat(np.maximum.reduceat(z, first), lengths)
        e = np.exp(z)
        total = np.repeat(np.add.reduceat(e, first), lengths)
        p, share = e / total, np.repeat(self.shares(sample), lengths)
        entropy = float(np.sum(share * p * (np.log(total) - z)))
        # Slopes of a list add up to 0, or the cut would follow a shift of all its scores. Where
        # the gold's p is nearly 1, p - 1 has no digits: the others' sum has them all.
        gold = _gold(sample)
        excess = np.add.reduceat(p - gold, first)
        return Tangent(entropy, share * (p - gold - gold * np.repeat(excess, lengths)))


class RerankMargin(Reranking):
    """The worst candidate's cost and margin: max_k (best y - y_k) + s_k - g."""

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """The worst candidate, of equal ones the first, less the gold candidates' shares."""
        first, lengths = sample.starts[:-1], np.diff(sample.starts)
        cost = np.repeat(np.maximum.reduceat(sample.y, first), lengths) - sample.y
        most = np.repeat(np.maximum.reduceat(z + cost, first), lengths)
        worst = np.flatnonzero(z + cost == most)
        worst = worst[np.searchsorted(worst, first)]
        g = -_gold(sample)
        g[worst] += 1.0
        shares = self.shares(sample)
        return Tangent(float(shares @ cost[worst]), np.repeat(shares, lengths) * g)


def _gold(sample: Sample) -> Array:
    """Equal shares for the best candidates of each list."""
    first, lengths = sample.starts[:-1], np.diff(sample.starts)
    best = np.repeat(np.maximum.reduceat(sample.y, first), lengths)
    gold: Array = (sample.y == best).astype(np.float64)
    gold /= np.repeat(np.add.reduceat(gold, first), lengths)
    return gold
