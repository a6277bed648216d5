"""The dual polish: rows away from their kinks have their slope, the few at a kink are solved for.

A dual point is a slope a_i of the loss for each row. Given a w, all slopes but those of the rows
near a kink are known, and the others follow from w = -X'a / lambda. The method of multipliers makes
this precise (Rockafellar 1976; for support vector machines with Newton steps, Yan and Li 2020):

    (w, b) = argmin of lambda Omega(w) + M(w, b; a, kappa)
    a      = the slopes u of M there
    kappa  = kappa / growth

The augmented Lagrangian M is smooth, and its Hessian is that of the rows that land on a kink: no
free set has to be chosen, equal rows share a kink as they must, and a handful of Newton steps solve
the first line. u is dual feasible at every step, and the gap of (w, u) goes to 0. A step takes two
passes, X p and X'u.

Below, `_by_passes` is that method, for L2. Where all rows are at hand the same steps are taken by a
kernel, many at a time (risks/views/multiplier_run.py); it takes the kinks of L1 and the elastic net
as those of more rows, and under them works on the columns that are not 0, where columns are many.
Another kernel takes them for hinges of several scores a row (risks/views/block_run.py).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from fenchel.errors import InvalidData
from fenchel.losses import VectorLoss
from fenchel.risks.base import Array, Problem
from fenchel.risks.views import block_run, multiplier_path
from fenchel.risks.views.block_run import BlockRun
from fenchel.risks.views.block_run import serves as serves_blocks
from fenchel.risks.views.lagrangian import AugmentedLagrangian, AugmentedRay
from fenchel.risks.views.multiplier_run import (
    MOST_COLUMNS,
    MultiplierRun,
    has_column_terms,
    in_one_shard,
    serves,
)
from fenchel.risks.views.working_columns import WorkingRun
from fenchel.settings import real
from fenchel.solvers.base import Found, Needs, Solver, State, Step

_INEXACT = 0.1  # the gap that M's gradient leaves, relative to that of the multipliers
_AHEAD = 3  # steps of the multipliers that those of a nearby problem save
_TRIALS = 40
_FLAT = 0.1  # of the slope at 0: a line search that reached it is good enough


class Polish(Solver):
    """The method of multipliers with Newton steps, for piecewise linear losses.

    kappa falls by the factor `growth` at every step of the multipliers.
    """

    name = "polish"
    needs = Needs(regularizer=("separable",), views=(AugmentedLagrangian,))
    takes_duals = True

    def __init__(self, growth: float = 3.0):
        self.growth = real("growth", growth)
        if not self.growth > 1:
            raise InvalidData(f"growth must be > 1; got {growth!r}")
        self._gap = 1e-4

    def aiming(self, gap: float) -> Polish:
        """Steps that are not seen from Python end at the gap."""
        other = type(self)(self.growth)
        other._gap = gap
        return other

    def obstacle(self, problem: Problem) -> str | None:
        """Where columns are many, or rows elsewhere, it takes L2 alone."""
        if isinstance(getattr(problem.risk, "loss", None), VectorLoss):
            return self._vector_obstacle(problem)
        found, regularizer = super().obstacle(problem), problem.regularizer
        if found is not None or serves(problem):
            return found
        if not has_column_terms(regularizer):
            return "it needs one of l2, l1 and elastic_net"
        if not _is_ridge(problem):
            return (
                f"unpenalised coordinates of more than {MOST_COLUMNS} under l2, and l1 and "
                "elastic_net where rows are not in one memory, are beyond it"
            )
        return None

    def _vector_obstacle(self, problem: Problem) -> str | None:
        if (
            problem.strength > 0
            and not problem.risk.facts.differentiable
            and serves_blocks(problem)
        ):
            return None
        return (
            "of several scores a row it takes multiclass_hinge of rescaled margins and "
            "multilabel_hinge, under l2 and with all rows in one memory; with intercepts if every "
            "class has a row"
        )

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Newton steps, and steps of the multipliers between them."""
        if isinstance(getattr(problem.risk, "loss", None), VectorLoss):
            return self._in_blocks(problem, w, state)
        native = serves(problem) and (in_one_shard(problem) or not _is_ridge(problem))
        return (self._in_kernel if native else self._by_passes)(problem, w, state)

    def follow(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Found] | None:
        """In one shard and of few columns: all Newton steps of a path, with no Python between."""
        if isinstance(getattr(problem.risk, "loss", None), VectorLoss):
            if not block_run.follows(problem, len(strengths)):
                return None
            return (Found(*claim) for claim in block_run.claims(problem, self.growth, self._gap))
        if not multiplier_path.follows(problem, len(strengths)):
            return None
        claims = multiplier_path.claims(problem, strengths, self.growth, self._gap)
        return (Found(*claim) for claim in claims)

    def _in_kernel(self, problem: Problem, w: Array, state: State | None) -> Iterator[Step]:
        """Many Newton steps at a time, and more of them while the gap is claimed but not proved."""
        kind = MultiplierRun if len(w) <= MOST_COLUMNS else WorkingRun
        at, gap = kind(problem, w, self.growth, state), self._gap
        if state is not None and "gap" in state:
            gap = min(gap, float(state["gap"]))
        while True:
            kept = functools.partial(_run_state, at, gap)
            yield Step(at.point, at.J, at.bound, at.witness, kept)
            problem.pulse()
            if at.advance(gap):
                gap *= 0.5

    def _in_blocks(self, problem: Problem, w: Array, state: State | None) -> Iterator[Step]:
        """The same for several scores a row, whose systems are solved by conjugate gradients."""
        at, gap, more = BlockRun(problem, w, self.growth, state), self._gap, True
        if state is not None and "gap" in state:
            gap = min(gap, float(state["gap"]))
        while more:
            yield Step(at.point, at.J, at.bound, at.witness, functools.partial(_run_state, at, gap))
            problem.pulse()
            reached, more = at.advance(gap)
            gap *= 0.5 if reached else 1.0
        yield Step(at.point, at.J, at.bound, at.witness, functools.partial(_run_state, at, gap))

    def _by_passes(self, problem: Problem, w: Array, state: State | None) -> Iterator[Step]:
        """The same from Python under L2, for any number of columns and of shards, anywhere."""
        diagonal = problem.strength * problem.regularizer.curvature(len(w))
        at, best = AugmentedLagrangian(problem.risk, w), -np.inf
        if state is not None and "alpha" in state:
            at.start(state["alpha"], at.kappa / self.growth**_AHEAD)
        elif state is not None and "kappa" in state:
            at.restore(state)
            best = float(state.get("best", -np.inf))
        at.look()
        while True:
            point, g = at.point(), diagonal * at.w + at.gradient
            J = problem.objective(point)
            left = float(np.dot(g / diagonal, g)) / 2  # of the gap, by the gradient
            if J - left > best:  # else u proves less than was proved before
                cut = at.cut()
                bound = problem.bound(cut.a, cut.b, cut.sizes)
                best = max(best, bound)
                yield Step(point, J, bound, cut.witness, functools.partial(_state, at, best))
            else:
                yield Step(point, J, state=functools.partial(_state, at, best))
            if left <= _INEXACT * max(at.distance, 1e-3 * (J - best)):
                at.update(at.kappa / self.growth)
                g = diagonal * at.w + at.gradient
            p, rate = at.newton(diagonal, g)
            ray = at.towards(p, rate)
            eta = _search(problem, ray, float(diagonal * at.w @ p), float(diagonal * p @ p))
            if eta > 0:
                ray.move(eta)
            else:  # already at the minimum of M
                at.update(at.kappa / self.growth)


