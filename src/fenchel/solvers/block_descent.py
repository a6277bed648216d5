"""Block coordinate descent on working sets of columns that have several numbers, or are in groups.

Of softmax and of squares of K targets a column has K numbers, each with a penalty of its own (L1,
the elastic net) or all together (the group lasso, which leaves out whole columns); of a loss of one
score, columns may be in groups. As in column_descent.py, most of these blocks are 0 at a minimum,
and which they are is found on the way: with V = X'alpha the risk's gradient,

    G = groups that are not 0, and those nearest to or beyond their bound
    W = argmin of J over the columns of G, roughly
    V = X'alpha,                                   a pass; alpha, scaled until no group is beyond
                                                   its bound, proves what J is at least.

The second line is some proximal Newton steps: block coordinate descent on the loss's quadratic
model (kernels/block_column_descent.hpp), with a row's whole K x K Hessian and the offsets minimised
out, and a search along the line that leads to its minimiser. The squared error is its own model.

Blocks as in Friedman, Hastie and Tibshirani (2010) and in Qin, Scheinberg and Goldfarb (2013),
working sets as in Massias, Gramfort and Salmon (2018) and in skglm (Bertrand et al. 2022).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views import block_penalty as penalties
from fenchel.risks.views.block_columns import BlockColumns, block_columns, side_of
from fenchel.settings import whole
from fenchel.solvers import _scaled_dual
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.block_line import BlockLine

_FORCING = 0.1  # the violation that is left in the working set, relative to that before
_NEWTON_STEPS = 20  # on one working set, at most
_SPARE = 1.2  # groups in a working set for each that is not 0, at least; at most it is 2
_REFRESHED = 10  # working sets after which scores are computed anew
_FLOOR, _LOWEST = 1e-6, 1e-9  # of curvatures, relative to the largest that the loss has
_LARGEST, _MOST_CLASSES = 1000, 100  # coefficients in a group; classes
_MANY = 3  # steps back in a search after which that is raised


class BlockDescent(Solver):
    """Block coordinate descent on working sets of groups of columns, `columns` or more at first."""

    name = "block-descent"
    needs = Needs(differentiable=True, views=(BlockColumns,))

    def __init__(self, columns: int = 100):
        self.columns = whole("columns", columns, least=1)
        self._gap = 1e-4

    def aiming(self, gap: float) -> BlockDescent:
        """Its working sets are solved as exactly as the gap asks for."""
        other = type(self)(self.columns)
        other._gap = gap
        return other

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Working set after working set."""
        at = _BlockPlace(problem, w, self._gap, state)
        while True:
            point, J = at.look()
            state_here = functools.partial(_state, at.w, at.rows.b)
            yield Step(point, J, *at.scaled.after(point, J), state_here)
            if not at.improve(self.columns):
                return

    def obstacle(self, problem: Problem) -> str | None:
        """What it needs; and the certificate's obstacles."""
        found = penalties.obstacle(problem) or super().obstacle(problem)
        found = found or _scaled_dual.obstacle(problem)
        return found or _size_obstacle(problem)


def _size_obstacle(problem: Problem) -> str | None:
    """The Hessian of a group, and of a column's K numbers, is kept as a matrix."""
    side = side_of(problem.risk)
    if side > _MOST_CLASSES:
        return f"it takes at most {_MOST_CLASSES} classes"
    largest = side * penalties.most_columns(problem)
    return None if largest <= _LARGEST else f"it takes groups of at most {_LARGEST} coefficients"


def _state(w: Array, b: Array) -> State:
    return {"w": w, "b": b}


