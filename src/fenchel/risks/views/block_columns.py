"""A linear risk seen by blocks of columns, with the K scores of a row, or one.

What block coordinate descent asks of it: the rows at some scores, with their slopes and curvatures;
the least of the risk's quadratic model on some columns (kernels/block_column_descent.hpp); what a
step on these moves the scores by. The curvature of row i is a matrix of K x K numbers,

    H_i = s_i/S (diag p_i - p_i p_i')      of softmax, with the shares p_i of its classes,
    H_i = s_i/S I                          of the squared error of K targets,

or the one number s_i/S l'' of a loss of one score. As columns.py has it, X is seen by a copy whose
columns are contiguous, kept as long as the risk is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from fenchel import _kernels
from fenchel.losses import MultivariateSquared, Softmax, SquaredError
from fenchel.losses.scalar_rows import built_in
from fenchel.risks.base import Array, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.block_penalty import BlockPenalty
from fenchel.risks.views.column_storage import StoredColumns
from fenchel.risks.views.grams import Which
from fenchel.risks.views.newton import Hessian

_MOST_ROWS = 2**31 - 1
_EPOCHS = 1000  # in one descent


class BlockRows(NamedTuple):
    """The rows at some scores and offsets: their mean loss and dual variables, K numbers a row."""

    z: Array
    b: Array
    value: float
    alpha: Array


class BlockColumns(StoredColumns):
    """The columns of a linear risk, K numbers each; see `block_columns`."""

    def __init__(self, risk: LinearRisk):
        shard = risk.engine.joined()
        bound = shard.bound(risk.loss)
        self.K, self.scalar = risk.n_outputs, risk.classes is None
        self.loss: Any = built_in(bound) if self.scalar else bound
        self.rows, self.y, self.s, self.weight = shard.rows, shard.y, shard.s, risk.weight
        self.n_rows, self.n_columns = shard.rows.n_rows, shard.rows.n_columns
        self.n_numbers = max(shard.rows.n_numbers, 1)
        self.share = np.broadcast_to(
            1 / risk.weight if shard.s is None else shard.s / risk.weight, self.n_rows
        ).copy()
        self.has_offsets = risk.facts.has_intercept
        self.quadratic = type(risk.loss) in (SquaredError, MultivariateSquared)
        self.smoothness = float(risk.loss.smoothness)
        self.risk = ref(risk)
        self.unpaid = 0.0  # passes that were not yet counted

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """All columns must be at hand, and the rows' curvatures known."""
        if not isinstance(risk, LinearRisk):
            return "it takes losses of linear scores only"
        if risk.classes is None:
            found = Hessian.obstacle(risk)
            if found is not None:
                return found
        elif not _has_blocks(risk):
            return "of losses of several scores it knows the Hessian of softmax and of squares"
        if not risk.facts.in_one_memory:
            return "it needs all rows in one memory"
        return None if risk.n_rows <= _MOST_ROWS else f"it takes at most {_MOST_ROWS} rows"

    # Rows.

    def scores(self, w: Array) -> Array:
        """X W, of the K numbers of each column."""
        self.unpaid += 1
        return self.rows.scores(w.reshape(-1, self.K)).reshape(self.n_rows, self.K)

    def at(self, z: Array, b: Array) -> BlockRows:
        """The rows at the scores z and the offsets b."""
        value, a = self.loss.slopes(*self._shown(z, b))
        return BlockRows(z, b, value / self.weight, a.reshape(z.shape) / self.weight)

    def value(self, z: Array, b: Array) -> float:
        """The mean loss at scores and offsets."""
        shown = self._shown(z, b)
        return float((self.loss.sums if self.scalar else self.loss.slopes)(*shown)[0]) / self.weight

    def _shown(self, z: Array, b: Array) -> tuple[Array, Any]:
        return (z[:, 0].copy(), float(b[0])) if self.scalar else (z, b)

    def point(self, risk: LinearRisk, w: Array, rows: BlockRows) -> LinearPoint:
        """The risk at w, whose scores are known and whose offsets are near."""
        scores = rows.z[:, 0].copy() if self.scalar else rows.z
        near: Any = float(rows.b[0]) if self.scalar else rows.b
        return risk.point(risk, w, risk.engine.scatter(scores), near)

    def settled(self, risk: LinearRisk, rows: BlockRows, point: LinearPoint) -> BlockRows:
        """The rows at the best offsets, with the slopes of the point's cut."""
        b = np.array(np.broadcast_to(point.intercept, self.K), dtype=np.float64)
        alpha = risk.engine.gather(point.slopes).reshape(rows.z.shape) / self.weight
        return BlockRows(rows.z, b, point.value, alpha)

    def hessians(self, rows: BlockRows, floor: float) -> tuple[Array, Array | None]:
        """h and p of all H_i; flat rows have a little curvature, so that the model has a least."""
        if self.quadratic:
            return self.share, None
        if self.scalar:
            h = self.loss.curvatures(*self._shown(rows.z, rows.b))[0] / self.weight
            if math.isfinite(self.smoothness):
                h = np.maximum(h, floor * self.smoothness * self.share)
            return h, None
        a = np.divide(
            rows.alpha,
            self.share[:, np.newaxis],
            out=np.zeros_like(rows.alpha),
            where=self.share[:, np.newaxis] > 0,
        )
        a[np.arange(self.n_rows), self.y] += 1
        return self.share, np.clip(a, 0.0, 1.0, out=a)

    # The quadratic model.

    def descend(
        self,
        which: Which,
        rows: BlockRows,
        w: Array,
        penalty: BlockPenalty,
        floor: float,
        tolerance: float,
    ) -> Array:
        """Lowers the risk's model and the penalty on some columns; w changes; the offsets' step."""
        h, p = self.hessians(rows, floor)
        shift = np.zeros(self.K)
        _, _, work = _kernels.block_descend(
            self.native, which, penalty.start, h, p, floor, self.has_offsets, rows.alpha.copy(),
            w, *penalty.arrays, tolerance, _EPOCHS, shift,
        )  # fmt: skip
        self.unpaid += work / self.n_numbers
        return shift

    def moved(self, which: Which, steps: Array) -> Array:
        """The scores' change for steps on some columns."""
        z = np.zeros((self.n_rows, self.K))
        _kernels.block_combine(self.native, which, steps.reshape(-1, self.K), z)
        return z

    def products(self, which: Which, alpha: Array) -> Array:
        """X'alpha in some columns."""
        v = np.empty((len(which), self.K))
        _kernels.block_products(self.native, which, alpha, v)
        return v.ravel()


def side_of(risk: Risk) -> int:
    """How many numbers a row of H_i has: one where it is a multiple of the unit."""
    assert isinstance(risk, LinearRisk)
    return risk.n_outputs if type(risk.loss) is Softmax else 1


def _has_blocks(risk: LinearRisk) -> bool:
    """Whether H_i is known, and offsets are profiled out or there are none."""
    if risk.n_offsets:
        return False
    if type(risk.loss) is MultivariateSquared:
        return risk.loss.M is None
    return type(risk.loss) is Softmax


_KEPT: WeakKeyDictionary[LinearRisk, BlockColumns] = WeakKeyDictionary()


def block_columns(risk: Risk) -> BlockColumns:
    """The columns of a risk; the same for all fits on it, as along a path."""
    assert isinstance(risk, LinearRisk)
    found = _KEPT.get(risk)
    if found is None:
        found = _KEPT[risk] = BlockColumns(risk)
    return found
