"""`auto` for rows that are known through a kernel."""

from __future__ import annotations

from fenchel.losses.residual import Expectile, SquaredError
from fenchel.risks.base import Problem
from fenchel.solvers.base import Solver
from fenchel.solvers.kernel_newton import KernelNewton
from fenchel.solvers.ls_bmrm import LineSearchBMRM
from fenchel.solvers.smo import SMO


def by_kernel(problem: Problem) -> tuple[Solver, str] | None:
    """The solver for a kernel problem, and why; None for others."""
    if not problem.risk.facts.by_kernel:
        return None
    if KernelNewton().obstacle(problem) is None and _is_curved(problem):
        return KernelNewton(), "with a kernel, every row of a smooth loss counts: Newton's steps"
    if SMO().obstacle(problem) is None:
        return SMO(), "with a kernel, few rows decide, and only their columns are computed"
    return LineSearchBMRM(), "a bundle needs inner products of gradients alone, which a kernel has"


def _is_curved(problem: Problem) -> bool:
    """Whether most rows have a curvature: the loss is smooth, and flat nowhere."""
    loss = getattr(problem.risk, "loss", None)
    return not problem.risk.facts.piecewise or isinstance(loss, SquaredError | Expectile)
