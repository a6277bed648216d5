"""Dual coordinate ascent (Hsieh et al. 2008, liblinear's method; Shalev-Shwartz and Zhang 2013).

    for each row i, in random order:
        a_i = argmax over a_i of D(a), all others fixed
        v, and with it w = grad Omega*(v), follow

Rows that rest on a flat piece of their loss are left out until the next look at all scores, and
those that moved are visited again before the rest: on kinked losses few rows decide. D rises
steadily while w leaps with the rows visited last, so J is looked at where w is on average in the
last eighth of all rounds, and over the last sweeps of a round where that costs next to nothing. The
gap J(mean of w) - D(a) is exact, and costs two passes: X'a anew, without the round-off of many
steps, and the scores.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

from fenchel.result import relative_gap
from fenchel.risks.base import Array, Problem
from fenchel.risks.views.dual_ascent import DualAscent, only_offsets_are_free
from fenchel.settings import whole
from fenchel.solvers.base import Needs, Solver, State, Step

_REVISITS = 30  # sweeps over the rows that moved, at most, after one over all that are active
_FALLEN = 0.2  # the rise of a round, relative to that at the last look, at which to look again
_SAFE = 0.7  # the gap is taken to fall like the rise: a look is due where it is this near the aim
_SAFER = 0.5  # the same of the rise of the last sweep, which says more
_FIRST = 0.1  # the gap after the first round, relative to that at the start
_PATIENCE = 3  # rounds without a look; later a quarter of all so far
_MOST = (
    64  # rounds without a look, however late: looks are then a few per cent of the passes, and a
)
# run whose gap no round makes smaller is seen to stall
_LATE = 8  # rounds of which w's mean keeps the last alone; later it keeps an eighth of all so far


class SDCA(Solver):
    """Dual coordinate ascent for built-in losses: one row's dual variable, or all K, at a time.

    `seed` sets the order of the rows. `at_once` works on all shards at the same time and adds up
    what they did (CoCoA+), for shards on several machines; otherwise one thread mixes the rows of
    all shards, which takes fewer passes.
    """

    name = "sdca"
    needs = Needs(
        regularizer=("conjugate", "conjugate_argmax", "shrinkage"),
        strongly_convex=True,
        views=(DualAscent,),
    )
    takes_duals = True

    def __init__(self, seed: int = 0, at_once: bool = False):
        self.seed = whole("seed", seed, least=0)
        self.at_once = bool(at_once)
        self._aim = 0.0

    def aiming(self, gap: float) -> SDCA:
        """It looks as soon as the gap may be small enough."""
        solver = copy.copy(self)
        solver._aim = gap
        return solver

    def _penalises_enough(self, problem: Problem) -> bool:
        """Strongly convex in all but coordinates that are the offsets of a vector loss."""
        return problem.regularizer.strong_convexity > 0 or only_offsets_are_free(problem)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Rounds of sweeps, and a look at the gap where it may have fallen far enough."""
        dual = DualAscent(problem, self.at_once)
        ascent = _Ascent(problem, dual, self.seed)
        if state is not None and "alpha" in state:
            dual.start(state["alpha"], state["b"])
        elif state is not None and "a" in state:
            ascent.restore(state)
        elif w.any():
            start = problem.risk.at(w)
            yield Step(start, problem.objective(start))
            dual.start(start.duals, dual.offset_at(start))
        if state is None and not w.any():
            point = dual.point(w)
            dual.b = dual.offset_at(point)  # labels may be far from 0
        else:
            point = dual.point(dual.w.copy() if ascent.n_rounds == 0 else ascent.mean)
        while True:
            cut, here = dual.cut(), functools.partial(ascent.state, point.w)
            bound = problem.bound(cut.a, cut.b, cut.sizes)
            J = problem.objective(point)
            yield Step(point, J, bound, cut.witness, here)
            dual.release(point, ascent.margin)
            ascent.ascend(self._aim / max(relative_gap(J, bound), self._aim))
            dual.settle()
            point = dual.point(ascent.mean, point)


class _Ascent:
    """Rounds of sweeps: when they end, and which rows they leave out."""

    def __init__(self, problem: Problem, dual: DualAscent, seed: int):
        self.problem, self.dual, self.seed = problem, dual, seed
        rests = problem.risk.facts.piecewise  # smooth losses without pieces let no row rest
        self.revisits, self.fallen = (_REVISITS, _FALLEN) if rests else (0, 0.0)
        self.n_rounds = 0
        self.mean = dual.w  # of late w
        self.margin = np.inf  # how far inside a flat piece of its loss a row rests
        self.rise = np.inf  # of the last round, by its first sweep
        self.faded = 0.0  # and by its last

    def ascend(self, wanted: float) -> None:
        """Rounds until the gap may have fallen as far as is wanted, or a look lets rows rest."""
        before, fallen = self.rise, max(self.fallen, _SAFE * wanted)
        most = min(max(_PATIENCE, self.n_rounds // 4), _MOST)
        enough = _SAFER * wanted * self.faded
        for n in itertools.count(1):
            self.problem.pulse()
            self._ascend_once(enough)
            if math.isinf(before) and _SAFE * wanted < _FIRST:
                before = self.rise
            elif self.rise <= fallen * before or n >= most:
                return

    def _ascend_once(self, enough: float) -> None:
        """A sweep over the active rows, then some over those that moved."""
        seeds = np.random.SeedSequence([self.seed, self.n_rounds]).generate_state(self.revisits + 1)
        self.margin, self.rise, self.faded = self.dual.sweep(seeds.tolist(), self.margin, enough)
        self.dual.balance()
        self.n_rounds += 1
        w, share = self.dual.w, _LATE / self.n_rounds
        if share < 1:
            w = w - self.mean
            w *= share
            w += self.mean
        elif share == 1:
            w = w.copy()  # for the next mean, when a sweep has changed it
        self.mean = w

    def state(self, w: Array) -> State:
        """All that the next round depends on."""
        return {
            "w": w,
            "a": self.dual.a,
            "b": np.array(self.dual.b),
            "rounds": np.array(self.n_rounds),
            "last": np.array([self.margin, self.rise, self.faded]),
        }

    def restore(self, state: State) -> None:
        """Takes over a state."""
        self.dual.assign(state["a"], state["b"])
        self.n_rounds, self.mean = int(state["rounds"]), state["w"]
        self.margin, self.rise, self.faded = state["last"].tolist()
