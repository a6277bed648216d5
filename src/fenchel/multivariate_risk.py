"""R(w) = L(Xw + b) for a loss L of all scores at once.

Scores are gathered and slopes scattered, rows never move. A loss that is a mean over queries needs
not even that: shards hold whole queries, and each adds its part.
"""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import tasks
from fenchel.engines import Engine, PerShard
from fenchel.intercept import Offset
from fenchel.losses import MultivariateLoss
from fenchel.losses.multivariate import Indices, Sample
from fenchel.losses.multivariate_twins import twin
from fenchel.points import LinearPoint
from fenchel.risk import LinearRisk
from fenchel.witness import Bracket, Ties

Array = npt.NDArray[np.float64]


class Touch(NamedTuple):
    """A tangent c + <g, z> of L, and its value somewhere."""

    c: float
    g: PerShard
    value: float


class MultivariatePoint(LinearPoint):
    """The risk at one w.

    Its value is that of the scores as they are. Its cut is the tangent at rounded scores, as valid
    as any, so that `verify`, whose scores differ by round-off, meets the same ties and cut.
    """

    risk: MultivariateRisk

    @functools.cached_property
    def offset(self) -> Offset:
        """The best intercept; 0 with R(w) as its value without one."""
        if not self.risk.has_intercept:
            return Offset(Bracket(), 0.0, self._exact.value, self._exact.value)
        found = self._profiled()
        value = self.risk.tangent(self._shifted(found.best)).value
        return found._replace(value=value, floor=min(found.floor, value))

    @functools.cached_property
    def _exact(self) -> Touch:
        return self.risk.tangent(self.z)

    def _sums(self, b: float) -> tuple[float, float]:
        """(the cut's value, its slope in the offset) at the offset b."""
        touch, engine = self._rounded(b), self.risk.engine
        return touch.value, float(engine.total(engine.map(tasks.total, touch.g)))

    def _rounded(self, b: float) -> Touch:
        """The cut at the offset b; the last one is kept."""
        if self._last is None or self._last[0] != b:
            z = self._shifted(b)
            touch = self.risk.tangent(self.risk.engine.map(tasks.rounded, z))
            self._last = b, touch._replace(value=self.risk.height(touch, z))
        return self._last[1]

    _last: tuple[float, Touch] | None = None

    def _shifted(self, b: float) -> PerShard:
        return self.z if b == 0 else self.risk.engine.map(tasks.shifted, self.z, b)

    @property
    def floor(self) -> float:
        """The cut's value at w."""
        return self.offset.floor if self.risk.has_intercept else self._rounded(0.0).value

    @functools.cached_property
    def slopes(self) -> PerShard:
        """The cut's, mixed over the intercept's bracket."""
        bracket = self.offset.bracket
        below = self._rounded(bracket.below).g
        if bracket.above == bracket.below:
            return below
        above, weights = self._rounded(bracket.above).g, bracket[2:]
        return self.risk.engine.map(tasks.mixed, below, above, *weights)

    def rate(self, q: PerShard) -> float:
        """A slope of R along q."""
        if self.risk.has_intercept:
            return super().rate(q)
        engine = self.risk.engine
        return float(engine.total(engine.map(tasks.inner, self._exact.g, q)))

    @property
    def _slope(self) -> float:
        """The root of sum_i g_i^2 / s_i: with the rows' lengths, sum_i |g_i| |x_i| is no more."""
        return float(
            np.sqrt(self.risk.engine.total(self.risk.engine.map(tasks.energy, self.slopes)))
        )

    def _ties(self) -> Ties | None:
        """None: rounded scores have their ties wherever they are computed."""
        return None

    def steepest(self, p: Array) -> MultivariatePoint:
        """Itself: of its subgradients one is known."""
        return self


class MultivariateRisk(LinearRisk):
    """A multivariate loss of a linear model; `starts` are those of the loss's groups."""

    loss: MultivariateLoss
    point = MultivariatePoint
    separable = False
    piecewise = False
    knows_kinks = False

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
        self.starts = starts
        if loss.grouped:
            ends = np.cumsum([shard.rows.n_rows for shard in engine.shards])
            inside = np.split(starts[:-1], np.searchsorted(starts[:-1], ends[:-1]))
            local = [np.append(part, end) - part[0] for part, end in zip(inside, ends, strict=True)]
            self._parts = engine.map(tasks.twin, loss, PerShard(local))
            self._shares = PerShard((len(part) - 1) / (len(starts) - 1) for part in local)
        else:
            y, s = (
                np.concatenate(list(engine.map(task))) for task in (tasks.labels, tasks.weights)
            )
            weighted = any(shard.s is not None for shard in engine.shards)
            self._whole = twin(loss, Sample(y, s if weighted else None, starts))

    def tangent(self, z: PerShard) -> Touch:
        """L at these scores."""
        engine = self.engine
        if self.loss.grouped:
            c, g = engine.map(tasks.tangent, self._parts, self._shares, z).split(2)
            touch = Touch(float(engine.total(c)), g, 0.0)
        else:
            constant, slopes = self._whole.tangent(engine.gather(z))
            touch = Touch(constant, engine.scatter(slopes), 0.0)
        return touch._replace(value=self.height(touch, z))

    def height(self, touch: Touch, z: PerShard) -> float:
        """c + <g, z>."""
        return touch.c + float(self.engine.total(self.engine.map(tasks.inner, touch.g, z)))

    def fingerprint(self) -> bytes:
        """The groups count too."""
        return hashlib.blake2b(
            super().fingerprint() + self.starts.tobytes(), digest_size=16
        ).digest()
