"""Products with the Hessian of a linear risk, where the Hessian itself would be too large.

R(w) = (1/S) sum_i s_i l(<x_i, w>, y_i) has the Hessian X' diag(h) X. Its h_i = s_i/S l''(z_i) are
known from the scores that a point keeps, so that a product with it costs two passes and no memory.
An intercept b that is profiled out moves with w: as the slope in b stays 0, b changes at the rate
-sum_i h_i <x_i, v> / sum_i h_i along v, and every row's score by as much.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.shards import Shard
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Point, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.newton import Hessian


class HessianProducts:
    """v -> Hessian of R at a point times v."""

    def __init__(self, point: Point):
        assert isinstance(point, LinearPoint) and isinstance(point.risk, LinearRisk)
        self.risk, risk = point.risk, point.risk
        settings = risk.loss, point.z, point.intercept, risk.weight
        self.h = risk.engine.map(shardwork.curvatures, *settings).split(2)[0]

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The loss's curvature must be known."""
        return Hessian.obstacle(risk)

    def diagonal(self) -> Array:
        """The Hessian's diagonal, but for what an intercept takes off: a pass."""
        self.risk.passes += 1
        total: Array = self.risk.engine.total(self.risk.engine.map(_squares, self.h))
        return total

    def __matmul__(self, v: Array) -> Array:
        """The Hessian times v: two passes."""
        self.risk.passes += 2
        engine = self.risk.engine
        q = engine.map(shardwork.scores, v)
        if self.risk.facts.has_intercept:
            along, total = engine.totals(*engine.map(_sums, self.h, q).split(2))
            q = engine.map(shardwork.shifted, q, -along / total if total > 0 else 0.0)
        product: Array = engine.total(engine.map(_weighted_adjoint, self.h, q))
        return product


def _squares(shard: Shard, h: Array) -> Array:
    """sum_i h_i x_ij^2 for each column."""
    return shard.rows.squares(h)


def _sums(shard: Shard, h: Array, q: Array) -> tuple[float, float]:
    return float(h @ q), float(np.sum(h))


def _weighted_adjoint(shard: Shard, h: Array, q: Array) -> Array:
    return shard.rows.adjoint(h * q)
