"""`auto`: which solver for which problem.

Where several solvers are good, measurements decide: auto_table.json holds the seconds that each of
them took to certify a gap of 1e-4 on problems of many shapes (benchmarks/auto.py makes it anew). A
problem gets the fastest on the three measured problems most like it. Newton's method needs no
measurement where columns are few, nor column descent where the regulariser is sparse. For small
problems, those of other kinds, and rows that are not all in memory, where passes cost more, a fixed
order decides.
"""

from __future__ import annotations

import functools
import json
import math
from importlib import resources
from typing import TypedDict

from fenchel.errors import Incompatible
from fenchel.regularizers import L2, Boxed, ElasticNet
from fenchel.risks.base import Problem
from fenchel.risks.views.lagrangian import is_piecewise_linear
from fenchel.solvers.agm_one import AGMOne
from fenchel.solvers.base import Solver
from fenchel.solvers.bmrm import BMRM
from fenchel.solvers.column_descent import ColumnDescent
from fenchel.solvers.fista import FISTA
from fenchel.solvers.lbfgs import LBFGS
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.newton import Newton
from fenchel.solvers.owlqn import OWLQN
from fenchel.solvers.polish import Polish
from fenchel.solvers.sdca import SDCA
from fenchel.solvers.sublbfgs import SubLBFGS

# The solvers that are measured against each other, for each kind of problem.
CANDIDATES: dict[str, tuple[type[Solver], ...]] = {
    "differentiable, l2": (LBFGS, Newton, SDCA),
    "piecewise linear, l2": (Polish, SDCA, LineSearchBMRM),
    "piecewise linear, elastic_net": (SDCA, LineSearchBMRM),
}

# Numbers in X below which the fixed order holds. All take milliseconds there, and the first two and
# the bundle end far below the gap, so that their models do not depend on the order of the rows.
_SMALL = 50_000

# So many measured problems decide together, the nearer the more. Left out of the table, each of its
# problems so gets a solver that takes 1.09 times the seconds of the best, in the geometric mean; by
# the nearest alone 1.13.
_LIKE, _NEAR = 3, 0.1

# Powers of ten by which a problem's response may exceed those of all problems most like it: the
# passes of coordinate ascent grow with it, and those of unscaled columns have no end.
_BEYOND = 1.0

# Up to which Newton's steps need no measurement: a Hessian is added up in about a pass, and
# factored in milliseconds. A start nearby, as on a path, leaves one of them.
_FEW_COLUMNS = 300

# What is tried for all other problems, in this order, and why.
_PREFERENCES: tuple[tuple[type[Solver], str], ...] = (
    (Newton, "the loss is smooth, the regulariser quadratic, and the columns are few"),
    (LBFGS, "the loss is differentiable and the regulariser quadratic"),
    (ColumnDescent, "the loss is smooth, the regulariser sparse, and X is in one memory"),
    (OWLQN, "the loss is differentiable and the regulariser sparse"),
    (LineSearchBMRM, "a bundle with a line search is the fastest certified method for the rest"),
    (BMRM, "a bundle takes any loss >= 0, and unpenalised coordinates"),
    (FISTA, "the loss is differentiable and the regulariser has a prox"),
    (AGMOne, "the loss can be smoothed and the regulariser has a prox"),
    (SubLBFGS, "subgradients are all that is left"),
)


def auto(problem: Problem) -> tuple[Solver, str]:
    """The solver for a problem, and why."""
    able = [
        kind for kind in CANDIDATES.get(kind_of(problem), ()) if kind().obstacle(problem) is None
    ]
    sure = Newton in able and problem.risk.n_parameters <= _FEW_COLUMNS
    large = problem.risk.n_numbers >= _SMALL and problem.risk.facts.in_one_memory
    if large and len(able) > 1 and not sure:
        return _measured(able, problem)
    obstacles: list[str] = []
    free = len(problem.regularizer.free(problem.risk.n_parameters))
    for kind, reason in _PREFERENCES:
        obstacle = kind().obstacle(problem)
        if kind is Newton and problem.risk.n_parameters > _FEW_COLUMNS:
            continue
        exact = problem.regularizer.piecewise and problem.risk.facts.keeps_scores
        if kind is LineSearchBMRM and (free or not exact):
            continue  # BMRM's cuts lie further apart, which unpenalised coordinates need
        if kind is FISTA and not problem.risk.facts.differentiable:
            continue  # its steps shrink with the smoothing
        if obstacle is None:
            return kind(), reason + unproved(problem)
        obstacles += ["; " if obstacles else "", f"for {kind.name}, ", obstacle]
    raise Incompatible("no solver can minimise this problem: ", *obstacles)


def unproved(problem: Problem) -> str:
    """A warning where no lower bound but that of R >= 0 will come."""
    if problem.strength == 0:
        return "; at strength 0 nothing can be certified"
    regularizer = problem.regularizer
    if regularizer.has("conjugate"):
        found = regularizer.has("conjugate_argmax") or regularizer.has("reach")
        missing = "" if found else f"{type(regularizer).__name__}.reach"
    elif isinstance(regularizer, Boxed):  # whose conjugate is made of that
        missing = f"{type(regularizer.inner).__name__}.conjugate_argmax"
    else:
        missing = f"{type(regularizer).__name__}.conjugate"
    return f"; nothing can be certified without {missing}" if missing else ""


def kind_of(problem: Problem) -> str:
    """The kind of a problem in the table; "other" for those that are not in it."""
    risk = problem.risk
    names = {L2: "l2", ElasticNet: "elastic_net"}
    penalty = names.get(type(problem.regularizer), "other")
    if is_piecewise_linear(risk):
        return f"piecewise linear, {penalty}"
    return f"differentiable, {penalty}" if risk.facts.differentiable else "other"


def shape_of(problem: Problem) -> tuple[float, ...]:
    """What decides between solvers, as decimal logarithms.

    Rows, columns, numbers in a row, and how far a step on one dual variable moves its row's score.
    """
    risk = problem.risk
    response = risk.length**2 / (problem.strength * risk.n_rows)
    per_row = risk.n_numbers / risk.n_rows
    sizes = risk.n_rows, risk.n_parameters, per_row, response
    return tuple(round(math.log10(max(size, 1e-30)), 3) for size in sizes)


def _measured(able: list[type[Solver]], problem: Problem) -> tuple[Solver, str]:
    kind, shape = kind_of(problem), shape_of(problem)
    cases = (case for case in _table() if case["kind"] == kind)
    likest = sorted((math.dist(case["shape"], shape), case["name"], case) for case in cases)[:_LIKE]

    def slowness(each: type[Solver]) -> float:
        return sum(
            math.log(case["seconds"].get(each.name, math.inf)) / (_NEAR + distance)
            for distance, _, case in likest
        )

    reasons = []
    if shape[-1] > max(case["shape"][-1] for _, _, case in likest) + _BEYOND:
        able = [each for each in able if each is not SDCA]
        reasons.append("sdca would be slow with columns so large for the strength")
    fastest = min(able, key=slowness)
    if others := " and ".join(each.name for each in able if each is not fastest):
        name = likest[0][1]
        reasons.append(f"better than {others} on the measured problems most like it, first {name}")
    return fastest(), "; ".join(reasons)


class _Case(TypedDict):
    """A problem that was measured: what it is like, and how long each solver took."""

    kind: str
    name: str
    shape: list[float]
    seconds: dict[str, float]


@functools.cache
def _table() -> list[_Case]:
    text = resources.files("fenchel.solvers").joinpath("auto_table.json").read_text()
    table: list[_Case] = json.loads(text)
    return table
