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
D along a_i to have 1/_OVER of its curvature L. As -l* is concave, that is a proximal step of length
_OVER/L < 2/L, by which D rises by at least (1/_OVER - 1/2) L (u - a_i)^2.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from fenchel import _kernels
from fenchel.data.rows import SweptRows
from fenchel.data.shards import Shard
from fenchel.engines import PerShard, Serial, mutates
from fenchel.losses import Labels, Loss, ScalarLoss, VectorLoss
from fenchel.losses.scalar_rows import NativeScalarRows, is_built_in
from fenchel.losses.vector_rows import NativeVectorRows, has_block_step
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Point, Problem, Risk
from fenchel.risks.kinks import weighted
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.zero_sum import evened, is_even, signed_sums
from fenchel.witness import Witness

# How far a step on one row takes the offset with it: relative to how far it moves the score of a
# mean row, over all rows; and to the scores that the loss asks for, over their slopes. With a tenth
# of the second 2,000 rows of a9a take up to eight times the passes, with ten times as much 20news'
# hinge at most two and a half times. Shards that step at once would each keep to a balance of their
# own if the offset were as stiff as that: a text's hinge takes twenty times the passes.
_OFFSET, _REACH, _REACH_AT_ONCE = 10.0, 0.3, 0.01
_OVER = 1.5  # nine tenths of the passes of exact steps on kinked losses, four fifths on others
_FEW = 0.9  # of the active rows: where more of them moved, they are not visited again before others
_LESS = 0.99  # times slopes that are tried first: multiples are not told apart any better
_FADED = 0.05  # the rise of a sweep over the rows that moved, relative to the first, that ends them


