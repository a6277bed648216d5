"""The functions that a linear risk runs on each of its shards.

An engine may run them in threads, in other processes or on other machines, so they are functions of
a module, which have a name to be sent by, of a shard and of plain values. What has a value for each
row stays with its shard between calls (a `PerShard`); sums over rows travel and are added up.

The letters are those of linear.py: X, y and s are the shard's rows, labels and weights; z are
scores, q how fast they change along a ray; a are slopes of the loss, one for each score, and come
without their weights s_i unless it is said that they come with them; b is the intercept. Only
`scores`, `adjoint`, `evaluate`, `squares` and `means` go through X; the caller counts the pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard
from fenchel.losses import Loss, MultivariateLoss, Sample, Tangent
from fenchel.losses import multivariate_twins as whole
from fenchel.losses.scalar_rows import built_in
from fenchel.losses.soft_counts import SoftTangent
from fenchel.risks import kinks
from fenchel.risks.intercept import Offset
from fenchel.witness import Bracket

Array = npt.NDArray[np.float64]


def weight(shard: Shard) -> float:
    """The sum of the sample weights."""
    return float(shard.rows.n_rows if shard.s is None else np.sum(shard.s))


def weights(shard: Shard) -> Array:
    """The sample weights, 1 where none were given."""
    return np.ones(shard.rows.n_rows) if shard.s is None else shard.s


def labels(shard: Shard) -> npt.NDArray[Any]:
    return shard.y


def label_total(shard: Shard) -> float:
    """The weighted sum of the labels, sum_i s_i y_i."""
    return float(weights(shard) @ shard.y)


def label_distance(shard: Shard, mean: float) -> float:
    """sum_i s_i |y_i - mean|."""
    return float(weights(shard) @ np.abs(shard.y - mean))


def largest_slope(shard: Shard, loss: Loss) -> float:
    """The largest slope the loss can have on these rows."""
    return shard.bound(loss).largest_slope


def squares(shard: Shard) -> Array:
    """sum_i s_i x_ij^2 for each column."""
    return shard.rows.squares(shard.s)


def means(shard: Shard) -> Array:
    """sum_i s_i x_ij for each column."""
    return shard.rows.adjoint(weights(shard))


def scores(shard: Shard, w: Array) -> Array:
    """z = X w."""
    return shard.rows.scores(w)


def zeros(shard: Shard, width: tuple[int, ...] = ()) -> Array:
    """The scores at w = 0, of the given width where a row has several."""
    return np.zeros((shard.rows.n_rows, *width))


def evaluate(shard: Shard, loss: Loss, w: Array) -> tuple[float, Array, Array]:
    """(sum_i s_i l(z_i, y_i), its gradient, z) at w."""
    bound = shard.bound(loss)
    if bound.fused is not None:
        return shard.rows.evaluate(bound.fused, shard.y, shard.s, w)
    z = shard.rows.scores(w)
    value, a = bound.slopes(z)
    return value, shard.rows.adjoint(a), z


def shifted_by_offset(shard: Shard, z: Array) -> Array:
    """z_i + o_i, where rows have offsets."""
    return z if shard.offset is None else z + shard.offset


def largest(shard: Shard, z: Array) -> float:
    """The largest |z_i| of rows that count, their offsets included."""
    z = shifted_by_offset(shard, z)
    if shard.s is not None:
        z = z[shard.s > 0]
    return float(np.max(np.abs(z), initial=0.0))


def sums(shard: Shard, loss: Loss, z: Array, b: float) -> Array:
    """sum_i s_i l(z_i + b, y_i), and its slope in b."""
    return np.array(shard.bound(loss).sums(z, b))


def best_offset(shard: Shard, loss: Loss, z: Array, total: float, near: float) -> Offset:
    """What minimises sum_i s_i l(z_i + b, y_i) / total over b, where there is one shard."""
    *bracket, best, value, floor = built_in(shard.bound(loss)).best_offset(z, total, near)
    return Offset(Bracket(*bracket), best, value, floor)


def step_along(
    shard: Shard, loss: Loss, z: Array, q: Array, eta: float, total: float, near: float
) -> tuple[Array, Array, tuple[Offset, float]]:
    """(z + eta q, the slopes a there, (the best offset, sum_i a_i q_i)), where it is one shard."""
    bound = built_in(shard.bound(loss))
    moved, a, (*bracket, best, value, floor), rate = bound.step_along(z, q, eta, total, near)
    return moved, a, (Offset(Bracket(*bracket), best, value, floor), rate)


def evaluated(shard: Shard, loss: Loss, z: Array) -> tuple[float, Array]:
    """(sum_i s_i l(z_i, y_i), the slopes s_i l'(z_i, y_i))."""
    return shard.bound(loss).slopes(z)


def slopes(shard: Shard, loss: Loss, z: Array, bracket: Bracket) -> Array:
    """a_i = s_i l'(z_i + b, y_i), mixed over the intercept's bracket."""
    a = shard.bound(loss).slopes(z, bracket.below)[1]
    if bracket.above == bracket.below:
        return a
    above = shard.bound(loss).slopes(z, bracket.above)[1]
    return bracket.weight_below * a + bracket.weight_above * above


def curvatures(
    shard: Shard, loss: Loss, z: Array, b: float, total: float
) -> tuple[Array, npt.NDArray[np.int32]]:
    """h_i = s_i/total l''(z_i + b, y_i), and the rows where it is not 0."""
    h, bent = built_in(shard.bound(loss)).curvatures(z, b)
    return h / total, bent


def slope_along(shard: Shard, loss: Loss, z: Array, q: Array, eta: float) -> tuple[float, float]:
    """The slope of the loss on the ray z + eta q just right of eta, and its rise."""
    return shard.bound(loss).slope_along(z, q, eta)


def kinks_along(shard: Shard, loss: Loss, z: Array, q: Array, low: float, high: float) -> Array:
    """Where that slope bends in (low, high]."""
    return shard.bound(loss).kinks_along(z, q, low, high)


def conjugates(shard: Shard, loss: Loss, a: Array, scale: float) -> tuple[float, float]:
    """(sum_i s_i l*(scale a_i, y_i), that of the terms' magnitudes), for slopes without weights."""
    return shard.bound(loss).conjugates(scale * a)


def unweighted(shard: Shard, alpha: Array, total: float, loss: Loss) -> Array:
    """The slopes a_i of the rows, moved into their domain, from s_i/total a_i."""
    s = weights(shard) if alpha.ndim == 1 else weights(shard)[:, np.newaxis]
    a = np.divide(total * alpha, s, out=np.zeros_like(alpha), where=s > 0)
    return feasible(shard, loss, a)


def weighted_conjugates(shard: Shard, loss: Loss, a: Array, scale: float) -> tuple[float, float]:
    """The same as `conjugates` for slopes that come with their weights, a_i = s_i l'_i."""
    return conjugates(shard, loss, unweighted(shard, a, 1.0, loss), scale)


def feasible(shard: Shard, loss: Loss, a: Array) -> Array:
    """Slopes moved into the conjugate's domain, which round-off may have led them out of."""
    return shard.bound(loss).feasible(a)


def adjoint(shard: Shard, a: Array) -> Array:
    """X'a, over the shard's rows alone."""
    return shard.rows.adjoint(a)


def moved(shard: Shard, z: Array, q: Array, eta: float) -> Array:
    """z + eta q."""
    there = eta * q
    there += z
    return there


def shifted(shard: Shard, z: Array, b: float | Array) -> Array:
    return z + b


def inner(shard: Shard, a: Array, q: Array) -> float:
    return float(np.vdot(a, q))


def weighted(shard: Shard, a: Array) -> Array:
    """Slopes with their weights, s_i a_i."""
    return kinks.weighted(shard.s, a)


def weighted_inner(shard: Shard, a: Array, q: Array) -> float:
    """sum_i s_i <a_i, q_i>."""
    return float(np.vdot(kinks.weighted(shard.s, a), q))


def scaled(shard: Shard, a: Array, scale: float) -> Array:
    return scale * a


def total(shard: Shard, a: Array) -> float:
    return float(np.sum(a))


def magnitude(shard: Shard, a: Array) -> float:
    return float(np.sum(np.abs(a)))


def equal(shard: Shard, a: Array, b: Array) -> bool:
    return np.array_equal(a, b)


def mixed(shard: Shard, a: Array, b: Array, weight_a: float, weight_b: float) -> Array:
    """weight_a a + weight_b b."""
    both = weight_a * a
    both += b if weight_b == 1 else weight_b * b
    return both


def energy(shard: Shard, g: Array) -> float:
    """sum_i g_i^2 / s_i."""
    if shard.s is None:
        return float(g @ g)
    counted = shard.s > 0
    return float(np.sum(g[counted] ** 2 / shard.s[counted]))


def rounded(shard: Shard, z: Array) -> Array:
    """Scores to 38 bits of their mantissas: what is half a unit or more is rounded up."""
    bits = np.ascontiguousarray(z).view(np.int64)
    return ((bits + (1 << 14)) & -(1 << 15)).view(np.float64)


def twin(shard: Shard, loss: MultivariateLoss, starts: npt.NDArray[np.int64]) -> whole.Twin:
    """The loss of the shard's own queries."""
    return whole.twin(loss, Sample(shard.y, shard.s, starts))


def mass(shard: Shard, loss: MultivariateLoss, starts: npt.NDArray[np.int64]) -> float:
    """What the mean over the shard's own queries divides by."""
    return loss.mass(Sample(shard.y, shard.s, starts))


def tangent(shard: Shard, loss: whole.Twin, share: float, z: Array) -> Tangent:
    """Its tangent, times the queries' share in all."""
    c, g = loss.tangent(z)
    return Tangent(share * c, share * g)


def soft_tangent(shard: Shard, loss: whole.Twin, share: float, z: Array, mu: float) -> SoftTangent:
    """The same of soft maxima."""
    c, g, lack = loss.soft_tangent(z, mu)
    return SoftTangent(share * c, share * g, share * lack)
