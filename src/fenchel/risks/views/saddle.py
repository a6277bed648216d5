"""A regularised linear risk as a saddle point, for primal-dual methods.

    min over w, b  max over a  of  lambda Omega(w) + <a, X w + b> - R*(a)

<a, z> is the weighted mean of a_i z_i, R*(a) that of the conjugates l*(a_i): the inner maximum is
the risk, by the definition of the conjugate, and the outer minimum without w and b the dual. An
intercept is a coordinate without a penalty; the columns are taken about their means then, z = (X -
1 mean') w + b, so that a change of w leaves the mean score as it is. What is called b of a point is
this b; the offset for the columns as they are is b - <mean, w>.

A `SaddlePoint` has w and b, and with the shards the scores and the slopes a of the rows, and their
product X'a: a step costs two passes and one round. Means of points are points, for no pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Problem, Risk
from fenchel.risks.intercept import Offset
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.forms import PrimalForm
from fenchel.risks.views.images import Imaged, RowVector
from fenchel.risks.views.prox_functions import column_means
from fenchel.witness import Bracket


@dataclass(frozen=True)
class SaddlePoint:
    """w and the offset b; scores z = X w and slopes a of the rows; X'a, and the mean of a.

    `value` is the mean loss at w and b, nan where it is not known.
    """

    w: Array
    b: float
    z: PerShard[Array]
    a: PerShard[Array]
    g: Array
    imbalance: float
    value: float = math.nan


class Saddle:
    """The saddle point problem of a problem with dual steps."""

    def __init__(self, problem: Problem):
        assert isinstance(problem.risk, LinearRisk)
        self.problem, self.risk = problem, problem.risk
        self.means = column_means(problem.risk)
        self._form = PrimalForm(problem, 0.0)

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The proximal step on each slope must be known."""
        if has_dual_steps(risk):
            return None
        return "it knows the dual steps of the built-in losses of one score a row only"

    def start(self, w: Array, b: float | None = None, a: Array | None = None) -> SaddlePoint:
        """The point at w with these slopes; with those of the loss there, unless w is 0.

        Nothing is known of the slopes then, and 0 is in the middle of them. Two passes.
        """
        risk, engine = self.risk, self.risk.engine
        point = risk.lazy_at(w)
        if b is None:
            b = float(point.intercept) + float(self.means @ w)
        if a is not None:
            slopes = engine.scatter(a)
        elif w.any():
            slopes = engine.map(shardwork.unweighted, point.slopes, 1.0, risk.loss)
        else:
            slopes = engine.map(shardwork.zeros)
        slopes = engine.map(shardwork.feasible, risk.loss, slopes)
        risk.passes += 1
        g, total = engine.totals(*engine.map(_products, slopes).split(2))
        return SaddlePoint(w, b, point.z, slopes, g / risk.weight, float(total) / risk.weight)

    def gradient(self, x: SaddlePoint) -> Array:
        """That of <a, z> in w, for columns about their means."""
        return x.g - x.imbalance * self.means

    def offset(self, x: SaddlePoint) -> float:
        """The intercept at x, of columns as they are."""
        return x.b - float(self.means @ x.w)

    def step(
        self, x: SaddlePoint, mean: SaddlePoint, w: Array, b: float, kappa: float, share: float
    ) -> tuple[SaddlePoint, SaddlePoint, float]:
        """(The next point, at w and b, the mean with its share, |a_next - a|^2): two passes.

        Its slopes are the proximal step from those of x with the weight kappa, at the scores as far
        beyond those of w as they are from x.
        """
        risk, engine = self.risk, self.risk.engine
        self.problem.pulse()
        risk.passes += 2
        shift = b - float(self.means @ w)
        settings = shift, 2 * shift - self.offset(x), kappa, share
        rows = x.z, x.a, mean.z, mean.a
        *sums, z, a, mean_z, mean_a = engine.map(_stepped, risk.loss, w, *rows, settings).split(8)
        value, change, imbalance, g = (each / risk.weight for each in engine.totals(*sums))
        after = SaddlePoint(w, b, z, a, g, float(imbalance), float(value))
        return after, self._mean(mean, after, share, mean_z, mean_a), float(change)

    def _mean(
        self,
        mean: SaddlePoint,
        x: SaddlePoint,
        share: float,
        z: PerShard[Array],
        a: PerShard[Array],
    ) -> SaddlePoint:
        w, g = (old + share * (new - old) for old, new in ((mean.w, x.w), (mean.g, x.g)))
        b = mean.b + share * (x.b - mean.b)
        return SaddlePoint(w, b, z, a, g, mean.imbalance + share * (x.imbalance - mean.imbalance))

    def change(self, x: SaddlePoint, y: SaddlePoint) -> float:
        """The squared distance of their slopes."""
        engine = self.risk.engine
        return float(engine.total(engine.map(_distance, x.a, y.a))) / self.risk.weight

    def point(self, x: SaddlePoint) -> LinearPoint:
        """The risk at w: with the offset of x, unless the best one takes a single kernel."""
        risk, b = self.risk, self.offset(x)
        point = risk.point(risk, x.w, x.z, b)
        if not math.isnan(x.value) or (risk.facts.has_intercept and not risk.profiles_at_once):
            value = point.sums(b)[0] if math.isnan(x.value) else x.value
            point.offset = Offset(Bracket(b, b), b, value, value)
        return point

    def cut(self, x: SaddlePoint) -> Cut:
        """The cut that the slopes make: no pass, but for one with an intercept."""
        return self._form.cut(Imaged(RowVector(self.risk, x.a), x.g))


def _products(shard: Shard, a: Array) -> tuple[Array, float]:
    """(X'(s a), sum_i s_i a_i)."""
    weighted = shardwork.weighted(shard, a)
    return shard.rows.adjoint(weighted), float(np.sum(weighted))


def _stepped(
    shard: Shard,
    loss: Loss,
    w: Array,
    z: Array,
    a: Array,
    mean_z: Array,
    mean_a: Array,
    step: tuple[float, float, float, float],
) -> tuple[float, float, float, Array, Array, Array, Array, Array]:
    """Sums of the loss, of the slopes' squared changes and of the slopes; X'(s a); the rows."""
    bound = built_in(shard.bound(loss))
    sums, rows = bound.saddle_step((z, a, mean_z, mean_a), shard.rows.scores(w), step)
    return *sums, shard.rows.adjoint(shardwork.weighted(shard, rows[1])), *rows


def _distance(shard: Shard, a: Array, other: Array) -> float:
    return shardwork.weighted_inner(shard, a - other, a - other)
