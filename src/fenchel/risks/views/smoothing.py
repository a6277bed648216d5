"""Risks whose kinks are rounded off, so that methods for smooth functions can minimise them.

A loss is a maximum over its dual variables, l(z) = max over u of <u, z> - l*(u), and has a kink
where two of them are equally good. If a strongly convex mu d2(u) is taken off, only one is best
([Zhang11] section 5.1): the smoothed l_mu has a gradient, which changes the more slowly the larger
mu is, and R_mu <= R <= R_mu + mu D with D the largest d2. For losses of one score d2(u) = u^2/2,
and l_mu is the loss's Moreau envelope: the hinge turns into the smoothed hinge. Hinges of K scores
are maxima over pieces: u is a mean of their gradients with shares p, d2 the entropy that p lacks to
the even one, and the maximum turns into a soft one. The slopes u of l_mu are dual variables of l
itself, so what they prove holds for R.

With an intercept R_mu(w) is the minimum over it: u then lies in a box and on the hyperplane
sum_i s_i u_i = 0 ([Zhang11] example 1), and the intercept is that condition's multiplier.

R_mu is a function of the scores: where they are known, its value and its slopes cost no pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import HierarchicalHinge, Loss, MulticlassHinge, MultilabelHinge
from fenchel.losses.scalar_rows import built_in, is_built_in
from fenchel.losses.vector import Softened
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Risk
from fenchel.risks.intercept import profile
from fenchel.risks.linear import LinearRisk
from fenchel.risks.offsets import Offsets, most_entropy
from fenchel.tolerances import OFFSET_BLUR

_STEPS = 10  # of Newton's method for the offset
_BALANCED = 1e-14  # of the largest slope: a mean slope that is 0 to round-off
_POWER = 6  # steps of the power iteration: [Zhang11] says that 5 to 6 are enough
_NARROWEST = 0.1  # width of a row, relative to the mean
# By exact type: a subclass may have changed the formula.
_SOFTENED = (MulticlassHinge, MultilabelHinge, HierarchicalHinge)


class Smooth(NamedTuple):
    """R_mu at some scores: its value, the rows' slopes u without their weights, the offset."""

    value: float
    u: PerShard[Array]
    b: float | Array


class _Sums(NamedTuple):
    value: float
    slope: float
    rise: float
    u: PerShard[Array]


@dataclass
class Pending:
    """Sums that have yet to be asked for, and what stays with the rows."""

    parts: tuple[PerShard[Any], ...]
    u: PerShard[Array]
    sums: list[Any] | None = None


