"""Subgradient quasi-Newton methods for nonsmooth risks (000 algorithm 1).

At a kink a quasi-Newton direction need not descend; algorithm 2 (_direction.py) finds one that
does, and the line search may then be exact (algorithm 3 and 5, _line_search.py): two passes an
iteration, X p for the ray and X'a for the new subgradient.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from fenchel.naming import positive, whole
from fenchel.protocols import Array, Problem
from fenchel.regularizers import L2
from fenchel.solvers._direction import descent_direction
from fenchel.solvers._gradient_bound import GradientBound
from fenchel.solvers._lbfgs_memory import LBFGSMemory
from fenchel.solvers._line_search import Along, exact, wolfe
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.lbfgs import _diagonal


class SubLBFGS(Solver):
    name = "sublbfgs"
    needs = Needs(regularizers=(L2,), positive_strength=False)

    def __init__(
        self,
        memory: int = 15,
        tolerance: float = 1e-5,
        k_max: int = 100,
        h: float = 1e-8,
        cuts=300,
        every=5,
    ):
        self.memory = whole("memory", memory, least=1)
        self.tolerance = positive("tolerance", tolerance)
        self.k_max = whole("k_max", k_max, least=1)
        self.h = positive("h", h)
        self.cuts, self.every = cuts, every

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Algorithm 1."""
        B = LBFGSMemory(self.memory, _diagonal(problem))
        bound = GradientBound(problem, self.cuts, self.every)
        point = problem.risk.at(w)
        g = problem.subgradient(point)  # line 3
        eta = 1.0
        while True:
            J = problem.objective(point)
            yield Step(point, J, *bound.after(point))
            support = functools.partial(problem.support, point)
            found = descent_direction(
                g, B.times, support, tolerance=self.tolerance, k_max=self.k_max
            )
            if found is None and B.pairs:  # lines 5-8
                B.pairs.clear()
                found = descent_direction(
                    g, B.times, support, tolerance=self.tolerance, k_max=self.k_max
                )
            if found is None:
                return
            p, slope = found
            along = Along(problem, point, p)
            eta = (
                exact(along, 1.0) if problem.risk.piecewise else wolfe(along, J, slope, 1.0)
            )  # line 9
            if math.isinf(eta):
                yield Step(point, -math.inf)
            if eta == 0 or math.isinf(eta):
                return
            new = along.at(eta)  # line 11
            s, g_new = new.w - point.w, problem.subgradient(new)  # lines 10, 12
            y = g_new - g  # line 13
            lack = self.h - float(s @ y) / float(y @ y)
            if lack > 0:
                s = s + lack * y  # line 14
            B.add(s, y)  # line 15
            point, g = new, g_new
