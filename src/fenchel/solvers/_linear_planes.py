"""Cutting planes under L1: a linear programme in a live HiGHS model that grows by a row a cut.

003 eq. 11, divided by lambda so that all numbers the LP solver compares with its tolerances are of
order 1:   min over xi >= 0, w = u - v of  xi + sum_j c_j (u_j + v_j)   subject to
lambda xi >= <a_i, w> + b_i. The row duals are the weights alpha, sum alpha <= 1; what is missing
to 1 is the weight of the zero cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.problem import Array, Problem
from fenchel.solvers._cutting_planes import CuttingPlanes, Indices, InnerFailure


class LinearPlanes(CuttingPlanes):
    """The model by linear programmes."""

    def __init__(self, problem: Problem, max_cuts: int):
        self.lp = _empty_programme(problem)
        super().__init__(problem, max_cuts)

    def appended(self, a: Array, b: float) -> None:
        """A row  xi - <a, u - v> / lambda >= b / lambda."""
        if len(self.b) == 1:
            return  # the zero cut is xi >= 0
        d, used, strength = len(a), np.flatnonzero(a), self.problem.strength
        columns = np.concatenate([[0], 1 + used, 1 + d + used]).astype(np.int32)
        values = np.concatenate([[1.0], -a[used] / strength, a[used] / strength])
        self.lp.addRow(b / strength, np.inf, len(columns), columns, values)

    def dropped(self, cuts: Indices) -> None:
        """Deletes rows; they are not binding, so the basis stays."""
        rows = (cuts - 1).astype(np.int32)
        self.lp.deleteRows(len(rows), rows)

    def maximize(self) -> None:
        """Re-solves from the last basis."""
        self.lp.run()
        solution = self.lp.getSolution()
        optimal = self.lp.modelStatusToString(self.lp.getModelStatus()) == "Optimal"
        if not optimal or len(solution.row_dual) != len(self.b) - 1:
            raise InnerFailure
        alpha = np.maximum(np.asarray(solution.row_dual), 0.0)
        alpha /= max(1.0, np.sum(alpha))
        self.alpha = np.concatenate([[max(0.0, 1.0 - np.sum(alpha))], alpha])
        u, v = np.split(np.asarray(solution.col_value)[1:], 2)
        self.w: Array = u - v

    def minimizer(self, a: Array) -> Array:
        """The linear programme's own solution: alpha does not determine w."""
        return self.w


def _empty_programme(problem: Problem) -> Any:
    import highspy  # slow to import, and needed by L1 only

    d = problem.risk.n_parameters
    c = np.broadcast_to(np.asarray(problem.regularizer.c, dtype=np.float64), (d,))
    free = c == 0  # one free column u_j; v_j is fixed at 0
    lower = np.concatenate([[0.0], np.where(free, -np.inf, 0.0), np.zeros(d)])
    upper = np.concatenate([[np.inf], np.full(d, np.inf), np.where(free, 0.0, np.inf)])
    lp: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("presolve", "off")
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("primal_feasibility_tolerance", 1e-9)
    lp.setOptionValue("dual_feasibility_tolerance", 1e-9)
    cost, nowhere = np.concatenate([[1.0], c, c]), np.empty(0, dtype=np.int32)
    lp.addCols(2 * d + 1, cost, lower, upper, 0, nowhere, nowhere, np.empty(0))
    return lp
