"""The primal-dual hybrid gradient method with the step rule, restarts and weight of PDLP.

Chambolle and Pock (J. Math. Imaging and Vision 2011) alternate proximal steps on the two sides of
the saddle point problem of risks/views/saddle.py, w and b with the step eta / omega, the slopes a
with eta omega at scores that are extrapolated:

    w'  = argmin  lambda Omega(w) + <X'a, w> + omega/eta Delta(w, w_k)
    a'  = argmin  R*(a) - <a, X (2 w' - w_k)> + 1/(2 eta omega) |a - a_k|^2

Delta is the Bregman divergence of a prox-function that fits the data: the preconditioner of Pock
and Chambolle (ICCV 2011) and its Bregman form (Math. Programming 2016), risks/views/prox_functions.
Two passes and one round of an engine for each step tried, no line search, no inner problem.

All else is PDLP's (Applegate, Diaz, Hinder, Lu, Lubin, O'Donoghue and Schudy, NeurIPS 2021): eta is
tried out and may rise as well as fall (its algorithm 3); the run starts anew from the mean of its
points, or from the last, as soon as that has a fraction of the gap (section 3.2, where it uses a
normalised gap: here the gap is a number that costs no pass, so it is taken itself); and omega
follows how far the two sides have moved between restarts (algorithm 4). Both J(w) and the bound of
a are known at every point that is looked at, and are a certificate: the best of both count.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.prox_functions import KINDS, ProxFunction, obstacle, prox_function
from fenchel.risks.views.saddle import Saddle, SaddlePoint
from fenchel.settings import one_of
from fenchel.solvers import _scaled_dual
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.witness import Witness

_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36  # PDLP's beta, of gaps and of iterations
_SMOOTHING = 0.5  # PDLP's theta: the share of the newest estimate of omega, in logarithms
_FALL, _RISE = -0.3, -0.6  # PDLP's exponents of the step rule
_LONGEST = 1e100  # of steps, and of omega, which grow for ever where w or a does not move any more
_LOOK = 4  # iterations from one gap to the next
_REST = 0.05  # the same, relative to those so far
_FIRST_WEIGHT = 0.1  # omega, where distances are not whitened: rare columns make w long
_TRIALS = 50  # of steps, each shorter than the last, from one point


class PDHG(Solver):
    """PDLP's primal-dual hybrid gradient method, in the geometry of `prox`.

    "columns" scales every column, "whitened" all of them together (few columns, l2 or quadratic),
    "own" leaves it to the regulariser, and "auto" takes the finest that the problem has.
    """

    name = "pdhg"
    needs = Needs(regularizer=("prox",), views=(Saddle,))
    patience = 1000  # bounds rise and fall

    def __init__(self, prox: str | ProxFunction = "auto"):
        self.prox = prox if isinstance(prox, ProxFunction) else one_of("prox", prox, KINDS)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Restarts, and between them steps whose mean is kept."""
        run = _Epochs(problem, prox_function(problem, self.prox))
        if state is not None and "pdhg" in state:
            run.restore(state)
        else:
            first = run.look(run.saddle.start(w))
            run.begin(first)
            yield run.shown([first])
        while True:
            yield run.advance()

    def obstacle(self, problem: Problem) -> str | None:
        """What the steps, the certificate and the prox-function need."""
        found = super().obstacle(problem) or _scaled_dual.obstacle(problem)
        return found or obstacle(problem, self.prox)


class _Look(NamedTuple):
    """What is known at a point: J at its w, and what its slopes prove."""

    at: SaddlePoint
    point: Point
    J: float
    bound: float
    witness: Callable[[], Witness]

    @property
    def gap(self) -> float:
        """J less the bound; inf where a number overflowed."""
        gap = self.J - self.bound
        return gap if math.isfinite(gap) else math.inf


