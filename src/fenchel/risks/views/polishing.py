"""The dual polish of a point: how far the slopes of rows near a kink can raise its lower bound.

A point w has a dual variable for each row, the slope of the row's loss at its score, and together
they prove a lower bound of the objective. For a loss with kinks that bound may be poor even where w
is nearly best: on a kink any slope between two ends will do, and which one is right the score does
not say. Rows away from the kinks of their loss keep the slope that they have at the point. Those
near one, a few per cent of them all, come together here, wherever their shards are, and some sweeps
of dual ascent (dual_ascent.py) choose their slopes. The sweeps count as the share of a pass that
those rows are, the cut that follows costs none, and it has the same bits on every engine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import Shard, size, stacked
from fenchel.engines import PerShard
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import built_in
from fenchel.regularizers import Regularizer
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Point, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_cut import cut_of
from fenchel.risks.views.row_duals import offset_rate, row_duals, row_squares, sweep

Indices = npt.NDArray[np.intp]

_NEAR = 0.1  # of the scores' root mean square: how near a kink a row is to be polished
_HALVINGS = 20  # of that, where so many rows are near that they would make more than a shard
_SWEEPS = 20


def polished(problem: Problem, point: Point) -> Cut | None:
    """The cut of the point's slopes, those near kinks chosen anew; None where there are none.

    The risk must be piecewise linear (lagrangian.py) and its point one of a linear risk.
    """
    risk, regularizer, strength = problem.risk, problem.regularizer, problem.strength
    assert isinstance(risk, LinearRisk) and isinstance(point, LinearPoint)
    engine = risk.engine
    slopes = engine.map(shardwork.unweighted, point.slopes, 1.0, risk.loss)
    rows = _near(risk, point, slopes)
    if rows is None:
        return None
    taken = list(engine.map(Shard.take, rows))
    near, a = _stacked(taken), np.concatenate(list(engine.map(_of, slopes, rows)))
    new = _ascended(near, a, risk, point, regularizer, strength)
    change = near.rows.adjoint(shardwork.weighted(near, new - a)) / risk.weight
    ends = np.cumsum([shard.rows.n_rows for shard in taken])
    chosen = engine.map(_with, slopes, rows, PerShard(np.split(new, ends[:-1])))
    return cut_of(risk, chosen, point.subgradient + change)


def _near(
    risk: LinearRisk, point: LinearPoint, slopes: PerShard[Array]
) -> PerShard[Indices] | None:
    """The rows near a kink: so near that all of them make no more than a shard."""
    engine, most = risk.engine, size(risk.n_parameters)
    squares = float(engine.total(engine.map(_square, point.z)))
    margin = _NEAR * float(np.sqrt(squares / risk.n_rows))
    for _ in range(_HALVINGS):
        rows = engine.map(_near_rows, risk.loss, point.z, point.intercept, slopes, margin)
        n_numbers = engine.total(engine.map(_n_numbers, rows))
        if n_numbers <= most:
            return rows if n_numbers > 0 else None
        margin /= 2
    return None


def _ascended(
    near: Shard,
    a: Array,
    risk: LinearRisk,
    point: LinearPoint,
    regularizer: Regularizer,
    strength: float,
) -> Array:
    """The slopes a of some rows after sweeps of dual ascent, from where the point's slopes lead."""
    shrinkage = regularizer.shrinkage(risk.n_parameters)
    squares = row_squares(near, shrinkage)
    scale = 1.0 if shrinkage is None else shrinkage[1]
    rate = offset_rate(float(np.sum(risk.squares * scale)), risk, strength)  # of all rows
    unit = 1 / (strength * risk.weight)
    rows = row_duals(near, risk.loss, squares, shrinkage, unit, rate, None)
    rows.a[:] = a
    rows.active[:], rows.n_active = np.arange(len(a)), len(a)
    v, b = -point.subgradient / strength, point.intercept
    for seed in range(_SWEEPS):
        v, db, *_ = sweep(near, v, b, rows, rate, [seed], np.inf, None)
        b = b + db
    risk.passes += round(2 * _SWEEPS * len(a) / risk.n_rows)
    return rows.a


def _square(shard: Shard, z: Array) -> float:
    return float(z @ z)


def _near_rows(shard: Shard, loss: Loss, z: Array, b: float, a: Array, margin: float) -> Indices:
    """Rows of some weight less than `margin` from a kink, or with another slope than there."""
    s, found = shardwork.weights(shard), np.empty(len(z), dtype=np.int32)
    native = built_in(shard.bound(loss)).dual_problem(s, s, None, None)
    n = _kernels.movable(native, z + b, a, margin, found)
    return found[:n].astype(np.intp)


def _n_numbers(shard: Shard, rows: Indices) -> float:
    """About how many numbers these rows have."""
    return len(rows) * shard.rows.n_numbers / shard.rows.n_rows


def _of(shard: Shard, a: Array, rows: Indices) -> Array:
    return a[rows]


def _with(shard: Shard, a: Array, rows: Indices, new: Array) -> Array:
    a = a.copy()
    a[rows] = new
    return a


def _stacked(parts: list[Shard]) -> Shard:
    """Shards as one, copied."""
    matrices = [part.rows.matrix() for part in parts]
    if sparse.issparse(matrices[0]):
        X = sparse.vstack(matrices, format="csr")
        rows = SparseRows(X.indptr.astype(np.int64), X.indices, X.data, X.shape[1])
        return stacked(parts, rows)
    return stacked(parts, DenseRows(np.ascontiguousarray(np.vstack(matrices))))
