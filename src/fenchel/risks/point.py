"""The linear risk at one w, and along a line from it.

A point holds the parameters w and, on the shards, the scores z = X w that a pass over the data has
given. The rest follows from the scores on first use: the best intercept b; the rows' slopes
a_i = s_i l'(z_i + b, y_i), with s_i the rows' weights; and, for one more pass, the subgradient
X'a / S, with S the sum of the weights. Divided by S the slopes are the rows' dual variables. The
subgradient and a constant make the *cut* by which the risk is bounded from below everywhere.

A line search asks for the risk at many steps eta along one direction p. A ray holds q = X p, for a
pass, and the scores at w + eta p are z + eta q: no step on it costs a pass. The round-off of such
updates adds up from ray to ray (`drift`); before it matters the scores are computed anew.
"""

from __future__ import annotations

import functools
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.engines import PerShard
from fenchel.piecewise import Slope
from fenchel.risks import shardwork
from fenchel.risks.intercept import Offset, profile
from fenchel.risks.kinks import (
    Kinked,
    balanced,
    kinked,
    kinked_adjoint,
    kinked_rows,
    kinked_scores,
    n_kinked,
    rechosen,
    shortfall,
    steepest,
    ties,
)
from fenchel.risks.sharded_loss import ShardedLoss
from fenchel.tolerances import COARSE, EPSILON, OFFSET_BLUR, ROUND_OFF, SCORES
from fenchel.witness import Bracket, Tangency, Ties, Witness

Array = npt.NDArray[np.float64]

_FEW_DUALS = 1000


