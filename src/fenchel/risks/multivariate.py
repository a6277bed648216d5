"""R(w) = L(Xw + b) for a loss L of all scores at once.

Scores are gathered and slopes scattered, rows never move. A loss that is a mean over queries needs
not even that: shards hold whole queries, and each adds its part.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fenchel.engines import Engine, PerShard
from fenchel.losses import MultivariateLoss
from fenchel.losses.multivariate import Indices, Sample
from fenchel.losses.multivariate_twins import twin
from fenchel.risks import shardwork
from fenchel.risks.intercept import Offset, around
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint, LinearRay
from fenchel.tolerances import FLAT
from fenchel.witness import Bracket, Ties

Array = npt.NDArray[np.float64]

_AHEAD = 1e4  # units of resolution to the slopes just ahead: most rows move by more than rounding
_ASIDE = 8  # units of resolution from a kink, as scores are rounded to some units


class Touch(NamedTuple):
    """A tangent c + <g, z> of L, and its value somewhere."""

    c: float
    g: PerShard[Array]
    value: float


class SoftTouch(NamedTuple):
    """A cut c + <g, z> of L, and the value of L_mu where it was made: `lack` below the cut's."""

    c: float
    g: PerShard[Array]
    value: float
    lack: float


class Least(NamedTuple):
    """The least value over all offsets, the offset, and slopes of this value where known."""

    b: float
    value: float
    g: PerShard[Array] | None


class MultivariatePoint(LinearPoint):
    """The risk at one w.

    Its value is that of the scores as they are. Its cut is the tangent at rounded scores, as valid
    as any, so that `verify`, whose scores differ by round-off, meets the same ties and cut. A
    differentiable loss without an intercept has no ties, and one tangent for both.
    """

    risk: MultivariateRisk

    @functools.cached_property
    def _least(self) -> Least:
        """At the scores as they are; the offset is 0 without an intercept."""
        risk = self.risk
        if not risk.facts.has_intercept:
            touch = risk.tangent(self.z) if risk.has_ties else self._rounded(0.0)
            return Least(0.0, touch.value, touch.g)
        known = risk.least(self.z, float(self.near))
        if known is not None:
            return known
        b = self._searched.best
        return Least(b, risk.tangent(self._shifted(b)).value, None)

    @functools.cached_property
    def _searched(self) -> Offset:
        return self._profiled()

    @property
    def value(self) -> float:
        return self._least.value

    @property
    def intercept(self) -> float:
        return self._least.b

    @functools.cached_property
    def offset(self) -> Offset:
        """The best offset with the bracket of the cut, which a line search can do without."""
        b, value, known = self._least
        if not self.risk.facts.has_intercept:
            return Offset(Bracket(), b, value, value)
        found = None if known is None else around(self.sums, b, _ASIDE * self._resolution)
        found = self._searched if found is None else found
        return found._replace(best=b, value=value, floor=min(found.floor, value))

    def sums(self, b: float) -> tuple[float, float]:
        """(the cut's value, its slope in the offset) at the offset b."""
        touch, engine = self._rounded(b), self.risk.engine
        slope = float(engine.total(engine.map(shardwork.total, touch.g)))
        size = float(engine.total(engine.map(shardwork.magnitude, touch.g)))
        return touch.value, 0.0 if abs(slope) <= FLAT * size else slope

    def _rounded(self, b: float) -> Touch:
        """The cut at the offset b; the last two are kept."""
        if b not in self._kept:
            z = self._shifted(b)
            at = self.risk.engine.map(shardwork.rounded, z) if self.risk.has_ties else z
            touch = self.risk.tangent(at)
            while len(self._kept) > 1:
                del self._kept[next(iter(self._kept))]
            self._kept[b] = touch._replace(value=self.risk.height(touch, z))
        return self._kept[b]

    @functools.cached_property
    def _kept(self) -> dict[float, Touch]:
        return {}

    def _shifted(self, b: float) -> PerShard[Array]:
        return self.z if b == 0 else self.risk.engine.map(shardwork.shifted, self.z, b)

    @property
    def floor(self) -> float:
        """The cut's value at w."""
        return self.offset.floor if self.risk.facts.has_intercept else self._rounded(0.0).value

    @functools.cached_property
    def slopes(self) -> PerShard[Array]:
        """The cut's, mixed over the intercept's bracket."""
        bracket = self.offset.bracket
        below = self._rounded(bracket.below).g
        if bracket.above == bracket.below:
            return below
        above, weights = self._rounded(bracket.above).g, bracket[2:]
        return self.risk.engine.map(shardwork.mixed, below, above, *weights)

    def rate(self, q: PerShard[Array]) -> float:
        """The slope of R along a ray whose scores change by q."""
        engine, g = self.risk.engine, self._least.g
        if g is None:
            return super().rate(q)
        return float(engine.total(engine.map(shardwork.inner, g, q)))

    @property
    def _slope(self) -> float:
        """The root of sum_i g_i^2 / s_i: with the rows' lengths, sum_i |g_i| |x_i| is no more."""
        return float(
            np.sqrt(self.risk.engine.total(self.risk.engine.map(shardwork.energy, self.slopes)))
        )

    def _ties(self) -> Ties | None:
        """None: rounded scores have their ties wherever they are computed."""
        return None

    def steepest(self, p: Array) -> LinearPoint:
        """The point a hair's breadth ahead along p; itself where the cut is the same there.

        Slopes along p only rise, so that its subgradient has <a, p> at least as large as all at w.
        L is piecewise linear: unless the step meets one more kink, it is one of them.
        """
        if self.risk.facts.differentiable:
            return self
        ray = self.towards(p)
        fastest = max(self.risk.engine.map(shardwork.largest, ray.q))
        if fastest == 0:
            return self
        ahead = ray.at(_AHEAD * self._resolution / fastest)
        same = self.risk.engine.map(shardwork.equal, self.slopes, ahead.slopes)
        return self if all(same) else ahead

    def towards(self, p: Array) -> LinearRay[Self]:
        """The ray w + eta p; its scores are kept, as a line search asks for them once more.

        Not the ray, which keeps the point: of such a circle many large arrays would pile up.
        """
        if self._along is not None and np.array_equal(self._along[0], p):
            return LinearRay(self, *self._along)
        ray = super().towards(p)
        if ray.origin is self:
            self._along = ray.p, ray.q
        return ray

    _along: tuple[Array, PerShard[Array]] | None = None


