"""Subgradient quasi-Newton methods for nonsmooth risks ([Yu10] algorithm 1).

At a kink a quasi-Newton direction need not descend; algorithm 2 (_direction.py) finds one that
does, and the line search may then be exact (_line_search.py). Two passes an iteration: X p for the
ray and X'a for the new subgradient. The subgradients also bound J from below (_gradient_bound.py).

For comparison with the paper its own choices can be had: `finding="one-step"` with
`tolerance=1e-5` is algorithm 2 as printed, of several classes and labels with
`tolerance_at_0=1.0` (section 8.1), and `finding="none"` does without, p = -B g for any
subgradient g, which is BFGS, L-BFGS or steepest descent as for smooth functions (LBFGS-LS with the
exact search, LBFGS-ILS with the inexact one); `b0="identity"` starts from B_0 = I; `first="unit"`
takes a step of 1 at first, whatever becomes of J; a `seed` draws the subgradients at random.
"""

from __future__ import annotations

import functools
import math
import zlib
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.settings import one_of, positive, whole
from fenchel.solvers._direction import (
    Direction,
    Oracle,
    descent_direction,
    one_step_direction,
)
from fenchel.solvers._gradient_bound import GradientBound, many_subgradients
from fenchel.solvers._inverse_hessian import DenseBFGS, Identity, InverseHessian, diagonal
from fenchel.solvers._lbfgs_memory import LBFGSMemory
from fenchel.solvers._line_search import Along, backtracking, search
from fenchel.solvers.base import Needs, Solver, State, Step

_H = 1e-8  # h of line 14, the paper's
_LARGEST_DENSE = 5000  # parameters of a dense B: 200 MB


class SubgradientMethod(Solver):
    """Algorithm 1 with any B.

    `tolerance` ends the search for a direction (relative: see _direction.py; of the paper's
    "one-step" `finding`, absolute), which takes at most `k_max` steps; at w = 0, where losses of
    several classes have more subgradients than anywhere else, `tolerance_at_0` does, if given. The
    other options are the paper's choices where ours differ, for comparison.
    """

    needs = Needs(regularizer=("smooth",), positive_strength=False)

    def __init__(
        self,
        tolerance: float = 0.1,
        k_max: int = 100,
        finding: str = "programme",
        b0: str = "diagonal",
        search: str = "exact",
        first: str = "search",
        seed: int | None = None,
        tolerance_at_0: float | None = None,
    ):
        self.tolerance = positive("tolerance", tolerance)
        self.tolerance_at_0 = tolerance_at_0
        if tolerance_at_0 is not None:
            self.tolerance_at_0 = positive("tolerance_at_0", tolerance_at_0)
        self.k_max = whole("k_max", k_max, least=1)
        self.finding = one_of("finding", finding, ("programme", "one-step", "none"))
        self.b0 = one_of("b0", b0, ("diagonal", "identity"))
        self.search = one_of("search", search, ("exact", "inexact"))
        self.first = one_of("first", first, ("search", "unit"))
        self.seed = None if seed is None else whole("seed", seed, least=0)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """[Yu10] algorithm 1."""
        bound = many_subgradients(problem)
        if state is not None:
            bound.restore(state)
        yield from self.steps(problem, problem.risk.at(w), bound, state)

    def steps(
        self, problem: Problem, point: Point, bound: GradientBound, state: State | None
    ) -> Iterator[Step]:
        """Steps from a point, whose subgradients go to `bound`."""
        B = self.inverse_hessian(problem)  # line 1
        if state is not None:
            B.restore(state)
        g, unit = self.subgradient(problem, point), self.first == "unit" and state is None  # line 3
        while True:
            J = problem.objective(point)
            yield Step(point, J, *bound.after(point), functools.partial(_state, point.w, B, bound))
            p = self.direction(problem, point, g, B, bound)  # line 5
            if p is None and B.forget():
                p = self.direction(problem, point, g, B, bound)
            if p is None:
                yield Step(point, J, *bound.at_last())
                return  # lines 6-8
            along = Along(problem, point, p)
            eta = 1.0 if unit else self.step(along, J)  # line 9
            unit = False
            if math.isinf(eta):
                yield Step(point, -math.inf)  # J falls without end along p
                return
            if eta == 0 and B.forget():
                continue
            if eta == 0:
                yield Step(point, J, *bound.at_last())
                return
            problem.effort.step = eta
            new = along.at(eta)  # line 11
            s, g_new = new.w - point.w, self.subgradient(problem, new)  # lines 10 and 12
            y = g_new - g  # line 13
            yy = float(y @ y)
            lack = _H - float(s @ y) / yy if yy > 0 else 0.0
            B.add(s + max(0.0, lack) * y, y)  # lines 14 and 15
            point, g = new, g_new

    def direction(
        self, problem: Problem, point: Point, g: Array, B: InverseHessian, bound: GradientBound
    ) -> Array | None:
        """Algorithm 2; the subgradients it meets are cuts as good as any."""
        if self.finding == "none":
            return -B.times(g) if g.any() else None

        def support(p: Array) -> Array:
            problem.pulse()
            problem.effort.inner += 1
            steepest = point.steepest(p)
            if steepest is not point:
                bound.meet(steepest)
            regular = problem.regularizer.support(point.w, p)
            return problem.strength * regular + steepest.subgradient

        relaxed = None if point.w.any() else self.tolerance_at_0
        found = self.found(g, B, support, self.tolerance if relaxed is None else relaxed)
        return None if found is None else found.p

    def found(
        self, g: Array, B: InverseHessian, support: Oracle, tolerance: float
    ) -> Direction | None:
        """What algorithm 2 finds, ours or as it is printed."""
        find = descent_direction if self.finding == "programme" else one_step_direction
        return find(g, B.times, support, tolerance=tolerance, k_max=self.k_max)

    def step(self, along: Along, J: float) -> float:
        """The step on a ray: exactly, as far as that can be, or by the paper's inexact search."""
        return search(along, J) if self.search == "exact" else backtracking(along, J)

    def subgradient(self, problem: Problem, point: Point) -> Array:
        """Any element of dJ(w); with a seed, an extreme one at random, the same at the same w."""
        if self.seed is None:
            return problem.subgradient(point)
        draw = np.random.default_rng([self.seed, zlib.crc32(point.w.tobytes())])
        p = draw.normal(size=len(point.w))
        regular = problem.regularizer.support(point.w, p)
        return problem.strength * regular + point.steepest(p).subgradient

    def start(self, problem: Problem) -> Array:
        """The diagonal of B_0."""
        return diagonal(problem) if self.b0 == "diagonal" else np.ones(problem.risk.n_parameters)

    @abstractmethod
    def inverse_hessian(self, problem: Problem) -> InverseHessian:
        """B_0, what is known of the inverse Hessian before the first step."""

    def obstacle(self, problem: Problem) -> str | None:
        """Algorithm 2 must know the kinks; to certify, every coordinate must be penalised."""
        if not problem.risk.facts.knows_kinks:
            return "it needs to know where the loss has kinks (define `pieces` or `kinks` on it)"
        if problem.strength > 0 and len(problem.regularizer.free(problem.risk.n_parameters)):
            return "it cannot certify a problem with unpenalised coordinates (weights of 0)"
        return super().obstacle(problem)