class LinearPoint:
    """The risk at one w, with its scores kept by the shards."""

    def __init__(
        self,
        risk: ShardedLoss,
        w: Array,
        z: PerShard[Array],
        near: float | Array = 0.0,
        drift: float = 0.0,
    ):
        self.risk, self.w, self.z = risk, w, z
        self.near = near  # a guess of the intercept, or intercepts
        self._chosen: PerShard[Array] | None = None  # slopes of the rows on a kink, if chosen anew
        self.drift = drift  # the round-off in z that came with other points, per length of a row

    @functools.cached_property
    def offset(self) -> Offset:
        """The best intercept at these scores; 0 with R(w) as its value without one."""
        if self.risk.facts.has_intercept:
            return self._profiled()
        value = self._evaluated[0] if self.risk.evaluates_at_once else self.sums(0.0)[0]
        return Offset(Bracket(), 0.0, value, value)

    @functools.cached_property
    def _evaluated(self) -> tuple[float, PerShard[Array]]:
        """(R(w), the slopes) without an intercept: the exponentials of both are the same."""
        engine = self.risk.engine
        values, a = engine.map(shardwork.evaluated, self.risk.loss, self.z).split(2)
        return float(engine.total(values)) / self.risk.weight, a

    def _profiled(self) -> Offset:
        risk, near = self.risk, float(self.near)
        if risk.profiles_at_once:
            found = risk.engine.map(shardwork.best_offset, risk.loss, self.z, risk.weight, near)
            return found[0]
        return profile(self.sums, near, self._resolution, risk.facts.differentiable)

    @property
    def _resolution(self) -> float:
        """The least distance of offsets that makes a difference."""
        largest: float = max(self.risk.engine.map(shardwork.largest, self.z))
        return OFFSET_BLUR * (1.0 + largest)

    def sums(self, b: float) -> tuple[float, float]:
        """(R, its slope in the offset) at the offset b."""
        engine = self.risk.engine
        sums: Array = engine.total(engine.map(shardwork.sums, self.risk.loss, self.z, b))
        return float(sums[0]) / self.risk.weight, float(sums[1]) / self.risk.weight

    @property
    def value(self) -> float:
        return self.offset.value

    @property
    def intercept(self) -> float | Array:
        return self.offset.best

    @functools.cached_property
    def slopes(self) -> PerShard[Array]:
        """a_i = s_i l'(z_i + b, y_i), mixed over the intercept's bracket."""
        if self.risk.evaluates_at_once:
            return self._evaluated[1]
        return self.risk.engine.map(shardwork.slopes, self.risk.loss, self.z, self.offset.bracket)

    @functools.cached_property
    def subgradient(self) -> Array:
        """X' a / S."""
        self.risk.passes += 1
        engine = self.risk.engine
        total: Array = engine.total(engine.map(shardwork.adjoint, self.slopes))
        return total.ravel() / self.risk.weight

    def rate(self, q: PerShard[Array]) -> float:
        """sum_i a_i q_i / S."""
        engine = self.risk.engine
        return float(engine.total(engine.map(shardwork.inner, self.slopes, q))) / self.risk.weight

    @functools.cached_property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v."""
        if self._by_conjugate:
            return -self._conjugates[0]
        return self.floor - float(self.subgradient @ self.w)

    @functools.cached_property
    def _by_conjugate(self) -> bool:
        """Whether the cut's constant is taken from the conjugate, -sum_i s_i/S l*(a_i).

        The tangent's, R(w) - <a, w>, is the same number where a_i is a slope of the loss at the
        score z_i, and it is at hand. But it is wrong where slopes of rows near a kink were chosen
        anew: such a slope belongs to the kink, not to z_i. And it rests on scores, which round-off
        has moved; where R(w) is small beside them, as on separable data, that is too much. The
        conjugate needs no scores: any slopes in its domain make a cut.
        """
        if not self.risk.facts.has_duals:
            return False
        return self._chosen is not None or self._blur > COARSE * abs(self.value)

    @functools.cached_property
    def _conjugates(self) -> tuple[float, float]:
        """(sum_i s_i/S l*(a_i), that of the terms' magnitudes)."""
        engine, loss = self.risk.engine, self.risk.loss
        terms = engine.map(shardwork.weighted_conjugates, loss, self.slopes, 1.0).split(2)
        total, size = (float(each) / self.risk.weight for each in engine.totals(*terms))
        return total, size

    @property
    def floor(self) -> float:
        """The cut's own value at w: R(w) up to round-off."""
        return self.offset.floor

    def shrunk(self, scale: float) -> float:
        """-sum_i s_i/S l*(scale l'_i), the dual at scale * alpha; else scale * constant, as R >= 0.

        The first is the better: it falls short of `constant` by (1 - scale) |<a, w>|, the other by
        (1 - scale) times all of it.
        """
        risk = self.risk
        if scale == 1:
            return self.constant
        if risk.facts.has_duals:
            conjugates = risk.engine.map(
                shardwork.weighted_conjugates, risk.loss, self.slopes, scale
            )
            return -float(risk.engine.total(conjugates.split(2)[0])) / risk.weight
        return scale * self.constant if risk.facts.nonnegative else -np.inf

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes; and R with the product it is reduced by, and the scores' round-off."""
        slopes = self.risk.length * self._slope
        if self._by_conjugate:
            return slopes, self._conjugates[1]
        product = float(np.linalg.norm(self.subgradient) * np.linalg.norm(self.w))
        return slopes, abs(self.value) + product + self._blur / ROUND_OFF

    @functools.cached_property
    def _blur(self) -> float:
        """What the scores' round-off may add to the tangent's constant.

        That is sum_i s_i/S |a_i| times the error of z_i, which goes with the lengths of x_i and w.
        """
        fresh = ROUND_OFF * float(np.linalg.norm(self.w))
        return self.risk.length * self._slope * (fresh + self.drift)

    @property
    def _slope(self) -> float:
        """A bound of the mean slope.

        A loss has a largest slope; or, being >= 0 and smooth, |l'|^2 <= 2 smoothness l; or (the
        exponentials) slopes about as large as its values.
        """
        value, loss = self.value, self.risk.loss
        smooth = np.sqrt(2 * loss.smoothness * value) if loss.nonnegative else np.inf
        slope = min(self.risk.largest_slope, float(smooth))
        return slope if slope < np.inf else 1 + abs(value)

    @property
    def witness(self) -> Witness:
        """The rows' dual variables or the place of tangency, whichever is smaller.

        Few dual variables are taken in any case: it takes less time to prove a bound from them.
        """
        most = max(self.risk.n_parameters, _FEW_DUALS)
        if self.risk.facts.has_duals and self.risk.n_duals < most:
            return Witness(alpha=self.duals)
        return Witness([Tangency(self.w, self.offset.bracket, self._ties())], [1.0])

    def _ties(self) -> Ties | None:
        engine, chosen = self.risk.engine, self._chosen
        if self.risk.facts.differentiable or (self.risk.facts.has_intercept and chosen is None):
            return None
        if chosen is None:
            rows, slopes = engine.map(ties, self.risk.loss, self.z).split(2)
        else:
            rows, slopes = engine.map(kinked_rows, self._kinked), chosen
        first = np.cumsum([0, *(shard.rows.n_rows for shard in engine.shards)])
        # `first` has one more entry, the number of all rows.
        places = [start + part for start, part in zip(first, rows, strict=False)]
        return Ties(np.concatenate(places), np.concatenate(list(slopes)))

    @property
    def duals(self) -> Array:
        """alpha_i = s_i/S l'(z_i + b, y_i)."""
        return self.risk.engine.gather(self.slopes).ravel() / self.risk.weight

    @functools.cached_property
    def _kinked(self) -> PerShard[Kinked]:
        """The rows whose score lies on a kink, up to round-off."""
        engine, loss = self.risk.engine, self.risk.loss
        return engine.map(kinked, loss, self.z, self.intercept, self.slopes)

    def steepest(self, p: Array) -> LinearPoint:
        """The point with the slopes of the rows on a kink chosen anew; itself where there are none.

        With an intercept the slopes must still add up to what they do, so that b stays the best.
        The cut is then lower at w than R(w), as a tie is one up to a tolerance only: by what the
        conjugate says (`constant`), or by no more than the chosen rows' shortfalls.
        """
        engine, n = self.risk.engine, sum(self.risk.engine.map(n_kinked, self._kinked))
        if n == 0:
            return self
        if n > self.risk.n_rows / 4:
            self.risk.passes += 2  # so many rows that the two products count as passes
        q = engine.map(kinked_scores, self._kinked, self.risk.outputs(p))
        if self.risk.facts.has_intercept:
            chosen = balanced(engine, self._kinked, q)
        else:
            chosen = engine.map(steepest, self._kinked, q)
        change: Array = engine.total(engine.map(kinked_adjoint, self._kinked, chosen))
        # What the new point would compute on first use is known: it is set in place of that.
        point = type(self)(self.risk, self.w, self.z, self.near, self.drift)
        best = self.offset.best
        floor = self.floor - (0.0 if self.risk.facts.has_duals else self._shortfall)
        point.offset = Offset(Bracket(best, best), best, self.offset.value, floor)
        point.subgradient = self.subgradient + change.ravel() / self.risk.weight
        point.slopes = engine.map(rechosen, self.slopes, self._kinked, chosen)
        point._kinked, point._chosen = self._kinked, chosen
        return point

    @property
    def _shortfall(self) -> float:
        """How much lower than R(w) a cut with other slopes for the rows on a kink is at w."""
        engine = self.risk.engine
        return float(engine.total(engine.map(shortfall, self._kinked))) / self.risk.weight

    def towards(self, p: Array) -> LinearRay[Self]:
        """The ray w + eta p: one pass, X p; one more where the scores have drifted from X w."""
        return LinearRay(*self._start(p))

    def _start(self, p: Array) -> tuple[Self, Array, PerShard[Array]]:
        """The point that a ray begins at, with scores that are exact enough, p and X p."""
        origin, engine = self, self.risk.engine
        if self.drift > SCORES * float(np.linalg.norm(self.w) + np.linalg.norm(p)):
            self.risk.passes += 1
            z = engine.map(shardwork.scores, self.risk.outputs(self.w))
            origin = type(self)(self.risk, self.w, z, self.intercept)
        self.risk.passes += 1
        return origin, p, engine.map(shardwork.scores, self.risk.outputs(p))


P = TypeVar("P", bound=LinearPoint)


class LinearRay(Generic[P]):
    """eta -> R(w + eta p), from the scores X w and X p."""

    def __init__(self, origin: P, p: Array, q: PerShard[Array]):
        self.origin, self.p, self.q = origin, p, q
        self._last = (0.0, origin)  # a line search asks for the step it accepts once more
        self._rate: float | None = None  # sum_i a_i q_i there, if it came with the point

    def at(self, eta: float) -> P:
        """The point w + eta p; its scores are z + eta q."""
        if eta != self._last[0]:
            self._last = eta, self._stepped(eta)
        return self._last[1]

    def _stepped(self, eta: float) -> P:
        origin = self.origin
        risk, engine, b = origin.risk, origin.risk.engine, origin.intercept
        w = origin.w + eta * self.p
        longest = max(float(np.linalg.norm(origin.w)), eta * float(np.linalg.norm(self.p)))
        drift = origin.drift + EPSILON * longest
        if not risk.profiles_at_once:
            z = engine.map(shardwork.moved, origin.z, self.q, eta)
            return type(origin)(risk, w, z, b, drift)
        scores = origin.z, self.q, eta
        z, a, found = engine.map(shardwork.step_along, risk.loss, *scores, risk.weight, b).split(3)
        point = type(origin)(risk, w, z, b, drift)
        point.slopes, (point.offset, self._rate) = a, found[0]
        return point

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), its slope)."""
        point = self.at(eta)
        if self._rate is None or eta == 0:
            return point.value, point.rate(self.q)
        return point.value, self._rate / point.risk.weight

    @functools.cached_property
    def _line(self) -> tuple[PerShard[Array], PerShard[Array]]:
        """The scores at eta = 0 and their rates.

        With an intercept, on the straight line from the best offset at 0 to that at 1: R lies below
        the risk on that line, and touches it at both ends.
        """
        origin, engine = self.origin, self.origin.risk.engine
        if not origin.risk.facts.has_intercept:
            return origin.z, self.q
        b, rate = origin.intercept, self.at(1.0).intercept - origin.intercept
        return engine.map(shardwork.shifted, origin.z, b), engine.map(
            shardwork.shifted, self.q, rate
        )

    def slope(self, eta: float) -> Slope:
        """The slope of R just right of eta; with an intercept, of the line above R."""
        risk = self.origin.risk
        parts = risk.engine.map(shardwork.slope_along, risk.loss, *self._line, eta).split(2)
        slope, curvature = (float(part) / risk.weight for part in risk.engine.totals(*parts))
        return Slope(slope, curvature)

    def kinks(self, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]."""
        risk = self.origin.risk
        found = risk.engine.map(shardwork.kinks_along, risk.loss, *self._line, low, high)
        kinks: Array = np.concatenate(list(found)) / [1, risk.weight, risk.weight]
        return kinks
