"""L-BFGS for smooth risks with a quadratic regulariser (003 section 4.2).

Two passes an iteration: X p for the ray, on which every trial step of the line search is free,
and X'a for the new gradient. The lower bound is lemma 5 of 003, the tangent bound at the point,

    min J >= J(w) - ||grad J(w)||^2 / (2 lambda).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from fenchel.errors import InvalidData
from fenchel.problem import Array, Point, Problem, Ray
from fenchel.regularizers import L2
from fenchel.solvers._lbfgs_memory import LBFGSMemory
from fenchel.solvers._line_search import wolfe
from fenchel.solvers.base import Needs, Solver, Step


class LBFGS(Solver):
    """Limited-memory BFGS with a Wolfe line search; `memory` pairs are kept."""

    name = "lbfgs"
    needs = Needs(regularizers=(L2,), differentiable=True, positive_strength=False)

    def __init__(self, memory: int = 10):
        if not isinstance(memory, int) or memory < 1:
            raise InvalidData(f"memory must be a whole number >= 1; got {memory!r}")
        self.memory = memory

    def iterate(self, problem: Problem, w: Array) -> Iterator[Step]:
        """Quasi-Newton steps."""
        c, strength = problem.regularizer.c, problem.strength
        H = LBFGSMemory(self.memory)
        point = problem.risk.at(w)
        while True:
            J = problem.objective(point)
            bound = problem.bound(point.subgradient, point.constant)
            yield Step(point, J, bound, functools.partial(getattr, point, "witness"))
            g = strength * c * point.w + point.subgradient
            p = -H.times(g)
            slope = float(g @ p)
            if not slope < 0:
                return
            ray = point.towards(p)
            phi = _along(problem, point, p, ray)
            eta = wolfe(phi, J, slope, 1.0 if H.pairs else 1.0 / float(np.linalg.norm(g)))
            if math.isinf(eta):
                yield Step(point, -math.inf)  # J falls without end along p
            if eta == 0 or math.isinf(eta):
                return
            new = ray.at(eta)
            s = new.w - point.w
            H.add(s, strength * c * s + new.subgradient - point.subgradient)
            point = new

    def obstacle(self, problem: Problem) -> str | None:
        """A tangent proves nothing about a coordinate that no regulariser holds."""
        if len(problem.regularizer.free(problem.risk.n_parameters)):
            return "it cannot certify a problem with unpenalised coordinates (weights of 0)"
        return super().obstacle(problem)


def _along(
    problem: Problem, point: Point, p: Array, ray: Ray
) -> Callable[[float], tuple[float, float]]:
    """eta -> (J(w + eta p), its slope in eta), without a pass."""
    c, strength = problem.regularizer.c, problem.strength
    omega = problem.regularizer.value(point.w)
    linear, quadratic = float((c * point.w) @ p), float((c * p) @ p)

    def phi(eta: float) -> tuple[float, float]:
        risk, slope = ray.along(eta)
        regular = omega + eta * (linear + 0.5 * eta * quadratic)
        return strength * regular + risk, strength * (linear + eta * quadratic) + slope

    return phi
