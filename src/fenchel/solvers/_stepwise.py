"""A solver each of whose iterates is worth a look, for runs that are watched as they go.

On small data the fastest solvers take all their steps in one call of a kernel, and the first
iterate that anyone sees is the minimiser. Who would stop before that needs one that shows them all.
"""

from __future__ import annotations

from fenchel.risks.base import Problem
from fenchel.solvers.agm_one import AGMOne
from fenchel.solvers.base import Solver
from fenchel.solvers.bmrm import BMRM
from fenchel.solvers.fista import FISTA
from fenchel.solvers.lbfgs import LBFGS
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.owlqn import OWLQN
from fenchel.solvers.sublbfgs import SubLBFGS

_IN_ORDER: tuple[type[Solver], ...] = (
    LBFGS,
    OWLQN,
    LineSearchBMRM,
    BMRM,
    FISTA,
    AGMOne,
    SubLBFGS,
)

REASON = "it shows every step, which rows that are held out need"


def stepwise(problem: Problem) -> Solver | None:
    """The first of these that can minimise the problem, None if none can."""
    kinds = (kind for kind in _IN_ORDER if kind().obstacle(problem) is None)
    found = next(kinds, None)
    return None if found is None else found()
