"""Newton's steps for a linear risk: systems over those rows that have curvature.

Newton's method wants the step p that solves

    (diagonal + sum_i h_i x_i x_i') p = g

where the sum is the Hessian of the risk, h_i >= 0 being the curvature of row i's loss at its score
times the row's weight, and `diagonal` the regulariser's Hessian. Rows with h_i = 0, such as those
beyond the margin of a squared hinge, take no part; the others are called *bent*. A profiled
intercept is one more coordinate, the last, whose column is of ones. The system is solved in as many
unknowns as there are columns or bent rows, or roughly (newton_system.py). Only bent rows are read,
and a step counts as their share of a pass.

Where all rows are one shard and columns are few, a kernel takes whole runs of steps by itself
(kernels/newton.hpp); what it hands back is a point like any other. Of a few shards it takes paths,
which nobody watches, as of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, Rows, SparseRows
from fenchel.data.shards import Shard, are_small
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Point, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.newton_system import NewtonSystem

_FEW_COLUMNS = 300  # up to which steps are a kernel's
_STEPS = 100  # of a run, or at one strength, at most
_WORK = 2e8  # products of two numbers that a run of steps may take: some ten milliseconds
MOST_SLOPES = 1 << 22  # that the slopes of all strengths of a path may be: 32 MB


class AtStrength(NamedTuple):
    """What is claimed at a strength: w, b, J there, a bound and what makes its proof."""

    w: Array
    b: float | Array
    J: float
    lower: float
    alpha: Callable[[], Array]


class Hessian:
    """The Hessian of a linear risk, whose loss is a built-in one whose slope does not jump."""

    def __init__(self, risk: Risk):
        assert isinstance(risk, LinearRisk)
        self.risk = risk

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The loss's curvature must be known."""
        if not (risk.facts.differentiable and has_dual_steps(risk)):
            return "it knows the Hessian of the built-in smooth losses of one score a row only"
        return None

    def newton_step(self, point: Point, diagonal: Array, g: Array) -> Array:
        """The p with (diagonal + Hessian of R at the point) p = -g: about a pass.

        The offset's slope at a point is 0, so that it takes no part in g.
        """
        return -self._solved(point, diagonal, g)[0]

    def whole_step(self, point: Point) -> tuple[Array, float]:
        """Newton's step of R alone, and what it says of the offset."""
        p, b = self._solved(point, np.zeros(self.risk.n_parameters), point.subgradient)
        return -p, -b

    def _solved(self, point: Point, diagonal: Array, g: Array) -> tuple[Array, float]:
        assert isinstance(point, LinearPoint)
        risk = self.risk
        settings = risk.loss, point.z, point.intercept, risk.weight
        h, bent = risk.engine.map(shardwork.curvatures, *settings).split(2)
        return NewtonSystem(risk, bent, h).solved(diagonal, g, 0.0)

    @property
    def takes_runs(self) -> bool:
        """Whether `run` can be called: rows in one place, more than columns, which are few."""
        return self.risk.engine.n_shards == 1 and self._is_small

    @property
    def _is_small(self) -> bool:
        risk, d = self.risk, self.risk.n_parameters
        return are_small(risk.engine.shards) and d <= _FEW_COLUMNS and d < risk.n_rows

    @property
    def at_once(self) -> int:
        """The most steps of a run, so that a clock can be looked at between runs."""
        return max(1, min(_STEPS, self._affordable))

    @property
    def _affordable(self) -> int:
        """Steps that take some ten milliseconds."""
        return round(_WORK / max(self.risk.n_numbers * self.risk.n_parameters, 1))

    def at(self, w: Array) -> Point:
        """The risk at w; where runs of steps follow, its gradient is their business."""
        return self.risk.lazy_at(w) if self.takes_runs else self.risk.at(w)

    def run(self, point: Point, diagonal: Array, gap: float) -> tuple[Point, int]:
        """Newton's steps until the relative gap is likely to be reached, and how many they were.

        The intercept moves with w.
        """
        risk = self.risk
        settings = diagonal, risk.weight, risk.facts.has_intercept, point.w, point.intercept
        w, b, taken = risk.engine.map(_run, risk.loss, *settings, gap, self.at_once)[0]
        risk.passes += 3 * taken + 2
        return LinearPoint(risk, w, risk.engine.map(shardwork.scores, w), b), taken

    def takes_paths(self, n_strengths: int) -> bool:
        """Whether `path` can be called: as `run`, of few shards too, if all slopes fit."""
        return self._is_small and self.risk.n_rows * n_strengths <= MOST_SLOPES

    def path(
        self, unit: Array, strengths: Sequence[float], gap: float, pulse: Callable[[], None]
    ) -> Iterator[AtStrength]:
        """Newton's steps at one strength after the other, from w = 0, then from the last.

        `unit` is the regulariser's Hessian at strength 1.
        """
        risk, shard = self.risk, self.risk.engine.joined()
        n, d, m = risk.n_rows, risk.n_parameters, len(strengths)
        W, alpha, bounds, b = np.empty((m, d)), np.empty((m, n)), np.empty((m, 2)), np.empty(m)
        loss, intercept = built_in(shard.bound(risk.loss)), risk.facts.has_intercept
        terms = loss.newton_terms(unit, risk.weight, intercept)
        found = _kernels.NewtonStrengths(np.array(strengths), W, alpha, bounds, b)
        done, w = 0, np.zeros(d)
        offset = loss.best_offset(np.zeros(n), risk.weight, 0.0)[4] if intercept else 0.0
        for k in range(m):
            if done <= k:
                pulse()
                steps = gap, _STEPS, max(1, self._affordable), found, done
                more, taken = _path(shard.rows, terms, w, offset, *steps)
                risk.passes += 3 * taken
                done, offset = done + more, float(b[done + more - 1])
            J, lower = bounds[k].tolist()
            yield AtStrength(W[k], float(b[k]), J, lower, partial(alpha.__getitem__, k))


def _path(rows: Rows, *settings: Any) -> tuple[int, int]:
    """Some strengths of a path: how many, and the steps that they took."""
    if isinstance(rows, SparseRows):
        return _kernels.csr_newton_path(rows.row_start, rows.column, rows.value, *settings)
    assert isinstance(rows, DenseRows)
    return _kernels.dense_newton_path(rows.values, *settings)


def _run(
    shard: Shard,
    loss: Loss,
    diagonal: Array,
    total: float,
    intercept: bool,
    w: Array,
    b: float,
    gap: float,
    most: int,
) -> tuple[Array, float, int]:
    """At most so many steps from (w, b): where they led, and how many they were."""
    terms = built_in(shard.bound(loss)).newton_terms(diagonal, total, intercept)
    rows, w = shard.rows, np.array(w)
    if isinstance(rows, SparseRows):
        X = rows.row_start, rows.column, rows.value
        return w, *_kernels.csr_newton(*X, terms, w, b, gap, most)
    assert isinstance(rows, DenseRows)
    return w, *_kernels.dense_newton(rows.values, terms, w, b, gap, most)
