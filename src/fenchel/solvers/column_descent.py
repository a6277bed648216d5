"""Coordinate descent on working sets of columns, for smooth losses under L1 and the elastic net.

At a minimum most columns of a sparse model are 0, and coordinate descent on the others is as fast
as any method can be. Which they are is found on the way (Johnson and Guestrin 2015; Massias,
Gramfort and Salmon 2018): with v = X'alpha the risk's gradient,

    W = columns that are not 0, and those nearest to or beyond their bound |v_j| = t_j
    w = argmin of J over the columns in W, roughly          (t_j = lambda c_j rho)
    v = X'alpha                                             where |v_j| may exceed t_j

The second line is one call of the kernel for the squared error. For other losses it is a few
proximal Newton steps (Yuan, Ho and Lin 2012): coordinate descent on the loss's quadratic model,
and a search along the line that leads to its minimiser.

Of few columns W is all of them, and under the squared error their moments tell J and its bound at
every strength, without a look at a row (risks/views/moments.py): there the second line is exact,
and a whole path is one call.

The third line reads all columns at first, later few: |v_j| changes by at most ||x_j|| times what
alpha changes by, so that a column far inside its bound is known to have stayed there. This is what
safe screening does ("Gap Safe", Ndiaye et al. 2017), but for the slopes at hand instead of the
best ones, so that the dual point alpha, scaled into the box |v_j| <= t_j, is feasible for all
columns, and proves its bound to whoever recomputes it. Near the minimum the slopes that Newton's
model has at its minimiser, which are inside the box but for other columns, prove more.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.columns import MOST_FREE, Columns, RowState, columns_of, point_at
from fenchel.risks.views.grams import Penalty, Which
from fenchel.risks.views.moments import moments
from fenchel.risks.zero_sum import even
from fenchel.settings import whole
from fenchel.solvers.base import Found, Needs, Solver, State, Step
from fenchel.solvers.column_line import ModelLine
from fenchel.witness import Witness

# The violation that is left in the working set, relative to that before: more of sparse columns
# that are too many for a Gram matrix, with which the rest takes no pass.
_FORCING, _SPARSE_FORCING = 0.1, 0.2
_LOOSE = 100  # times the violation at which the gap is reached: Gram matrices allow for that
_POLISHED = 50  # times it, from which on the slopes of a model prove enough to be worth passes
_LOOKS = 10  # at a strength of a path
_NEWTON_STEPS = 20  # on one working set, at most
_REFRESHED = 10  # working sets after which scores are computed anew
_FLOOR, _LOWEST = 1e-6, 1e-9  # of curvatures, relative to the largest that the loss has
_SLOWER = 0.9  # times the violation, after a step that calls for a new Gram matrix, of all rows
_MANY = 3  # steps back in a search after which that is raised
_AIM = 0.3  # of the gap: what moments tell is off by a part of the rest
_CERTAIN = 1 - 1e-9  # times t_j: a bound of |v_j| below it holds after rounding

Bound = tuple[float, Callable[[], Witness] | None]


class ColumnDescent(Solver):
    """Coordinate descent on working sets, which grow from `columns` to twice the columns not 0."""

    name = "column-descent"
    needs = Needs(
        regularizer=("support", "orthant_curvature"), differentiable=True, views=(Columns,)
    )

    def __init__(self, columns: int = 100):
        self.columns = whole("columns", columns, least=1)
        self._gap = 1e-4

    def aiming(self, gap: float) -> ColumnDescent:
        """Its working sets are solved as exactly as the gap asks for."""
        other = type(self)(self.columns)
        other._gap = gap
        return other

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Working set after working set."""
        near = float(state["b"]) if state is not None and "b" in state else 0.0
        at = _Descent(problem, w, self._gap, near)
        if state is None and _told_by_moments(at.columns, *at.rates):
            at.solve()
        while True:
            J, bound = at.look()
            point = point_at(problem.risk, at.w, at.rows)
            yield Step(point, J, *bound, functools.partial(_state, at.w, at.rows.b))
            if not at.improve(self.columns):
                return

    def follow(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Found] | None:
        """By the moments, where they tell everything; of small data, without a driver between."""
        columns, (t, m) = columns_of(problem.risk), _rates(problem)
        if _told_by_moments(columns, t, m):
            w = np.zeros(columns.n_columns)
            found = moments(problem.risk).path(t, m, np.array(strengths), _AIM * self._gap, w)
            columns.pay(problem.risk)
            return (
                Found(w, float(b), J, lower, functools.partial(_residuals, columns, w, float(b)))
                for w, b, (J, lower) in zip(*found, strict=True)
            )
        return self._walk(problem, strengths) if columns.small and not columns.quadratic else None

    def _walk(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Found]:
        w, b = np.zeros(problem.risk.n_parameters), 0.0
        for strength in strengths:
            at = _Descent(dataclasses.replace(problem, strength=strength), w, self._gap, b)
            at.newton_on_all(_AIM * self._gap)
            J, lower = at.closed()
            w, b = at.w, at.rows.b
            yield Found(w, b, J, lower, functools.partial(getattr, at.rows, "alpha"))

    def obstacle(self, problem: Problem) -> str | None:
        """What it needs; and of unpenalised columns it makes a dense copy."""
        found = super().obstacle(problem)
        if found is None and len(problem.regularizer.free(problem.risk.n_parameters)) > MOST_FREE:
            return f"it takes at most {MOST_FREE} unpenalised columns (weights of 0)"
        return found


