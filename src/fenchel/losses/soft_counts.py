"""Maxima over sets of rows made soft: shares of rows in place of sets, in O(n log n) time.

A measure's worst labelling takes, of the sets of k rows, the one of the highest scores q. Over the
sets' convex hull {0 <= u <= 1, sum u = k}, and with a little of Euclid's norm taken off, the best

    max over u of  <u, q> - nu/2 <u, u>    is    u_i = clip((q_i - kappa) / nu, 0, 1)

with the kappa for which the shares u add up to k. They change slowly where q does; with nu = 0 they
are the set itself. All kappas are found from running sums over the sorted q. Where a measure is not
concave in k, the maximum over k is made soft by the entropy of a distribution over all k: its
shares are the mean of those for each k.

Shares are a mean of sets, so what they prove holds for the maximum itself: that is all that a
certificate needs, and it does not depend on nu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, xlogy

from fenchel.losses.base import Array


class SoftTangent(NamedTuple):
    """An affine function c + <g, v> that lies below L everywhere, and L_mu = c + <g, z> - lack.

    It is a mean of tangents of L, and `lack` what the prox-functions take off; L_mu <= L.
    """

    c: float
    g: Array
    lack: float


class SoftSets:
    """Sets of rows made soft: shares of rows whose scores are q, in falling order."""

    def __init__(self, q: Array, nu: float):
        self.q, self.nu = q, nu
        self._sums = prefixes(np.stack([np.ones_like(q), q, q * q]))
        self._rising = -q
        bends = np.sort(np.concatenate([q, q - nu]))
        self._bends, self._totals = bends, self.total(bends)

    def total(self, kappa: Array) -> Array:
        """How many rows are taken."""
        full, some = self._within(kappa)
        return np.asarray(full[0] + (some[1] - kappa * some[0]) / self.nu)

    def squares(self, kappa: Array) -> Array:
        """sum u^2."""
        full, some = self._within(kappa)
        rest = some[2] - 2 * kappa * some[1] + kappa * kappa * some[0]
        return np.asarray(full[0] + np.maximum(rest, 0.0) / self.nu**2)

    def worth(self, kappa: Array) -> Array:
        """<u, q>."""
        full, some = self._within(kappa)
        return np.asarray(full[1] + (some[2] - kappa * some[1]) / self.nu)

    def kappa(self, k: npt.ArrayLike) -> Array:
        """Where as many are taken: between two bends the total is straight."""
        return np.asarray(np.interp(-np.asarray(k), -self._totals, self._bends))

    def _within(self, kappa: Array) -> tuple[Array, Array]:
        """Sums of 1, q and q^2 over the rows taken whole, and over those of which a part is."""
        first = np.searchsorted(self._rising, -(kappa + self.nu), side="right")
        last = np.maximum(first, np.searchsorted(self._rising, -kappa))
        high, low = self._sums
        full = high[:, first] + low[:, first]
        some = (high[:, last] - high[:, first]) + (low[:, last] - low[:, first])
        return full, some


def mean_shares(q: Array, kappa: Array, theta: Array, nu: float) -> Array:
    """sum_k theta_k clip((q_i - kappa_k) / nu, 0, 1), by running sums over the sorted kappas."""
    order = np.argsort(kappa)
    kappa, theta = kappa[order], theta[order]
    high, low = prefixes(np.stack([theta, theta * kappa]))
    first, last = np.searchsorted(kappa, q - nu, side="right"), np.searchsorted(kappa, q)
    last = np.maximum(first, last)
    some = (high[:, last] - high[:, first]) + (low[:, last] - low[:, first])
    shares = high[0, first] + low[0, first] + (q * some[0] - some[1]) / nu
    return np.asarray(np.clip(shares, 0.0, 1.0))


def soft_maximum(values: Array, tau: float) -> tuple[Array, float]:
    """The distribution theta that maximises <theta, values> - tau lack, and the lack of entropy."""
    scaled = (values - np.max(values)) / tau
    theta = np.exp(scaled - logsumexp(scaled))
    theta /= np.sum(theta)
    return theta, max(0.0, float(np.log(len(theta)) + np.sum(xlogy(theta, theta))))


def prefixes(terms: Array) -> tuple[Array, Array]:
    """The sums of the first 0, 1, ... numbers of each row, and what each lost to round-off.

    Differences are taken of them: those of a few small numbers after many large ones must be as
    exact as sums of their own. What an addition loses is itself a number, that of Knuth's two-sum.
    """
    start = np.zeros((*terms.shape[:-1], 1))
    total = np.concatenate([start, np.cumsum(terms, axis=-1)], axis=-1)
    before, after = total[..., :-1], total[..., 1:]
    added = after - before
    lost = (before - (after - added)) + (terms - added)
    return total, np.concatenate([start, np.cumsum(lost, axis=-1)], axis=-1)
