"""The method of multipliers at one strength after the other, in C++ (kernels/polish_path.hpp).

Of small data a run at one strength takes less time than what Python does around it. So a kernel
takes all Newton steps of a path, some hundreds in a call, and leaves for each strength the best w
and b, the slopes that prove the best bound, and both bounds as it claims them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.risks.base import Array, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.columns import columns_of
from fenchel.risks.views.multiplier_run import (
    MOST_COLUMNS,
    PROXIMAL,
    column_terms,
    first_kappa,
    has_column_terms,
    in_one_shard,
    native_problem,
    newton_steps,
)
from fenchel.risks.views.newton import MOST_SLOPES, AtStrength
from fenchel.tolerances import ROUND_OFF

_PATIENCE = 200  # Newton steps at one strength


def follows(problem: Problem, n_strengths: int) -> bool:
    """Whether the kernel takes a path of a problem whose risk has an augmented Lagrangian."""
    risk, d = problem.risk, problem.risk.n_parameters
    return (
        isinstance(risk, LinearRisk)
        and risk.classes is None
        and d <= MOST_COLUMNS
        and in_one_shard(problem)
        and risk.facts.in_one_memory
        and risk.n_rows * n_strengths <= MOST_SLOPES
        and has_column_terms(problem.regularizer)
        and not len(problem.regularizer.free(d))
    )


def claims(
    problem: Problem, strengths: Sequence[float], growth: float, gap: float
) -> Iterator[AtStrength]:
    """What is found at each of the strengths, which decrease: from w = 0, then from the last."""
    path = _Path(problem, np.array(strengths, dtype=np.float64), growth)
    for k in range(len(strengths)):
        while path.done <= k:
            problem.pulse()
            path.advance(gap)
        yield path.claim(k)


class _Path:
    """Where the kernel is, and the arrays that it fills."""

    def __init__(self, problem: Problem, strengths: Array, growth: float):
        risk = problem.risk
        assert isinstance(risk, LinearRisk)
        terms = column_terms(problem.regularizer, 1.0, risk.n_parameters)
        self.risk, self.columns = risk, columns_of(risk)
        n, d, m = risk.n_rows, risk.n_parameters, len(strengths)
        self.done, self.taken = 0, 0  # strengths, and Newton steps at the next one
        self.w, self.u, self.bounds = np.empty((m, d)), np.empty((m, n)), np.empty((m, 2))
        self.b = np.empty(m)
        self._start()
        kappa_rho = self.scale, PROXIMAL / self.scale
        arrays = self.w, self.u, self.bounds, self.b
        self.native = _kernels.PolishStrengths(strengths, *arrays, *kappa_rho)
        self.problem = native_problem(self.columns, risk, terms, growth, self.scale)
        self.steps = newton_steps(risk, 50 * _PATIENCE)

    def _start(self) -> None:
        """w = 0, multipliers 0, and a kappa for which most rows are bent there."""
        columns, n, d = self.columns, self.risk.n_rows, self.risk.n_parameters
        b = 0.0
        if columns.has_intercept:
            b = columns.loss.best_offset(np.zeros(n), self.risk.weight, 0.0)[4]
        self.scale = first_kappa(columns, b)
        w, c, centre, best_w = np.zeros((4, d))
        a, best_u = np.zeros((2, n))
        numbers = b, self.scale, PROXIMAL / self.scale, b, math.inf, -math.inf
        self.at = _kernels.PolishPoint(w, a, c, centre, best_w, best_u, *numbers)

    def advance(self, gap: float) -> None:
        """Newton steps until all strengths are done, or many were taken.

        A strength that takes too many is given up: the next begins anew.
        """
        rows, begun = self.columns.rows, self.taken > 0
        settings = self.problem, self.at, gap, self.steps, self.native, self.done, begun
        if isinstance(rows, SparseRows):
            done, taken, passes = _kernels.csr_polish_path(
                rows.row_start, rows.column, rows.value, *settings
            )
        else:
            assert isinstance(rows, DenseRows)
            done, taken, passes = _kernels.dense_polish_path(rows.values, *settings)
        self.risk.passes += passes
        self.taken = taken + (self.taken if done == 0 else 0)
        self.done += done
        if self.taken >= _PATIENCE:
            self.done, self.taken = self.done + 1, 0
            self._start()

    def claim(self, k: int) -> AtStrength:
        """What was found at a strength; less what round-off may have added to its bound."""
        J, lower = self.bounds[k].tolist()
        lower -= ROUND_OFF * abs(J)
        return AtStrength(self.w[k], float(self.b[k]), J, lower, partial(self._alpha, k))

    def _alpha(self, k: int) -> Array:
        alpha: Array = self.columns.share * self.u[k]
        return alpha
