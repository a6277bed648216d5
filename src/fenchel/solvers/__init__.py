"""Solvers: how a problem is minimised. One file for each algorithm."""

from __future__ import annotations

from typing import Any

from fenchel.errors import Incompatible
from fenchel.risks.base import Problem
from fenchel.risks.views.prox_functions import ProxFunction
from fenchel.settings import construct
from fenchel.solvers._by_kernel import by_kernel
from fenchel.solvers._unpenalised import unpenalised
from fenchel.solvers.agm_inf import AGMInf
from fenchel.solvers.agm_one import AGMOne
from fenchel.solvers.auto import auto, unproved
from fenchel.solvers.base import Found, Needs, Solver, State, Step
from fenchel.solvers.bcfw import BCFW
from fenchel.solvers.block_descent import BlockDescent
from fenchel.solvers.bmrm import BMRM
from fenchel.solvers.bmrm_noqp import BMRMWithoutQP
from fenchel.solvers.column_descent import ColumnDescent
from fenchel.solvers.excessive_gap import ExcessiveGap
from fenchel.solvers.fista import FISTA
from fenchel.solvers.hybrid import Hybrid
from fenchel.solvers.kernel_newton import KernelNewton
from fenchel.solvers.kt_split import KTSplit
from fenchel.solvers.lbfgs import LBFGS
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.newton import Newton
from fenchel.solvers.newton_cg import NewtonCG
from fenchel.solvers.owlqn import OWLQN, OWLQNStar
from fenchel.solvers.pdhg import PDHG
from fenchel.solvers.pegasos import Pegasos
from fenchel.solvers.polish import Polish
from fenchel.solvers.proximal_gradient import ProximalGradient
from fenchel.solvers.sdca import SDCA
from fenchel.solvers.smo import SMO
from fenchel.solvers.sublbfgs import GD, SubBFGS, SubGD, SubLBFGS

__all__ = [
    "BCFW",
    "BMRM",
    "FISTA",
    "GD",
    "LBFGS",
    "OWLQN",
    "PDHG",
    "SDCA",
    "SMO",
    "SOLVERS",
    "AGMInf",
    "AGMOne",
    "BMRMWithoutQP",
    "BlockDescent",
    "ColumnDescent",
    "ExcessiveGap",
    "Found",
    "Hybrid",
    "KTSplit",
    "KernelNewton",
    "LineSearchBMRM",
    "Needs",
    "Newton",
    "NewtonCG",
    "OWLQNStar",
    "Pegasos",
    "Polish",
    "ProxFunction",
    "ProximalGradient",
    "Solver",
    "State",
    "Step",
    "SubBFGS",
    "SubGD",
    "SubLBFGS",
    "chosen",
    "solver",
]

SOLVERS: dict[str, type[Solver]] = {
    kind.name: kind
    for kind in (
        LBFGS,
        Newton,
        NewtonCG,
        ColumnDescent,
        BlockDescent,
        OWLQN,
        OWLQNStar,
        KTSplit,
        BMRM,
        LineSearchBMRM,
        BMRMWithoutQP,
        SubLBFGS,
        SubBFGS,
        Hybrid,
        SubGD,
        GD,
        Pegasos,
        SDCA,
        SMO,
        KernelNewton,
        BCFW,
        Polish,
        AGMInf,
        AGMOne,
        ExcessiveGap,
        PDHG,
        FISTA,
        ProximalGradient,
    )
}


def solver(name: str, **options: Any) -> Solver:
    """The solver of that name with its options, for `minimize(problem, solver(...))`."""
    if name == "auto":
        raise Incompatible('"auto" has no options: give it to minimize as it is')
    return construct("solver", name, SOLVERS, options)


def chosen(wanted: str | Solver, problem: Problem) -> tuple[Solver, str]:
    """The solver to use and the reason; an error before any work if it cannot do the problem."""
    if wanted == "auto":
        return unpenalised(problem) or by_kernel(problem) or auto(problem)
    picked = wanted if isinstance(wanted, Solver) else solver(wanted)
    obstacle = picked.obstacle(problem)
    if obstacle is not None:
        able = [name for name, kind in SOLVERS.items() if kind().obstacle(problem) is None]
        remedy = f"solvers that can: {', '.join(able)}" if able else "no solver here can"
        raise Incompatible(f"{picked.name} cannot minimise this problem: ", obstacle, f"; {remedy}")
    proves = isinstance(picked, Newton | NewtonCG)  # at any strength
    return picked, "asked for" + ("" if proves else unproved(problem))
