"""Columns that are combinations of others: which they are, and whether they are so exactly.

Which columns to keep is found from H = A'DA, by a Cholesky factor that leaves out those of which
next to nothing is left beside the columns before them. That may be round-off, or not. A column is a
combination of others for certain if one with short coefficients, multiples of 2^-16, gives it in
all rows, in arithmetic that rounds nothing: of a column and its copy, or of numbers that are all
multiples of one power of 2 and not too large, such as the 0 and 1 of categories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular

from fenchel.data.shards import Shard
from fenchel.errors import Phrase, Setting
from fenchel.verification import products

if TYPE_CHECKING:
    from fenchel.verification.row_data import RowEvidence

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MOST_COLUMNS = 3000  # of which a matrix of all pairs is made
_PIVOT = 1e-11  # of a column's square: so much is left of it beside others, if it depends on them
_FINE = 2.0**16  # parts of 1 that coefficients are multiples of
_LARGEST = 2.0**52  # up to which all whole numbers, and their sums, are exact


def independent(H: Array, intercept: bool) -> tuple[Indices, Indices]:
    """(columns that are independent, the others) of a matrix of products, the intercept's last.

    An intercept comes first; of columns that depend on each other the earlier ones are taken.
    """
    n = len(H) if intercept else len(H) - 1
    size = np.sqrt(np.diag(H)[:n])
    there = np.flatnonzero((size > 0) & np.isfinite(size))
    if intercept:
        there = np.roll(there, 1)
    scaled = H[np.ix_(there, there)] / size[there] / size[there, np.newaxis]
    found = np.sort(there[_in_turn(scaled)])
    return found, np.setdiff1d(np.arange(n), found)


def _in_turn(scaled: Array) -> Indices:
    """The columns of which something is left beside those before them; the diagonal is of ones."""
    m = len(scaled)
    if not m or lapack.dpstrf(scaled, tol=_PIVOT, lower=1)[2] == m:
        return np.arange(m)
    taken: list[int] = []
    L = np.zeros((m, m))  # the factor of those taken
    for j in range(m):
        k = len(taken)
        row = solve_triangular(L[:k, :k], scaled[taken, j], lower=True) if k else np.empty(0)
        left = 1.0 - float(row @ row)
        if left > _PIVOT:
            L[k, :k], L[k, k] = row, np.sqrt(left)
            taken.append(j)
    return np.array(taken, dtype=np.intp)


def combinations(H: Array, chosen: Indices, rest: Indices) -> Array:
    """The coefficients, in a column for each of the rest, that come nearest to it."""
    size = np.sqrt(np.diag(H))
    size[size == 0] = 1.0
    scaled = H / size / size[:, np.newaxis]
    factor = cho_factor(scaled[np.ix_(chosen, chosen)], lower=True)
    found = cho_solve(factor, scaled[np.ix_(chosen, rest)])
    return np.asarray(found / size[chosen, np.newaxis] * size[rest])


def all_combinations(data: RowEvidence, H: Array, chosen: Indices, rest: Indices) -> bool:
    """Whether each of the rest is a combination of the chosen for certain."""
    if not len(rest):
        return True
    C = np.zeros((len(H), len(rest)))
    C[chosen] = np.round(combinations(H, chosen, rest) * _FINE) / _FINE
    C[rest, np.arange(len(rest))] = -1.0
    return not np.any(products.by_rows(data.engine, leaves, C))


def nearly_dependent(data: RowEvidence) -> Phrase | None:
    """What to do about columns that are combinations of others up to round-off, if there are."""
    if data.K is not None or data.n_columns >= MOST_COLUMNS:
        return None
    H = products.by_columns(data.engine, products.gram, data.share)
    chosen, rest = independent(H, data.has_intercept)
    if not len(rest) or not len(chosen) or all_combinations(data, H, chosen, rest):
        return None
    return Phrase(
        f"Column {rest[0]} of X (counted from 0) is a combination of others up to round-off, so "
        "that the minimum may be anywhere: leave it out, or use ",
        Setting("strength"),
        " > 0",
    )


def leaves(shard: Shard, C: Array) -> Array:
    """0 where [X 1] C = 0 in arithmetic that rounds nothing, else 1: one number for all rows."""
    ok = True
    for _, A in products.chunks_with_ones(shard, products.GRAM_ROWS):
        for k in range(C.shape[1]):
            used = np.flatnonzero(C[:, k])
            ok = ok and _is_zero(A[:, used], C[used, k])
    return np.array([0.0 if ok else 1.0])


def _is_zero(A: Array, c: Array) -> bool:
    """A c = 0: of a multiple of one column, or in whole numbers."""
    if np.any(A @ c):
        return False
    if len(c) <= 2 and np.all(np.log2(np.abs(c)) % 1 == 0):
        return True  # products with powers of 2, and differences that are 0, are exact
    for unit in (1.0, 2.0**-10, 2.0**-20):
        whole = A / unit
        if np.all(whole == np.round(whole)):
            largest = np.max(np.abs(whole), axis=0, initial=0.0)
            return bool(largest @ np.abs(c * _FINE) < _LARGEST)
    return False
