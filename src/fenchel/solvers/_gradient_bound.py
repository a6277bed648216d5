"""Lower bounds from the subgradients a descent method has seen (000 section 9 calls this open).

Every subgradient a of the risk is a cut R(v) >= <a, v> + b, so the cutting-plane model of
the cuts seen so far bounds J from below, whatever found the points. A bounded number of cuts is
kept, and the model's small quadratic programme is solved every few iterations only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from fenchel.protocols import Array, Point, Problem
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.solvers.base import State
from fenchel.witness import Witness

Bound = tuple[float, Callable[[], Witness] | None]


class GradientBound:
    """The better of the newest tangent's bound and the model's, which has at most `cuts` cuts.

    The model's is computed after every `every`-th point.
    """

    def __init__(self, problem: Problem, cuts: int, every: int):
        self.problem, self.cuts, self.every = problem, cuts, every
        self.model = QuadraticPlanes(problem, 2 * cuts) if cuts and problem.strength > 0 else None
        self._since = 0

    def after(self, point: Point) -> Bound:
        """What is proved once this point has been seen."""
        tangent = self.problem.tangent_bound(point)
        witness: Callable[[], Witness] = functools.partial(getattr, point, "witness")
        if self.model is None:
            return tangent, witness
        self.model.forget(self.cuts)
        self.model.add(point)
        self._since += 1
        if self._since < self.every:
            return tangent, witness
        self._since = 0
        _, bound, evidence = self.model.minimize()
        return (tangent, witness) if tangent > bound else (bound, evidence)

    def state(self, w: Array) -> State:
        """The model's, less the newest cut, which is that of the point to go on from."""
        if self.model is None:
            return {"w": w}
        self.model.drop(np.array([len(self.model.b) - 1]))
        return self.model.state(w)

    def restore(self, state: State) -> None:
        """Takes over the model."""
        if self.model is not None:
            self.model.restore(state)
