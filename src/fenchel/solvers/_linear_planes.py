"""Cutting planes under L1: a linear programme in a live HiGHS model that grows by a row a cut.

[Teo07] eq. 11, divided by lambda so that all numbers the LP solver compares with tolerances are of
order 1:   min over xi >= 0, w = u - v of  xi + sum_j c_j (u_j + v_j)   subject to
xi >= (<a_i, w> + b_i) / lambda. The row duals are the weights alpha, sum alpha <= 1; what is
missing to 1 is the weight of the zero cut.

A vertex has no more nonzeros than there are cuts, so the programme holds only the columns j that
were needed so far. The dual condition |A'alpha|_j <= lambda c_j prices the others: those that
violate it most come in, until none does. Bounds on w_j are bounds on u_j and v_j, and a column that
is at rest against one is not priced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.regularizers import Boxed, Regularizer
from fenchel.risks.base import Array, Problem
from fenchel.solvers._cutting_planes import CuttingPlanes, Indices, InnerFailure
from fenchel.solvers.base import State

_BATCH = 64  # columns that come in at once, at the least
_PIVOTS = 10_000  # of the simplex method in one call: a second or so of work
_CALLS = 100
_PRICE = 1 + 1e-9  # a dual constraint violated by less is within the LP solver's tolerance


class LinearPlanes(CuttingPlanes):
    """The model by linear programmes."""

    @staticmethod
    def suit(problem: Problem) -> bool:
        """Whether Omega(w) = sum_j c_j |w_j|, perhaps in a box."""
        regularizer, d = _unbounded(problem.regularizer), problem.risk.n_parameters
        return regularizer.has("orthant_curvature") and not regularizer.orthant_curvature(d).any()

    def __init__(self, problem: Problem, max_cuts: int):
        self.lp = _empty_programme()
        zeros = np.zeros(problem.risk.n_parameters)
        penalty = problem.regularizer
        self.c = _unbounded(penalty).support(zeros, zeros + 1)  # of Omega(w) = sum_j c_j |w_j|
        self.lower, self.upper = zeros - np.inf, zeros + np.inf
        if isinstance(penalty, Boxed):
            self.lower, self.upper = penalty.lower + zeros, penalty.upper + zeros
        self.columns = np.empty(0, dtype=np.intp)  # column j is u at 1 + 2k, v at 2 + 2k
        super().__init__(problem, max_cuts)
        held = (self.lower > 0) | (self.upper < 0)  # w_j = 0 is no solution
        self._enter(np.union1d(self.free, np.flatnonzero(held)))

    def state(self, w: Array) -> State:
        """The columns of the programme as well; not its basis."""
        return {**super().state(w), "columns": self.columns.astype(np.int64)}

    def restore(self, state: State) -> None:
        """Builds the programme anew."""
        super().restore(state)
        self.lp, self.columns = _empty_programme(), np.empty(0, dtype=np.intp)
        for b in self.b[1:]:
            self._add_row(np.zeros(self.width), b)
        self._enter(state["columns"].astype(np.intp))

    def extend(self, a: Array, b: float) -> None:
        """A row  xi - <a, u - v> / lambda >= b / lambda."""
        if len(self.b) > 1:  # the zero cut is xi >= 0
            self._add_row(a, b)

    def _add_row(self, a: Array, b: float) -> None:
        used = np.flatnonzero(a[self.columns])
        values = _paired(-a[self.columns[used]] / self.problem.strength)
        places = np.concatenate([[0], 1 + 2 * used, 2 + 2 * used]).astype(np.int32)
        entries = np.concatenate([[1.0], values[::2], values[1::2]])
        self.lp.addRow(b / self.problem.strength, np.inf, len(places), places, entries)

    def shrink(self, cuts: Indices) -> None:
        """Deletes rows; they are not binding, so the basis stays."""
        rows = (cuts - 1).astype(np.int32)
        self.lp.deleteRows(len(rows), rows)

    def maximize(self) -> None:
        """Re-solves from the last basis, with the columns that turn out to be needed."""
        while True:
            self._run()
            a = self.alpha @ self.A
            excess = np.abs(a) / self.problem.strength - _PRICE * self.c
            excess[self.columns] = 0.0
            excess[np.where(a > 0, self.lower == 0, self.upper == 0)] = 0.0  # w_j cannot move
            violated = np.flatnonzero(excess > 0)
            if not len(violated):
                return
            batch = max(_BATCH, len(self.columns))
            if len(violated) > batch:
                violated = violated[np.argpartition(-excess[violated], batch)[:batch]]
            self._enter(violated)

    def aggregate(self) -> None:
        """Drops the cuts without weight; a mean will not do, as Omega is not strongly convex."""
        self.drop(np.flatnonzero(self.alpha[:-1] == 0))

    def minimizer(self, a: Array) -> Array:
        """The linear programme's own solution: alpha does not determine w."""
        values = np.asarray(self.lp.getSolution().col_value)[1:]
        w = np.zeros(self.problem.risk.n_parameters)
        w[self.columns] = values[::2] - values[1::2]
        return w

    def _run(self) -> None:
        self._pivot()
        if not self._optimal():
            self.lp.clearSolver()  # the last basis may have been the trouble
            self._pivot()
        solution = self.lp.getSolution()
        row_dual = np.asarray(solution.row_dual)
        size = len(row_dual) + 1, len(solution.col_value) - 1
        if not self._optimal() or size != (len(self.b), 2 * len(self.columns)):
            raise InnerFailure  # numbers too large for HiGHS
        alpha = np.maximum(row_dual, 0.0)
        alpha /= max(1.0, np.sum(alpha))
        self.alpha = np.concatenate([[max(0.0, 1.0 - np.sum(alpha))], alpha])

    def _pivot(self) -> None:
        """Simplex steps to the end, from the basis that the last call left."""
        for _ in range(_CALLS):
            self.problem.pulse()
            self.lp.run()
            if self._status() != "Iteration limit reached":
                return

    def _optimal(self) -> bool:
        return self._status() == "Optimal"

    def _status(self) -> str:
        status: str = self.lp.modelStatusToString(self.lp.getModelStatus())
        return status

    def _enter(self, columns: Indices) -> None:
        """Adds u_j and v_j for these columns; without penalty u_j alone, v_j being fixed at 0."""
        n, n_rows = 2 * len(columns), len(self.b) - 1
        cost, free = np.repeat(self.c[columns], 2), np.repeat(self.c[columns] == 0, 2)
        is_u = np.arange(n) % 2 == 0
        low, high = np.repeat(self.lower[columns], 2), np.repeat(self.upper[columns], 2)
        low, high = np.where(is_u, low, -high), np.where(is_u, high, -low)  # of u or v alone
        lower = np.where(free & is_u, low, np.where(free, 0.0, np.maximum(low, 0.0)))
        upper = np.where(free & is_u, high, np.where(free, 0.0, np.maximum(high, 0.0)))
        starts = (n_rows * np.arange(n)).astype(np.int32)
        rows = np.tile(np.arange(n_rows, dtype=np.int32), n)
        values = _paired(-self.A[1:, columns].T / self.problem.strength).ravel()
        self.lp.addCols(n, cost, lower, upper, len(values), starts, rows, values)
        self.columns = np.concatenate([self.columns, columns])


def _unbounded(regularizer: Regularizer) -> Regularizer:
    return regularizer.inner if isinstance(regularizer, Boxed) else regularizer


def _paired(values: Array) -> Array:
    """x_0, -x_0, x_1, -x_1, ... along the first axis: the entries of u and v."""
    pairs: Array = np.stack([values, -values], axis=1)
    return pairs.reshape(2 * len(values), *values.shape[1:])


def _empty_programme() -> Any:
    import highspy  # slow to import, and needed by L1 only

    lp: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy has no types here
    lp.setOptionValue("output_flag", False)
    lp.setOptionValue("presolve", "off")
    lp.setOptionValue("threads", 1)
    lp.setOptionValue("simplex_iteration_limit", _PIVOTS)
    lp.setOptionValue("primal_feasibility_tolerance", 1e-9)
    lp.setOptionValue("dual_feasibility_tolerance", 1e-9)
    lp.addCol(1.0, 0.0, np.inf, 0, np.empty(0, dtype=np.int32), np.empty(0))  # xi
    return lp