class MultivariateRisk(LinearRisk):
    """A multivariate loss of a linear model; `starts` are those of the loss's groups."""

    loss: MultivariateLoss
    point = MultivariatePoint

    def __init__(
        self,
        loss: MultivariateLoss,
        engine: Engine,
        *,
        starts: Indices,
        intercept: bool = False,
    ):
        super().__init__(loss, engine, intercept=intercept)
        self.weight = 1.0  # R is no sum over rows that would have to be divided
        self.facts = replace(self.facts, separable=False, knows_kinks=True)
        self.starts = starts
        if loss.grouped:
            ends = np.cumsum([shard.rows.n_rows for shard in engine.shards])
            inside = np.split(starts[:-1], np.searchsorted(starts[:-1], ends[:-1]))
            local = [np.append(part, end) - part[0] for part, end in zip(inside, ends, strict=True)]
            self._parts = engine.map(shardwork.twin, loss, PerShard(local))
            masses = list(engine.map(shardwork.mass, loss, PerShard(local)))
            self._shares = PerShard(mass / sum(masses) for mass in masses)
        else:
            y, s = (
                np.concatenate(list(engine.map(task)))
                for task in (shardwork.labels, shardwork.weights)
            )
            weighted = any(shard.s is not None for shard in engine.shards)
            self._whole = twin(loss, Sample(y, s if weighted else None, starts))

    @property
    def has_ties(self) -> bool:
        """Scores that differ by round-off may have another tangent, or another best intercept."""
        return self.facts.has_intercept or not self.facts.differentiable

    def tangent(self, z: PerShard[Array]) -> Touch:
        """L at these scores."""
        engine = self.engine
        if self.loss.grouped:
            c, g = engine.map(shardwork.tangent, self._parts, self._shares, z).split(2)
            touch = Touch(float(engine.total(c)), g, 0.0)
        else:
            constant, slopes = self._whole.tangent(engine.gather(z))
            touch = Touch(constant, engine.scatter(slopes), 0.0)
        return touch._replace(value=self.height(touch, z))

    def soft_tangent(self, z: PerShard[Array], mu: float) -> SoftTouch:
        """L_mu at these scores."""
        engine = self.engine
        if self.loss.grouped:
            parts = self._parts, self._shares, z, mu
            c, g, lack = engine.map(shardwork.soft_tangent, *parts).split(3)
            constant, less = (float(each) for each in engine.totals(c, lack))
        else:
            constant, slopes, less = self._whole.soft_tangent(engine.gather(z), mu)
            g = engine.scatter(slopes)
        height = self.height(Touch(constant, g, 0.0), z)
        return SoftTouch(constant, g, height - less, less)

    def least(self, z: PerShard[Array], guess: float) -> Least | None:
        """L at these scores and the offset that suits them best; None where L cannot tell."""
        known = None if self.loss.grouped else self._whole.least(self.engine.gather(z), guess)
        return None if known is None else Least(*known[:2], self.engine.scatter(known[2]))

    def height(self, touch: Touch, z: PerShard[Array]) -> float:
        """c + <g, z>."""
        return touch.c + float(self.engine.total(self.engine.map(shardwork.inner, touch.g, z)))

    def fingerprint(self) -> bytes:
        """The groups count too."""
        return hashlib.blake2b(
            super().fingerprint() + self.starts.tobytes(), digest_size=16
        ).digest()
