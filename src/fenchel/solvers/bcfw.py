"""Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013).

    for each block i (a sequence), in random order:
        s = the worst output of i at w, by a search
        move shares of i's distribution to s from what is worth least, by exact line searches
        w follows

It climbs the dual of a max-margin risk, D(alpha) = b - ||a||^2 / (2 lambda), from w = 0 on
(risks/views/blocks.py, kernels/chain_blocks.hpp). A search costs far more than a step among outputs
that were found before, so that each sweep with searches is followed by some without (Shah,
Kolmogorov and Lampert, CVPR 2015), with pairwise steps (Osokin et al., ICML 2016;
kernels/chain_faces.hpp).

Such sweeps converge slowly where lambda n is small beside the squares of psi. So each round is one
on a problem that is better conditioned, J(w) + kappa/2 ||w - v||^2, whose dual point alpha has

    w = (-a + kappa v) / (lambda + kappa),

and v goes beyond the last w as in Nesterov's method: the accelerated proximal point method (Lin,
Mairal and Harchaoui, NIPS 2015), which takes sqrt(lambda / kappa) of the rounds. alpha is a dual
point of J itself, whatever v is, and D(alpha) its bound. A round minimises roughly, so that D may
fall on the way. Where the gap has not for a while kappa is halved, and v is the last w: without
kappa D never falls.

J is looked at where w is on average in the last eighth of all rounds. The gap J - D is exact, and
costs an evaluation: it is looked at where the searches' own gaps, sum_i c_i (max H_i - E[H_i]) at
the w of each moment, say that it may have fallen far enough.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterator

import numpy as np

from fenchel.regularizers import L2
from fenchel.result import relative_gap
from fenchel.risks.base import Array, Problem
from fenchel.risks.views.blocks import BlockDual
from fenchel.settings import whole
from fenchel.solvers.base import Needs, Solver, State, Step

_PULL = 6.0  # kappa at first, in lambda
_IDLE = 4  # looks without a smaller gap, after which kappa is halved
_CACHED = 5  # sweeps without searches after one with them
_SPENT = 0.05  # of the gap that searches found: where outputs in use leave less, they are enough
_LATE = 8  # rounds of which w's mean keeps the last alone; later it keeps an eighth of all so far
_FALLEN = 0.3  # of the searches' gap, relative to that at the last look, at which to look again
_PATIENCE = 3  # rounds without a look; later a quarter of all so far
_MOST = 16  # rounds without a look, however late


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe for max-margin losses of sequences, under l2.

    `seed` sets the order of the sequences.
    """

    name = "bcfw"
    needs = Needs(
        regularizer=("conjugate", "conjugate_argmax"), strongly_convex=True, views=(BlockDual,)
    )

    def __init__(self, seed: int = 0):
        self.seed = whole("seed", seed, least=0)
        self._aim = 0.0

    def aiming(self, gap: float) -> BCFW:
        """It looks as soon as the gap may be small enough."""
        solver = copy.copy(self)
        solver._aim = gap
        return solver

    def obstacle(self, problem: Problem) -> str | None:
        """Line searches are exact for a plain square."""
        found, regularizer = super().obstacle(problem), problem.regularizer
        if found is None and not (type(regularizer) is L2 and regularizer.weights is None):
            found = "it needs the plain l2 regulariser, every coordinate penalised alike"
        return found

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Rounds of sweeps, and a look at the gap where it may have fallen far enough."""
        dual = BlockDual(problem)
        rounds = _Rounds(dual, self.seed)
        if state is not None and "sequence" in state:
            rounds.restore(state)
        elif w.any():
            start = problem.risk.at(w)
            yield Step(start, problem.objective(start))
        while True:
            cut = dual.settle()
            point = problem.risk.at(rounds.mean)
            J, bound = problem.objective(point), problem.bound(cut.a, cut.b, cut.sizes)
            rounds.watch(J - bound)
            here = functools.partial(rounds.state, dual.state())
            yield Step(point, J, bound, cut.witness, here)
            rounds.climb(self._aim / max(relative_gap(J, bound), self._aim))


class _Rounds:
    """Rounds of sweeps, and when it is time to look."""

    def __init__(self, dual: BlockDual, seed: int):
        self.dual, self.seed = dual, seed
        self.n_rounds, self.gap = 0, np.inf  # that the last round's searches found
        self.pull = _PULL  # kappa / lambda
        self.least, self.idle = np.inf, 0  # J - D, and the looks since then
        self.mean, self.last, self.centre = (dual.w.copy() for _ in range(3))  # late w, w and v

    def watch(self, gap: float) -> None:
        """Shorter steps where looks have found the gap no smaller."""
        self.idle = 0 if gap < self.least else self.idle + 1
        self.least = min(gap, self.least)
        if self.idle >= _IDLE:
            self.pull, self.centre, self.idle = self.pull / 2, self.last.copy(), 0

    def climb(self, wanted: float) -> None:
        """Rounds until the gap may have fallen as far as is wanted, or by a good part."""
        fallen, most = (
            max(_FALLEN, wanted) * self.gap,
            min(max(_PATIENCE, self.n_rounds // 4), _MOST),
        )
        for _ in range(most):
            self._climb_once()
            if self.gap <= fallen:
                return

    def _climb_once(self) -> None:
        dual, seeds = self.dual, [self.seed, self.n_rounds]
        kappa = self.pull * dual.strength
        strength = dual.strength + kappa
        w = (dual.strength * dual.w + kappa * self.centre) / strength
        self.gap = dual.search(seeds, strength, w)
        dual.exchange(seeds, strength, w, _CACHED, _SPENT * self.gap)
        dual.w = (strength * w - kappa * self.centre) / dual.strength
        root = math.sqrt(1 / (1 + self.pull))
        self.centre = w + (1 - root) / (1 + root) * (w - self.last)
        self.last = w
        self.n_rounds += 1
        self.mean = self.mean + min(_LATE / self.n_rounds, 1.0) * (w - self.mean)

    def state(self, dual: State) -> State:
        """All that the next round depends on."""
        numbers = np.array([self.n_rounds, self.gap, self.pull, self.least, self.idle])
        points = {"w": self.mean, "last": self.last, "centre": self.centre}
        return {**points, "rounds": numbers, **dual}

    def restore(self, state: State) -> None:
        """Takes over a state."""
        self.dual.restore(state)
        self.mean, self.last, self.centre = (state[name] for name in ("w", "last", "centre"))
        numbers = state["rounds"]
        self.gap, self.pull, self.least = map(float, numbers[1:4])
        self.n_rounds, self.idle = int(numbers[0]), int(numbers[4])