class _Epochs:
    """x_k, the mean of the points since the last restart, and what steers the next step."""

    x: SaddlePoint
    mean: SaddlePoint
    origin: SaddlePoint  # of the last restart

    def __init__(self, problem: Problem, prox: ProxFunction):
        self.problem, self.prox, self.saddle = problem, prox, Saddle(problem)
        self.weight = 1.0 if prox.stretch <= 1 else _FIRST_WEIGHT  # omega
        self.eta = 1 / math.sqrt(prox.stretch) if 0 < prox.stretch < math.inf else 1.0
        self.k = 0  # steps tried, over all restarts

    def begin(self, look: _Look) -> None:
        """A restart."""
        self.x = self.mean = self.origin = look.at
        self.n, self.total, self._due = 0, 0.0, _LOOK
        self.gap = look.gap, math.inf  # at the restart, and that of the last candidate

    def advance(self) -> Step:
        """A step of an accepted length, and a restart if it is due."""
        for _ in range(_TRIALS):
            eta, (x, mean, accepted) = self.eta, self._trial()
            if accepted:
                break
        self.x, self.mean = x, mean
        self.n, self.total = self.n + 1, self.total + eta
        if self.n < self._due:
            point = self.saddle.point(x)
            return Step(point, self.problem.objective(point), state=self._remember())
        self._due = self.n + max(_LOOK, int(_REST * self.k))
        looks = [self.look(self.mean), self.look(x)]
        self._restart(min(looks, key=lambda look: look.gap))
        return self.shown(looks)

    def _trial(self) -> tuple[SaddlePoint, SaddlePoint, bool]:
        """The step of length eta, and the next eta (PDLP algorithm 3)."""
        x, prox, saddle, eta = self.x, self.prox, self.saddle, self.eta
        self.k += 1
        c = self.weight / eta
        s = saddle.gradient(x) - c * prox.d_gradient(x.w)
        w = prox.ground(s, c, self.problem.strength)
        b = x.b - x.imbalance / c if saddle.risk.facts.has_intercept else 0.0
        share = eta / (self.total + eta)
        after, mean, moved = saddle.step(x, self.mean, w, b, 1 / (eta * self.weight), share)
        change, up = w - x.w, b - x.b
        gained = float((saddle.gradient(after) - saddle.gradient(x)) @ change)
        gained += (after.imbalance - x.imbalance) * up
        far = self.weight * (prox.norm(change) ** 2 + up * up) + moved / self.weight
        most = far / (2 * abs(gained)) if gained != 0 else math.inf
        longer = min((1 + (self.k + 1) ** _RISE) * eta, _LONGEST)
        self.eta = min((1 - (self.k + 1) ** _FALL) * most, longer)
        return after, mean, not eta > most  # where a number overflowed, the driver is to see it

    def _restart(self, best: _Look) -> None:
        """The next run begins at the better of the last point and the mean, if that is worth it."""
        at_start, before = self.gap
        enough = best.gap <= _SUFFICIENT * at_start
        enough = enough or before < best.gap <= _NECESSARY * at_start
        if enough or self.n >= _ARTIFICIAL * self.k:
            self._reweigh(best.at)
            self.begin(best)
        else:
            self.gap = at_start, best.gap

    def _reweigh(self, x: SaddlePoint) -> None:
        """Omega, towards how much further a has moved than w since the last restart."""
        change, up = x.w - self.origin.w, x.b - self.origin.b
        primal = math.hypot(self.prox.norm(change), up)
        dual = math.sqrt(self.saddle.change(x, self.origin))
        if 0 < primal < math.inf and 0 < dual < math.inf:
            new = math.log(min(max(dual, primal / _LONGEST) / primal, _LONGEST))
            old = math.log(self.weight)
            self.weight = math.exp(_SMOOTHING * new + (1 - _SMOOTHING) * old)

    def look(self, x: SaddlePoint) -> _Look:
        """J and the bound at a point: no pass, but for one with an intercept."""
        self.problem.pulse()  # under L2 the slopes are scaled by trial, in some 40 rounds
        cut, point = self.saddle.cut(x), self.saddle.point(x)
        bound = self.problem.bound(cut.a, cut.b, cut.sizes)
        return _Look(x, point, self.problem.objective(point), bound, cut.witness)

    def shown(self, looks: Sequence[_Look]) -> Step:
        """The least J of some points and the best of their bounds."""
        least = min(looks, key=lambda look: look.J if look.J == look.J else math.inf)
        best = max(looks, key=lambda look: look.bound if look.bound == look.bound else -math.inf)
        return Step(least.point, least.J, best.bound, best.witness, self._remember())

    def _remember(self) -> Callable[[], State]:
        return functools.partial(_state, self.saddle, self.x, self.eta, self.weight, self.k)

    def restore(self, state: State) -> None:
        """Goes on from the last point, as after a restart."""
        b, self.eta, self.weight, k = state["pdhg"].tolist()
        self.k = int(k)
        self.begin(self.look(self.saddle.start(state["w"], b, state["a"])))


def _state(saddle: Saddle, x: SaddlePoint, eta: float, weight: float, k: int) -> State:
    steering = np.array([x.b, eta, weight, float(k)])
    return {"w": x.w, "a": saddle.risk.engine.gather(x.a), "pdhg": steering}