class SubBFGS(SubgradientMethod):
    """Subgradient BFGS with the whole matrix B, for few parameters."""

    name = "subbfgs"

    def inverse_hessian(self, problem: Problem) -> InverseHessian:
        return DenseBFGS(self.start(problem))

    def obstacle(self, problem: Problem) -> str | None:
        """B has d^2 entries."""
        d = problem.risk.n_parameters
        if d > _LARGEST_DENSE:
            return f"its matrix would have {d} x {d} entries; sublbfgs needs a few vectors only"
        return super().obstacle(problem)


class SubLBFGS(SubgradientMethod):
    """Subgradient BFGS with limited memory: the last `memory` pairs stand for B."""

    name = "sublbfgs"

    def __init__(
        self,
        memory: int = 15,
        tolerance: float = 0.1,
        k_max: int = 100,
        finding: str = "programme",
        b0: str = "diagonal",
        search: str = "exact",
        first: str = "search",
        seed: int | None = None,
        tolerance_at_0: float | None = None,
    ):
        super().__init__(tolerance, k_max, finding, b0, search, first, seed, tolerance_at_0)
        self.memory = whole("memory", memory, least=1)

    def inverse_hessian(self, problem: Problem) -> InverseHessian:
        return LBFGSMemory(self.memory, self.start(problem))


class SubGD(SubgradientMethod):
    """Steepest subgradient descent, B = I: for comparison ([Yu10] section 2.2)."""

    name = "subgd"

    def inverse_hessian(self, problem: Problem) -> InverseHessian:
        return Identity()


class GD(SubgradientMethod):
    """Descent along some subgradient, with no care for kinks: for comparison ([Yu10] section 2.2).

    It stops where that is no direction of descent. In the paper it takes a step of 1 at first
    (`first="unit"`) and draws its subgradients at random (a `seed`).
    """

    name = "gd"

    def __init__(self, first: str = "search", seed: int | None = None) -> None:
        super().__init__(finding="none", first=first, seed=seed)

    def inverse_hessian(self, problem: Problem) -> InverseHessian:
        return Identity()


def _state(w: Array, B: InverseHessian, bound: GradientBound) -> State:
    return {**bound.state(w), **B.state()}