class _BlockPlace:
    """Where the descent is: w, the rows there, and v = X'alpha in the order of groups."""

    def __init__(self, problem: Problem, w: Array, gap: float, state: State | None):
        assert isinstance(problem.risk, LinearRisk)
        self.problem, self.risk, self.gap = problem, problem.risk, gap
        self.columns = block_columns(problem.risk)
        self.K, self.w = self.columns.K, np.array(w)
        self.penalty, self.order = penalties.block_penalty(problem, self.K)
        b = np.zeros(self.K)
        if state is not None and "b" in state:
            b = np.array(np.broadcast_to(state["b"], self.K), dtype=np.float64)
        self.rows = self.columns.at(self.columns.scores(self.w), b)
        self.drift = 0  # working sets since the scores were computed from w
        self.goal = math.inf  # the violation at which the gap is likely to be reached
        self.floor = _FLOOR
        self.scaled = _scaled_dual.ScaledDual(problem, every=1)

    def look(self) -> tuple[LinearPoint, float]:
        """The risk at w, at its best offsets, and J."""
        columns = self.columns
        if self.drift > _REFRESHED:
            self.rows, self.drift = columns.at(columns.scores(self.w), self.rows.b), 0
        point = columns.point(self.risk, self.w, self.rows)
        self.rows = columns.settled(self.risk, self.rows, point)
        self.v = self._ordered(point.subgradient)
        self.J = self.problem.objective(point)
        columns.pay(self.risk)
        return point, self.J

    def _ordered(self, x: Array) -> Array:
        """The K numbers of each column, in the order of groups."""
        return x.reshape(-1, self.K)[self.order].ravel()

    def improve(self, least: int) -> bool:
        """Lowers J on a working set; False where nothing moves any more."""
        w = self._ordered(self.w)
        violation = self.penalty.violation(w, self.v)
        worst = float(np.max(violation, initial=0.0))
        if worst == 0:
            return False
        linear = self.penalty.linear(w)
        self.goal = min(self.goal, 0.3 * self.gap * self.J / linear if linear > 0 else math.inf)
        if worst <= self.goal:
            self.goal = 0.1 * worst
        tolerance = max(_FORCING * worst, 0.5 * self.goal)
        penalty, places = self.penalty.of(self._working_set(w, least))
        which = self.order[places].astype(np.int32)
        inside = np.ascontiguousarray(self.w.reshape(-1, self.K)[which]).ravel()
        moved = self._newton(
            which, self.v.reshape(-1, self.K)[places].ravel(), inside, penalty, tolerance
        )
        self.w = self.w.copy()
        self.w.reshape(-1, self.K)[which] = inside.reshape(-1, self.K)
        self.drift += 1
        return moved

    def _working_set(self, w: Array, least: int) -> np.ndarray:
        """Groups that are not 0, and others that are furthest beyond their bound or nearest it."""
        penalty, first = self.penalty, self.penalty.start[:-1].astype(np.intp)
        inside = np.add.reduceat(np.abs(w), first * self.K) > 0
        excess = penalty.excess(self.v)
        n, beyond = int(np.count_nonzero(inside)), int(np.count_nonzero(inside | (excess > 0)))
        size = max(min(beyond, 2 * n), int(_SPARE * n), n + least)
        if size >= len(excess):
            return np.arange(len(excess))
        norms = np.sqrt(np.add.reduceat(self.columns.norms[self.order] ** 2, first))
        room = -excess / np.maximum(norms, 1e-300)
        room[inside] = -math.inf
        return np.sort(np.argpartition(room, size)[:size])

    def _newton(
        self,
        which: np.ndarray,
        v: Array,
        w: Array,
        penalty: penalties.BlockPenalty,
        tolerance: float,
    ) -> bool:
        """Proximal Newton steps on the working set; w changes."""
        moved, all_of_it = False, len(which) == len(self.order)
        for _ in range(1 if self.columns.quadratic or all_of_it else _NEWTON_STEPS):
            worst = float(np.max(penalty.violation(w, v), initial=0.0))
            if worst <= tolerance:
                break
            within = tolerance if self.columns.quadratic else _FORCING * worst
            if not self._line(which, w, penalty, within):
                break
            moved = True
            if not all_of_it:
                v = self.columns.products(which, self.rows.alpha)
        return moved

    def _line(
        self, which: np.ndarray, w: Array, penalty: penalties.BlockPenalty, tolerance: float
    ) -> bool:
        """A point on the line to the minimiser of the model; False if there is none."""
        columns, to = self.columns, w.copy()
        self.problem.pulse()
        step = columns.descend(which, self.rows, to, penalty, self.floor, tolerance)
        p = to - w
        if not np.any(p) and not np.any(step):
            return False
        line = BlockLine(columns, self.rows, (columns.moved(which, p), step), penalty, (w, to))
        columns.pay(self.risk)
        if columns.quadratic:
            w[:], self.rows = to, line.end()
            return True
        found = line.lower()
        if found is None:
            return False
        eta, self.rows, trials = found
        factor = 100.0 if trials > _MANY else 0.1 if trials == 0 else 1.0
        self.floor = min(max(factor * self.floor, _LOWEST), 1.0)
        w[:] = to if eta == 1 else w + eta * p
        return True
