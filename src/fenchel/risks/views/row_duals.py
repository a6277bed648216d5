"""The dual variables of a shard's rows, and the steps that coordinate ascent takes on them.

dual_ascent.py says what they are. All functions here are work on one shard. Of K intercepts that
are coordinates (data/rows.py, WithOnes) the column of ones takes no part in steps on rows: the
offsets are the multipliers of conditions, and carried beside v.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import SweptRows, WithOnes
from fenchel.data.shards import Shard
from fenchel.engines import mutates
from fenchel.losses import Labels, Loss, ScalarLoss, VectorLoss
from fenchel.losses.scalar_rows import NativeScalarRows
from fenchel.losses.vector_rows import LeafRows, NativeVectorRows
from fenchel.risks import shardwork
from fenchel.risks.base import Array
from fenchel.risks.kinks import weighted
from fenchel.risks.linear import LinearRisk

# How far a step on one row takes the offset with it: relative to how far it moves the score of a
# mean row, over all rows; and to the scores that the loss asks for, over their slopes. With a tenth
# of the second 2,000 rows of a9a take up to eight times the passes, with ten times as much 20news'
# hinge at most two and a half times. Shards that step at once would each keep to a balance of their
# own if the offset were as stiff as that: a text's hinge takes twenty times the passes.
_OFFSET, _REACH, _REACH_AT_ONCE = 10.0, 0.3, 0.01
OVER = 1.5  # nine tenths of the passes of exact steps on kinked losses, four fifths on others
_FEW = 0.9  # of the active rows: where more of them moved, they are not visited again before others
_LAST = 0.3  # the share of the last sweep in a mean of late v
_MANY = 64  # numbers in X for each column, from which on such a mean costs next to nothing
_FADED = 0.05  # the rise of a sweep over the rows that moved, relative to the first, that ends them


@dataclass
class RowDuals:
    """The dual variables of a shard's rows, which stay with it."""

    loss: NativeScalarRows | NativeVectorRows | LeafRows
    settings: tuple[Array, Array, Array | None, Array | None]  # rate, kappa and the shrinkage
    rate: Array
    a: Array  # a number for each row, or K of them
    active: npt.NDArray[np.int32]
    n_active: int  # the first of `active` that a sweep visits

    @functools.cached_property
    def native(self) -> _kernels.DualProblem | _kernels.BlockProblem:
        """The same dual variables as the kernels take them, which cannot be pickled."""
        if isinstance(self.loss, NativeScalarRows):
            return self.loss.dual_problem(*self.settings)
        return self.loss.block_problem(self.a.shape[1], OVER, *self.settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowDuals, tuple(getattr(self, each.name) for each in fields(self))


def offset_rate(
    mean_square: float, risk: LinearRisk, strength: float, crowd: int | None = None
) -> float:
    """The curvature that the multiplier adds, for rows of a mean squared length.

    b moves by rate_i * offset_rate for each unit that a slope a_i moves, for a mean row by reach *
    scale. Margins are of the size 1, as are their slopes; in regression the scale is the labels'
    spread over the largest slope, or 1 where slopes are as large as scores. An offset of K classes
    is the business of about 2/K of the rows: steps K/2 times as long are best on letter and digits,
    as long as of two classes on a text's 20; the root of that costs either a third at most.
    """
    if not (risk.facts.has_intercept or risk.n_offsets):
        return 0.0
    scale = math.sqrt(0.5 * risk.n_outputs) if risk.classes is not None else 1.0
    if risk.classes is None and risk.loss.labels is not Labels.BINARY:
        scale = risk.label_spread / risk.largest_slope or 1.0  # 0 where slopes have no bound
    reach = _REACH if crowd is None else _REACH_AT_ONCE
    by_length = _OFFSET * (mean_square or 1.0) / risk.n_rows
    return max(by_length, reach * scale * strength * risk.n_rows)


def swept(shard: Shard) -> SweptRows:
    """The rows that steps go through, without a column of ones."""
    rows = shard.rows.rows if isinstance(shard.rows, WithOnes) else shard.rows
    return cast(SweptRows, rows)


def row_squares(shard: Shard, shrinkage: tuple[Array, Array] | None) -> Array:
    """How strongly a row's score, of several the one that does most, answers to a step on it."""
    rows, scale = swept(shard), None
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
    kappa = shared * (squares + offset_rate) / OVER
    a = np.zeros((shard.rows.n_rows, *width))
    alone = (kappa == 0) & (rate > 0)
    bound = shard.bound(loss)
    assert isinstance(bound, NativeScalarRows | NativeVectorRows | LeafRows)
    assert isinstance(loss, ScalarLoss | VectorLoss)
    a[alone] = loss.slope(shardwork.shifted_by_offset(shard, a)[alone], shard.y[alone])
    threshold, scale = (None, None) if shrinkage is None else shrinkage
    settings = shared, kappa, threshold, scale
    return RowDuals(bound, settings, rate, a, np.empty(len(a), dtype=np.int32), n_active=0)


@mutates
def sweep(
    shard: Shard,
    v: Array,
    b: float | Array,
    rows: RowDuals,
    offset_rate: float,
    seeds: Sequence[int],
    margin: float,
    crowd: int | None,
    enough: float = 0.0,
) -> tuple[Array, float | Array, float, float, int, Array, float]:
    """v, the change of b, the rise by the first and the last seed, the steps.

    And v's late mean, and the steps' violation. No further seed is taken once the rise by one is no
    more than `enough`.

    The dual rises steadily while v leaps with the rows visited last: J is less where v was on
    average after the last sweeps, each of which counts for less than the next. That mean is v
    itself where it would cost as much as sweeps do, and not given of a crowd.

    Of K shards at once (a `crowd`) each changes its own slopes, and what comes of it is added up:
    v + sum_k d_k. As Omega* is convex,

        Omega*(v + sum_k d_k) <= (1/K) sum_k Omega*(v + K d_k),

    so the dual rises by no less than what the shards gain if each counts its own change K times
    (CoCoA+, Ma et al. 2015). The change of v is then given in the place of v.
    """
    new, n = v if crowd is None else v.copy(), rows.n_active
    X, last = swept(shard), b if isinstance(b, float) else b.copy()
    state = offset_rate, rows.active
    few = crowd is None and len(v) * _MANY <= X.n_numbers
    last, rows.n_active, n_moved, violation, rise = X.sweep(
        rows.native, rows.a, new, last, *state, n, margin, seeds[0]
    )
    late, faded = new.copy() if few else new, rise
    for seed in seeds[1:] if n_moved <= _FEW * n else ():
        n += n_moved
        last, _, n_moved, _, faded = X.sweep(
            rows.native, rows.a, new, last, *state, n_moved, 0.0, seed
        )
        late = late + _LAST * (new - late) if few else new
        if faded <= max(_FADED * rise, enough):
            break
    if crowd is None:
        return new, last - b, rise, faded, n, late, violation
    return (new - v) / crowd, (last - b) / crowd, rise, faded, n, np.zeros(0), violation


@mutates
def release(shard: Shard, rows: RowDuals, z: Array, b: float | Array, margin: float) -> None:
    """Makes active the rows on which a step may do something, by their scores z + b."""
    rows.n_active = _kernels.movable(rows.native, z + b, rows.a, margin, rows.active)


def slopes(shard: Shard, rows: RowDuals) -> Array:
    """A copy of the slopes a_i."""
    return rows.a.copy()


@mutates
def assign(shard: Shard, rows: RowDuals, a: Array) -> None:
    """Takes over slopes."""
    rows.a[:] = a


def combined(shard: Shard, rows: RowDuals) -> Array:
    """-sum_i rate_i x_i a_i."""
    return swept(shard).adjoint(weighted(-rows.rate, rows.a))


def total(shard: Shard, rows: RowDuals) -> float | Array:
    """sum_i rate_i a_i: a number, or K of them."""
    return rows.rate @ rows.a
