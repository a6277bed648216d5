"""The risk of a linear model: the weighted mean loss of its scores, over rows in shards.

    R(w) = min over b of (1/S) sum_i s_i l(<x_i, w> + b, y_i)

x_i are the rows of X, y_i their labels, s_i their weights and S the sum of those; l is the loss.
Without an intercept b = 0; with one it has no penalty, and at every w the best b is found exactly
(intercept.py), so that solvers see a function of w alone. To evaluate R at a w takes two passes: X
w for the scores, X' times the slopes of the losses for the subgradient.

For a vector loss R(W) = min over b of (1/S) sum_i s_i l(W'x_i + b, y_i), with W of K columns, which
solvers see as one vector w, row after row. Its K intercepts are found as the one is (offsets.py).
Of a loss for which that is not known how, a user's say, they are coordinates like others: of a last
column of X, of ones, and without a penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import fingerprint
from fenchel.errors import InvalidData
from fenchel.risks import shardwork
from fenchel.risks.base import Point
from fenchel.risks.digests import digest_of
from fenchel.risks.intercept import Offset
from fenchel.risks.kinks import weighted
from fenchel.risks.offsets_point import OffsetsPoint
from fenchel.risks.point import LinearPoint
from fenchel.risks.sharded_loss import ShardedLoss
from fenchel.tolerances import VARIANCE
from fenchel.witness import Bracket, Tangency, Witness, mixture

Array = npt.NDArray[np.float64]
T = TypeVar("T")


class LinearRisk(ShardedLoss):
    """The mean loss of a linear model."""

    point: ClassVar[type[LinearPoint]] = LinearPoint

    def agreed(self, compute: Callable[[], T]) -> T:
        """Of processes that share an engine, what the first computes."""
        return self.engine.agreed(compute)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_features,), or (n_classes, n_features)."""
        n_features = self.n_parameters // self.n_outputs - self.n_offsets
        return (n_features,) if self.classes is None else (self.n_outputs, n_features)

    def presented(self, w: Array, intercept: float | Array) -> tuple[Array, float | Array]:
        """The model as its user sees it: w in `shape`, no copy, and an intercept for each class."""
        if self.classes is None:
            return w, intercept
        W, n_features = self.outputs(w), self.shape[1]
        offsets = W[n_features] if self.n_offsets else np.broadcast_to(intercept, self.n_outputs)
        return W[:n_features].T, np.array(offsets, dtype=np.float64)

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """The parameters for a w in `shape`; an intercept that is profiled out is none of them."""
        if self.classes is None:
            return w
        offsets = np.broadcast_to(intercept, self.n_outputs)
        return np.concatenate([w.T.ravel(), np.tile(offsets, self.n_offsets)])

    def curvature(self) -> Array:
        """The columns' mean squares, about their means where there is an intercept.

        Times the loss's curvature, as far as that is bounded.
        """
        squares = self.squares
        if self.facts.has_intercept:
            squares = np.maximum(squares - self.means**2, VARIANCE * squares)
        return np.repeat(min(self.loss.smoothness, 1.0) * squares, self.n_outputs)

    def at(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w: two passes, X w and X' a; the intercept is sought from that of `near`."""
        w = np.array(w, dtype=np.float64)  # a copy: the point's own
        if w.shape != (self.n_parameters,):
            raise InvalidData(f"w must have length {self.n_parameters}; got shape {w.shape}")
        if self.facts.has_intercept or not self.facts.separable:
            self.passes += 1
            guess = 0.0 if near is None else near.intercept
            point = self.point(self, w, self.engine.map(shardwork.scores, self.outputs(w)), guess)
            point.subgradient  # noqa: B018 - computes it now: `at` promises both passes
            return point
        self.passes += 2
        values, gradients, z = self.engine.map(
            shardwork.evaluate, self.loss, self.outputs(w)
        ).split(3)
        point = self.point(self, w, z)
        value, gradient = self.engine.totals(values, gradients)
        value /= self.weight
        # In one sweep: set in place of what the point would compute on first use.
        point.offset = Offset(Bracket(), 0.0, value, value)
        point.subgradient = gradient.ravel() / self.weight
        return point

    def lazy_at(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w, its subgradient to be computed on first use: a pass now, unless w is 0."""
        if w.any():
            self.passes += 1
            z = self.engine.map(shardwork.scores, self.outputs(w))
        else:
            z = self.engine.map(shardwork.zeros, self.width)
        return self.point(self, w, z, 0.0 if near is None else near.intercept)

    def fingerprint(self) -> bytes:
        """A digest of the loss and of every shard."""
        known = self.loss, self.facts.has_intercept, self.n_offsets, self.classes
        return digest_of(self.engine, fingerprint, *known)

    def compressed(self, witness: Witness) -> Witness:
        """The same evidence as one dual variable a row; only where the loss has a conjugate."""
        if not self.facts.has_duals:
            return witness
        rows = [Witness(alpha=self._alpha(touch)) for touch in witness.tangencies]
        return mixture([Witness(alpha=witness.alpha), *rows], [1.0, *witness.weights])

    def _alpha(self, touch: Tangency) -> Array:
        self.passes += 1
        z = self.engine.map(shardwork.scores, self.outputs(touch.w))
        slopes = self.engine.gather(self.engine.map(shardwork.slopes, self.loss, z, touch.bracket))
        if touch.ties is not None:  # the slopes that the cut was made of
            s = self.engine.gather(self.engine.map(shardwork.weights))[touch.ties.rows]
            slopes[touch.ties.rows] = weighted(s, touch.ties.slopes)
        return slopes.ravel() / self.weight


class OffsetsRisk(LinearRisk):
    """The mean loss of K scores a row, minimised over their offsets."""

    point = OffsetsPoint

    def _alpha(self, touch: Tangency) -> Array:
        """Of residual 0, as the cut's."""
        assert self.offsets is not None and touch.offsets is not None
        self.passes += 1
        z = self.engine.map(shardwork.scores, self.outputs(touch.w))
        slopes = self.engine.gather(self.offsets.slopes(z, touch.offsets))
        if touch.ties is not None:
            s = self.engine.gather(self.engine.map(shardwork.weights))[touch.ties.rows]
            slopes[touch.ties.rows] = weighted(s, touch.ties.slopes)
        return slopes.ravel() / self.weight
