"""H x = g for a symmetric positive definite H: Cholesky's factor, by blocks and in threads.

Column by column of blocks, H = LL' says L_ik L_kk' = H_ik - sum over j < k of L_ij L_kj'. The
blocks of a column do not wait for each other, but for the one on the diagonal; each is made by one
thread, so that the factor has the same bits whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from fenchel._system.threads import shared
from fenchel.risks.base import Array

RIDGES = (0.0, *(10.0**power for power in range(-14, 1, 2)))
_SMALL = 768  # unknowns up to which LAPACK is as fast
_WIDTH = 192  # of a block's columns
_ROWS = 256  # of a block


def solved(H: Array, g: Array, n_threads: int, ridges: Sequence[float] = RIDGES) -> Array:
    """The x with H x = g; of H, which is overwritten, the lower triangle is read.

    H is brought to a diagonal of ones, as columns may be of any size. Where they are so alike that
    round-off leaves it no factor, a little is added to that: the first of the ridges that will do.
    """
    size = 1 / np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1.0))
    H *= size
    H *= size[:, np.newaxis]
    for ridge in ridges:
        H.flat[:: len(H) + 1] = 1.0 + ridge
        try:
            L = factor(H, n_threads)
        except np.linalg.LinAlgError:
            continue
        # LAPACK reads columns after each other, in which L is the upper triangle of L'.
        x: Array = size * scipy.linalg.cho_solve((L.T, False), size * g, check_finite=False)
        return x
    return g  # H is not finite


def factor(H: Array, n_threads: int) -> Array:
    """L with H = LL', of which the lower triangle is to be read; LinAlgError if there is none."""
    if len(H) <= _SMALL:
        small: Array = scipy.linalg.cho_factor(H.T, lower=False, check_finite=False)[0]
        return small.T
    L = np.array(H, order="C")
    for first in range(0, len(L), _WIDTH):
        last = min(first + _WIDTH, len(L))
        _update(L, first, last, slice(first, last))
        L[first:last, first:last] = np.linalg.cholesky(L[first:last, first:last])
        below = [(L, first, last, slice(i, i + _ROWS)) for i in range(last, len(L), _ROWS)]
        if below:
            shared(n_threads, _finished, below)
    return L


def _update(L: Array, first: int, last: int, rows: slice) -> None:
    """What the columns before `first` take off some rows of a column of blocks."""
    L[rows, first:last] -= L[rows, :first] @ L[first:last, :first].T


def _finished(L: Array, first: int, last: int, rows: slice) -> None:
    """Some rows of a column of blocks, once its block on the diagonal is done."""
    _update(L, first, last, rows)
    corner = L[first:last, first:last]
    L[rows, first:last] = scipy.linalg.solve_triangular(
        corner, L[rows, first:last].T, lower=True, check_finite=False
    ).T
