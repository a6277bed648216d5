"""R(w) = (1/S) sum_i s_i l(<x_i, w> + b, y_i) over shards, the intercept b profiled out.

For a vector loss R(W) = (1/S) sum_i s_i l(W'x_i, y_i), with W of K columns: solvers see it as one
vector w, row after row. Its K intercepts are no different from other coordinates: they belong to a
last column of X, of ones, and have no penalty.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.data.rows import WithOnes
from fenchel.data.shards import fingerprint
from fenchel.engines import Engine, PerShard
from fenchel.errors import InvalidData
from fenchel.losses import Loss, ScalarLoss, VectorLoss
from fenchel.losses.scalar_rows import is_built_in
from fenchel.regularizers import Coupled, Regularizer, StronglyConvex
from fenchel.risks import shardwork
from fenchel.risks.base import Cut, Point
from fenchel.risks.intercept import Offset
from fenchel.risks.kinks import weighted
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.composite import Dual, Primal
from fenchel.risks.views.dual_ascent import Duals
from fenchel.risks.views.lagrangian import AugmentedRisk
from fenchel.risks.views.newton import NewtonSystem
from fenchel.risks.views.polishing import polished
from fenchel.risks.views.smoothing import optimised_widths, roughness, smoothable
from fenchel.witness import Bracket, Tangency, Witness, mixture

Array = npt.NDArray[np.float64]
T = TypeVar("T")

_LEAST = 1e-12  # of a column's mean square that its mean may leave


class LinearRisk:
    """The mean loss of a linear model; `classes` belong to the K scores of a vector loss."""

    point: ClassVar[type[LinearPoint]] = LinearPoint
    separable = True
    keeps_scores = True

    def __init__(
        self,
        loss: Loss,
        engine: Engine,
        *,
        intercept: bool = False,
        classes: npt.NDArray[Any] | None = None,
    ):
        self.loss = loss
        self.engine = engine
        self.classes = classes
        self.has_intercept = intercept  # profiled out; of a vector loss the shards have the ones
        rows = engine.shards[0].rows
        self.n_outputs = 1 if classes is None else len(classes)
        self.n_offsets = int(isinstance(rows, WithOnes))
        self.n_parameters = rows.n_columns * self.n_outputs
        self.n_rows = sum(shard.rows.n_rows for shard in engine.shards)
        self.n_numbers = sum(shard.rows.n_numbers for shard in engine.shards)
        self.weight = float(engine.total(engine.map(shardwork.weight)))  # S
        self.passes = 0

    @property
    def in_one_memory(self) -> bool:
        """They are where the engine holds them."""
        return self.engine.in_one_memory

    def agreed(self, compute: Callable[[], T]) -> T:
        """Of processes that share an engine, what the first computes."""
        return self.engine.agreed(compute)

    @property
    def n_duals(self) -> int:
        """One for each score."""
        return self.n_rows * self.n_outputs

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_features,), or (n_classes, n_features)."""
        n_features = self.n_parameters // self.n_outputs - self.n_offsets
        return (n_features,) if self.classes is None else (self.n_outputs, n_features)

    def presented(self, w: Array, intercept: float) -> tuple[Array, float | Array]:
        """The model as its user sees it: w in `shape`, and an intercept for each class."""
        if self.classes is None:
            return w, intercept
        W, n_features = self.outputs(w), self.shape[1]
        offsets = W[n_features] if self.n_offsets else np.zeros(self.n_outputs)
        return np.ascontiguousarray(W[:n_features].T), offsets.copy()

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """The parameters for a w in `shape`; an intercept that is profiled out is none of them."""
        if self.classes is None:
            return w
        offsets = np.broadcast_to(intercept, self.n_outputs)
        return np.concatenate([w.T.ravel(), np.tile(offsets, self.n_offsets)])

    def outputs(self, v: Array) -> Array:
        """A vector of parameters or duals as rows take it: K columns for a vector loss."""
        return v if self.classes is None else v.reshape(-1, self.n_outputs)

    @property
    def nonnegative(self) -> bool:
        """R >= 0, because l >= 0."""
        return self.loss.nonnegative

    @property
    def differentiable(self) -> bool:
        """R has a gradient, because l has a slope."""
        return self.loss.differentiable

    @property
    def piecewise(self) -> bool:
        """The loss is piecewise quadratic."""
        if isinstance(self.loss, VectorLoss):
            return (
                self.loss.pieces(np.zeros((0, self.n_outputs)), self.engine.shards[0].y[:0])
                is not None
            )
        assert isinstance(self.loss, ScalarLoss)
        return self.loss.pieces(np.zeros(0)) is not None

    @property
    def knows_kinks(self) -> bool:
        """The loss has no kinks, or says where they are."""
        if isinstance(self.loss, ScalarLoss):
            return self.differentiable or len(self.loss.kinks(np.zeros(1))) > 0
        return self.differentiable or self.piecewise

    @property
    def has_duals(self) -> bool:
        """Rows have dual variables, because l has a conjugate."""
        return self.loss.has_conjugate

    @property
    def has_dual_steps(self) -> bool:
        """The loss is a built-in one of one score a row."""
        return is_built_in(self.loss)

    def dual(self, regularizer: StronglyConvex, strength: float, at_once: bool) -> Duals:
        """The dual point a = 0."""
        return Duals(self, regularizer, strength, at_once)

    @property
    def is_piecewise_linear(self) -> bool:
        """The loss is a built-in one whose slope jumps and does nothing else."""
        if not self.has_dual_steps:
            return False
        assert isinstance(self.loss, ScalarLoss)
        pieces = self.loss.pieces(np.ones(1))
        return pieces is not None and not (pieces.curvature.any() or pieces.bend.any())

    def polished(self, point: Point, regularizer: StronglyConvex, strength: float) -> Cut | None:
        """The cut of its dual polish."""
        assert isinstance(point, LinearPoint)
        return polished(self, point, regularizer, strength)

    def augmented(self, w: Array) -> AugmentedRisk:
        """Its augmented Lagrangian."""
        return AugmentedRisk(self, self.scored(w))

    @property
    def has_hessian(self) -> bool:
        """The loss is a built-in one whose slope does not jump."""
        return self.differentiable and self.has_dual_steps

    def newton(self, point: Point, diagonal: Array, g: Array) -> Array:
        """The offset's slope at a point is 0, so that it takes no part in g."""
        assert isinstance(point, LinearPoint)
        settings = self.loss, point.z, point.intercept, self.weight
        h, bent = self.engine.map(shardwork.curvatures, *settings).split(2)
        return -NewtonSystem(self, bent, h).solved(diagonal, g, 0.0)[0]

    @property
    def smoothable(self) -> bool:
        """The loss has kinks that can be smoothed."""
        return not self.differentiable and smoothable(self.loss)

    @property
    def roughness(self) -> float:
        """How far R smoothed by mu lies below R, at most, over mu."""
        return roughness(self)

    @functools.cached_property
    def _widths(self) -> PerShard:
        return optimised_widths(self)

    def primal_composite(
        self, regularizer: Regularizer, strength: float, mu: float, optimised: bool = False
    ) -> Primal:
        """R smoothed by mu, plus strength * Omega."""
        return Primal(self, regularizer, strength, mu, self._widths if optimised else None)

    def dual_composite(self, regularizer: Regularizer, strength: float, mu: float) -> Dual:
        """The dual, with mu d2."""
        assert isinstance(regularizer, StronglyConvex | Coupled)
        return Dual(self, regularizer, strength, mu)

    def curvature(self) -> Array:
        """The columns' mean squares, about their means where there is an intercept.

        Times the loss's curvature, as far as that is bounded.
        """
        squares = self.squares
        if self.has_intercept:
            self.passes += 1
            means = self.engine.total(self.engine.map(shardwork.means)) / self.weight
            squares = np.maximum(squares - means**2, _LEAST * squares)
        return np.repeat(min(self.loss.smoothness, 1.0) * squares, self.n_outputs)

    def at(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w: two passes, X w and X' a; the intercept is sought from that of `near`."""
        w = np.array(w, dtype=np.float64)  # a copy: the point's own
        if w.shape != (self.n_parameters,):
            raise InvalidData(f"w must have length {self.n_parameters}; got shape {w.shape}")
        if self.has_intercept or not self.separable:
            self.passes += 1
            guess = 0.0 if near is None else near.intercept
            point = self.point(self, w, self.engine.map(shardwork.scores, w), guess)
            point.subgradient  # noqa: B018 - computes it now: `at` promises both passes
            return point
        self.passes += 2
        values, gradients, z = self.engine.map(
            shardwork.evaluate, self.loss, self.outputs(w)
        ).split(3)
        point = self.point(self, w, z)
        value, gradient = self.engine.totals(values, gradients)
        value /= self.weight
        point.offset = Offset(Bracket(), 0.0, value, value)
        point.subgradient = gradient.ravel() / self.weight
        return point

    def scored(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w, its subgradient to be computed on first use: a pass now, unless w is 0."""
        if w.any():
            self.passes += 1
            z = self.engine.map(shardwork.scores, self.outputs(w))
        else:
            z = self.engine.map(shardwork.zeros)
        return LinearPoint(self, w, z, 0.0 if near is None else near.intercept)

    @functools.cached_property
    def squares(self) -> Array:
        """The columns' mean squares: a pass, once."""
        self.passes += 1
        total: Array = self.engine.total(self.engine.map(shardwork.squares))
        return total / self.weight

    @functools.cached_property
    def length(self) -> float:
        """The root of the rows' mean squared length."""
        return float(np.sqrt(np.sum(self.squares)))

    @functools.cached_property
    def steepest(self) -> float:
        """The largest slope of the loss on any row, inf where there is none."""
        return float(max(self.engine.map(shardwork.steepest, self.loss)))

    @functools.cached_property
    def spread(self) -> float:
        """The mean distance of the labels from their mean, where a row has one score."""
        mean = self.engine.total(self.engine.map(shardwork.label_total)) / self.weight
        return float(
            self.engine.total(self.engine.map(shardwork.label_distance, mean)) / self.weight
        )

    def scores(self, v: Array) -> Array:
        """X v: a pass."""
        self.passes += 1
        return self.engine.gather(self.engine.map(shardwork.scores, self.outputs(v))).ravel()

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha: a pass."""
        self.passes += 1
        each = self.engine.scatter(self.outputs(alpha))
        total: Array = self.engine.total(self.engine.map(shardwork.adjoint, each))
        return total.ravel()

    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """n / len(rows) times the sum over these rows, over S: right in the mean."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.engine.shards])
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        local = PerShard(
            part - end + shard.rows.n_rows
            for part, end, shard in zip(parts, ends, self.engine.shards, strict=True)
        )
        sums = self.engine.map(shardwork.sampled, self.loss, self.outputs(w), intercept, local)
        total: Array = self.engine.total(sums)
        return total.ravel() * (self.n_rows / (len(rows) * self.weight))

    def fingerprint(self) -> bytes:
        """A digest of the loss and of every shard."""
        with np.printoptions(threshold=sys.maxsize):  # a matrix of costs, in full
            settings = f"{self.loss!r} {self.has_intercept} {self.n_offsets} {self.classes!r}"
        digest = hashlib.blake2b(settings.encode(), digest_size=16)
        for part in self.engine.map(fingerprint):
            digest.update(part)
        return digest.digest()

    def compressed(self, witness: Witness) -> Witness:
        """The same evidence as one dual variable a row; only where the loss has a conjugate."""
        if not self.has_duals:
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
