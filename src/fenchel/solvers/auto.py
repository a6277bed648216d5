"""`auto`: which solver for which problem.

Where several solvers are good, measurements decide: auto_table.json holds the seconds that each of
them took to certify a gap of 1e-4 on problems of many shapes (benchmarks/auto.py makes it anew). A
problem gets the fastest on the three measured problems most like it. For problems of other kinds,
and rows that are not all in memory, where passes cost more, a fixed order decides.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable
from importlib import resources
from typing import TypedDict

import numpy as np

from fenchel.errors import Incompatible
from fenchel.losses import SquaredError, VectorLoss
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.regularizers.written import missing
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.block_run import serves
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.lagrangian import is_piecewise_linear
from fenchel.solvers.agm_one import AGMOne
from fenchel.solvers.base import Solver
from fenchel.solvers.block_descent import BlockDescent
from fenchel.solvers.bmrm import BMRM
from fenchel.solvers.column_descent import ColumnDescent
from fenchel.solvers.fista import FISTA
from fenchel.solvers.lbfgs import LBFGS
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.newton import Newton
from fenchel.solvers.newton_cg import NewtonCG, in_kernel
from fenchel.solvers.owlqn import OWLQN
from fenchel.solvers.polish import Polish
from fenchel.solvers.sdca import SDCA
from fenchel.solvers.sublbfgs import SubLBFGS

# The solvers that are measured against each other, for each kind of problem: is the loss smooth,
# has a row one score or several, and what is the regulariser.
CANDIDATES: dict[str, tuple[type[Solver], ...]] = {
    "smooth, l2": (LBFGS, Newton, SDCA),
    "smooth, l1": (ColumnDescent, OWLQN),
    "smooth, elastic_net": (ColumnDescent, OWLQN),
    "kinked, l2": (Polish, SDCA, LineSearchBMRM),
    "kinked, l1": (Polish, LineSearchBMRM),
    "kinked, elastic_net": (Polish, SDCA, LineSearchBMRM),
    "smooth vectors, l2": (LBFGS, NewtonCG, SDCA),
    "kinked vectors, l2": (Polish, SDCA, LineSearchBMRM),
}

# Numbers in X below which coordinate ascent is left out: its models depend on the order of rows, if
# by less than the gap, and where a fit takes milliseconds nobody expects that.
_SMALL = 50_000

# So many measured problems decide together, the nearer the more.
_LIKE, _NEAR = 3, 0.1

# Powers of ten by which a problem's response may exceed those of all problems most like it: the
# passes of coordinate ascent grow with it, and those of unscaled columns have no end.
_BEYOND = 1.0

_ALONE = "no other can minimise such a problem as fast"

# What is tried for all other problems, in this order, and why.
_PREFERENCES: tuple[tuple[type[Solver], str], ...] = (
    (LBFGS, "the loss is differentiable and the regulariser quadratic"),
    (ColumnDescent, "the loss is smooth, the regulariser sparse, and X is in one memory"),
    (BlockDescent, "the loss is smooth, columns are left out whole or in part, X is in one memory"),
    (OWLQN, "the loss is differentiable and the regulariser sparse"),
    (LineSearchBMRM, "a bundle with a line search is the fastest certified method for the rest"),
    (BMRM, "a bundle takes any loss >= 0, and unpenalised coordinates"),
    (FISTA, "the loss is differentiable and the regulariser has a prox"),
    (AGMOne, "the loss can be smoothed and the regulariser has a prox"),
    (SubLBFGS, "subgradients are all that is left"),
)


def auto(problem: Problem) -> tuple[Solver, str]:
    """The solver for a problem, and why."""
    if problem.risk.facts.in_one_memory and problem.strength > 0:
        kind = kind_of(problem)
        candidates = CANDIDATES.get(kind, ())
        if len(problem.regularizer.free(problem.risk.n_parameters)):
            candidates = tuple(each for each in candidates if each is not LineSearchBMRM)
        if problem.risk.n_numbers < _SMALL:
            candidates = tuple(each for each in candidates if each is not SDCA)
        able = _able(problem, candidates)
        if NewtonCG in able and serves(problem) and not in_kernel(problem):
            able.remove(NewtonCG)  # what was measured is the kernel
        if isinstance(problem.risk, LinearRisk) and type(problem.risk.loss) is SquaredError:
            # Its working sets are solved exactly: OWL-QN was faster on none that was measured.
            able = [each for each in able if each is not OWLQN or ColumnDescent not in able]
        if able:
            return _measured(able, kind, problem)
    return _preferred(problem)


def _able(problem: Problem, solvers: Iterable[type[Solver]]) -> list[type[Solver]]:
    """Those that can minimise the problem."""
    return [each for each in solvers if each().obstacle(problem) is None]


def _preferred(problem: Problem) -> tuple[Solver, str]:
    """The first that can minimise the problem, in the order of preference."""
    obstacles: list[str] = []
    free = len(problem.regularizer.free(problem.risk.n_parameters))
    for kind, reason in _PREFERENCES:
        obstacle = kind().obstacle(problem)
        exact = problem.regularizer.piecewise and problem.risk.facts.keeps_scores
        if kind is LineSearchBMRM and (free or not exact):
            continue  # BMRM's cuts lie further apart, which unpenalised coordinates need
        if kind is FISTA and not problem.risk.facts.differentiable:
            continue  # its steps shrink with the smoothing
        if obstacle is None:
            found = FISTA(restart=True) if kind is FISTA else kind()
            return found, reason + unproved(problem)
        obstacles += ["; " if obstacles else "", f"for {kind.name}, ", obstacle]
    raise Incompatible("no solver can minimise this problem: ", *obstacles)


def unproved(problem: Problem) -> str:
    """A warning where no lower bound but that of R >= 0 will come."""
    if problem.strength == 0:
        return "; at strength 0 nothing can be certified"
    absent = missing(problem.regularizer)
    return f"; nothing can be certified without {absent}" if absent else ""


def kind_of(problem: Problem) -> str:
    """The kind of a problem in the table; "other" for those that are not in it."""
    risk, penalty = problem.risk, _PENALTY_WORDS.get(type(problem.regularizer))
    if penalty is None or not isinstance(risk, LinearRisk) or risk.facts.user_written:
        return "other"
    smooth = "smooth" if risk.facts.differentiable else "kinked"
    if isinstance(risk.loss, VectorLoss):
        return f"{smooth} vectors, {penalty}"
    known = has_dual_steps(risk) and (risk.facts.differentiable or is_piecewise_linear(risk))
    return f"{smooth}, {penalty}" if known else "other"


_PENALTY_WORDS = {L2: "l2", L1: "l1", ElasticNet: "elastic_net"}


def shape_of(problem: Problem) -> tuple[float, ...]:
    """What decides between solvers, as decimal logarithms; and whether there is an intercept.

    Rows, columns, numbers in a row, scores of a row, and how far a step on one dual variable moves
    its row's score.
    """
    risk = problem.risk
    assert isinstance(risk, LinearRisk)
    response = risk.length**2 / (problem.strength * risk.n_rows)
    columns = risk.n_parameters / risk.n_outputs
    sizes = risk.n_rows, columns, risk.n_numbers / risk.n_rows, risk.n_outputs, response
    logarithms = (round(math.log10(max(size, 1e-30)), 3) for size in sizes)
    return (float(risk.facts.has_intercept), *logarithms)


def _measured(able: list[type[Solver]], kind: str, problem: Problem) -> tuple[Solver, str]:
    if len(able) == 1 and SDCA not in able:
        return able[0](), _ALONE
    shape, cases, reasons = shape_of(problem), _table()[kind], []
    likest = likest_of(cases, shape)
    if SDCA in able and shape[-1] > max(case["shape"][-1] for _, case in likest) + _BEYOND:
        able = [each for each in able if each is not SDCA]
        if not able:
            return _preferred(problem)
        reasons.append("sdca would be slow with columns so large for the strength")
    best = fastest(able, likest)
    if others := " and ".join(each.name for each in able if each is not best):
        name = likest[0][1]["name"]
        reasons.append(f"better than {others} on the measured problems most like it, first {name}")
    return best(), "; ".join(reasons) or _ALONE


def fastest(able: list[type[Solver]], likest: list[tuple[float, Case]]) -> type[Solver]:
    """The one that took the least on some measured problems, the nearer the more."""

    def slowness(each: type[Solver]) -> float:
        return sum(
            math.log(case["seconds"].get(each.name, math.inf)) / (_NEAR + distance)
            for distance, case in likest
        )

    return min(able, key=slowness)


def likest_of(cases: Cases, shape: tuple[float, ...]) -> list[tuple[float, Case]]:
    """The nearest of some measured problems, with their distances."""
    distances = np.linalg.norm(cases.shapes - shape, axis=1)
    nearest = np.argsort(distances, kind="stable")[:_LIKE].tolist()
    return [(float(distances[k]), cases.all[k]) for k in nearest]


class Case(TypedDict):
    """A problem that was measured: what it is like, and how long each solver took."""

    kind: str
    name: str
    shape: list[float]
    seconds: dict[str, float]


class Cases:
    """Measured problems of one kind, with their shapes as an array."""

    def __init__(self, cases: list[Case]):
        self.all, self.shapes = cases, np.array([case["shape"] for case in cases])


@functools.cache
def _table() -> dict[str, Cases]:
    """The measured problems of each kind."""
    text = resources.files("fenchel.solvers").joinpath("auto_table.json").read_text()
    cases: list[Case] = json.loads(text)["problems"]
    return {kind: Cases([case for case in cases if case["kind"] == kind]) for kind in CANDIDATES}
