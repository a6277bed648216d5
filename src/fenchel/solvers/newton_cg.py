"""Newton's method with products (Dembo, Eisenstat and Steihaug 1982), for smooth losses under L2.

    (lambda C + Hessian of R at w) p = -grad J(w), roughly, by conjugate gradients
    w <- w + eta p,    eta by a line search along p

As in `newton`, few steps are needed at any strength; but the Hessian is never made, so that rows
and columns may both be many. Conjugate gradients see it by products, of two passes each, scaled by
its diagonal. They go on until the residual is `_ROUGH` of the gradient or less, ever less as the
gradient vanishes, which makes the steps of the method superlinear in the end. Where rows have
several scores and X is not too large, a kernel takes runs of steps (risks/views/block_run.py).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Generator, Iterator

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.block_run import BlockRun, serves
from fenchel.risks.views.products import HessianProducts
from fenchel.solvers._decrement import claimed
from fenchel.solvers._line_search import Along, search
from fenchel.solvers.base import Needs, Solver, State, Step

_ROUGH = 0.1  # the residual of a system, relative to the gradient, at which it is solved
_MOST = 50  # products in one step: a system that takes more is not worth them
_FEW = 80_000_000  # numbers in X times outputs, up to which runs of steps are a kernel's
_SAFE = 0.5  # of the gap, at which a run of steps ends


def in_kernel(problem: Problem) -> bool:
    """Whether a kernel takes runs of steps, with systems that it scales better."""
    risk = problem.risk
    if not (isinstance(risk, LinearRisk) and problem.strength > 0 and serves(problem)):
        return False
    return risk.n_numbers * risk.n_outputs <= _FEW


class NewtonCG(Solver):
    """Newton's method by conjugate gradients for the built-in smooth losses."""

    name = "newton-cg"
    needs = Needs(
        regularizer=("quadratic", "separable"),
        differentiable=True,
        strongly_convex=True,
        positive_strength=False,
        views=(HessianProducts,),
    )

    def __init__(self) -> None:
        self._aim = 0.0

    def aiming(self, gap: float) -> NewtonCG:
        """A run of steps ends where the gap may be small enough."""
        solver = copy.copy(self)
        solver._aim = gap
        return solver

    def _in_kernel(
        self, problem: Problem, w: Array, state: State | None
    ) -> Generator[Step, None, Array]:
        """Runs of steps for losses of several scores, and more while they lead on; the last w."""
        at, gap, more = BlockRun(problem, w, growth=1.0, state=state), _SAFE * self._aim, True
        if state is not None and "aim" in state:
            gap = min(gap, float(state["aim"]))
        while more:
            kept = functools.partial(_state_of_run, at, gap)
            yield Step(at.point, at.J, at.bound, at.witness, kept)
            problem.pulse()
            before = at.J, at.bound
            reached, more = at.advance(gap)
            gap *= 0.1 if reached else 1.0
            more = more and (at.J, at.bound) != before
        return at.point.w

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Newton's steps, each solved as well as it is worth."""
        if in_kernel(problem) and (state is None or "first" not in state):
            # Where its own search ends short of the gap, single steps go on from there.
            w = yield from self._in_kernel(problem, w, state)
        C = problem.strength * problem.regularizer.curvature(len(w))
        point, first = problem.risk.at(w), np.inf
        if state is not None and "first" in state:
            first = float(state["first"])
        while True:
            g = problem.subgradient(point)
            size = float(np.linalg.norm(g))
            first = size if np.isinf(first) else first
            J, kept = problem.objective(point), functools.partial(_state, point.w, first)
            if problem.strength > 0 or size == 0:
                witness = functools.partial(getattr, point, "witness")
                yield Step(point, J, problem.tangent_bound(point), witness, kept)
            if size == 0:
                return
            rough = min(_ROUGH, np.sqrt(size / first))
            p = _solved(problem, C, HessianProducts(point), -g, rough)
            if problem.strength == 0:
                yield claimed(point, J, p, kept)
            along = Along(problem, point, p)
            eta = search(along, J)
            if eta == 0:
                return
            problem.effort.step = eta
            point = along.at(eta)


def _state_of_run(at: BlockRun, gap: float) -> State:
    return {**at.state(), "aim": np.array(gap)}


def _state(w: Array, first: float) -> State:
    return {"w": w, "first": np.array(first)}


def _solved(problem: Problem, C: Array, H: HessianProducts, b: Array, rough: float) -> Array:
    """p with |(C + H) p - b| <= rough |b|, by conjugate gradients scaled by the diagonal.

    Started from p = 0, every iterate has <b, p> > 0: the step descends however early it ends.
    """
    diagonal = C + H.diagonal()
    scale = 1 / np.where(diagonal > 0, diagonal, 1.0)  # 0 of columns of zeros, at strength 0
    p, r = np.zeros_like(b), b
    d = z = scale * r
    rz = float(r @ z)
    enough = rough * float(np.linalg.norm(b))
    for _ in range(_MOST):
        problem.pulse()
        problem.effort.inner += 1
        Ad = C * d + H @ d
        curvature = float(d @ Ad)
        if not curvature > 0:  # none that is seen beside round-off, as there may be at strength 0
            return p if p.any() else d
        eta = rz / curvature
        if not np.isfinite(eta):  # curvatures beyond the range of numbers, as far out as exp is
            break
        p, r = p + eta * d, r - eta * Ad
        if not float(np.linalg.norm(r)) > enough:
            break
        z = scale * r
        rz, last = float(r @ z), rz
        d = z + (rz / last) * d
    return p
