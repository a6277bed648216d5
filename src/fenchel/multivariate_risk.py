"""R(w) = L(Xw + b) for a loss L of all scores at once.

Scores are gathered and slopes scattered, rows never move. A loss that is a mean over queries needs
not even that: shards hold whole queries, and each adds its part.
"""

from __future__ import annotations

import functools
import hashlib

import numpy as np
import numpy.typing as npt

from fenchel import tasks
from fenchel.engines import Engine, PerShard
from fenchel.losses import MultivariateLoss
from fenchel.losses.multivariate import Indices, Sample
from fenchel.losses.multivariate_twins import twin
from fenchel.points import LinearPoint
from fenchel.risk import LinearRisk
from fenchel.witness import Ties

Array = npt.NDArray[np.float64]


class MultivariatePoint(LinearPoint):
    """The risk at one w."""

    risk: MultivariateRisk

    def _sums(self, b: float) -> tuple[float, float]:
        """(R, its slope in the offset) at the offset b."""
        value, a = self._tangent(b)
        return value, float(self.risk.engine.total(self.risk.engine.map(tasks.total, a)))

    def _tangent(self, b: float) -> tuple[float, PerShard]:
        """(R, its slopes) at the offset b; the last one is kept."""
        if self._last is None or self._last[0] != b:
            engine = self.risk.engine
            z = self.z if b == 0 else engine.map(tasks.shifted, self.z, b)
            self._last = b, *self.risk.tangent(z)
        return self._last[1:]

    _last: tuple[float, float, PerShard] | None = None

    @functools.cached_property
    def slopes(self) -> PerShard:
        """g_i, mixed over the intercept's bracket."""
        bracket = self.offset.bracket
        below = self._tangent(bracket.below)[1]
        if bracket.above == bracket.below:
            return below
        above, weights = self._tangent(bracket.above)[1], bracket[2:]
        return self.risk.engine.map(tasks.mixed, below, above, *weights)

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
            y, s = (np.concatenate(engine.map(task)) for task in (tasks.labels, tasks.weights))
            weighted = any(shard.s is not None for shard in engine.shards)
            self._whole = twin(loss, Sample(y, s if weighted else None, starts))

    def tangent(self, z: PerShard) -> tuple[float, PerShard]:
        """(R, its slopes) at these scores.

        They are rounded first, so that `verify`, whose scores differ by round-off, meets the same
        ties and the same tangent; its value is taken where the scores really are.
        """
        engine, near = self.engine, self.engine.map(tasks.rounded, z)
        if self.loss.grouped:
            c, g = engine.map(tasks.tangent, self._parts, self._shares, near).split()
            constant = float(engine.total(c))
        else:
            constant, slopes = self._whole.tangent(engine.gather(near))
            g = engine.scatter(slopes)
        return constant + float(engine.total(engine.map(tasks.inner, g, z))), g

    def fingerprint(self) -> bytes:
        """The groups count too."""
        return hashlib.blake2b(
            super().fingerprint() + self.starts.tobytes(), digest_size=16
        ).digest()
