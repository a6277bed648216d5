"""Measures of a labelling, by the worst labelling (Joachims, ICML 2005; [Zhang11] eq. 43).

    L(z) = max over y' in {-1, 1}^n of  Delta(y', y) + (1/n) <z, y'> - (1/n) <z, right>

Letters: a, b and c count the true, lost and false positives of y'; Delta depends on them alone, so
the worst y' loses the lowest positives and finds the highest negatives. [Zhang11] prints the score
where Delta is meant.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from fenchel.errors import InvalidData, Setting
from fenchel.losses.base import Array, Labels
from fenchel.losses.multivariate import (
    MultivariateLoss,
    Sample,
    Tangent,
    both_classes,
    descending,
)
from fenchel.losses.soft_counts import SoftSets, SoftTangent, mean_shares, soft_maximum
from fenchel.losses.table import BETA, K
from fenchel.settings import positive

Counts = npt.NDArray[np.int_]


class FBeta(MultivariateLoss):
    """Delta = 1 - F_beta = 1 - (1 + beta^2) a / (beta^2 (a + b) + a + c); `right` is y."""

    labels = Labels.BINARY
    nonnegative = True
    intercept = True
    soft = True

    def __init__(self, beta: float = 1.0):
        self.beta = BETA.checked(beta)

    def check(self, sample: Sample) -> None:
        """Both classes are there."""
        both_classes(sample)

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """For each b the best c, where the increments of a concave function end to be > 0."""
        positives, negatives = both_classes(sample)
        lost = positives[np.argsort(z[positives], kind="stable")]
        found = negatives[descending(z[negatives])]
        step, b = 2.0 / len(z), np.arange(len(lost) + 1)
        c = self._count(b, step * z[found], len(lost))
        gain = np.concatenate([[0.0], np.cumsum(z[found])])
        loss = np.concatenate([[0.0], np.cumsum(z[lost])])
        delta = self._delta(b, c, len(lost))
        best = int(np.argmax(delta + step * (gain[c] - loss)))
        g = np.zeros_like(z)
        g[lost[:best]] = -step
        g[found[: c[best]]] = step
        return Tangent(float(delta[best]), g)

    def soft_tangent(self, z: Array, sample: Sample, mu: float) -> SoftTangent:
        """Shares of lost and found rows for each b, and a soft maximum over b (soft_counts.py).

        For each b, Delta is concave in c: of shares that add up to C its mean is at most the line
        between the whole numbers around C, and there are labellings, of so many rows, with which it
        is that.
        """
        positives, negatives = both_classes(sample)
        n, n_positive = len(z), len(positives)
        step, nu, tau = soft_widths(n, n_positive, mu)
        lost, found = (SoftSets(q[descending(q)], nu) for q in (-z[positives], z[negatives]))
        b = np.arange(n_positive + 1)
        kappa = lost.kappa(b)
        C, lambda_ = self._soft_count(b, found, step, n_positive)
        low = np.minimum(np.floor(C), len(negatives) - 1).astype(np.int_)
        delta = self._delta(b, low, n_positive)
        delta += (C - low) * (self._delta(b, low + 1, n_positive) - delta)
        squares = lost.squares(kappa) + found.squares(lambda_)
        gained = lost.worth(kappa) + found.worth(lambda_) - nu / 2 * squares
        theta, lack = soft_maximum(delta + step * gained, tau)
        g = np.empty_like(z)
        g[positives] = -step * mean_shares(-z[positives], kappa, theta, nu)
        g[negatives] = step * mean_shares(z[negatives], lambda_, theta, nu)
        lack = tau * lack + step * nu / 2 * float(theta @ squares)
        return SoftTangent(float(theta @ delta), g, lack)

    def _soft_count(
        self, b: Counts, found: SoftSets, step: float, n_positive: int
    ) -> tuple[Array, Array]:
        """For each b the best C, and the threshold of shares that add up to it.

        One more row brings rise(c) to Delta between c and c + 1, so that rows with step z > -rise
        are worth it: the first c at which they are no more than c + 1. If they are fewer than c,
        then C = c, as between c - 1 and c they are more.
        """
        low, high = np.zeros_like(b), np.full_like(b, len(found.q) - 1)
        while np.any(low < high):
            c = (low + high) // 2
            fits = found.total(-self._rise(b, c, n_positive) / step) <= c + 1
            low, high = np.where(fits, low, np.minimum(c + 1, high)), np.where(fits, c, high)
        lambda_ = -self._rise(b, low, n_positive) / step
        C = np.clip(found.total(lambda_), 0.0, low + 1.0)
        return np.maximum(C, low), np.where(C >= low, lambda_, found.kappa(low))

    def _rise(self, b: Counts, c: Counts, n_positive: int) -> Array:
        """Delta(b, c + 1) - Delta(b, c)."""
        a, square = n_positive - b, self.beta**2
        D = square * n_positive + a + c
        return np.asarray((1.0 + square) * a / (D * (D + 1.0)))

    def smoothed(self, mu: float) -> SmoothedFBeta:
        """The same with a soft maximum: differentiable, at most mu n log 2 lower, never higher."""
        return SmoothedFBeta(self.beta, mu)

    def _delta(self, b: Counts, c: Counts, n_positive: int) -> Array:
        a, square = n_positive - b, self.beta**2
        return np.asarray(1.0 - (1.0 + square) * a / (square * n_positive + a + c))

    def _count(self, b: Counts, falling: Array, n_positive: int) -> Counts:
        """By bisection for all b at once."""
        a, square = n_positive - b, self.beta**2
        low, high = np.zeros_like(b), np.full_like(b, len(falling))
        while np.any(low < high):
            c = (low + high) // 2
            D = square * n_positive + a + c
            inside = falling[np.minimum(c, len(falling) - 1)]
            rises = (low < high) & ((1.0 + square) * a / (D * (D + 1.0)) + inside > 0)
            low, high = np.where(rises, c + 1, low), np.where(rises, high, c)
        return low


class SmoothedFBeta(MultivariateLoss):
    """L(z) = mu log mean over y' of exp((Delta + (1/n) <z, y' - y>) / mu), Delta that of FBeta.

    [Zhang11] section 5.4, in O(n^2) time: a row that y' takes for wrong adds the factor
    exp(-2 y_i z_i / (n mu)), and the sums over b and c wrong rows are symmetric polynomials.
    """

    labels = Labels.BINARY
    differentiable = True
    intercept = True

    def __init__(self, beta: float = 1.0, mu: float = 1e-3):
        self.beta = BETA.checked(beta)
        self.mu = positive("mu", mu)

    def check(self, sample: Sample) -> None:
        """Both classes are there."""
        both_classes(sample)

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """The chance of each row to be wrong, by [Zhang11] algorithms 5 and 6 in logarithms."""
        positives, negatives = both_classes(sample)
        y, n, n_positive = np.where(sample.y > 0, 1.0, -1.0), len(z), len(positives)
        w = -2.0 * y * z / (n * self.mu)
        lost, found = _symmetric(w[positives]), _symmetric(w[negatives])
        b, c = np.ogrid[: n_positive + 1, : n - n_positive + 1]
        a, square = n_positive - b, self.beta**2
        delta = 1.0 - (1.0 + square) * a / (square * n_positive + a + c)
        of_lost = logsumexp(delta / self.mu + found[-1], axis=1)
        of_found = logsumexp(delta / self.mu + lost[-1][:, None], axis=0)
        log_sum = float(logsumexp(of_lost + lost[-1]))
        chance = np.empty(n)
        chance[positives] = np.exp(_marginals(w[positives], lost, of_lost) - log_sum)
        chance[negatives] = np.exp(_marginals(w[negatives], found, of_found) - log_sum)
        g = -2.0 / n * y * chance
        return Tangent(self.mu * (log_sum - n * np.log(2.0)) - float(g @ z), g)


def soft_widths(n: int, n_positive: int, mu: float) -> tuple[float, float, float]:
    """(step, nu, tau): of the scores in L, and of Euclid's norm and the entropy over b in L_mu.

    Each takes off mu / 2 at most, if there are no more wrong rows than twice the positives.
    """
    return 2.0 / n, mu * n / (4 * n_positive), mu / (2 * np.log(n_positive + 1.0))


def _symmetric(w: Array) -> list[Array]:
    """The logarithms of the symmetric polynomials of exp(w_1) .. exp(w_k), for each k."""
    rows = [np.zeros(1)]
    for each in w:
        without, with_it = np.append(rows[-1], -np.inf), np.append(-np.inf, rows[-1] + each)
        rows.append(np.logaddexp(without, with_it))
    return rows


def _marginals(w: Array, rows: list[Array], xi: Array) -> Array:
    """log of sum_v exp(xi_v) (the part of the v-th polynomial that has exp(w_k)), for each k."""
    sums = np.empty_like(w)
    for k in range(len(w) - 1, -1, -1):
        sums[k] = w[k] + logsumexp(rows[k] + xi[1:])
        xi = np.logaddexp(xi[:-1], w[k] + xi[1:])
    return sums


class TopK(MultivariateLoss):
    """k rows are taken for positive: Delta = 1 - a / whole.

    `right` is the mean of the labellings that make the fewest mistakes. Joachims subtracts y, which
    is the same where k is the number of positives; elsewhere his loss falls without end as all
    scores are shifted, and is no bound of Delta.
    """

    labels = Labels.BINARY
    nonnegative = True
    soft = True

    @abstractmethod
    def taken(self, n_positive: int) -> tuple[int, int]:
        """(k, whole): how many rows are taken, and of how many right ones Delta takes the share."""

    def check(self, sample: Sample) -> None:
        """Both classes are there, and k rows."""
        k, _ = self.taken(len(both_classes(sample)[0]))
        if k > len(sample.y):
            raise InvalidData(Setting("k"), f" is {k}, but there are {len(sample.y)} rows only")

    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """The worst number a of true positives among the k."""
        positives, negatives = both_classes(sample)
        k, whole = self.taken(len(positives))
        best, worst = positives[descending(z[positives])], negatives[descending(z[negatives])]
        counts = np.arange(max(0, k - len(worst)), min(k, len(best)) + 1)
        right = np.concatenate([[0.0], np.cumsum(z[best])])
        wrong = np.concatenate([[0.0], np.cumsum(z[worst])])
        step = 2.0 / len(z)
        values = 1.0 - counts / whole + step * (right[counts] + wrong[k - counts])
        a = int(counts[np.argmax(values)])
        shares = min(1.0, k / len(best)), max(0, k - len(best)) / len(worst)
        g = -step * np.where(sample.y > 0, *shares)
        g[best[:a]] += step
        g[worst[: k - a]] += step
        return Tangent(1.0 - a / whole, g)

    def soft_tangent(self, z: Array, sample: Sample, mu: float) -> SoftTangent:
        """Delta falls by 1 / whole with each positive taken: shares of rows by one threshold."""
        q, nu, k = self.soft_scores(z, sample, mu)
        kappa = SoftSets(q[descending(q)], nu).kappa(k)
        return self.soft_cut(np.clip((q - kappa) / nu, 0.0, 1.0), sample, nu)

    def soft_scores(self, z: Array, sample: Sample, mu: float) -> tuple[Array, float, int]:
        """(q, nu, k): the shares u are argmax of <u, q> - nu/2 <u, u>, 0 <= u <= 1, sum u = k."""
        positive, n = sample.y > 0, len(z)
        k, whole = self.taken(int(np.sum(positive)))
        return z - positive * (n / (2.0 * whole)), mu * n / k, k

    def soft_cut(self, u: Array, sample: Sample, nu: float) -> SoftTangent:
        """What shares that add up to k prove."""
        positive, n = sample.y > 0, len(u)
        n_positive, step = int(np.sum(positive)), 2.0 / n
        k, whole = self.taken(n_positive)
        shares = min(1.0, k / n_positive), max(0, k - n_positive) / (n - n_positive)
        g = step * (u - np.where(positive, *shares))
        c = 1.0 - float(np.sum(u[positive])) / whole
        return SoftTangent(c, g, step * nu / 2 * float(u @ u))


class PrecisionAtK(TopK):
    """Delta = 1 - a/k for the k highest scores."""

    def __init__(self, k: int = 10):
        self.k = K.checked(k)

    def taken(self, n_positive: int) -> tuple[int, int]:
        return self.k, self.k


class RecallAtK(TopK):
    """Delta = 1 - a/(a + b) for the k highest scores."""

    def __init__(self, k: int = 10):
        self.k = K.checked(k)

    def taken(self, n_positive: int) -> tuple[int, int]:
        return self.k, n_positive


class PRBEP(TopK):
    """The precision/recall break-even point: as many rows are taken as there are positives."""

    def taken(self, n_positive: int) -> tuple[int, int]:
        return n_positive, n_positive
