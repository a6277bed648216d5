"""Orthant-wise quasi-Newton: OWL-QN ([Andrew07] algorithm 1) and OWL-QN* ([Yu10] section 8.4).

Within an orthant the L1 norm is linear, so J's curvature there is that of its smooth part l. Each
step follows a quasi-Newton direction p into the orthant xi that holds w and into which the steepest
descent v leads, and is projected back onto it by pi, which makes exact zeros:

    x = pi(w + alpha p; xi),    accepted if  J(x) <= J(w) + gamma J'(w; x - w).

Letters are [Andrew07]'s. Two passes an iteration if the first alpha is accepted, one more for each
other.

We depart from [Andrew07] in two ways. (1) H is that of the face: the pairs (s, y) are cut down to
the coordinates that may move, w_j != 0 or v_j != 0. (2) p must have the signs of v where w_j = 0
only, not everywhere. p then still descends, as d'v > 0 and no dropped term is positive, whereas
[Andrew07]'s p = pi(H v; v) drops about half of the Newton step near the minimum. L1 logistic on a9a
at strength 1e-4 comes within 1e-6 of its minimum after 105 iterations, by [Andrew07]'s p not after
400 (4e-4 above it; 6e-5 from H = 1). H starts from the root of the diagonal that L-BFGS uses: from
1 this takes 137 iterations, from all of it 146.

[Andrew07]'s convergence proof has a hole ([Yu10] appendix D). The test above is on J itself, so J
never rises beyond round-off; and where no alpha passes it, H is forgotten, which leaves a scaled
steepest descent all of whose coordinates move downhill. As printed it is not: the run ends there.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.settings import one_of, whole
from fenchel.solvers import _scaled_dual
from fenchel.solvers._direction import (
    Direction,
    Oracle,
    descent_direction,
    one_step_direction,
)
from fenchel.solvers._lbfgs_memory import LBFGSMemory
from fenchel.solvers._scaled_hull import scaled_bound
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.tolerances import FEW_OPERATIONS

_GAMMA = 1e-4  # gamma, the sufficient decrease
_BETA = 0.5  # beta, the factor from one trial to the next
_TRIALS = 40
_EVERY = 5  # points from one lower bound to the next, at least
_K_MAX = 1000  # algorithm 2 from a random subgradient needs hundreds, from the steepest a few


class OWLQN(Solver):
    """Orthant-wise L-BFGS for smooth losses under L1 or elastic net; `memory` pairs are kept.

    For comparison, `form="printed"` is [Andrew07]'s algorithm 1 in every choice above, and a `seed`
    draws subgradients at random in place of the steepest one ([Yu10] section 8.4).
    """

    name = "owlqn"
    needs = Needs(regularizer=("support", "orthant_curvature"), differentiable=True)

    def __init__(self, memory: int = 10, form: str = "face", seed: int | None = None):
        self.memory = whole("memory", memory, least=1)
        self.form = one_of("form", form, ("face", "printed"))
        self.seed = None if seed is None else whole("seed", seed, least=0)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """[Andrew07] algorithm 1."""
        quadratic = smooth_part(problem)
        D = _diagonal(problem, quadratic) if self.form == "face" else np.ones_like(w)
        H = LBFGSMemory(self.memory, D)  # S <- {}, Y <- {}
        if state is not None:
            H.restore(state)
        bound = scaled_bound(problem, _EVERY)
        point = problem.risk.at(w)
        while True:
            J = problem.objective(point)
            here = functools.partial(_state, point.w, H)
            yield Step(point, J, *bound.after(point, J), here)
            new = self._next(problem, point, J, H)
            if new is None and self.form == "face" and H.forget():
                new = self._next(problem, point, J, H)
            if new is None:
                yield Step(point, J, *bound.at(point), here)  # it may have rested at the last point
                return
            s = new.w - point.w
            H.add(s, new.subgradient - point.subgradient + quadratic * s)  # y: l's gradient alone
            point = new

    def _next(self, problem: Problem, point: Point, J: float, H: LBFGSMemory) -> Point | None:
        v = -self.subgradient(problem, point)
        if not v.any():
            return None
        moving = (point.w != 0) | (v != 0)
        p = self.direction(problem, point, v, _on_face(H, moving) if self.form == "face" else H)
        if not H.pairs:
            p /= np.linalg.norm(v)  # scores of order 1, for want of knowledge
        return _search(problem, point, J, p, v if self.form == "printed" else None)

    def subgradient(self, problem: Problem, point: Point) -> Array:
        """The pseudo-gradient: the element of dJ(w) of steepest descent (eq. 4)."""
        if self.seed is not None:
            return self._drawn(problem, point)
        right, left = (_one_sided(problem, point, side) for side in (1.0, -1.0))
        return np.where(left > 0, left, np.where(right < 0, right, 0.0))

    def _drawn(self, problem: Problem, point: Point) -> Array:
        """Any element of dJ(w): at random within the intervals, the same at the same w."""
        draw = np.random.default_rng([self.seed or 0, zlib.crc32(point.w.tobytes())])
        p = draw.uniform(-1, 1, size=len(point.w))
        share = np.where(point.w == 0, np.abs(p), 1.0)
        regular = share * problem.regularizer.support(point.w, p)
        return point.subgradient + problem.strength * regular

    def direction(self, problem: Problem, point: Point, v: Array, H: _Face | LBFGSMemory) -> Array:
        """pi(H v; v), eq. 3, the signs being imposed where w = 0 only, unless as printed."""
        d = H.times(v)
        free = (point.w != 0) & (self.form == "face")
        return np.where(free | (d * v > 0), d, 0.0)

    def obstacle(self, problem: Problem) -> str | None:
        """What it needs, and what its certificate needs."""
        return super().obstacle(problem) or _scaled_dual.obstacle(problem)


class OWLQNStar(OWLQN):
    """OWL-QN with the direction of [Yu10] algorithm 2, for which any subgradient will do.

    As printed, that is one step at a time to an absolute tolerance of 1e-5.
    """

    name = "owlqn-star"

    def direction(self, problem: Problem, point: Point, v: Array, H: _Face | LBFGSMemory) -> Array:
        """descentDirection(-v), without what does not descend where w = 0."""

        def support(p: Array) -> Array:
            problem.pulse()
            problem.effort.inner += 1
            return _steepest(problem, point, p)

        found = self.found(-v, H, support)
        if found is None:
            return super().direction(problem, point, v, H)
        p = found.p
        return np.where((point.w != 0) | (support(p) * p < 0), p, 0.0)

    def found(self, g: Array, H: _Face | LBFGSMemory, support: Oracle) -> Direction | None:
        """What algorithm 2 finds, ours or as it is printed."""
        find = descent_direction if self.form == "face" else one_step_direction
        return find(g, H.times, support, k_max=_K_MAX)


class _Face:
    """H on the coordinates F, the others staying where they are."""

    def __init__(self, H: LBFGSMemory, F: Array):
        self.F, self.H = F, H

    def times(self, g: Array) -> Array:
        """H g on the face."""
        Hg = np.zeros_like(g)
        Hg[self.F] = self.H.times(g[self.F])
        return Hg


def _on_face(H: LBFGSMemory, F: Array) -> _Face:
    """From the pairs cut down to F, but for those whose curvature lay elsewhere."""
    face = LBFGSMemory(H.pairs.maxlen or 1, H.D[F])
    for s, y, _ in H.pairs:
        face.add(s[F], y[F])
    return _Face(face, F)


def _search(
    problem: Problem, point: Point, J: float, p: Array, v: Array | None = None
) -> Point | None:
    """The first of the projected points with sufficient decrease; None if round-off leaves none.

    With v, the slope that the decrease is measured by is -v's, as printed, and not J's own.
    """
    w, alpha = point.w, 1.0
    xi = np.where(w != 0, np.sign(w), np.sign(p))
    for _ in range(_TRIALS):
        problem.pulse()
        x = w + alpha * p
        s = np.where(np.sign(x) == xi, x, 0.0) - w  # pi(x; xi) - w, so that w + s is exact at 0
        slope = float((_steepest(problem, point, s) if v is None else -v) @ s)  # J'(w; s)
        if slope < 0:
            problem.effort.evaluations += 1
            problem.effort.step = alpha
            new = point.towards(s).at(1.0)
            if problem.objective(new) <= J + _GAMMA * slope + FEW_OPERATIONS * abs(J):
                return new
        alpha *= _BETA
    return None


def _steepest(problem: Problem, point: Point, p: Array) -> Array:
    """Argsup over g in dJ(w) of <g, p>, R being differentiable."""
    return point.subgradient + problem.strength * problem.regularizer.support(point.w, p)


def _one_sided(problem: Problem, point: Point, side: float) -> Array:
    """The partial derivatives of J to the right (side > 0) or to the left."""
    return _steepest(problem, point, np.full(len(point.w), side))


def smooth_part(problem: Problem) -> Array:
    """The curvature that Omega adds to l: that of the elastic net's quadratic."""
    return problem.strength * problem.regularizer.orthant_curvature(problem.risk.n_parameters)


def _diagonal(problem: Problem, quadratic: Array) -> Array:
    hessian: Array = problem.risk.curvature() + quadratic
    hessian[hessian == 0] = 1.0  # an empty column
    return hessian**-0.5


def _state(w: Array, H: LBFGSMemory) -> State:
    return {"w": w, **H.state()}
