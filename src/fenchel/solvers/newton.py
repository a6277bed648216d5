"""Newton's method for smooth losses under L2, with a line search.

    (lambda C + X' diag(l''(z_i)) X / S) p = -grad J(w)
    w <- w + eta p,    eta by a line search along p

The slope of a loss may bend, as the squared hinge's does: its Hessian is then that on one side
(Mangasarian 2002), and as the search along p is exact for such losses, the method ends after
finitely many steps. A step takes three passes: the Hessian's rows, X p and X'a. Few steps are
needed at any strength, where the Hessian's factor is cheap: of few columns, or few rows.

The lower bound is the tangent's ([Teo07] lemma 5), min J >= J(w) - ||grad J(w)||^2 / (2 lambda),
which falls as fast as the gradient does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.newton import MOST_UNKNOWNS, Hessian
from fenchel.solvers._line_search import Along, search
from fenchel.solvers.base import Needs, Solver, State, Step


class Newton(Solver):
    """Newton's method for the built-in differentiable losses of one score a row."""

    name = "newton"
    needs = Needs(
        regularizer=("quadratic", "separable"),
        differentiable=True,
        strongly_convex=True,
        views=(Hessian,),
    )

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        diagonal = problem.strength * problem.regularizer.curvature(len(w))
        point, hessian = problem.risk.at(w), Hessian(problem.risk)
        while True:
            J, bound = problem.objective(point), problem.tangent_bound(point)
            witness = functools.partial(getattr, point, "witness")
            yield Step(point, J, bound, witness, functools.partial(dict, w=point.w))
            p = hessian.newton_step(point, diagonal, problem.subgradient(point))
            along = Along(problem, point, p)
            eta = search(along, J)
            if eta == 0:
                return
            point = along.at(eta)

    def obstacle(self, problem: Problem) -> str | None:
        """The Hessian's factor must be cheap."""
        risk = problem.risk
        if min(risk.n_parameters, risk.n_rows) > MOST_UNKNOWNS:
            return f"it needs at most {MOST_UNKNOWNS} columns or rows"
        return super().obstacle(problem)
