"""Which solver, where nothing is penalised: one whose bound can be proved."""

from __future__ import annotations

from fenchel.losses import Softmax
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.solvers.base import Solver
from fenchel.solvers.newton import Newton
from fenchel.solvers.newton_cg import NewtonCG

_REASON = "nothing is penalised, and Newton's decrement proves what the gap is"


def unpenalised(problem: Problem) -> tuple[Solver, str] | None:
    """The solver and why; None where something is penalised, or nothing can be proved."""
    risk = problem.risk
    if problem.strength > 0 or not isinstance(risk, LinearRisk) or not risk.facts.in_one_memory:
        return None
    solver: Solver = NewtonCG() if type(risk.loss) is Softmax else Newton()
    return (solver, _REASON) if solver.obstacle(problem) is None else None
