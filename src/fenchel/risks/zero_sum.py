"""Slopes that add up to 0, as those of a cut must where there is an intercept.

R(w) = min over b of L(X w + b) lies above <a, X w> - L*(a) only if b drops out of <a, X w + b>: the
slopes a, weighted, add up to 0. Slopes that nearly do are moved there: those of the sign that
outweighs the other shrink towards 0, by one factor. A slope stays in the domain of its conjugate,
which is convex and, as every loss here is bounded from below, holds 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.tolerances import ROUND_OFF

Array = npt.NDArray[np.float64]


def signed_sums(a: Array) -> tuple[float, float]:
    """(the sum of those > 0, that of those < 0, without its sign)."""
    return float(np.maximum(a, 0.0).sum()), float(np.maximum(-a, 0.0).sum())


def is_even(up: float, down: float) -> bool:
    """The two sums are equal, but for round-off."""
    return abs(up - down) <= ROUND_OFF * (up + down)


def evened(a: Array, up: float, down: float) -> Array:
    """The slopes that add up to 0, given the sums over all, those of other shards included."""
    heavier, scale = (a > 0, down / up) if up > down else (a < 0, up / down)
    return np.where(heavier, scale * a, a)


def even(a: Array) -> Array:
    """The same of all slopes at once; themselves where they add up to 0 already."""
    sums = signed_sums(a)
    return a if is_even(*sums) else evened(a, *sums)
