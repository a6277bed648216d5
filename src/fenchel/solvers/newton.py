"""Newton's method for smooth losses under L2, with a line search.

    (lambda C + X' diag(l''(z_i)) X / S) p = -grad J(w)
    w <- w + eta p,    eta by a line search along p

The slope of a loss may bend, as the squared hinge's does: its Hessian is then that on one side
(Mangasarian 2002), and as the search along p is exact for such losses, the method ends after
finitely many steps. A step takes three passes: the Hessian's rows, X p and X'a. Few steps are
needed at any strength, where the Hessian's factor is cheap: of few columns, or few rows.

Where all rows are one shard and columns are few, a kernel takes runs of such steps, in which an
intercept moves with w (kernels/newton.hpp); then an iteration is a run. It ends where the tangent
is likely to prove the gap that was asked for. If it does not, the next run goes as far as it can.
The same kernel follows paths, of a million numbers in X too. Of a hundred columns and more a step
costs as much as tens of gradients: there steps of L-BFGS come first, and Newton's follow if those
do not get on.

The lower bound is the tangent's ([Teo07] lemma 5), min J >= J(w) - ||grad J(w)||^2 / (2 lambda),
which falls as fast as the gradient does. At strength 0 it is half the square of Newton's decrement
below J(w), once that is small: here a claim, which verification/curvature.py proves.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence

from fenchel.errors import Phrase
from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.newton import Hessian
from fenchel.risks.views.newton_system import MOST_UNKNOWNS
from fenchel.solvers._decrement import claimed
from fenchel.solvers._line_search import Along, search
from fenchel.solvers.base import Found, Needs, Solver, State, Step

_SAFE = 0.5  # of the gap, at which a run of steps ends


class Newton(Solver):
    """Newton's method for the built-in differentiable losses of one score a row."""

    name = "newton"
    needs = Needs(
        regularizer=("quadratic", "separable"),
        differentiable=True,
        strongly_convex=True,
        positive_strength=False,
        views=(Hessian,),
    )

    def __init__(self) -> None:
        self._aim = 0.0

    def aiming(self, gap: float) -> Newton:
        """A run of steps ends where the gap may be small enough."""
        solver = copy.copy(self)
        solver._aim = gap
        return solver

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """A step at a time; on small data a run of them, which a kernel takes."""
        diagonal = problem.strength * problem.regularizer.curvature(len(w))
        hessian, aim = Hessian(problem.risk), _SAFE * self._aim
        # The kernel's steps would lead far out where columns depend on each other.
        runs = hessian.takes_runs and problem.strength > 0
        point: Point = hessian.at(w) if runs else problem.risk.at(w)
        begun = not runs  # the tangent where a run begins is not worth its time
        while True:
            J, kept = problem.objective(point), functools.partial(_state, point.w)
            p: Array | None = None
            if begun and problem.strength > 0:
                witness = functools.partial(getattr, point, "witness")
                yield Step(point, J, problem.tangent_bound(point), witness, kept)
            elif begun:
                p = hessian.newton_step(point, diagonal, point.subgradient)
                yield claimed(point, J, p, kept)
            else:
                yield Step(point, J, state=kept)
            begun = True
            if runs:
                problem.pulse()
                point, taken = hessian.run(point, diagonal, aim)
                if taken == 0 and aim == 0:
                    return
                if taken < hessian.at_once:  # the gap is said to be reached
                    aim = 0.0
                continue
            if p is None:
                p = hessian.newton_step(point, diagonal, problem.subgradient(point))
            along = Along(problem, point, p)
            eta = search(along, J)
            if eta == 0:
                return
            point = along.at(eta)

    def follow(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Found] | None:
        """Where a kernel takes runs of steps: those at all strengths, each from the last."""
        hessian, d = Hessian(problem.risk), problem.risk.n_parameters
        if not hessian.takes_paths(len(strengths)):
            return None
        unit, aim = problem.regularizer.curvature(d), _SAFE * self._aim
        return (Found(*claim) for claim in hessian.path(unit, strengths, aim, problem.pulse))

    def obstacle(self, problem: Problem) -> str | None:
        """The Hessian's factor must be cheap."""
        risk = problem.risk
        if problem.strength == 0 and risk.n_parameters > MOST_UNKNOWNS:
            needed = f"at most {MOST_UNKNOWNS} columns, or {{strength}} > 0"
            return Phrase.of(f"it needs {needed}")
        if min(risk.n_parameters, risk.n_rows) > MOST_UNKNOWNS:
            return f"it needs at most {MOST_UNKNOWNS} columns or rows"
        return super().obstacle(problem)


def _state(w: Array) -> State:
    return {"w": w}
