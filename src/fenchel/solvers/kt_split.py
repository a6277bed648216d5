"""The split of Kazama and Tsujii, the baseline of [Andrew07]: L1 as bounds.

    w = w+ - w-,  w+ >= 0, w- >= 0,    Omega = sum_j c_j (w+_j + w-_j)

is smooth, and SciPy's L-BFGS-B minimises it over twice as many variables. SciPy's routine cannot be
paused, so it runs in bursts: a `Step` is a burst of many iterations of L-BFGS-B, which then starts
anew without its memory. Passes are counted as they are made, two for each evaluation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from scipy import optimize

from fenchel.risks.base import Array, Problem
from fenchel.settings import whole
from fenchel.solvers import _scaled_dual
from fenchel.solvers._scaled_dual import ScaledDual
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.owlqn import smooth_part


class KTSplit(Solver):
    """L-BFGS-B on the positive and negative parts, `burst` iterations a step."""

    name = "kt-split"
    needs = Needs(regularizer=("support", "orthant_curvature"), differentiable=True)

    def __init__(self, memory: int = 10, burst: int = 100):
        self.memory = whole("memory", memory, least=1)
        self.burst = whole("burst", burst, least=1)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Bursts of L-BFGS-B, until one leaves w as it was."""
        bound = ScaledDual(problem, every=1)
        point = problem.risk.at(w)
        while True:
            J = problem.objective(point)
            yield Step(point, J, *bound.after(point, J), functools.partial(_state, point.w))
            w = self._burst(problem, point.w)
            if np.array_equal(w, point.w):
                return
            point = problem.risk.at(w, near=point)

    def _burst(self, problem: Problem, w: Array) -> Array:
        d, quadratic = len(w), smooth_part(problem)
        # What is left of Omega without the elastic net's quadratic is linear.
        linear = problem.strength * problem.regularizer.support(np.zeros(d), np.ones(d))

        def objective(x: Array) -> tuple[float, Array]:
            problem.pulse()
            problem.effort.evaluations += 1
            w = x[:d] - x[d:]
            point = problem.risk.at(w)
            g = point.subgradient + quadratic * w
            smooth = point.value + 0.5 * float(np.dot(quadratic * w, w))
            return smooth + float(linear @ (x[:d] + x[d:])), np.append(linear + g, linear - g)

        done = optimize.minimize(
            objective,
            np.append(np.maximum(w, 0.0), np.maximum(-w, 0.0)),
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(0.0, np.inf),
            options={"maxiter": self.burst, "maxcor": self.memory, "maxfun": 20 * self.burst}
            | {"ftol": 0.0, "gtol": 0.0},
        )
        problem.effort.inner += int(done.nit)
        split: Array = done.x[:d] - done.x[d:]
        return split

    def obstacle(self, problem: Problem) -> str | None:
        """What it needs, and what its certificate needs."""
        return super().obstacle(problem) or _scaled_dual.obstacle(problem)


def _state(w: Array) -> State:
    return {"w": w}