class SmoothedRisk:
    """R_mu as a function of the scores; with mu = 0 the risk itself, if that is differentiable.

    Row i is smoothed by mu * widths_i, where there are widths.
    """

    def __init__(self, risk: LinearRisk, mu: float, widths: PerShard[Array] | None = None):
        self.risk, self.mu, self.widths = risk, mu, widths

    def at(self, z: PerShard[Array], near: float | Array = 0.0) -> Smooth:
        """R_mu there; `near` is a guess of the offset, or offsets. No pass."""
        if self.risk.facts.has_intercept and self.risk.offsets is not None:
            return self._at_offsets(self.risk.offsets, z, near)
        assert isinstance(near, float)
        if not self.risk.facts.has_intercept:
            sums = self._sums(z, 0.0)
            return Smooth(sums.value, sums.u, 0.0)
        if self.risk.profiles_at_once:
            settings = self.mu, self.widths, self.risk.weight, near
            each = self.risk.engine.map(_smoothed_offset, self.risk.loss, z, *settings)
            offsets, values, slopes = each.split(3)
            return Smooth(values[0], slopes, offsets[0])
        b, found = self._newton(z, near)
        if found is not None:
            return Smooth(found.value, found.u, b)
        blur = OFFSET_BLUR * (1.0 + max(self.risk.engine.map(shardwork.largest, z)))
        offset = profile(lambda b: self._sums(z, b)[:2], b, blur, smooth=True)
        bracket = offset.bracket
        u = self._sums(z, bracket.below).u
        if bracket.above > bracket.below:
            above = self._sums(z, bracket.above).u
            u = self.risk.engine.map(
                shardwork.mixed, u, above, bracket.weight_below, bracket.weight_above
            )
        return Smooth(offset.value, u, offset.best)

    def slopes(
        self, z: PerShard[Array], near: float | Array
    ) -> tuple[PerShard[Array], float | Array]:
        """The slopes u there and the offset: no round without an intercept."""
        if self.risk.facts.has_intercept:
            smooth = self.at(z, near)
            return smooth.u, smooth.b
        settings = self.risk.loss, z, self.mu, self.widths, 0.0
        return self.risk.engine.map(_smoothed, *settings).split(4)[3], near

    def beside(self, z: PerShard[Array], ahead: Pending | None = None) -> tuple[float, float]:
        """(R_mu, R) without an intercept, in one round; and of what is `ahead`, the sums."""
        engine, weight, loss = self.risk.engine, self.risk.weight, self.risk.loss
        soft = engine.map(_smoothed, loss, z, self.mu, self.widths, 0.0).split(4)[0]
        exact = engine.map(_value, loss, z)
        parts = () if ahead is None else ahead.parts
        value, objective, *more = engine.totals(soft, exact, *parts)
        if ahead is not None:
            ahead.sums = more
        return float(value) / weight, float(objective) / weight

    def gradient_task(self, z: PerShard[Array]) -> Pending:
        """What R_mu and its gradient at these scores are made of, without an intercept."""
        settings = self.risk.loss, z, self.mu, self.widths
        value, rough, image, u = self.risk.engine.map(_smoothed_product, *settings).split(4)
        return Pending((value, rough, image), u)

    def with_gradient(self, task: Pending) -> tuple[Smooth, float, Array]:
        """(R_mu and the slopes u, d2(u), X'(s u) / S): a pass, and one round if none was."""
        weight = self.risk.weight
        self.risk.passes += 1
        if task.sums is None:
            task.sums = list(self.risk.engine.totals(*task.parts))
        total, rough, image = task.sums
        smooth = Smooth(float(total) / weight, task.u, 0.0)
        return smooth, float(rough) / weight, image.ravel() / weight

    def _at_offsets(self, offsets: Offsets, z: PerShard[Array], near: float | Array) -> Smooth:
        """The same of K offsets, as high as what its slopes prove."""
        b = np.broadcast_to(np.asarray(near, dtype=np.float64), offsets.K)
        found = offsets.best(z, b) if self.mu == 0 else offsets.softened(z, b, self.mu)
        u = self.risk.engine.map(shardwork.unweighted, found.slopes, 1.0, self.risk.loss)
        return Smooth(found.floor, u, found.b)

    def _newton(self, z: PerShard[Array], b: float) -> tuple[float, _Sums | None]:
        """Newton's steps on the offset, exact between kinks of the slope; the sums if they end.

        On rows that are elsewhere each is a round, and the last two are all there is near the best.
        """
        largest = self.risk.largest_slope
        enough = _BALANCED * largest if np.isfinite(largest) else 0.0
        for _ in range(_STEPS):
            sums = self._sums(z, b)
            if abs(sums.slope) <= enough:
                return b, sums
            if sums.rise == 0:
                break
            b -= sums.slope / sums.rise
        return b, None

    def _sums(self, z: PerShard[Array], b: float) -> _Sums:
        """R_mu at the offset b, and its slopes."""
        engine, weight = self.risk.engine, self.risk.weight
        settings = self.risk.loss, z, self.mu, self.widths, b
        *parts, u = engine.map(_smoothed, *settings).split(4)
        value, slope, rise = engine.totals(*parts)
        return _Sums(value / weight, slope / weight, rise / weight, u)

    @property
    def smoothness(self) -> float:
        """The Lipschitz constant of the slopes."""
        if self.mu == 0:
            return self.risk.loss.smoothness
        if isinstance(self.risk.loss, Softened):
            return self.risk.loss.spread / (4 * self.mu)
        return 1 / (self.mu * (1.0 if self.widths is None else _NARROWEST))

    def d2(self, u: PerShard[Array]) -> float:
        """The strongly convex term: R_mu's dual is R's less mu d2(u)."""
        engine = self.risk.engine
        return (
            float(engine.total(engine.map(_d2, self.risk.loss, u, self.widths))) / self.risk.weight
        )


