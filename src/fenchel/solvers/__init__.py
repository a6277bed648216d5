"""Solvers: how a problem is minimised. One file for each algorithm."""

from __future__ import annotations

from typing import Any

from fenchel.errors import Incompatible
from fenchel.naming import construct
from fenchel.protocols import Problem
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.bmrm import BMRM
from fenchel.solvers.bmrm_noqp import BMRMWithoutQP
from fenchel.solvers.lbfgs import LBFGS

__all__ = [
    "BMRM",
    "LBFGS",
    "SOLVERS",
    "BMRMWithoutQP",
    "Needs",
    "Solver",
    "State",
    "Step",
    "chosen",
    "solver",
]

SOLVERS: dict[str, type[Solver]] = {kind.name: kind for kind in (LBFGS, BMRM, BMRMWithoutQP)}


def solver(name: str, **options: Any) -> Solver:
    """The solver of that name with its options, for `minimize(problem, solver(...))`."""
    if name == "auto":
        raise Incompatible('"auto" has no options: give it to minimize as it is')
    return construct("solver", name, SOLVERS, options)


def chosen(wanted: str | Solver, problem: Problem) -> tuple[Solver, str]:
    """The solver to use and the reason; an error before any work if it cannot do the problem."""
    if wanted == "auto":
        return _auto(problem)
    picked = wanted if isinstance(wanted, Solver) else solver(wanted)
    obstacle = picked.obstacle(problem)
    if obstacle is not None:
        able = [name for name, kind in SOLVERS.items() if kind().obstacle(problem) is None]
        remedy = f"solvers that can: {', '.join(able)}" if able else "no solver here can"
        raise Incompatible(f"{picked.name} cannot minimise this problem: {obstacle}; {remedy}")
    return picked, "asked for"


def _auto(problem: Problem) -> tuple[Solver, str]:
    lbfgs, bmrm = LBFGS(), BMRM()
    obstacle = lbfgs.obstacle(problem)
    if obstacle is None:
        return lbfgs, "the loss is differentiable and the regulariser quadratic"
    if bmrm.obstacle(problem) is None:
        return bmrm, f"lbfgs is faster on smooth problems, but {obstacle}"
    raise Incompatible(
        f"no solver can minimise this problem: for lbfgs, {obstacle}; "
        f"for bmrm, {bmrm.obstacle(problem)}"
    )