def _residuals(columns: Columns, w: Array, b: float) -> Array:
    """The dual variables of a squared error."""
    alpha = columns.at(columns.scores(w), b).alpha
    return even(alpha) if columns.has_intercept else alpha


def _rates(problem: Problem) -> tuple[Array, Array]:
    """The slope of Omega at 0 and its curvature, in each column."""
    d = problem.risk.n_parameters
    return (
        problem.regularizer.support(np.zeros(d), np.ones(d)),
        problem.regularizer.orthant_curvature(d),
    )


def _told_by_moments(columns: Columns, t: Array, m: Array) -> bool:
    return columns.few and columns.quadratic and bool(((t > 0) | (m > 0)).all())


def _state(w: Array, b: float) -> State:
    return {"w": w, "b": np.array(b)}


class _Descent:
    """Where the descent is: w, the rows there, and v = X'alpha."""

    def __init__(self, problem: Problem, w: Array, gap: float, near: float):
        self.problem, self.columns = problem, columns_of(problem.risk)
        self.w, self.gap = np.array(w), gap
        self.rates, strength, d = _rates(problem), problem.strength, len(w)
        t, m = (strength * each for each in self.rates)
        self.penalty = Penalty(t, m, np.where(t > 0, t, strength))
        self.free = problem.regularizer.free(d)
        self.rows = self.columns.at(self.columns.scores(self.w), near)
        self.drift = 0  # steps since the scores were computed from w
        self.v, self.top, self.way = np.zeros(d), np.full(d, np.inf), 0.0
        self.seen: Array | None = None  # the alpha of the last look
        self.goal = math.inf  # the violation at which the gap is likely to be reached
        self.best = -math.inf
        self.worst = 0.0  # the violation before the last Newton step
        self.floor = _FLOOR
        self.forcing = _SPARSE_FORCING if self.columns.outgrow else _FORCING
        self.model: RowState | None = None  # the last one's rows at its minimiser, where w is
        self.stale = False  # v is not that of the rows' alpha
        self.which: Which = np.empty(0, dtype=np.int32)  # the last working set

    def look(self) -> tuple[float, Bound]:
        """J, and what v = X'alpha proves."""
        columns = self.columns
        if self.drift > _REFRESHED:
            self.rows, self.drift = columns.at(columns.scores(self.w), self.rows.b), 0
        penalty = self.problem.strength * self.problem.regularizer.value(self.w)
        self.J = penalty + self.rows.value
        bound = self._foreseen()
        if self.J - bound[0] > self.gap * abs(self.J):
            alpha = self._advance()
            bound = (-math.inf, None) if alpha is None else self._bound(alpha)
        columns.pay(self.problem.risk)
        return self.J, bound

    def _advance(self) -> Array | None:
        """v at the gradient; the gradient itself, or what is near it and orthogonal."""
        alpha = self.columns.balanced(self.rows, self.free)
        if alpha is not None and not len(self.free):  # else it is no gradient
            self.rows = self.rows._replace(alpha=alpha)
        self._multiply(self.rows.alpha)
        self.stale = False
        return alpha

    def _foreseen(self) -> Bound:
        """What the model's slopes prove; nothing where they are not yet near those of the rows.

        At the model's minimiser w they are within their bounds in the columns of the working set,
        which the rows' own are not: these have to be scaled by as much as they exceed them, to
        first order in Newton's step. What the model's slopes a prove less than J(w) is no more than
        sum_i l(z_i) + l*(a_i) - a_i z_i, which is of fourth order in it, as J(w) - min J is.
        """
        if self.model is None or len(self.free) or not self._near():
            return -math.inf, None
        columns = self.columns
        alpha = columns.share * columns.loss.feasible(columns.slopes(self.model.alpha))
        alpha = even(alpha) if columns.has_intercept else alpha
        self._multiply(alpha)
        self.stale = True
        return self._bound(alpha)

    def _near(self) -> bool:
        """Whether that sum, to second order in the difference of the slopes, is below the gap."""
        if self.model is None or self.model.h is None:
            return False
        apart, h = self.model.alpha - self.rows.alpha, self.model.h
        each = np.divide(apart * apart, h, out=apart, where=h > 0)
        return 0.5 * float(np.sum(each)) <= self.gap * abs(self.J)

    def _multiply(self, alpha: Array) -> None:
        """v = X'alpha, where it may exceed its bound."""
        columns = self.columns
        if columns.few:
            self.v = columns.adjoint(alpha)
            return
        if self.seen is not None:
            self.way += _distance(alpha - self.seen, columns.share)
        self.seen = alpha
        t = _CERTAIN * self.penalty.t
        count = columns.native.products(alpha, t, columns.norms, self.way, self.top, self.v)
        columns.unpaid += count / columns.n_columns

    def _bound(self, alpha: Array) -> Bound:
        """What alpha proves; nothing where that cannot come near the gap that is asked for.

        The dual D(s) at s alpha is concave, with D'(1) = -<alpha, z>: it promises no more than
        D(1) + (1 - s) <alpha, z>, which costs nothing, as D(1) = R(w) - <alpha, z>.
        """
        problem, v = self.problem, self.v
        if len(self.free):
            v = self.columns.adjoint(alpha)
            v[self.free] = 0.0
        scale = problem.regularizer.dual_scale(v / -problem.strength)
        if problem.regularizer.strong_convexity == 0 and self.best > -math.inf:
            promised = self.rows.value - scale * float(alpha @ self.rows.z)
            if self.J - promised > 2 * self.gap * abs(self.J):
                return -math.inf, None
        cut = self.columns.cut(alpha, v, scale)
        bound = problem.bound(cut.a, cut.b, cut.sizes)
        self.best = max(self.best, bound)
        return bound, cut.witness

    def improve(self, least: int) -> bool:
        """Lowers J on a working set; False where nothing moves any more."""
        if self.stale:
            self._advance()
        worst = float(np.max(self.penalty.violation(self.w, self.v), initial=0.0))
        if worst == 0:
            return False
        linear = float(self.penalty.t @ np.abs(self.w))
        self.goal = min(self.goal, 0.3 * self.gap * self.J / linear if linear > 0 else math.inf)
        if worst <= self.goal:
            self.goal = 0.1 * worst
        tolerance = max(self.forcing * worst, 0.5 * self.goal)
        if self.columns.small and not self.columns.quadratic:
            return self.newton_on_all(0.1 * min(self.gap, worst))
        which = self._working_set(least)
        w, penalty = self.w[which], self.penalty.of(which)
        moved = (self._descend if self.columns.quadratic else self._newton)(
            which, w, penalty, tolerance
        )
        self.w = self.w.copy()
        self.w[which] = w
        self.drift += 1
        return moved

    def solve(self) -> None:
        """The minimiser that the moments tell; what they are off by is left to descents."""
        columns, strength = self.columns, np.array([self.problem.strength])
        W, _, _ = moments(self.problem.risk).path(*self.rates, strength, _AIM * self.gap, self.w)
        self.w = W[0]
        self.rows = columns.at(columns.scores(self.w), self.rows.b)

    def closed(self) -> tuple[float, float]:
        """J and its bound after as many looks as the gap takes, or as few as do any good."""
        lower = -math.inf
        for _ in range(_LOOKS):
            J, (bound, _) = self.look()
            lower = max(lower, bound)
            if J - lower <= self.gap * abs(J) or not self.improve(self.columns.n_columns):
                break
        return J, lower

    def newton_on_all(self, tolerance: float) -> bool:
        """Proximal Newton steps on all columns, none of which is worth a look from here."""
        w = self.w.copy()
        rows = self.columns.newton(self.rows, w, self.penalty, tolerance)
        moved = not np.array_equal(w, self.w) or rows.b != self.rows.b
        self.w, self.rows = w, rows
        return moved

    def _working_set(self, least: int) -> Which:
        """Those that are not 0, and others that are furthest beyond their bound or nearest it.

        The last one as long as it holds all that it must: what was computed for it is still good.
        """
        columns, d = self.columns, len(self.w)
        inside = self.w != 0
        inside[self.free] = True
        excess = np.abs(self.v) - self.penalty.t
        outside = inside | (excess > 0)
        n = int(np.count_nonzero(inside))
        size = max(2 * n, n + least)
        if columns.few or size >= d:
            return np.arange(d, dtype=np.int32)
        outside[self.which] = False
        if len(self.which) and not outside.any():
            return self.which
        room = -excess / np.maximum(columns.norms, 1e-300)
        room[inside] = -math.inf
        self.which = np.sort(np.argpartition(room, size)[:size]).astype(np.int32)
        return self.which

    def _descend(self, which: Which, w: Array, penalty: Penalty, tolerance: float) -> bool:
        """The least of J itself on the working set, where that is quadratic."""
        columns, rows, start = self.columns, self.rows, w.copy()
        columns.descend(which, rows, self.v[which], w, penalty, tolerance)
        p = w - start
        self.rows = columns.at(rows.z + columns.moved(which, p), rows.b)
        return bool(np.any(p))

    def _newton(self, which: Which, w: Array, penalty: Penalty, tolerance: float) -> bool:
        """Proximal Newton steps on the working set; one where `look` follows at the same cost.

        Once the model is as good as the risk itself, its minimiser is sought as exactly as the gap
        asks for.
        """
        columns, v, moved = self.columns, self.v[which], False
        for _ in range(1 if columns.few else _NEWTON_STEPS):
            worst = float(np.max(penalty.violation(w, v), initial=0.0))
            if worst <= tolerance:
                break
            columns.all_count = worst > _SLOWER * self.worst
            columns.outworn = columns.few or columns.all_count
            self.worst = worst
            near = min(self.forcing * worst, _LOOSE * self.goal if columns.few else math.inf)
            if not self._line(which, v, w, penalty, near, self._bent(self.rows)):
                break
            moved = True
            if columns.few:
                break
            polished = tolerance <= _POLISHED * self.goal and self._near()
            if self.model is not None and polished:
                v, near = columns.products(which, self.model.alpha), self.forcing * tolerance
                self._line(which, v, w, penalty, max(self.goal, near), self.model)
                break
            v = columns.products(which, self.rows.alpha)
        return moved

    def _line(
        self,
        which: Which,
        v: Array,
        w: Array,
        penalty: Penalty,
        tolerance: float,
        model: RowState,
    ) -> bool:
        """A point on the line to the minimiser of the model; False if there is none."""
        columns, to = self.columns, w.copy()
        step, h = columns.descend(which, model, v, to, penalty, tolerance)
        p = to - w
        if not np.any(p) and step == 0:
            return False
        change = columns.moved(which, p), step
        found = ModelLine(columns, self.rows, change, penalty, (w, p)).lower()
        if found is None:
            return False
        eta, self.rows, trials = found
        factor = 100.0 if trials > _MANY else 0.1 if trials == 0 else 1.0
        self.floor = min(max(factor * self.floor, _LOWEST), 1.0)
        w[:] = to if eta == 1 else w + eta * p
        assert h is not None
        there = model.alpha + h * (change[0] + step)
        self.model = model._replace(alpha=there, h=h) if eta == 1 else None
        return True

    def _bent(self, rows: RowState) -> RowState:
        """Rows of which none is flat, as the model would have no minimum where all are."""
        if rows.h is None or not math.isfinite(self.columns.smoothness):
            return rows
        floor = self.floor * self.columns.smoothness * self.columns.share
        return rows._replace(h=np.maximum(rows.h, floor))


def _distance(change: Array, share: Array | float) -> float:
    """sqrt(sum_i change_i^2 / share_i), by which <x_j, alpha> changes over the column's norm."""
    if isinstance(share, float):
        return float(np.linalg.norm(change)) / math.sqrt(share)
    each = np.divide(change * change, share, out=np.zeros_like(change), where=share > 0)
    return math.sqrt(float(np.sum(each)))
