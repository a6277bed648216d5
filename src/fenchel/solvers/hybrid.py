"""First quasi-Newton, then a bundle ([Yu10] sections 8.5.1 and 9).

subLBFGS falls fast at first, when many kinks together look smooth, and slows down when single ones
matter; a bundle starts slowly and ends well. So subLBFGS runs as long as it makes progress, and
line-search BMRM goes on from its best point with all the cuts it has met.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.settings import positive, whole
from fenchel.solvers._cutting_planes import CuttingPlanes
from fenchel.solvers._gradient_bound import GradientBound
from fenchel.solvers.base import Solver, State, Step
from fenchel.solvers.bmrm import cutting_planes
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.sublbfgs import SubLBFGS

_WINDOW = 10  # iterations over which progress is measured


class Hybrid(Solver):
    """subLBFGS while ten iterations lower J by more than the fraction `progress`; then ls-bmrm.

    The history tells the two apart by their `phase`, 0 and 1. `max_cuts` is that of `bmrm`.
    """

    name = "hybrid"
    needs = SubLBFGS.needs

    def __init__(self, progress: float = 0.01, max_cuts: int = 1000):
        self.progress = positive("progress", progress)
        self.max_cuts = whole("max_cuts", max_cuts, least=4)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Both, one after the other."""
        model = cutting_planes(problem, self.max_cuts)
        point, phase = problem.risk.at(w), 0
        if state is not None:
            model.restore(state)
            phase = int(state["phase"])
        if phase == 0:
            for step in self._quasi_newton(problem, point, model, state):
                yield _marked(step, 0)
                point = step.point
            model.add(point)
        else:
            yield Step(point, problem.objective(point), phase=1)
        for step in LineSearchBMRM(max_cuts=self.max_cuts).steps(problem, point, model):
            yield _marked(step, 1)

    def _quasi_newton(
        self, problem: Problem, point: Point, model: CuttingPlanes, state: State | None
    ) -> Iterator[Step]:
        """subLBFGS as long as it makes progress."""
        bound = GradientBound(problem, model, self.max_cuts, every=5)
        values: deque[float] = deque(maxlen=_WINDOW + 1)
        for step in SubLBFGS().steps(problem, point, bound, state):
            values.append(step.objective)
            yield step
            if len(values) > _WINDOW and values[0] - values[-1] < self.progress * abs(values[-1]):
                return

    def obstacle(self, problem: Problem) -> str | None:
        """What either of the two says."""
        return SubLBFGS().obstacle(problem) or LineSearchBMRM().obstacle(problem)


def _marked(step: Step, phase: int) -> Step:
    """The step, told apart by its phase, also when the solver goes on from there."""
    state = None if step.state is None else functools.partial(_with_phase, step.state, phase)
    return replace(step, phase=phase, state=state)


def _with_phase(state: Callable[[], State], phase: int) -> State:
    return {**state(), "phase": np.array(phase)}
