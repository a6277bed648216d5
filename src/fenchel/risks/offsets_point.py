"""The risk of a vector loss with offsets at one W: a linear point whose offsets are profiled out.

What a point with one intercept knows from a bracket of it, this one knows from the slopes that
`Offsets` has moved until their residual is 0 (offsets.py). Whoever recomputes them from the offsets
and the softness of the maximum has a residual of round-off's size, and makes it 0 in his own way.
Along a ray the offsets are sought from those of the ray's origin.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from fenchel.engines import PerShard
from fenchel.risks.offsets import Found
from fenchel.risks.point import LinearPoint
from fenchel.witness import Tangency, Tilted, Witness

Array = npt.NDArray[np.float64]


class OffsetsPoint(LinearPoint):
    """The risk at one W, minimised over the offsets of all K scores."""

    @functools.cached_property
    def found(self) -> Found:
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
        at = self.found.at
        return Witness([Tangency(self.w, offsets=Tilted(at.b, at.mu, at.tilt))], [1.0])

    def steepest(self, p: Array) -> OffsetsPoint:
        """Itself: of kinks with offsets, other slopes of residual 0 are not looked for."""
        return self
