"""Lower bounds from gradients under L1: the scaled dual point.

Omega* is 0 where |a_j| <= lambda c_j for all j and inf elsewhere, so the tangent at w proves
nothing until its gradient a = X'alpha is scaled into that box. With s the scale,

    min J >= D(s) = -sum_i l*(s alpha_i)      (or s b, where the loss has no conjugate and R >= 0).

D is concave with D(1) = b and D'(1) = -<a, w>, hence D(s) <= b + (1 - s) <a, w>. That costs
nothing, and a conjugate for each row costs as much as a pass or two: D is computed only where it
may well shrink the gap, and then not again for some points, as the promise is a rosy one far from
the minimum. The elastic net's conjugate is finite: its tangents need no scaling.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from fenchel.risks.base import Point, Problem
from fenchel.witness import Witness, mixture

_WORTH = 0.6  # the gap that a bound must promise to be computed, relative to the best

Bound = tuple[float, Callable[[], Witness] | None]


class ScaledDual:
    """The lower bound that the gradient at a point proves, at one of `every` points at most."""

    def __init__(self, problem: Problem, every: int):
        self.problem, self.every = problem, every
        self.best, self._rest = -float("inf"), 0

    def after(self, point: Point, J: float) -> Bound:
        """What the gradient at this point proves, if that is worth computing."""
        problem, a = self.problem, point.subgradient
        if problem.regularizer.strong_convexity > 0:
            return self.at(point)
        scale = problem.regularizer.dual_scale(-a / problem.strength)
        promised = point.constant + (1 - scale) * float(a @ point.w)
        self._rest -= 1
        if self._rest >= 0 or J - promised > _WORTH * (J - self.best):
            return -float("inf"), None
        self._rest = self.every - 1
        return self.at(point)

    def at(self, point: Point) -> Bound:
        """What the gradient at this point proves."""
        problem, a = self.problem, point.subgradient
        if problem.regularizer.strong_convexity > 0:
            return problem.tangent_bound(point), functools.partial(getattr, point, "witness")
        scale = problem.regularizer.dual_scale(-a / problem.strength)
        bound = problem.bound(scale * a, point.shrunk(scale), point.sizes)
        self.best = max(self.best, bound)
        return bound, lambda: mixture([point.witness], [scale])


def obstacle(problem: Problem) -> str | None:
    """Why gradients cannot certify this problem, or None."""
    risk = problem.risk
    if len(problem.regularizer.free(risk.n_parameters)):
        return "it cannot certify a problem with unpenalised coordinates (weights of 0)"
    if problem.regularizer.strong_convexity == 0 and not (
        risk.facts.has_duals or risk.facts.nonnegative
    ):
        return (
            "under L1 it needs a loss with a conjugate, or one known to be >= 0 "
            "(set `nonnegative = True` on the loss if it is)"
        )
    return None
