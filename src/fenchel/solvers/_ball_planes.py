"""Cutting planes within an elastic-net ball.

The constraint has a multiplier kappa, and with it the model is that of an elastic net of strength
kappa. The larger kappa, the smaller its minimiser w(kappa); the ball's is the one on the sphere, or
inside where kappa goes to 0. Any kappa has an alpha, and any alpha proves a bound; inside the ball
one is good enough that is worth little against the gap.
"""

from __future__ import annotations

import numpy as np

from fenchel.regularizers import ElasticNetBall
from fenchel.risks.base import Array, Point, Problem
from fenchel.solvers._cutting_planes import ModelMinimum
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.solvers.base import State

_TRIES = 60  # multipliers for one model
_SLACK = 0.1  # of the gap: what a multiplier may be worth inside the ball
_THIN = 1e-8  # of the radius: how near to the sphere is on it
_LEAST = 1e-14  # a multiplier below this is none


class BallPlanes(QuadraticPlanes):
    """The model by elastic nets of the right strength."""

    @staticmethod
    def suit(problem: Problem) -> bool:
        """Whether Omega is the indicator of a ball of the elastic net."""
        return isinstance(problem.regularizer, ElasticNetBall)

    def __init__(self, problem: Problem, max_cuts: int):
        super().__init__(problem, max_cuts)
        assert isinstance(problem.regularizer, ElasticNetBall)
        self.ball = problem.regularizer
        self.regularizer = self.ball.net
        self.best, self.bound = np.inf, 0.0  # of J: the least risk seen, and what was proved

    def add(self, point: Point) -> None:
        """Keeps the least risk."""
        super().add(point)
        self.best = min(self.best, point.value)

    def state(self, w: Array) -> State:
        """The multiplier and the bounds as well."""
        return {**super().state(w), "ball": np.array([self.strength, self.best, self.bound])}

    def restore(self, state: State) -> None:
        """Goes on from the multiplier."""
        super().restore(state)
        self.strength, self.best, self.bound = state["ball"].tolist()

    def minimize(self) -> ModelMinimum:
        """The minimiser put into the ball, as it may lie outside by what the multiplier left."""
        found = super().minimize()
        self.bound = max(self.bound, found.lower_bound)
        return found._replace(w=self.ball.prox(found.w, 1.0))

    def aggregate(self) -> None:
        """Drops the cuts without weight; a mean will not do, as Omega is not strongly convex."""
        self.drop(np.flatnonzero(self.alpha[:-1] == 0))

    def maximize(self) -> None:
        """Encloses the multiplier for which w(kappa) lies on the sphere."""
        low, high = 0.0, np.inf
        for _ in range(_TRIES):
            self.problem.pulse()
            super().maximize()
            size = self.ball.net.value(self.minimizer(self.combined()))
            kappa, excess = self.strength, size - self.ball.radius
            inside = excess <= 0 and -kappa * excess <= _SLACK * (self.best - self.bound)
            if inside or abs(excess) <= _THIN * self.ball.radius or kappa < _LEAST:
                return
            low, high = (kappa, high) if excess > 0 else (low, kappa)
            self.strength = _between(low, high, kappa * size / self.ball.radius)


def _between(low: float, high: float, guess: float) -> float:
    """The guess if it is well inside, else a middle."""
    if np.isinf(high):
        return min(max(guess, 2 * low), 1e6 * low)
    if low == 0:
        return max(min(guess, high / 2), 1e-6 * high)
    return guess if 1.01 * low < guess < 0.99 * high else float(np.sqrt(low * high))
