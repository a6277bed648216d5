"""The risk of a vector loss with offsets at one W: a linear point whose offsets are profiled out.

What a point with one intercept knows from a bracket of it, this one knows from the slopes that
`Offsets` has moved until their residual is 0 (offsets.py). Whoever recomputes them from offsets,
softness of the maximum and tilt has a residual of round-off's size, and makes it 0 in his own way.
At a softness as small as round-off of the scores it would be larger, so that the witness
names the rows that are near a kink, with their slopes.
Along a ray the offsets are sought from those of the ray's origin.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import Loss, offset_rows
from fenchel.risks.offsets import BestOffsets
from fenchel.risks.point import LinearPoint
from fenchel.tolerances import FEW_OPERATIONS
from fenchel.witness import Tangency, Ties, Witness

Array = npt.NDArray[np.float64]


class OffsetsPoint(LinearPoint):
    """The risk at one W, minimised over the offsets of all K scores."""

    @functools.cached_property
    def found(self) -> BestOffsets:
        """The best offsets at these scores, with the slopes of the cut."""
        offsets = self.risk.offsets
        assert offsets is not None
        near = np.broadcast_to(np.asarray(self.near, dtype=np.float64), offsets.K)
        return offsets.best(self.z, near)

    @property
    def value(self) -> float:
        """R(W), at the best offsets."""
        return self.found.value

    @property
    def intercept(self) -> Array:
        """The offsets at which the risk is attained."""
        return self.found.b

    @property
    def floor(self) -> float:
        """The height of the cut at W."""
        return self.found.floor

    @functools.cached_property
    def slopes(self) -> PerShard[Array]:
        """s_i a_i, of residual 0."""
        return self.found.slopes

    @property
    def witness(self) -> Witness:
        """The rows' dual variables or the place of tangency, whichever is smaller."""
        if self.risk.n_duals < self.risk.n_parameters:
            return Witness(alpha=self.duals)
        ties = None if self.risk.facts.differentiable else self._soft_rows()
        return Witness([Tangency(self.w, ties=ties, offsets=self.found.at)], [1.0])

    def _soft_rows(self) -> Ties:
        """The rows whose slopes are not those of one piece: tiny errors of their scores matter."""
        engine, loss = self.risk.engine, self.risk.loss
        rows, slopes = engine.map(_soft_rows, loss, self.z, self.found.at.b, self.slopes).split(2)
        first = np.cumsum([0, *(shard.rows.n_rows for shard in engine.shards)])
        places = [start + part for start, part in zip(first, rows, strict=False)]
        return Ties(np.concatenate(places), np.concatenate(list(slopes)))

    def steepest(self, p: Array) -> OffsetsPoint:
        """Itself: of kinks with offsets, other slopes of residual 0 are not looked for."""
        return self


def _soft_rows(
    shard: Shard, loss: Loss, z: Array, b: Array, a: Array
) -> tuple[npt.NDArray[np.intp], Array]:
    """The rows whose slopes a, with weights, are not those of the loss, and theirs without."""
    bound = shard.bound(loss)
    s = np.ones(len(z)) if shard.s is None else shard.s
    off = np.max(np.abs(a - offset_rows.slopes(bound, z, b)[1]), axis=1)
    rows = np.flatnonzero(off > FEW_OPERATIONS * s)
    return rows, a[rows] / s[rows, np.newaxis]