def is_smoothable(risk: Risk) -> bool:
    """Its loss has kinks, and is one of those that this file can smooth."""
    if risk.facts.differentiable or not isinstance(risk, LinearRisk):
        return False
    if type(risk.loss) in _SOFTENED:
        return risk.loss.has_conjugate  # not with several costs of sets of labels
    return is_built_in(risk.loss)


def roughness(risk: Risk) -> float:
    """D = max d2: how far R smoothed by mu lies below R, at most, over mu."""
    assert isinstance(risk, LinearRisk)
    if isinstance(risk.loss, Softened):
        most = risk.engine.map(most_entropy, risk.loss, risk.n_outputs)
        return float(risk.engine.total(most)) / risk.weight
    return risk.largest_slope**2 / 2


def optimised_widths(risk: Risk) -> PerShard[Array]:
    """b_i^2 = |<x_i, v>| for the longest direction v of the rows, with mean 1 ([Zhang11] 5.6).

    None is less than a tenth of the mean: a row that is orthogonal to v would not be smoothed at
    all, whatever its score does in other directions. A dozen passes.
    """
    assert isinstance(risk, LinearRisk)
    engine, v = risk.engine, np.ones(risk.n_parameters)
    for _ in range(_POWER):
        z = engine.map(shardwork.scores, v / np.linalg.norm(v))
        v = engine.total(engine.map(shardwork.adjoint, engine.map(shardwork.weighted, z)))
    risk.passes += 2 * _POWER
    sizes = engine.map(_sizes, z)
    mean = engine.total(engine.map(_weighted_total, sizes)) / risk.weight
    return engine.map(_widened, sizes, mean) if mean > 0 else engine.map(shardwork.weights)


def _smoothed(
    shard: Shard, loss: Loss, z: Array, mu: float, widths: Array | None, b: float
) -> tuple[float, float, float, Array]:
    """(sum_i s_i l_mu(z_i + b), its slope in b, and how fast that rises on kinks, u)."""
    return shard.bound(loss).smoothed(z, mu, widths, b)


def _smoothed_product(
    shard: Shard, loss: Loss, z: Array, mu: float, widths: Array | None
) -> tuple[float, float, Array, Array]:
    """(sum_i s_i l_mu(z_i), that of d2, X'(s u), u)."""
    value, _, _, u = shard.bound(loss).smoothed(z, mu, widths, 0.0)
    rough = _d2(shard, loss, u, widths) if mu > 0 else 0.0
    return value, rough, shard.rows.adjoint(shardwork.weighted(shard, u)), u


def _value(shard: Shard, loss: Loss, z: Array) -> float:
    """sum_i s_i l(z_i)."""
    return float(shardwork.sums(shard, loss, z, 0.0)[0])


def _smoothed_offset(
    shard: Shard,
    loss: Loss,
    z: Array,
    mu: float,
    widths: Array | None,
    total: float,
    near: float,
) -> tuple[float, float, Array]:
    """(The best offset, R_mu there, u), where there is one shard."""
    return built_in(shard.bound(loss)).smoothed_offset(z, mu, widths, total, near)


def _d2(shard: Shard, loss: Loss, u: Array, widths: Array | None) -> float:
    if not isinstance(loss, Softened):
        return float(shardwork.weighted(shard, u if widths is None else widths * u) @ u) / 2
    lack = np.log(loss.n_pieces(shard.y, u.shape[1])) - loss.entropy(u, shard.y)
    return float(shardwork.weights(shard) @ np.maximum(0.0, lack))


def _sizes(shard: Shard, z: Array) -> Array:
    return np.abs(z)


def _weighted_total(shard: Shard, values: Array) -> float:
    return float(shardwork.weights(shard) @ values)


def _widened(shard: Shard, sizes: Array, mean: float) -> Array:
    return np.maximum(sizes / mean, _NARROWEST)
