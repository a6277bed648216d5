"""Steps where nothing is penalised, with a bound once Newton's decrement is small.

For a step p of Newton's method -<grad R, p> is the square of the decrement, and min R about half of
it below R(w). It is a claim; verification/curvature.py proves it, or not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from fenchel.risks.base import Array, Point, State
from fenchel.solvers.base import Step

_HALF = 0.51  # of the square: a half, and what a proof may lose of curvature on the way
_PROVABLE = 1e-16  # of J: a square that few rows are too far out for


def claimed(point: Point, J: float, p: Array, kept: Callable[[], State]) -> Step:
    """A step at strength 0; with a bound where the decrement is so small that a proof is likely."""
    squared = max(-float(point.subgradient @ p), 0.0)
    if squared > _PROVABLE * abs(J):
        return Step(point, J, state=kept)
    witness = functools.partial(getattr, point, "witness")
    return Step(point, J, J - _HALF * squared, witness, kept)