@dataclass
class RowDuals:
    """The dual variables of a shard's rows, which stay with it."""

    loss: NativeScalarRows | NativeVectorRows
    settings: tuple[Array, Array, Array | None, Array | None]  # rate, kappa and the shrinkage
    rate: Array
    a: Array  # a number for each row, or K of them
    active: npt.NDArray[np.int32]
    n_active: int  # the first of `active` that a sweep visits

    @functools.cached_property
    def native(self) -> _kernels.DualProblem | _kernels.BlockProblem:
        """The same dual variables as the kernels take them, which cannot be pickled."""
        if isinstance(self.loss, NativeVectorRows):
            return self.loss.block_problem(self.a, *self.settings)
        return self.loss.dual_problem(*self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowDuals, tuple(getattr(self, each.name) for each in fields(self))


def has_dual_steps(risk: Risk) -> bool:
    """The best step on one dual variable is known: the loss is a built-in one of one score a row.

    Where rows' dual variables are bound together, as a nu-loss's are, none can change alone.
    """
    return isinstance(risk, LinearRisk) and risk.facts.has_duals and is_built_in(risk.loss)


def has_block_steps(risk: Risk) -> bool:
    """The best step on all K dual variables of a row is known; not yet with intercepts."""
    known = isinstance(risk, LinearRisk) and risk.facts.has_duals and has_block_step(risk.loss)
    return known and not risk.facts.has_intercept


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
        self.v, self.b = np.zeros(risk.n_parameters), 0.0
        self._unpaid = 0.0  # part of a pass that was not yet counted
        risk.passes += 1
        shrinkage = regularizer.shrinkage(risk.n_parameters)
        squares = self.engine.map(row_squares, shrinkage)
        total = self.engine.total(self.engine.map(shardwork.total, squares))
        self.offset_rate = offset_rate(total / risk.n_rows, risk, strength, self.crowd)
        unit = 1 / (strength * risk.weight)
        self.rows = self.engine.map(
            row_duals, risk.loss, squares, shrinkage, unit, self.offset_rate, self.crowd, risk.width
        )

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The step on each dual variable must be known."""
        if has_dual_steps(risk) or has_block_steps(risk):
            return None
        return (
            "it knows the dual steps of the built-in losses of one score a row, and without an "
            "intercept those of softmax, multilabel_hinge and multiclass_hinge of rescaled margins"
        )

    @property
    def w(self) -> Array:
        """The primal point that goes with the slopes, grad Omega*(v)."""
        return self.regularizer.conjugate_argmax(self.v)

    @property
    def a(self) -> Array:
        """The slopes of all rows."""
        return self.engine.gather(self.engine.map(_slopes, self.rows))

    def assign(self, a: Array, b: float = 0.0) -> None:
        """Takes over slopes, and an offset."""
        self.engine.map(_assign, self.rows, self.engine.scatter(self.risk.outputs(a)))
        self.b = b
        self.settle()

    def _assign_weighted(self, alpha: Array, total: float, b: float) -> None:
        """Takes over alpha_i = s_i/total a_i."""
        slopes = self.engine.map(
            shardwork.unweighted,
            self.engine.scatter(self.risk.outputs(alpha)),
            total,
            self.risk.loss,
        )
        self.assign(self.engine.gather(slopes), b)

    def start(self, alpha: Array, b: float) -> None:
        """Takes over alpha_i = s_i/S a_i, all scaled by the t in [0, 1] with the largest D(t a).

        They may belong to the minimum at another strength, where w is 1/t times as long.
        """
        self._assign_weighted(alpha, self.risk.weight, b)
        t = self._scale()
        self.assign(t * self.a, b)

    def settle(self) -> None:
        """Computes v from the slopes, without the round-off of many steps: a pass."""
        self.risk.passes += 1
        self.v = -self.engine.total(self.engine.map(_combined, self.rows)).ravel()

    def balance(self) -> None:
        """The multiplier's step: b moves as far as the slopes are out of balance.

        Shorter than that by as much as the rows' steps are longer: with whole steps, a few active
        rows may swing ever further.
        """
        if self.risk.facts.has_intercept:
            imbalance = self.engine.total(self.engine.map(_total, self.rows))
            self.b -= self.offset_rate / _OVER * imbalance

    def point(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w: a pass."""
        return self.risk.lazy_at(w, near)

    def release(self, point: Point, margin: float) -> None:
        """Makes active the rows on which a step may do something, by the scores at a point."""
        assert isinstance(point, LinearPoint)  # its own: no pass for its scores
        z = point.z
        if self.engine is not self.risk.engine:
            z = self.engine.scatter(self.risk.engine.gather(z))
        self.engine.map(_release, self.rows, z, self.b, margin)

    def sweep(self, seeds: Sequence[int], margin: float) -> tuple[float, float]:
        """Steps on the active rows, then, for each further seed, on those that the last ones moved.

        Rows that lie more than `margin` inside a flat piece of their loss, and have its slope, are
        left out from now on.
        """
        settings = self.rows, self.offset_rate, seeds, margin, self.crowd
        v = self.risk.outputs(self.v)
        *summed, violation = self.engine.map(sweep, v, self.b, *settings).split(5)
        change, db, rise, visits = self.engine.totals(*summed)
        change = change.ravel()
        self.v = change if self.crowd is None else self.v + change
        self.b += db
        self._pay(2 * visits / self.risk.n_rows)
        return max(violation), rise

    def _pay(self, passes: float) -> None:
        self._unpaid += passes
        self.risk.passes += int(self._unpaid)
        self._unpaid -= int(self._unpaid)

    def cut(self) -> Cut:
        """The cut that the slopes make; with an intercept, of the slopes balanced, for a pass."""
        a = self.engine.map(_slopes, self.rows)
        if self.engine is not self.risk.engine:
            a = self.risk.engine.scatter(self.engine.gather(a))
        return cut_of(self.risk, a, -self.strength * self.v)

    def _scale(self) -> float:
        risk = self.risk
        a = self.engine.map(shardwork.feasible, risk.loss, self.engine.map(_slopes, self.rows))

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


def offset_rate(
    mean_square: float, risk: LinearRisk, strength: float, crowd: int | None = None
) -> float:
    """The curvature that the multiplier adds, for rows of a mean squared length.

    b moves by rate_i * offset_rate for each unit that a slope a_i moves, for a mean row by reach *
    scale. Margins are of the size 1, as are their slopes; in regression the scale is the labels'
    spread over the largest slope, or 1 where slopes are as large as scores.
    """
    if not risk.facts.has_intercept:
        return 0.0
    scale = 1.0
    if risk.loss.labels is not Labels.BINARY:
        scale = risk.label_spread / risk.largest_slope or 1.0  # 0 where slopes have no bound
    reach = _REACH if crowd is None else _REACH_AT_ONCE
    by_length = _OFFSET * (mean_square or 1.0) / risk.n_rows
    return max(by_length, reach * scale * strength * risk.n_rows)


def cut_of(risk: LinearRisk, a: PerShard[Array], adjoint: Array) -> Cut:
    """The cut that slopes make whose X'(s a)/S is known; with an intercept, once balanced."""
    engine, loss = risk.engine, risk.loss
    a = engine.map(shardwork.feasible, loss, a)
    if risk.facts.has_intercept and (balanced := _balanced(risk, a)) is not a:
        risk.passes += 1
        a = balanced
        adjoint = engine.total(engine.map(_adjoint, a)).ravel() / risk.weight
    alpha = engine.gather(engine.map(shardwork.weighted, a)).ravel() / risk.weight
    total, size = engine.totals(*engine.map(shardwork.conjugates, loss, a, 1.0).split(2))
    slopes = float(np.linalg.norm(alpha)) * np.sqrt(risk.n_rows)
    sizes = risk.length * slopes, float(size) / risk.weight
    return Cut(adjoint, -float(total) / risk.weight, sizes, lambda: Witness(alpha=alpha))


def _balanced(risk: LinearRisk, a: PerShard[Array]) -> PerShard[Array]:
    """Slopes that add up to 0 with their weights: the same where they do."""
    up, down = risk.engine.totals(*risk.engine.map(_signed_sums, a).split(2))
    return a if is_even(up, down) else risk.engine.map(_evened, a, up, down)


def row_squares(shard: Shard, shrinkage: tuple[Array, Array] | None) -> Array:
    """How strongly a row's score, of several the one that does most, answers to a step on it."""
    rows, scale = cast(SweptRows, shard.rows), None
    if shrinkage is not None:
        scale = np.max(shrinkage[1].reshape(rows.n_columns, -1), axis=1)
    return rows.row_squares(scale)


def row_duals(
    shard: Shard,
    loss: Loss,
    squares: Array,
    shrinkage: tuple[Array, Array] | None,
    unit: float,
    offset_rate: float,
    crowd: int | None,
    width: tuple[int, ...] = (),
) -> RowDuals:
    """Dual variables 0; those of empty rows are settled, as their scores never change."""
    rate = unit * shardwork.weights(shard)
    shared = rate if crowd is None else crowd * rate
    kappa = shared * (squares + offset_rate) / _OVER
    a = np.zeros((shard.rows.n_rows, *width))
    alone = (kappa == 0) & (rate > 0)
    bound = shard.bound(loss)
    assert isinstance(bound, NativeScalarRows | NativeVectorRows)
    assert isinstance(loss, ScalarLoss | VectorLoss)
    a[alone] = loss.slope(shardwork.shifted_by_offset(shard, a)[alone], shard.y[alone])
    threshold, scale = (None, None) if shrinkage is None else shrinkage
    settings = shared, kappa, threshold, scale
    return RowDuals(bound, settings, rate, a, np.empty(len(a), dtype=np.int32), n_active=0)


@mutates
def sweep(
    shard: Shard,
    v: Array,
    b: float,
    rows: RowDuals,
    offset_rate: float,
    seeds: Sequence[int],
    margin: float,
    crowd: int | None,
) -> tuple[Array, float, float, int, float]:
    """v, the change of b, the dual's rise by the first seed, the steps, and their violation.

    Of K shards at once (a `crowd`) each changes its own slopes, and what comes of it is added up:
    v + sum_k d_k. As Omega* is convex,

        Omega*(v + sum_k d_k) <= (1/K) sum_k Omega*(v + K d_k),

    so the dual rises by no less than what the shards gain if each counts its own change K times
    (CoCoA+, Ma et al. 2015). The change of v is then given in the place of v.
    """
    new, n = v if crowd is None else v.copy(), rows.n_active
    X, last = cast(SweptRows, shard.rows), b
    state = offset_rate, rows.active
    last, rows.n_active, n_moved, violation, rise = X.sweep(
        rows.native, rows.a, new, last, *state, n, margin, seeds[0]
    )
    for seed in seeds[1:] if n_moved <= _FEW * n else ():
        n += n_moved
        last, _, n_moved, _, faded = X.sweep(
            rows.native, rows.a, new, last, *state, n_moved, 0.0, seed
        )
        if faded <= _FADED * rise:
            break
    if crowd is None:
        return new, last - b, rise, n, violation
    return (new - v) / crowd, (last - b) / crowd, rise, n, violation


@mutates
def _release(shard: Shard, rows: RowDuals, z: Array, b: float, margin: float) -> None:
    rows.n_active = _kernels.movable(rows.native, z + b, rows.a, margin, rows.active)


def _slopes(shard: Shard, rows: RowDuals) -> Array:
    return rows.a.copy()


@mutates
def _assign(shard: Shard, rows: RowDuals, a: Array) -> None:
    rows.a[:] = a


def _adjoint(shard: Shard, a: Array) -> Array:
    return shard.rows.adjoint(shardwork.weighted(shard, a))


def _signed_sums(shard: Shard, a: Array) -> tuple[float, float]:
    return signed_sums(shardwork.weighted(shard, a))


def _evened(shard: Shard, a: Array, up: float, down: float) -> Array:
    return evened(a, up, down)


def _combined(shard: Shard, rows: RowDuals) -> Array:
    return shard.rows.adjoint(weighted(rows.rate, rows.a))


def _total(shard: Shard, rows: RowDuals) -> float:
    return float(rows.rate @ rows.a)
