"""Covariances of estimates that minimise sum_i s_i l(<a_i, theta>, y_i), from the data around them.

With J = sum_i s_i l'' a_i a_i' and I its expectation, a model that is true has Cov = phi I^-1. One
that is not has, near its best parameters, the sandwich J^-1 M J^-1 with M = sum_i (s_i l')^2 a_i
a_i' (Huber 1967, White 1980): HC0, or with the factor n / (n - m) HC1. All three are weighted sums
of products of rows.

Columns that depend on others are left out, as R does: the rest then has estimates of its own, which
predict the same. What is left of the gradient says how far the parameters are from the minimiser.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from fenchel.data.shards import Shard
from fenchel.verification.dependence import combinations, independent
from fenchel.verification.products import chunks_with_ones

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_CHUNK = 1024  # rows at a time


class Design(NamedTuple):
    """The rows, with a column of ones at the end where there is an intercept."""

    shards: Sequence[Shard]
    intercept: bool

    def scores(self, theta: Array) -> Array:
        """A theta."""
        return np.concatenate([A @ theta for _, A in self._chunks()])

    def adjoint(self, a: Array) -> Array:
        """A'a."""
        return np.asarray(sum(A.T @ a[rows] for rows, A in self._chunks()))

    def gram(self, h: Array) -> Array:
        """A' diag(h) A."""
        return np.asarray(sum(A.T @ (h[rows, np.newaxis] * A) for rows, A in self._chunks()))

    def _chunks(self) -> Iterator[tuple[slice, Array]]:
        first = 0
        for shard in self.shards:
            for rows, A in chunks_with_ones(shard, _CHUNK):
                part = slice(first + rows.start, first + rows.stop)
                yield part, A if self.intercept else A[:, :-1]
            first += shard.rows.n_rows


class Estimates(NamedTuple):
    """Parameters without those that depend on others, which are nan, and their covariance."""

    theta: Array
    kept: Indices
    inverse: Array  # of the information of the kept ones
    distance: float  # of the minimiser, in standard errors, but for the dispersion


def estimated(design: Design, theta: Array, h: Array, a: Array) -> Estimates:
    """The estimates for information weights h and slopes a, both with the rows' weights."""
    H = design.gram(h)
    bordered = H if design.intercept else np.pad(H, (0, 1))
    kept, rest = independent(bordered, design.intercept)
    found = np.full(len(theta), np.nan)
    found[kept] = theta[kept]
    if len(rest):
        found[kept] += combinations(bordered, kept, rest) @ theta[rest]
    covariance = inverse(H[np.ix_(kept, kept)])
    g = design.adjoint(a)[kept]
    return Estimates(found, kept, covariance, math.sqrt(max(float(g @ covariance @ g), 0.0)))


def sandwich(design: Design, kept: Indices, curvature: Array, squares: Array) -> Array:
    """J^-1 M J^-1 for the kept columns, the weights of J and of M given."""
    part = np.ix_(kept, kept)
    bread = inverse(design.gram(curvature)[part])
    return np.asarray(bread @ design.gram(squares)[part] @ bread)


def inverse(H: Array) -> Array:
    """H^-1, H brought to a diagonal of ones, as columns may be of any size."""
    size = 1 / np.sqrt(np.diag(H))
    scaled = H * size * size[:, np.newaxis]
    found = cho_solve(cho_factor(scaled, lower=True), np.eye(len(H)))
    return np.asarray((found + found.T) / 2 * size * size[:, np.newaxis])