def _is_ridge(problem: Problem) -> bool:
    """Its regulariser is a square, of all coordinates."""
    return problem.regularizer.quadratic and problem.regularizer.strong_convexity > 0


def _run_state(at: MultiplierRun | WorkingRun | BlockRun, gap: float) -> State:
    return {**at.state(), "gap": np.array(gap)}


def _state(at: AugmentedLagrangian, best: float) -> State:
    return {**at.state(), "best": np.array(best)}


def _search(problem: Problem, ray: AugmentedRay, slope: float, curvature: float) -> float:
    """A step at which the slope along the ray is a tenth of that at 0: Newton's, in a bracket.

    `slope` and `curvature` are those of lambda Omega.
    """
    start = slope + ray.start
    if not start < 0:
        return 0.0
    low, high, eta = 0.0, math.inf, 1.0
    for _ in range(_TRIALS):
        problem.pulse()
        at = ray.slope(eta)
        total, rise = slope + eta * curvature + at.slope, curvature + at.curvature
        if abs(total) <= -_FLAT * start:
            return eta
        low, high = (eta, high) if total < 0 else (low, eta)
        # There is no step of Newton's where M is linear and the intercept alone moves (p = 0).
        eta = eta - total / rise if rise > 0 else math.inf
        if not low < eta < high:
            eta = 0.5 * (low + high) if high < math.inf else 4 * low
    return low
