"""Lower bounds from the subgradients a descent method has seen ([Yu10] section 9 calls this open).

Every subgradient a of the risk is a cut R(v) >= <a, v> + b, so the cutting-plane model of
the cuts seen so far bounds J from below, whatever found the points. A bounded number of cuts is
kept, and the model's small quadratic programme is solved every few iterations only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.lagrangian import is_piecewise_linear
from fenchel.risks.views.polishing import polished
from fenchel.solvers._cutting_planes import CuttingPlanes
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.solvers.base import State
from fenchel.solvers.bmrm import cutting_planes, has_model
from fenchel.witness import Witness

_FEW, _MANY = 30, 300  # cuts
_POLISHED = 5  # points from one dual polish to the next

Bound = tuple[float, Callable[[], Witness] | None]


class GradientBound:
    """The better of the newest tangent's bound and that of a cutting-plane model.

    The model keeps the newest `cuts` cuts and is solved after every `every`-th point. Where a cut
    is kept as dual variables, which costs a pass, only those points' cuts are taken.
    """

    def __init__(self, problem: Problem, model: CuttingPlanes | None, cuts: int, every: int):
        self.problem, self.model, self.cuts, self.every = problem, model, cuts, every
        self._since = 0
        self._met: list[Point] = []

    def after(self, point: Point) -> Bound:
        """What is proved once this point has been seen."""
        tangent = self.problem.tangent_bound(point)
        witness: Callable[[], Witness] = functools.partial(getattr, point, "witness")
        if self.model is None:
            return tangent, witness
        self._met.clear()
        self._since += 1
        due = self._since >= self.every
        if due or not self.model.cuts_cost_a_pass:
            self.model.forget(self.cuts)
            self.model.add(point)
        if not due:
            return tangent, witness
        bound, evidence = self._solve()
        return (tangent, witness) if tangent > bound else (bound, evidence)

    def meet(self, point: Point) -> None:
        """Another subgradient at the last point; where it costs a pass, it waits for `at_last`."""
        if self.model is None:
            return
        if self.model.cuts_cost_a_pass:
            self._met.append(point)
        else:
            self.model.add(point)

    def at_last(self) -> Bound:
        """What is proved by everything that was met."""
        for point in self._met:
            if self.model is not None:
                self.model.add(point)
        return self._solve()

    def _solve(self) -> Bound:
        self._since = 0
        if self.model is None or not len(self.model.b):
            return -math.inf, None
        _, bound, evidence = self.model.minimize()
        return bound, evidence

    def state(self, w: Array) -> State:
        """All that the next bounds depend on."""
        return {"w": w} if self.model is None else self.model.state(w)

    def restore(self, state: State) -> None:
        """Takes over the model."""
        if self.model is not None:
            self.model.restore(state)


class PolishedBound(GradientBound):
    """The same, and at every fifth point the bound of its dual polish."""

    def __init__(self, problem: Problem, model: CuttingPlanes, cuts: int, every: int):
        super().__init__(problem, model, cuts, every)
        self._points = 0

    def after(self, point: Point) -> Bound:
        """The best of both."""
        bound = super().after(point)
        self._points += 1
        if self._points % _POLISHED:
            return bound
        cut = polished(self.problem, point)
        if cut is None:
            return bound
        proved = self.problem.bound(cut.a, cut.b, cut.sizes)
        return (proved, cut.witness) if proved > bound[0] else bound


def few_gradients(problem: Problem) -> GradientBound:
    """For a smooth risk, whose tangents prove much in the end: the last gradients."""
    # With more columns than rows gradients hardly repeat, and the cuts would take more memory
    # than the data.
    tall = problem.risk.n_duals >= problem.risk.n_parameters and problem.strength > 0
    has_dual = problem.regularizer.has("conjugate_argmax")
    model = QuadraticPlanes(problem, 2 * _FEW) if tall and has_dual else None
    return GradientBound(problem, model, _FEW, every=1)


def many_subgradients(problem: Problem) -> GradientBound:
    """For a risk with kinks, where tangents prove little: as many cuts as bring something."""
    if problem.strength == 0 or not has_model(problem):
        return GradientBound(problem, None, _MANY, every=5)
    model, regularizer = cutting_planes(problem, 2 * _MANY), problem.regularizer
    diagonal = regularizer.quadratic and regularizer.has("shrinkage")
    polishes = is_piecewise_linear(problem.risk) and diagonal
    kind = PolishedBound if polishes else GradientBound
    return kind(problem, model, _MANY, every=5)
