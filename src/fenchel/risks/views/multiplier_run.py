"""The method of multipliers in C++, for rows in one memory and few columns.

What solvers/polish.py does step by step, with lagrangian.py and newton.py, is here one call of a
kernel for many Newton steps (kernels/polish.hpp): on small data a step takes less than a call from
Python. The kernel knows an L1 term for each column, too. It claims a gap; J and the bound are then
computed once more, as every solver computes them.

A column j has the terms t_j |w_j| + h_j/2 w_j^2. The width kappa_j of its augmented kink and the
weight r_j of its proximal term have the units of its mean square m_j: kappa_j = kappa / m_j is what
the kink of a row of that size has, and r_j = _PROXIMAL m_j kappa / kappa_0^2 is a small part of
the Hessian m_j / kappa of all rows at first, which falls as kappa does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array, Cut, Problem, State
from fenchel.risks.intercept import Offset, around, profile
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.columns import RowState, columns_of
from fenchel.tolerances import OFFSET_BLUR
from fenchel.witness import Bracket

MOST_COLUMNS = 300  # whose Hessian is added up and factored in the kernel
_PROXIMAL = 1e-3  # the proximal term, relative to the Hessian that all rows have at first
_LEAST = 1e-12  # of kappa, relative to the first
_WORK = 5e7  # additions in one call, about: tens of milliseconds
_MOST_STEPS = 200
_ARRAYS = ("w", "a", "c", "centre", "best_w", "best_u")
_NUMBERS = ("b", "kappa", "best_b", "upper", "lower")


class ColumnTerms(NamedTuple):
    """strength Omega(w) = sum_j t_j |w_j| + h_j/2 w_j^2."""

    t: Array
    h: Array


def column_terms(regularizer: Regularizer, strength: float, d: int) -> ColumnTerms | None:
    """The terms of L2, L1 and the elastic net, None for others."""
    if regularizer.quadratic and regularizer.separable:
        return ColumnTerms(np.zeros(d), strength * regularizer.curvature(d))
    if not (regularizer.has("support") and regularizer.has("orthant_curvature")):
        return None
    t = strength * regularizer.support(np.zeros(d), np.ones(d))
    return ColumnTerms(t, strength * regularizer.orthant_curvature(d))


def serves(problem: Problem) -> bool:
    """Whether the kernel takes a problem whose risk has an augmented Lagrangian."""
    risk, regularizer = problem.risk, problem.regularizer
    return (
        risk.facts.in_one_memory
        and risk.n_parameters <= MOST_COLUMNS
        and column_terms(regularizer, problem.strength, risk.n_parameters) is not None
    )


class MultiplierRun:
    """Where the method is: w, b, multipliers a and c, kappa; and the best J and bound so far."""

    def __init__(self, problem: Problem, w: Array, growth: float, state: State | None):
        risk = problem.risk
        assert isinstance(risk, LinearRisk)
        terms = column_terms(problem.regularizer, problem.strength, len(w))
        assert terms is not None
        self.problem, self.risk, self.terms = problem, risk, terms
        self.columns = columns_of(risk)
        self.free = problem.regularizer.free(len(w))
        if state is not None and "centre" in state:
            self._restore(state)
        else:
            self._start(w, state)
        self._pose(growth)

    def _start(self, w: Array, state: State | None) -> None:
        """Multipliers 0, or those of a nearby problem."""
        d, n = len(w), self.columns.n_rows
        z = self.columns.scores(w)
        offset = self._offset(z, 0.0)
        nearest = self.columns.loss.nearest_kinks(offset.best)
        weighted = nearest**2 if self.columns.s is None else self.columns.s * nearest**2
        self.scale = 2 * math.sqrt(float(np.sum(weighted)) / self.risk.weight) or 1.0
        a, c, u = np.zeros(n), np.zeros(d), np.zeros(n)
        numbers = offset.best, self.scale, offset.best, math.inf, -math.inf
        self.arrays = w.copy(), a, c, w.copy(), w.copy(), u
        self.at = _kernels.PolishPoint(*self.arrays, *numbers)

    def _restore(self, state: State) -> None:
        self.scale = float(state["scale"])
        self.arrays = tuple(np.array(state[name], dtype=np.float64) for name in _ARRAYS)
        numbers = (float(state[name]) for name in _NUMBERS)
        self.at = _kernels.PolishPoint(*self.arrays, *numbers)

    def state(self) -> State:
        """All that the next steps depend on."""
        arrays = {name: each.copy() for name, each in zip(_ARRAYS, self.arrays, strict=True)}
        numbers = {name: np.array(getattr(self.at, name)) for name in _NUMBERS}
        return {**arrays, **numbers, "scale": np.array(self.scale)}

    def _pose(self, growth: float) -> None:
        columns, (t, h) = self.columns, self.terms
        m = np.maximum(columns.squares, 1e-300)
        prox = np.where(h > 0, 0.0, _PROXIMAL * m / self.scale**2)
        self.native = _kernels.PolishProblem(
            columns.loss.native, columns.y, columns.s, columns.offset, h, t, 1 / m, prox,
            columns.has_intercept, self.risk.weight, growth, _LEAST * self.scale,
        )  # fmt: skip
        d = len(h)
        work = self.risk.n_numbers * (4 + d / 4) + d**3 / 6
        self.steps = int(min(max(_WORK / work, 1), _MOST_STEPS))

    def advance(self, gap: float) -> bool:
        """Some Newton steps; whether they claim the gap."""
        rows, settings = self.columns.rows, (self.native, self.at, gap, self.steps)
        if isinstance(rows, SparseRows):
            done = _kernels.csr_polish(rows.row_start, rows.column, rows.value, *settings)
        else:
            assert isinstance(rows, DenseRows)
            done = _kernels.dense_polish(rows.values, *settings)
        _, _, passes, reached = done
        self.risk.passes += passes
        return reached

    def point(self) -> LinearPoint:
        """The risk at the best w."""
        w = self.arrays[_ARRAYS.index("best_w")].copy()
        z = self.columns.scores(w)
        point = LinearPoint(self.risk, w, self.risk.engine.scatter(z), self.at.best_b)
        point.offset = self._offset(z, self.at.best_b)
        return point

    def cut(self) -> Cut | None:
        """The cut that the best slopes u make; None where they do not make one."""
        columns, strength = self.columns, self.problem.strength
        alpha = columns.share * columns.loss.feasible(self.arrays[_ARRAYS.index("best_u")])
        at = RowState(np.empty(0), 0.0, 0.0, alpha, None)
        even = columns.balanced(at, self.free)
        if even is None:
            return None
        v = columns.adjoint(even)
        v[self.free] = 0.0
        return columns.cut(even, v, self.problem.regularizer.dual_scale(v / -strength))

    def _offset(self, z: Array, near: float) -> Offset:
        """The best offset at scores: at a kink of some row, where the sum's slope crosses 0."""
        columns, weight = self.columns, self.risk.weight

        def sums(b: float) -> tuple[float, float]:
            value, slope = columns.loss.sums(z, b)
            return value / weight, slope / weight

        if not columns.has_intercept:
            value = sums(0.0)[0]
            return Offset(Bracket(), 0.0, value, value)
        resolution = OFFSET_BLUR * (1.0 + float(np.max(np.abs(z), initial=0.0)))
        b = self._crossing(z)
        found = around(sums, b, 2 * resolution) if math.isfinite(b) else None
        if found is None:
            return profile(sums, near, resolution, False)
        value = min(sums(b)[0], found.value)
        return found._replace(best=b, value=value, floor=min(found.floor, value))

    def _crossing(self, z: Array) -> float:
        loss, ones = self.columns.loss, np.ones(len(z))
        kinks = loss.kinks_along(z, ones, -math.inf, math.inf)
        low = float(np.min(kinks[:, 0])) - 1.0
        return _kernels.crossing(loss.slope_along(z, ones, low)[0], 0.0, low, kinks)
