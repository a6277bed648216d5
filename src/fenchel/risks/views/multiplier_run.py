"""The method of multipliers in C++, for rows in one memory and few columns.

What solvers/polish.py does step by step, with lagrangian.py and newton.py, is here one call of a
kernel for many Newton steps (kernels/polish.hpp): on small data a step takes less than a call from
Python. The kernel knows an L1 term for each column, too. It claims a gap; J and the bound are then
computed once more, as every solver computes them.

A column j has the terms t_j |w_j| + h_j/2 w_j^2. The width kappa_j of its augmented kink and the
weight r_j of its proximal term have the units of its mean square m_j: kappa_j = kappa / m_j is what
the kink of a row of that size has, and r_j = rho m_j, where rho is at first a small part of the
1/kappa of the Hessian m_j / kappa that all rows together have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.losses import Conjugable
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array, Cut, Problem, State
from fenchel.risks.intercept import Offset, around, profile
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.columns import Columns, RowState, columns_of
from fenchel.tolerances import OFFSET_BLUR
from fenchel.witness import Bracket, Witness

MOST_COLUMNS = 300  # whose Hessian is added up and factored in the kernel
PROXIMAL = 1e-2  # the proximal term, relative to the Hessian that all rows have at first
_FURTHEST, _NEARER = 2.0, 0.5  # the first kappa, relative to the distances of the nearest kinks
_AHEAD = 0.1  # times the relative gap of a start nearby: kappa, relative to that of one from 0
_NEAREST = 1e-6  # the least of that
_LEAST = 1e-12  # of kappa, relative to the first
_WORK = 1e8  # additions in one call, about: a tenth of a second
_LEAST_STEPS, _MOST_STEPS = 4, 200
_ARRAYS = ("w", "a", "c", "centre", "best_w", "best_u")
_NONE = np.empty(0)

Bound = tuple[float, Callable[[], Witness] | None]

_NUMBERS = ("b", "kappa", "rho", "best_b", "upper", "lower")


class ColumnTerms(NamedTuple):
    """strength Omega(w) = sum_j t_j |w_j| + h_j/2 w_j^2."""

    t: Array
    h: Array


def has_column_terms(regularizer: Regularizer) -> bool:
    """Whether it is L2, L1 or the elastic net."""
    square = regularizer.quadratic and regularizer.separable
    return square or (regularizer.has("support") and regularizer.has("orthant_curvature"))


def column_terms(regularizer: Regularizer, strength: float, d: int) -> ColumnTerms:
    """The terms of L2, L1 and the elastic net."""
    if regularizer.quadratic and regularizer.separable:
        return ColumnTerms(np.zeros(d), strength * regularizer.curvature(d))
    t = strength * regularizer.support(np.zeros(d), np.ones(d))
    return ColumnTerms(t, strength * regularizer.orthant_curvature(d))


def serves(problem: Problem) -> bool:
    """Whether the kernel takes a problem whose risk has an augmented Lagrangian."""
    risk, regularizer, d = problem.risk, problem.regularizer, problem.risk.n_parameters
    if not (risk.facts.in_one_memory and has_column_terms(regularizer)):
        return False
    return d <= MOST_COLUMNS or bool(column_terms(regularizer, problem.strength, d).t.any())


def in_one_shard(problem: Problem) -> bool:
    """Whether one shard holds all rows, so that no two could be worked on at once."""
    return isinstance(problem.risk, LinearRisk) and problem.risk.engine.n_shards == 1


def native_problem(
    columns: Columns, risk: LinearRisk, terms: ColumnTerms, growth: float, scale: float
) -> _kernels.PolishProblem:
    """What the kernel takes beside X, with the largest kappa that it needs."""
    t, h = terms
    m = np.ones(len(h))  # of no consequence under L2
    if t.any() or not h.all():
        m = np.maximum(risk.squares, 1e-300)
    return _kernels.PolishProblem(
        columns.loss.native, columns.y, columns.s, columns.offset, h, t, 1 / m,
        np.where(h > 0, 0.0, m), columns.has_intercept, risk.weight, growth, _LEAST * scale,
    )  # fmt: skip


def newton_steps(risk: LinearRisk, most: int) -> int:
    """How many Newton steps the kernel may take in one call, so that a clock can be looked at."""
    per_row, d = risk.n_numbers / risk.n_rows, risk.n_parameters
    work = risk.n_numbers * (8 + per_row / 4) + d**3 / 6
    return int(min(max(_WORK / work, _LEAST_STEPS), most))


def first_kappa(columns: Columns, b: float) -> float:
    """A kappa for which the rows are bent whose scores of b are not far from a kink.

    Margins may all end on the far side of theirs, as most do where classes can be told apart: at
    first most rows are bent. Residuals end where there are as many on both sides of a kink, and a
    quarter of that kappa takes a tenth less passes.
    """
    distance = math.sqrt(float(np.sum(columns.loss.nearest_kinks(b) ** 2 * columns.share)))
    loss = columns.loss.loss
    assert isinstance(loss, Conjugable)
    lowest, highest = loss.domain(columns.loss.y)
    both_sides = bool(np.all(lowest < 0) and np.all(highest > 0))
    return (_NEARER if both_sides else _FURTHEST) * distance or 1.0


class MultiplierRun:
    """Where the method is: w, b, multipliers a and c, kappa; and the best J and bound so far."""

    arrays: tuple[Array, ...]  # those named in _ARRAYS, which the kernel changes
    point: LinearPoint  # the best so far
    J: float  # there
    bound: float  # the best so far
    witness: Callable[[], Witness] | None  # of it

    def __init__(self, problem: Problem, w: Array, growth: float, state: State | None):
        risk = problem.risk
        assert isinstance(risk, LinearRisk)
        self.problem, self.risk = problem, risk
        self.terms = column_terms(problem.regularizer, problem.strength, len(w))
        self.columns = columns_of(risk)
        if state is not None and "centre" in state:
            self._restore(state)
        else:
            self._start(w, state["alpha"] if state is not None and "alpha" in state else None)
        self._pose(growth)

    def _start(self, w: Array, alpha: Array | None) -> None:
        """Multipliers 0, and a kappa for which most rows are bent at w = 0; or those of alpha.

        As the multipliers of a nearby problem are as far off as the gap says that they leave, kappa
        falls with it.
        """
        columns, b = self.columns, self._offset(self.columns.scores(w), 0.0).best
        self.scale = first_kappa(columns, b)
        a, c = np.zeros(columns.n_rows), np.zeros(len(w))
        if alpha is not None:
            a = columns.loss.feasible(columns.slopes(alpha))
            t, h = self.terms
            c = np.clip(-columns.adjoint(columns.share * a) - h * w, -t, t)
        self.arrays = w.copy(), a, c, w.copy(), w.copy(), a.copy()
        numbers = b, self.scale, PROXIMAL / self.scale, b, math.inf, -math.inf
        self.at = _kernels.PolishPoint(*self.arrays, *numbers)
        if alpha is None:  # slopes of 0 prove nothing that R >= 0 does not say
            self.point = self._best_point()
            self.J, self.bound, self.witness = self.problem.objective(self.point), -math.inf, None
        else:
            self._look()
            nearness = _AHEAD * (self.J - self.bound) / abs(self.J) if self.J else 1.0
            kappa = self.scale * min(max(nearness, _NEAREST), 1.0)
            self.at = _kernels.PolishPoint(*self.arrays, b, kappa, *numbers[2:])

    def _restore(self, state: State) -> None:
        self.scale = float(state["scale"])
        self.arrays = tuple(np.array(state[name], dtype=np.float64) for name in _ARRAYS)
        b, *numbers = (float(state[name]) for name in _NUMBERS)
        w, a, c, centre, best_w, best_u = self.arrays
        self.at = _kernels.PolishPoint(w, a, c, centre, best_w, best_u, b, *numbers)
        self._look()

    def state(self) -> State:
        """All that the next steps depend on."""
        arrays = {name: each.copy() for name, each in zip(_ARRAYS, self.arrays, strict=True)}
        numbers = {name: np.array(getattr(self.at, name)) for name in _NUMBERS}
        return {**arrays, **numbers, "scale": np.array(self.scale)}

    def _pose(self, growth: float) -> None:
        self.native = native_problem(self.columns, self.risk, self.terms, growth, self.scale)
        self.steps = newton_steps(self.risk, _MOST_STEPS)

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
        self._look()
        return reached

    def _look(self) -> None:
        """J at the best w, and the bound of the best slopes u."""
        self.point = self._best_point()
        self.J = self.problem.objective(self.point)
        self.bound, self.witness = proved(self.problem, cut_of(self.problem, self.columns, self.u))
        self.at.lower = min(self.at.lower, self.bound)  # so that better slopes are not passed over
        self.columns.pay(self.risk)

    @property
    def u(self) -> Array:
        """The slopes of the best bound."""
        return self.arrays[_ARRAYS.index("best_u")]

    def _best_point(self) -> LinearPoint:
        w = self.arrays[_ARRAYS.index("best_w")].copy()
        z = self.columns.scores(w)
        point = LinearPoint(self.risk, w, self.risk.engine.scatter(z), self.at.best_b)
        point.offset = self._offset(z, self.at.best_b)
        return point

    def _offset(self, z: Array, near: float) -> Offset:
        """The best offset at scores: at a kink of some row, where the sum's slope crosses 0."""
        columns, weight = self.columns, self.risk.weight

        def sums(b: float) -> tuple[float, float]:
            value, slope = columns.loss.sums(z, b)
            return value / weight, slope / weight

        if not columns.has_intercept:
            value = sums(0.0)[0]
            return Offset(Bracket(), 0.0, value, value)
        shifted = z if columns.offset is None else z + columns.offset
        resolution = OFFSET_BLUR * (1.0 + float(np.max(np.abs(shifted))))
        b = self._crossing(z)
        found = around(sums, b, 2 * resolution) if math.isfinite(b) else None
        if found is None:
            return profile(sums, near, resolution, False)
        value = sums(b)[0]
        if value > found.value:
            return found
        return found._replace(best=b, value=value, floor=min(found.floor, value))

    def _crossing(self, z: Array) -> float:
        loss, ones = self.columns.loss, np.ones(len(z))
        kinks = loss.kinks_along(z, ones, -math.inf, math.inf)
        low = float(np.min(kinks[:, 0])) - 1.0
        return _kernels.crossing(loss.slope_along(z, ones, low)[0], 0.0, low, kinks)


def cut_of(problem: Problem, columns: Columns, u: Array) -> Cut | None:
    """The cut of slopes u, scaled; None where they are not orthogonal to unpenalised columns."""
    free, u = problem.regularizer.free(columns.n_columns), columns.loss.feasible(u)
    room = columns.share * _room(columns, u) if len(free) else None
    even = columns.balanced(RowState(_NONE, 0.0, 0.0, columns.share * u, room), free)
    if even is None:
        return None
    v = columns.adjoint(even)
    v[free] = 0.0
    return columns.cut(even, v, problem.regularizer.dual_scale(v / -problem.strength))


def proved(problem: Problem, cut: Cut | None) -> Bound:
    """What a cut proves, and its evidence."""
    if cut is None:
        return -math.inf, None
    return problem.bound(cut.a, cut.b, cut.sizes), cut.witness


def _room(columns: Columns, u: Array) -> Array:
    """How far each slope is from both ends of those that its loss has."""
    pieces = columns.loss.loss.pieces(columns.y)
    assert pieces is not None
    low, high = pieces.start, pieces.start + np.sum(pieces.jump, axis=0)
    room: Array = np.minimum(u - low, high - u)
    return room
