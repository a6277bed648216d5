"""Approximations B of the inverse Hessian: what a quasi-Newton method knows of J's curvature."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.solvers.base import State


class InverseHessian(Protocol):
    """A symmetric positive definite B that learns from pairs (s, y)."""

    def times(self, g: Array) -> Array:
        """The product B g, which is minus a quasi-Newton direction for a gradient g."""

    def add(self, s: Array, y: Array) -> None:
        """Takes in a step s and the change y of the gradient along it."""

    def forget(self) -> bool:
        """Starts over; False if there was nothing to forget."""

    def state(self) -> dict[str, Array]:
        """What was learnt, as plain arrays."""

    def restore(self, state: State) -> None:
        """Takes over what was learnt."""


class Identity:
    """B = I, which never learns."""

    def times(self, g: Array) -> Array:
        return g

    def add(self, s: Array, y: Array) -> None:
        pass

    def forget(self) -> bool:
        return False

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: State) -> None:
        pass


class DenseBFGS:
    """The matrix B itself: for few parameters."""

    def __init__(self, D: Array):
        self.D, self.B, self.fresh = D, np.diag(D), True

    def times(self, g: Array) -> Array:
        Bg: Array = self.B @ g
        return Bg

    def add(self, s: Array, y: Array) -> None:
        """B <- (I - s y'/s'y) B (I - y s'/s'y) + s s'/s'y ([Yu10] eq. 6).

        Scaled before the first pair.
        """
        sy = float(s @ y)
        if not sy > 0:
            return
        if self.fresh:
            self.B *= sy / float(y @ self.B @ y)
            self.fresh = False
        By = self.B @ y
        cross = np.outer(s, By) / sy
        self.B += (1 + float(y @ By) / sy) / sy * np.outer(s, s) - cross - cross.T

    def forget(self) -> bool:
        """Starts from the diagonal D again."""
        learnt, self.B, self.fresh = not self.fresh, np.diag(self.D), True
        return learnt

    def state(self) -> dict[str, Array]:
        return {} if self.fresh else {"B": self.B.copy()}

    def restore(self, state: State) -> None:
        if "B" in state:
            self.B, self.fresh = state["B"].copy(), False


def diagonal(problem: Problem) -> Array:
    """A rough diagonal of the inverse Hessian of J; its root if rows are fewer than columns."""
    penalty = problem.regularizer.curvature(problem.risk.n_parameters)
    hessian = problem.strength * penalty + problem.risk.curvature()
    hessian[hessian == 0] = 1.0  # an empty column without a penalty
    wide = problem.risk.n_duals < problem.risk.n_parameters
    D: Array = 1.0 / (hessian**0.5 if wide else hessian)
    return D
