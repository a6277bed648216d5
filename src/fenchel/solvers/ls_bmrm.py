"""The bundle method with a line search ([Yu10] section 8.5; OCAS, Franc and Sonnenburg 2008).

    w_t  = argmin over w of the cutting-plane model, as in BMRM
    w^b  = argmin of J on the ray from the last w^b through w_t, exactly
    the next cut at  w^c = w^b + mu (w_t - w^b)

J(w^b) never rises. Both points lie on one ray, so an iteration costs two passes: X p for the ray
and X'a for the cut.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from fenchel.risks.base import Array, Point, Problem
from fenchel.settings import between, whole
from fenchel.solvers._cutting_planes import CuttingPlanes, InnerFailure
from fenchel.solvers._line_search import Along, exact, search
from fenchel.solvers._linear_planes import LinearPlanes
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.bmrm import BMRM, cutting_planes

_FAR = 1e-6  # of their terms, by which a cut and a risk differ not by round-off
_APART = 0.3  # mu where there are unpenalised coordinates, at the least


class LineSearchBMRM(Solver):
    """Line-search bundle method: any convex risk; the search is exact for piecewise quadratic J.

    `mu` is how far to go from the best point to the model's minimiser for the next cut (OCAS has
    0.1; a9a, w8a and cpusmall take fewer iterations with 0.05). `max_cuts` is that of `bmrm`.
    """

    name = "ls-bmrm"
    takes_kernels = True
    needs = Needs(regularizer=("finite", "conjugate"))

    def __init__(self, mu: float = 0.05, max_cuts: int = 1000):
        self.mu = between("mu", mu, 0, 1)
        self.max_cuts = whole("max_cuts", max_cuts, least=4)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """OCAS: the next cut is near the best point on the way to the model's minimiser."""
        best = problem.risk.at(w)
        model = cutting_planes(problem, self.max_cuts)
        if state is None:
            model.add(best)
        else:
            model.restore(state)
        yield Step(best, problem.objective(best))
        yield from self.steps(problem, best, model)

    def steps(self, problem: Problem, best: Point, model: CuttingPlanes) -> Iterator[Step]:
        """Steps from the best point, with a model that has its cut."""
        # Slopes in a free coordinate cancel only between cuts that lie well apart.
        least = max(self.mu, _APART) if len(model.free) else self.mu
        mu, J = least, problem.objective(best)
        while True:
            try:
                w, lower_bound, witness = model.minimize()  # w_t
            except InnerFailure:
                return
            along = Along(problem, best, w - best.w)
            eta = _step(along, J)
            if math.isinf(eta):
                if not problem.risk.facts.nonnegative:  # else squares of p were lost to underflow
                    yield Step(best, -math.inf)
                return
            problem.effort.step = eta
            mu = least if eta > 0 else min(2 * mu, 1.0)  # no descent: look further away
            cut = along.at(eta + mu * (1 - eta))  # w^c
            if eta == 0 and problem.risk.facts.user_written and _refutes(cut, best):
                return  # no descent where slopes promise some: values do not follow them
            # The better of both: BMRM's proof of convergence then holds whatever was found.
            candidates = [(problem.objective(point), point) for point in (along.at(eta), cut)]
            J, best = min([(J, best), *candidates], key=lambda candidate: candidate[0])  # w^b
            model.add(cut)
            yield Step(best, J, lower_bound, witness, functools.partial(model.state, best.w))

    def obstacle(self, problem: Problem) -> str | None:
        """What BMRM says; and under an elastic net its cuts lie too close for slopes to cancel."""
        free = len(problem.regularizer.free(problem.risk.n_parameters))
        if free and not (problem.regularizer.quadratic or LinearPlanes.suit(problem)):
            return "it cannot certify an elastic net with unpenalised coordinates (weights of 0)"
        return super().obstacle(problem) or BMRM().obstacle(problem)


def _refutes(cut: Point, best: Point) -> bool:
    """Whether the cut at one point is above the risk at another, beyond round-off."""
    tangent, value = float(cut.subgradient @ best.w) + cut.constant, best.value
    return tangent - value > _FAR * (abs(tangent) + abs(value) + cut.sizes[1])


def _step(along: Along, J: float) -> float:
    """The best step; with an intercept the best on a line above J, which costs far less.

    Where that line does not descend the step is 0. To search J itself would cost an intercept at
    every trial, and saves no cut: a warm start on breast cancer took six times as long.
    """
    if along.is_piecewise and along.problem.risk.facts.has_intercept:
        return exact(along, 1.0)
    return search(along, J)
