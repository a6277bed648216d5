"""The dual problem of a regularised linear risk, as coordinate ascent climbs it row by row.

Every convex loss is a maximum of straight lines, l(z, y) = max over a of a z - l*(a, y), where the
conjugate l* says how low the line of slope a has to lie. To choose a slope a_i for each row i is to
choose a lower bound of the risk, and the best bound that slopes can give is the least J itself:

    D(a) = -sum_i s_i/S l*(a_i, y_i) - lambda Omega*(v),    v = -sum_i rate_i a_i x_i,
                                                            rate_i = s_i / (lambda S)

with x_i the rows, s_i their weights, S the sum of those, lambda the strength and Omega* the
regulariser's conjugate. D(a) <= J(w) for all a and w, so that a and w = grad Omega*(v), the primal
point that goes with a, prove each other's gap. A solver wants D because the best step on one a_i
has a formula and touches the one row x_i: there is no step length to search for. Steps on all rows
cost two passes over X, one to read v along the rows and one to change it, and rows that cannot move
are left out.

With an intercept D is -inf unless sum_i rate_i a_i = 0. That condition is met by the method of
multipliers: the offset b stands for its multiplier, and a step on row i that spoils the condition
by rate_i has the curvature `offset_rate` more and takes b with it, as if x_i had one more column.

A vector loss has K scores a row: a_i and w_j are vectors of K numbers, v is the matrix -sum_i
rate_i x_i a_i', and a step moves all K numbers of a_i at once (kernels/block_ascent.hpp).

Steps are over-relaxed, as in SOR (Mangasarian and Musicant 1999): each takes the quadratic part of
D along a_i to have 1/OVER of its curvature L. As -l* is concave, that is a proximal step of length
OVER/L < 2/L, by which D rises by at least (1/OVER - 1/2) L (u - a_i)^2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from fenchel.engines import Serial
from fenchel.losses.scalar_rows import is_built_in
from fenchel.losses.vector_rows import has_block_step
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Point, Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views import row_duals
from fenchel.risks.views.dual_cut import cut_of, has_offsets
from fenchel.risks.views.row_duals import OVER

_LESS = 0.99  # times slopes that are tried first: multiples are not told apart any better


def has_dual_steps(risk: Risk) -> bool:
    """The best step on one dual variable is known: the loss is a built-in one of one score a row.

    Where rows' dual variables are bound together, as a nu-loss's are, none can change alone.
    """
    return isinstance(risk, LinearRisk) and risk.facts.has_duals and is_built_in(risk.loss)


def has_block_steps(risk: Risk) -> bool:
    """A step on all K dual variables of a row is known, and how they are balanced."""
    if not (isinstance(risk, LinearRisk) and risk.facts.has_duals and has_block_step(risk.loss)):
        return False
    return not has_offsets(risk) or (risk.offsets is not None and risk.offsets.attained)


def only_offsets_are_free(problem: Problem) -> bool:
    """Whether a quadratic holds all coordinates but the last, which are K offsets."""
    risk, regularizer = problem.risk, problem.regularizer
    if not (isinstance(risk, LinearRisk) and risk.n_offsets and regularizer.has("shrinkage")):
        return False
    shrinkage = regularizer.shrinkage(risk.n_parameters)
    return shrinkage is not None and bool(np.all(shrinkage[1][: -risk.n_outputs] > 0))


class DualAscent:
    """A dual point: a slope a_i of the loss for each row, and the w that goes with them.

    It starts at a = 0, for a pass. Sweeps mix the rows of all shards, or go through all shards
    `at_once`. With an intercept, b is the offset.
    """

    def __init__(self, problem: Problem, at_once: bool):
        risk, regularizer, strength = problem.risk, problem.regularizer, problem.strength
        assert isinstance(risk, LinearRisk)
        self.risk, self.regularizer, self.strength = risk, regularizer, strength
        # In turn, rows of all shards must be mixed: shard after shard, imdb takes seven times the
        # passes. Where they are in one memory, one shard of them all costs nothing.
        engine = risk.engine
        at_once = at_once or not engine.in_one_memory
        self.engine = engine if at_once else Serial().place([engine.joined()])
        self.crowd = engine.n_shards if at_once else None
        self.n_free = risk.n_offsets * risk.n_outputs  # coordinates of w that are offsets
        self.v, self.b = np.zeros(risk.n_parameters), self._offset(0.0)
        self.late = self.v  # its mean over the last sweeps
        self._unpaid = 0.0  # part of a pass that was not yet counted
        risk.passes += 1
        shrinkage = _shrinkage(problem, self.n_free)
        squares = self.engine.map(row_duals.row_squares, shrinkage)
        total = self.engine.total(self.engine.map(shardwork.total, squares))
        self.offset_rate = row_duals.offset_rate(total / risk.n_rows, risk, strength, self.crowd)
        unit = 1 / (strength * risk.weight)
        self._is_plain = shrinkage is None and not self.n_free
        self.rows = self.engine.map(
            row_duals.row_duals,
            risk.loss,
            squares,
            shrinkage,
            unit,
            self.offset_rate,
            self.crowd,
            risk.width,
        )

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The step on each dual variable must be known, and each row at hand."""
        if has_dual_steps(risk) or has_block_steps(risk):
            assert isinstance(risk, LinearRisk)
            away = "it visits one row after the other, which must not be on a device"
            return away if risk.engine.on_device else None
        return (
            "it knows the dual steps of the built-in losses of one score a row, and of those of "
            "one right class or leaf, or a set of labels, of several; with intercepts if every "
            "class has a row"
        )

    @property
    def w(self) -> Array:
        """The primal point that goes with late slopes, grad Omega*(v), and the offsets if free.

        Under plain L2 it may be v itself, no copy: the next sweep changes it, `settle` does not.
        """
        if self._is_plain:
            return self.late
        w = self.regularizer.conjugate_argmax(self.late)
        if self.n_free:
            w[-self.n_free :] = self.b
        return w

    @property
    def a(self) -> Array:
        """The slopes of all rows."""
        return self.engine.gather(self.engine.map(row_duals.slopes, self.rows))

    def offset_at(self, point: Point) -> float | Array:
        """The offset of a point, or its K offsets."""
        b = point.w[-self.n_free :] if self.n_free else point.intercept
        return self._offset(b)

    def _offset(self, b: float | Array) -> float | Array:
        """As sweeps take it: a number, or K of them, which are the caller's own."""
        if self.risk.classes is None:
            return float(b)
        return np.array(np.broadcast_to(b, self.risk.n_outputs), dtype=np.float64)

    def assign(self, a: Array, b: float | Array = 0.0) -> None:
        """Takes over slopes, and an offset."""
        self.engine.map(row_duals.assign, self.rows, self.engine.scatter(self.risk.outputs(a)))
        self.b = self._offset(b)
        self.settle()

    def _assign_weighted(self, alpha: Array, total: float, b: float | Array) -> None:
        """Takes over alpha_i = s_i/total a_i."""
        slopes = self.engine.map(
            shardwork.unweighted,
            self.engine.scatter(self.risk.outputs(alpha)),
            total,
            self.risk.loss,
        )
        self.assign(self.engine.gather(slopes), b)

    def start(self, alpha: Array, b: float | Array) -> None:
        """Takes over alpha_i = s_i/S a_i, all scaled by the t in [0, 1] with the largest D(t a).

        They may belong to the minimum at another strength, where w is 1/t times as long.
        """
        self._assign_weighted(alpha, self.risk.weight, b)
        t = self._scale()
        self.assign(t * self.a, b)

    def settle(self) -> None:
        """Computes v from the slopes, without the round-off of many steps: a pass."""
        self.risk.passes += 1
        self.v = self._padded(self.engine.total(self.engine.map(row_duals.combined, self.rows)))
        self.late = self.v

    def _padded(self, V: Array) -> Array:
        """A matrix of v as a vector, with zeros for the coordinates that are offsets."""
        return np.append(V, np.zeros(self.n_free)) if self.n_free else V.ravel()

    def balance(self) -> None:
        """The multiplier's step: b moves as far as the slopes are out of balance.

        Shorter than that by as much as the rows' steps are longer: with whole steps, a few active
        rows may swing ever further.
        """
        if has_offsets(self.risk):
            imbalance = self.engine.total(self.engine.map(row_duals.total, self.rows))
            self.b = self.b - self.offset_rate / OVER * imbalance

    def point(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w: a pass."""
        return self.risk.lazy_at(w, near)

    def release(self, point: Point, margin: float) -> None:
        """Makes active the rows on which a step may do something, by the scores at a point."""
        assert isinstance(point, LinearPoint)  # its own: no pass for its scores
        z = point.z
        if self.engine is not self.risk.engine:
            z = self.engine.scatter(self.risk.engine.gather(z))
        shift = self.b - point.w[-self.n_free :] if self.n_free else self.b
        self.engine.map(row_duals.release, self.rows, z, shift, margin)

    def sweep(
        self, seeds: Sequence[int], margin: float, enough: float = 0.0
    ) -> tuple[float, float, float]:
        """Steps on the active rows, then, for each further seed, on those that the last ones moved.

        Until those raise the dual by no more than is `enough`; gives the largest violation, and the
        rise by the first and by the last steps. Rows that lie more than `margin` inside a flat
        piece of their loss, and have its slope, are left out from now on.
        """
        settings = self.rows, self.offset_rate, seeds, margin, self.crowd, enough
        v = self.risk.outputs(self.v[: len(self.v) - self.n_free])
        *summed, violation = self.engine.map(row_duals.sweep, v, self.b, *settings).split(7)
        change, db, rise, faded, visits, late = self.engine.totals(*summed)
        change = self._padded(change)
        self.v = change if self.crowd is None else self.v + change
        self.late = self._padded(late) if self.crowd is None else self.v
        self.b = self.b + db
        self._pay(2 * visits / self.risk.n_rows)
        return max(violation), rise, faded

    def _pay(self, passes: float) -> None:
        self._unpaid += passes
        self.risk.passes += int(self._unpaid)
        self._unpaid -= int(self._unpaid)

    def cut(self) -> Cut:
        """The cut that the slopes make; with an intercept, of the slopes balanced, for a pass."""
        a = self.engine.map(row_duals.slopes, self.rows)
        if self.engine is not self.risk.engine:
            a = self.risk.engine.scatter(self.engine.gather(a))
        return cut_of(self.risk, a, -self.strength * self.v)

    def _scale(self) -> float:
        risk = self.risk
        a = self.engine.map(
            shardwork.feasible, risk.loss, self.engine.map(row_duals.slopes, self.rows)
        )

        def D(t: float) -> float:
            terms = self.engine.map(shardwork.conjugates, risk.loss, a, t).split(2)[0]
            conjugate = self.regularizer.conjugate(t * self.v)
            return -float(self.engine.total(terms)) / risk.weight - self.strength * conjugate

        whole = D(1.0)
        if D(_LESS) <= whole:  # D is concave: no t below does better
            return 1.0
        options = {"xatol": 1 - _LESS}
        found = minimize_scalar(
            lambda t: -D(t), bounds=(0.0, 1.0), method="bounded", options=options
        )
        return float(found.x) if -found.fun > whole else 1.0


def _shrinkage(problem: Problem, n_free: int) -> tuple[Array, Array] | None:
    """That of the coordinates which are no offsets; None where it is that of plain L2."""
    shrinkage = problem.regularizer.shrinkage(problem.risk.n_parameters)
    if shrinkage is None or not n_free:
        return shrinkage
    threshold, scale = (each[:-n_free].copy() for each in shrinkage)
    return None if not threshold.any() and np.all(scale == 1.0) else (threshold, scale)
