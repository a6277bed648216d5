"""Products with the Hessian of a linear risk, where the Hessian itself would be too large.

R(w) = (1/S) sum_i s_i l(<x_i, w>, y_i) has the Hessian X' diag(h) X. Its h_i = s_i/S l''(z_i) are
known from the scores that a point keeps, so that a product with it costs two passes and no memory.
An intercept b that is profiled out moves with w: as the slope in b stays 0, b changes at the rate
-sum_i h_i <x_i, v> / sum_i h_i along v, and every row's score by as much.

A vector loss has a Hessian H_i of K x K numbers for each row; its products are known without it, as
those of diag(p) - pp' for softmax are. All K outputs share the two passes. Its K offsets, where
they are profiled out, move along V by the r with (sum_i s_i H_i) r = -sum_i s_i H_i V'x_i, so that
the Hessian is the Schur complement of theirs in that of all. Where the sum is singular, as it is
along the ones where offsets that move together do nothing, so is the right side.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.shards import Shard
from fenchel.losses import Loss, MultivariateSquared, Softmax
from fenchel.losses.vector import Curved
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Point, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.newton import Hessian

_RANK = 1e-12  # of the largest: eigenvalues below it are those of offsets that do nothing


class HessianProducts:
    """v -> Hessian of R at a point times v."""

    def __init__(self, point: Point):
        assert isinstance(point, LinearPoint) and isinstance(point.risk, LinearRisk)
        self.risk, risk = point.risk, point.risk
        if isinstance(risk.loss, Curved):
            self.h = risk.engine.map(_curvature, risk.loss, point.z, point.intercept)
            self._freed = np.linalg.pinv(self._of_offsets(risk.loss), rcond=_RANK, hermitian=True)
        else:
            settings = risk.loss, point.z, point.intercept, risk.weight
            self.h = risk.engine.map(shardwork.curvatures, *settings).split(2)[0]

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The loss's curvature must be known."""
        if isinstance(risk, LinearRisk) and is_curved(risk.loss):
            return None
        if Hessian.obstacle(risk) is None:
            return None
        return (
            "it knows the Hessian of the built-in smooth losses of one score a row, and those of "
            "softmax and multivariate_squared"
        )

    def diagonal(self) -> Array:
        """The Hessian's diagonal, but for what an intercept takes off: a pass."""
        self.risk.passes += 1
        engine, loss = self.risk.engine, self.risk.loss
        if isinstance(loss, Curved):
            parts = engine.map(_block_squares, loss, self.h, self.risk.weight)
        else:
            parts = engine.map(_squares, self.h)
        total: Array = engine.total(parts)
        return total.ravel()

    def __matmul__(self, v: Array) -> Array:
        """The Hessian times v: two passes."""
        self.risk.passes += 2
        engine, loss = self.risk.engine, self.risk.loss
        q = engine.map(shardwork.scores, self.risk.outputs(v))
        if self.risk.facts.has_intercept and isinstance(loss, Curved):
            r: Array = engine.total(engine.map(_bent_sum, loss, self.h, q))
            q = engine.map(shardwork.shifted, q, -self._freed @ r)
        elif self.risk.facts.has_intercept:
            along, total = engine.totals(*engine.map(_sums, self.h, q).split(2))
            q = engine.map(shardwork.shifted, q, -along / total if total > 0 else 0.0)
        if isinstance(loss, Curved):
            parts = engine.map(_bent_adjoint, loss, self.h, q, self.risk.weight)
        else:
            parts = engine.map(_weighted_adjoint, self.h, q)
        product: Array = engine.total(parts)
        return product.ravel()

    def _of_offsets(self, loss: Curved) -> Array:
        """sum_i s_i H_i; 0 without offsets."""
        K = self.risk.n_outputs
        if not self.risk.facts.has_intercept:
            return np.zeros((K, K))
        total: Array = self.risk.engine.total(self.risk.engine.map(_bent_units, loss, self.h))
        return (total + total.T) / 2


def is_curved(loss: Loss) -> bool:
    """A built-in vector loss whose Hessian is known; by exact type, as a subclass may differ."""
    return type(loss) in (Softmax, MultivariateSquared)


def _curvature(shard: Shard, loss: Curved, z: Array, b: float | Array) -> Array:
    return loss.curvature(z + b)


def _bent_sum(shard: Shard, loss: Curved, h: Array, q: Array) -> Array:
    """sum_i s_i H_i q_i."""
    return np.asarray(np.sum(shardwork.weighted(shard, loss.bend(h, q)), axis=0))


def _bent_units(shard: Shard, loss: Curved, h: Array) -> Array:
    """sum_i s_i H_i, a row for each unit vector."""
    return np.stack(
        [_bent_sum(shard, loss, h, np.broadcast_to(e, h.shape)) for e in np.eye(h.shape[1])]
    )


def _block_squares(shard: Shard, loss: Curved, h: Array, total: float) -> Array:
    """The diagonal of sum_i s_i/total H_i (x) x_i x_i'."""
    return shard.rows.squares(shardwork.weighted(shard, loss.bends(h)) / total)


def _bent_adjoint(shard: Shard, loss: Curved, h: Array, q: Array, total: float) -> Array:
    """sum_i s_i/total x_i (H_i q_i)'."""
    return shard.rows.adjoint(shardwork.weighted(shard, loss.bend(h, q)) / total)


def _squares(shard: Shard, h: Array) -> Array:
    """sum_i h_i x_ij^2 for each column."""
    return shard.rows.squares(h)


def _sums(shard: Shard, h: Array, q: Array) -> tuple[float, float]:
    return float(h @ q), float(np.sum(h))


def _weighted_adjoint(shard: Shard, h: Array, q: Array) -> Array:
    return shard.rows.adjoint(h * q)
