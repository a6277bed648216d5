"""Block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML 2013).

    for each block i (a sequence), in random order:
        s = the worst output of i at w, by a search
        move shares of i's distribution to s from what is worth least, by exact line searches
        w follows

It climbs the dual of a max-margin risk, D(alpha) = b - ||a||^2 / (2 lambda), from w = 0 on
(risks/views/blocks.py, kernels/chain_blocks.hpp). A search costs far more than a step among outputs
that were found before, so that each sweep with searches is followed by some without (Shah,
Kolmogorov and Lampert, CVPR 2015), with pairwise steps (Osokin et al., ICML 2016).

Sweeps of coordinate steps converge linearly in the end, and slowly where lambda n is small. So
after each round the best point of the affine hull of its sweeps' ends is computed, for which a
small system suffices: with w = w_K + sum_k x_k (w_k - w_k-1), D is a quadratic in x. Its shares are
brought back onto their simplices, and the best point on the way there is taken: D never falls.

D rises steadily while w leaps, so J is looked at where w is on average in the last eighth of all
rounds. The gap J - D is exact, and costs an evaluation: it is looked at where the searches' own
gaps, sum_i c_i (max H_i - E[H_i]) at the w of each moment, say that it may have fallen far enough.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fenchel.regularizers import L2
from fenchel.result import relative_gap
from fenchel.risks.base import Array, Problem
from fenchel.risks.views.blocks import BlockDual
from fenchel.settings import whole
from fenchel.solvers.base import Needs, Solver, State, Step

_CACHED = 5  # sweeps without searches after one with them
_SPENT = 0.05  # of the gap that searches found: where outputs in use leave less, they are enough
_LATE = 8  # rounds of which w's mean keeps the last alone; later it keeps an eighth of all so far
_FALLEN = 0.3  # of the searches' gap, relative to that at the last look, at which to look again
_PATIENCE = 3  # rounds without a look; later a quarter of all so far
_MOST = 16  # rounds without a look, however late
_SINGULAR = 1e-10  # what is added to the hull's system, relative to its trace


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
            here = functools.partial(rounds.state, dual.state())
            yield Step(point, J, bound, cut.witness, here)
            rounds.climb(self._aim / max(relative_gap(J, bound), self._aim))


class _Rounds:
    """Rounds of sweeps, and when it is time to look."""

    def __init__(self, dual: BlockDual, seed: int):
        self.dual, self.seed = dual, seed
        self.n_rounds, self.mean = 0, dual.w.copy()  # of late w
        self.gap = np.inf  # that the last round's searches found

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
        dual, ends = self.dual, []
        self.gap = dual.sweep([self.seed, self.n_rounds, 0], searching=True)
        for k in range(_CACHED):
            ends.append((dual.shares.weight, dual.w.copy()))
            left = dual.sweep([self.seed, self.n_rounds, k + 1], searching=False)
            if left <= _SPENT * self.gap:
                break
        extrapolate(dual, ends)
        self.n_rounds += 1
        self.mean = self.mean + min(_LATE / self.n_rounds, 1.0) * (dual.w - self.mean)

    def state(self, dual: State, w: Array | None = None) -> State:
        """All that the next round depends on."""
        last = np.array([self.n_rounds, self.gap])
        return {"w": self.mean, "rounds": last, **dual}

    def restore(self, state: State) -> None:
        """Takes over a state."""
        self.dual.restore(state)
        self.mean = state["w"]
        self.n_rounds, self.gap = int(state["rounds"][0]), float(state["rounds"][1])


def extrapolate(dual: BlockDual, ends: list[tuple[Array, Array]]) -> None:
    """The best point on the way to that of the affine hull of the ends of sweeps and of the last.

    `ends` has the shares and the w of each but the last, whose outputs are all in use still.
    """
    last, cost, starts = dual.shares
    weights = np.array([*(weight for weight, _ in ends), last])
    w = np.array([*(w for _, w in ends), dual.w])
    lambda_, moves = dual.strength, np.diff(w, axis=0)
    slope = np.diff(weights @ cost) - lambda_ * (moves @ w[-1])
    curvature = lambda_ * (moves @ moves.T)
    curvature += _SINGULAR * np.trace(curvature) * np.eye(len(moves))
    if not np.trace(curvature) > 0:
        return
    x = np.linalg.solve(curvature, slope)
    aimed = on_simplices(last + np.diff(weights, axis=0).T @ x, starts)
    dual.assign(aimed)
    a, b = dual.plane()
    way = a + lambda_ * dual.w  # from the last plane, -lambda w, to the one aimed at
    rise = b - float(last @ cost) + float(dual.w @ way)
    fall = float(way @ way) / lambda_
    t = min(1.0, max(0.0, rise / fall)) if fall > 0 else 0.0
    dual.assign(last + t * (aimed - last))
    dual.w = dual.w - (t / lambda_) * way


def on_simplices(v: Array, starts: npt.NDArray[np.int64]) -> Array:
    """The nearest point of each block on its simplex: max(v - theta, 0), which add up to 1."""
    first, sizes = starts[:-1], np.diff(starts)
    block = np.repeat(np.arange(len(sizes)), sizes)
    falling = v[np.lexsort((-v, block))]
    sums = np.cumsum(falling)
    before = np.concatenate([[0.0], sums])[first]
    theta = (sums - before[block] - 1) / (np.arange(len(v)) - first[block] + 1)
    n_positive = np.add.reduceat((falling > theta).astype(np.int64), first)
    chosen = theta[first + np.maximum(n_positive, 1) - 1]
    nearest: Array = np.maximum(v - chosen[block], 0.0)
    return nearest
