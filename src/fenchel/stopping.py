"""When a run has come to its end: what gap is small enough, and what can be no smaller.

A run converges where upper - lower <= max(gap * |upper|, atol). The first is what most people mean
by an accuracy; where min J is 0, or may be, it asks for the impossible, and `atol` is for that.

Nobody need give one for a J that is 0 as far as floating-point numbers can tell. J is a sum of
terms, strength * Omega(w) and those behind R(w), which are known to `ROUND_OFF` of their magnitude;
so a J below that much of them, with a lower bound as near, is 0. At w = 0 these terms may all be 0,
as those of a nu loss are. The lower bound there is

    b - strength * Omega*(-a / strength) >= b - |a|^2 / (2 strength m),

with m the regulariser's strong convexity and a = sum_i alpha_i x_i, which is 0 where w = 0 is best:
a mixture of cuts gives it to `ZERO_SUM` of its terms, and more is not known of the bound.

This is a last resort, for a run whose bounds do not move any more: a relative gap that can be
reached is always gone for, however small J is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fenchel.result import Record, relative_gap
from fenchel.risks.base import Point, Problem
from fenchel.solvers import Solver
from fenchel.tolerances import ROUND_OFF, ZERO_SUM

# Iterations for each unpenalised coordinate that neither bound need move: a cutting-plane model is
# unbounded until it has a cut or more for each of them (letter's 26 intercepts: 60).
_PATIENCE_PER_FREE = 4
# Of the gap, or of J where a bound is still far below it: what is closed by so little in all a
# solver's patience will never be closed.
_CREEPING = 1e-9


class Tolerance(NamedTuple):
    """How far apart the bounds of a run that has converged may be."""

    gap: float  # relative to the upper one
    atol: float = 0.0

    def met(self, upper: float, lower: float) -> bool:
        """Whether bounds are close enough."""
        return relative_gap(upper, lower) <= self.gap or upper - lower <= self.atol


def vanishes(problem: Problem, point: Point, lower_bound: float) -> bool:
    """Whether J, least at this point as far as is known, is 0 up to round-off, and its bound is.

    Owners of rows who answer no more make J infinite, and its round-off too: that is no 0.
    """
    J, floor = problem.objective(point), _floor(problem, point)
    return math.isfinite(floor) and abs(J) <= floor and J - lower_bound <= floor


def _floor(problem: Problem, point: Point) -> float:
    """What of J is round-off, as above."""
    regularizer, (slopes, terms) = problem.regularizer, point.sizes
    known = ROUND_OFF * (problem.strength * abs(regularizer.value(point.w)) + terms)
    convexity = problem.strength * regularizer.strong_convexity
    if point.w.any() or not convexity > 0:
        return known
    pull = ZERO_SUM * slopes
    return known + pull * pull / (2 * convexity)  # infinite where slopes are: ** 2 would raise


def patience(method: Solver, problem: Problem) -> int:
    """How many iterations neither bound need move."""
    n_free = len(problem.regularizer.free(problem.risk.n_parameters))
    return method.patience + _PATIENCE_PER_FREE * n_free


def stalled(history: Sequence[Record], patience: int) -> bool:
    """Whether neither bound has moved in so many iterations, beyond round-off or hope."""
    if len(history) <= patience:
        return False
    then, now = history[-1 - patience], history[-1]
    moved = then.objective - now.objective
    if now.lower_bound > then.lower_bound:
        moved += now.lower_bound - then.lower_bound
    gap, scale = now.objective - now.lower_bound, abs(now.objective)
    hopeless = _CREEPING * min(gap, scale) if math.isfinite(gap) else 0.0
    return not moved > max(ROUND_OFF * scale, hopeless)
