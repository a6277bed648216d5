"""R(w) = (1/S) sum_i s_i l(<x_i, w> + b, y_i) over shards, the intercept b profiled out.

For a vector loss R(W) = (1/S) sum_i s_i l(W'x_i, y_i), with W of K columns: solvers see it as one
vector w, row after row. Its K intercepts are no different from other coordinates: they belong to a
last column of X, of ones, and have no penalty.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.bends import Slope
from fenchel.data.rows import WithOnes
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.errors import InvalidData
from fenchel.intercept import Offset, profile
from fenchel.losses import Conjugable, Loss, ScalarLoss, VectorLoss
from fenchel.losses.twins import kinks_along, slope_along, slopes, sums, twin
from fenchel.protocols import ROUND_OFF, Point
from fenchel.ties import (
    balanced,
    kinked,
    kinked_adjoint,
    kinked_scores,
    rechosen,
    steepest,
    ties,
    weighted,
)
from fenchel.witness import Bracket, Tangency, Ties, Witness, mixture

Array = npt.NDArray[np.float64]

_EPSILON = float(np.finfo(np.float64).eps)
_DRIFT = 1e-13  # of scores, relative to them, before they are computed anew
_RESOLUTION = 1e-12  # of an intercept, relative to the scores: some thousand units of round-off


class LinearRisk:
    """The mean loss of a linear model; `classes` belong to the K scores of a vector loss."""

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
        self.weight = float(engine.total(engine.map(_weight)))  # S
        self.passes = 0

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

    def flattened(self, w: Array) -> Array:
        """The parameters for a w in `shape`, intercepts 0."""
        if self.classes is None:
            return w
        return np.concatenate([w.T.ravel(), np.zeros(self.n_offsets * self.n_outputs)])

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

    def curvature(self) -> Array:
        """The columns' mean squares, about their means where there is an intercept.

        Times the loss's curvature, as far as that is bounded.
        """
        squares = self.squares
        if self.has_intercept:
            self.passes += 1
            means = self.engine.total(self.engine.map(_means)) / self.weight
            squares = np.maximum(squares - means**2, _RESOLUTION * squares)
        return np.repeat(min(self.loss.smoothness, 1.0) * squares, self.n_outputs)

    def at(self, w: Array, near: Point | None = None) -> LinearPoint:
        """The risk at w: two passes, X w and X' a; the intercept is sought from that of `near`."""
        w = np.array(w, dtype=np.float64)  # a copy: the point's own
        if w.shape != (self.n_parameters,):
            raise InvalidData(f"w must have length {self.n_parameters}; got shape {w.shape}")
        if self.has_intercept:
            self.passes += 1
            guess = 0.0 if near is None else near.intercept
            point = LinearPoint(self, w, self.engine.map(_scores, w), guess)
            point.subgradient  # noqa: B018 - computes it now: `at` promises both passes
            return point
        self.passes += 2
        values, gradients, z = self.engine.map(_evaluate, self.loss, self.outputs(w)).split()
        point = LinearPoint(self, w, z)
        value = self.engine.total(values) / self.weight
        point.offset = Offset(Bracket(), 0.0, value, value)
        point.subgradient = self.engine.total(gradients).ravel() / self.weight
        return point

    @functools.cached_property
    def squares(self) -> Array:
        """The columns' mean squares: a pass, once."""
        self.passes += 1
        total: Array = self.engine.total(self.engine.map(_squares))
        return total / self.weight

    @functools.cached_property
    def length(self) -> float:
        """The root of the rows' mean squared length."""
        return float(np.sqrt(np.sum(self.squares)))

    @functools.cached_property
    def steepest(self) -> float:
        """The largest slope of the loss on any row, inf where there is none."""
        return float(max(self.engine.map(_steepest, self.loss)))

    def scores(self, v: Array) -> Array:
        """X v: a pass."""
        self.passes += 1
        return self.engine.gather(self.engine.map(_scores, self.outputs(v))).ravel()

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha: a pass."""
        self.passes += 1
        each = self.engine.scatter(self.outputs(alpha))
        total: Array = self.engine.total(self.engine.map(_adjoint, each))
        return total.ravel()

    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """n / len(rows) times the sum over these rows, over S: right in the mean."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.engine.shards])
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        local = PerShard(
            part - end + shard.rows.n_rows
            for part, end, shard in zip(parts, ends, self.engine.shards, strict=True)
        )
        sums = self.engine.map(_sampled, self.loss, self.outputs(w), intercept, local)
        total: Array = self.engine.total(sums)
        return total.ravel() * (self.n_rows / (len(rows) * self.weight))

    def fingerprint(self) -> bytes:
        """A digest of the loss and of every shard."""
        with np.printoptions(threshold=sys.maxsize):  # a matrix of costs, in full
            settings = f"{self.loss!r} {self.has_intercept} {self.n_offsets} {self.classes!r}"
        digest = hashlib.blake2b(settings.encode(), digest_size=16)
        for part in self.engine.map(_fingerprint):
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
        z = self.engine.map(_scores, self.outputs(touch.w))
        slopes = self.engine.gather(self.engine.map(_slopes, self.loss, z, touch.bracket))
        if touch.ties is not None:  # the slopes that the cut was made of
            s = self.engine.gather(self.engine.map(_weights))[touch.ties.rows]
            slopes[touch.ties.rows] = weighted(s, touch.ties.slopes)
        return slopes.ravel() / self.weight


class LinearPoint:
    """The risk at one w, with its scores kept by the shards."""

    def __init__(
        self, risk: LinearRisk, w: Array, z: PerShard, near: float = 0.0, drift: float = 0.0
    ):
        self.risk, self.w, self.z = risk, w, z
        self.near = near  # a guess of the intercept
        self._chosen: PerShard | None = None  # the slopes of the rows on a kink, if chosen anew
        self.drift = drift  # the round-off in z that came with other points, per length of a row

    @functools.cached_property
    def offset(self) -> Offset:
        """The best intercept at these scores; 0 with R(w) as its value without one."""
        if self.risk.has_intercept:
            largest = max(self.risk.engine.map(_largest, self.z))
            resolution = _RESOLUTION * (1.0 + largest)
            return profile(self._sums, self.near, resolution, self.risk.differentiable)
        value = self._sums(0.0)[0]
        return Offset(Bracket(), 0.0, value, value)

    def _sums(self, b: float) -> tuple[float, float]:
        """(R, its slope in the offset) at the offset b."""
        engine = self.risk.engine
        values, slopes = engine.map(_sums, self.risk.loss, self.z, b).split()
        return engine.total(values) / self.risk.weight, engine.total(slopes) / self.risk.weight

    @property
    def value(self) -> float:
        """R(w)."""
        return self.offset.value

    @property
    def intercept(self) -> float:
        """The best offset."""
        return self.offset.best

    @functools.cached_property
    def slopes(self) -> PerShard:
        """a_i = s_i l'(z_i + b, y_i), mixed over the intercept's bracket."""
        return self.risk.engine.map(_slopes, self.risk.loss, self.z, self.offset.bracket)

    @functools.cached_property
    def subgradient(self) -> Array:
        """X' a / S."""
        self.risk.passes += 1
        engine = self.risk.engine
        total: Array = engine.total(engine.map(_adjoint, self.slopes))
        return total.ravel() / self.risk.weight

    @functools.cached_property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v."""
        return self.offset.floor - float(self.subgradient @ self.w)

    def shrunk(self, scale: float) -> float:
        """-sum_i s_i/S l*(scale l'_i), the dual at scale * alpha; else scale * constant, as R >= 0.

        The first is the better: it falls short of `constant` by (1 - scale) |<a, w>|, the other by
        (1 - scale) times all of it.
        """
        risk = self.risk
        if scale == 1:
            return self.constant
        if risk.has_duals:
            conjugates = risk.engine.map(_conjugates, risk.loss, self.slopes, scale)
            return -float(risk.engine.total(conjugates)) / risk.weight
        return scale * self.constant if risk.nonnegative else -np.inf

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes; and R with the product it is reduced by, and the scores' drift."""
        product = float(np.linalg.norm(self.subgradient) * np.linalg.norm(self.w))
        slopes = self.risk.length * self._slope
        return slopes, abs(self.value) + product + slopes * self.drift / ROUND_OFF

    @property
    def _slope(self) -> float:
        """A bound of the mean slope.

        A loss has a steepest slope; or, being >= 0 and smooth, |l'|^2 <= 2 smoothness l; or (the
        exponentials) slopes about as large as its values.
        """
        value, loss = self.value, self.risk.loss
        smooth = np.sqrt(2 * loss.smoothness * value) if loss.nonnegative else np.inf
        slope = min(self.risk.steepest, float(smooth))
        return slope if slope < np.inf else 1 + abs(value)

    @property
    def witness(self) -> Witness:
        """The rows' dual variables or the place of tangency, whichever is smaller."""
        if self.risk.has_duals and self.risk.n_duals < self.risk.n_parameters:
            return Witness(alpha=self.alpha)
        return Witness([Tangency(self.w, self.offset.bracket, self._ties())], [1.0])

    def _ties(self) -> Ties | None:
        engine, chosen = self.risk.engine, self._chosen
        if self.risk.differentiable or (self.risk.has_intercept and chosen is None):
            return None
        if chosen is None:
            rows, slopes = engine.map(ties, self.risk.loss, self.z).split()
        else:
            rows, slopes = PerShard(part.rows for part in self._kinked), chosen
        first = np.cumsum([0, *(shard.rows.n_rows for shard in engine.shards)])
        places = [start + part for start, part in zip(first, rows, strict=False)]
        return Ties(np.concatenate(places), np.concatenate(slopes))

    @property
    def alpha(self) -> Array:
        """alpha_i = s_i/S l'(z_i + b, y_i)."""
        return self.risk.engine.gather(self.slopes).ravel() / self.risk.weight

    @functools.cached_property
    def _kinked(self) -> PerShard:
        """The rows whose score lies on a kink, up to round-off."""
        engine, loss = self.risk.engine, self.risk.loss
        return engine.map(kinked, loss, self.z, self.intercept, self.slopes)

    def steepest(self, p: Array) -> LinearPoint:
        """The point with the slopes of the rows on a kink chosen anew; itself where there are none.

        With an intercept the slopes must still add up to what they do, so that b stays the best.
        """
        engine, n = self.risk.engine, sum(len(part.rows) for part in self._kinked)
        if n == 0:
            return self
        if n > self.risk.n_rows / 4:
            self.risk.passes += 2  # so many rows that the two products count as passes
        q = engine.map(kinked_scores, self._kinked, self.risk.outputs(p))
        chosen = balanced(self._kinked, q) if self.risk.has_intercept else steepest(self._kinked, q)
        change: Array = engine.total(engine.map(kinked_adjoint, self._kinked, chosen))
        point = LinearPoint(self.risk, self.w, self.z, self.near, self.drift)
        best, value = self.offset.best, self.offset.value
        point.offset = Offset(Bracket(best, best), best, value, value)
        point.subgradient = self.subgradient + change.ravel() / self.risk.weight
        point.slopes = engine.map(rechosen, self.slopes, self._kinked, chosen)
        point._kinked, point._chosen = self._kinked, chosen
        return point

    def towards(self, p: Array) -> LinearRay:
        """The ray w + eta p: one pass, X p; one more where the scores have drifted from X w."""
        origin, engine = self, self.risk.engine
        if self.drift > _DRIFT * float(np.linalg.norm(self.w) + np.linalg.norm(p)):
            self.risk.passes += 1
            z = engine.map(_scores, self.risk.outputs(self.w))
            origin = LinearPoint(self.risk, self.w, z, self.intercept)
        self.risk.passes += 1
        return LinearRay(origin, p, engine.map(_scores, self.risk.outputs(p)))


class LinearRay:
    """eta -> R(w + eta p), from the scores X w and X p."""

    def __init__(self, origin: LinearPoint, p: Array, q: PerShard):
        self.origin, self.p, self.q = origin, p, q
        self._last = (0.0, origin)  # a line search asks for the step it accepts once more

    def at(self, eta: float) -> LinearPoint:
        """The point w + eta p; its scores are z + eta q."""
        origin = self.origin
        if eta != self._last[0]:
            z = origin.risk.engine.map(_moved, origin.z, self.q, eta)
            w = origin.w + eta * self.p
            longest = max(float(np.linalg.norm(origin.w)), eta * float(np.linalg.norm(self.p)))
            drift = origin.drift + _EPSILON * longest
            self._last = eta, LinearPoint(origin.risk, w, z, origin.intercept, drift)
        return self._last[1]

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), sum_i a_i q_i / S)."""
        point, engine = self.at(eta), self.origin.risk.engine
        slope = engine.total(engine.map(_inner, point.slopes, self.q)) / self.origin.risk.weight
        return point.value, float(slope)

    @functools.cached_property
    def _line(self) -> tuple[PerShard, PerShard]:
        """The scores at eta = 0 and their rates.

        With an intercept, on the straight line from the best offset at 0 to that at 1: R lies below
        the risk on that line, and touches it at both ends.
        """
        origin, engine = self.origin, self.origin.risk.engine
        if not origin.risk.has_intercept:
            return origin.z, self.q
        b, rate = origin.intercept, self.at(1.0).intercept - origin.intercept
        return engine.map(_shifted, origin.z, b), engine.map(_shifted, self.q, rate)

    def slope(self, eta: float) -> Slope:
        """The slope of R just right of eta; with an intercept, of the line above R."""
        risk = self.origin.risk
        parts = risk.engine.map(_slope_along, risk.loss, *self._line, eta).split()
        slope, curvature = (float(risk.engine.total(part)) / risk.weight for part in parts)
        return Slope(slope, curvature)

    def kinks(self, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]."""
        risk = self.origin.risk
        found = risk.engine.map(_kinks_along, risk.loss, *self._line, low, high)
        kinks: Array = np.concatenate(found) / [1, risk.weight, risk.weight]
        return kinks


def _weight(shard: Shard) -> float:
    return float(shard.rows.n_rows if shard.s is None else np.sum(shard.s))


def _weights(shard: Shard) -> Array:
    return np.ones(shard.rows.n_rows) if shard.s is None else shard.s


def _fingerprint(shard: Shard) -> bytes:
    digest, X = hashlib.blake2b(digest_size=16), shard.rows.matrix()
    rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*rows, shard.y, shard.s):
        if array is not None:
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _steepest(shard: Shard, loss: Loss) -> float:
    return loss.steepest(shard.y) if isinstance(loss, Conjugable | VectorLoss) else np.inf


def _squares(shard: Shard) -> Array:
    return shard.rows.squares(shard.s)


def _means(shard: Shard) -> Array:
    return shard.rows.adjoint(_weights(shard))


def _scores(shard: Shard, w: Array) -> Array:
    return shard.rows.scores(w)


def _evaluate(shard: Shard, loss: Loss, w: Array) -> tuple[float, Array, Array]:
    native = twin(loss)
    if native is not None:
        return shard.rows.evaluate(native, shard.y, shard.s, w)
    z = shard.rows.scores(w)
    value, a = slopes(loss, z, shard.y, shard.s)
    return value, shard.rows.adjoint(a), z


def _sampled(shard: Shard, loss: Loss, w: Array, b: float, rows: npt.NDArray[np.intp]) -> Array:
    X, s = shard.rows.take(rows), None if shard.s is None else shard.s[rows]
    return X.adjoint(slopes(loss, X.scores(w), shard.y[rows], s, b)[1])


def _largest(shard: Shard, z: Array) -> float:
    return float(max(np.max(z), -np.min(z)))


def _sums(shard: Shard, loss: Loss, z: Array, b: float) -> tuple[float, float]:
    return sums(loss, z, shard.y, shard.s, b)


def _slopes(shard: Shard, loss: Loss, z: Array, bracket: Bracket) -> Array:
    a = slopes(loss, z, shard.y, shard.s, bracket.below)[1]
    if bracket.above == bracket.below:
        return a
    above = slopes(loss, z, shard.y, shard.s, bracket.above)[1]
    return bracket.weight_below * a + bracket.weight_above * above


def _slope_along(shard: Shard, loss: Loss, z: Array, q: Array, eta: float) -> tuple[float, float]:
    return slope_along(loss, z, q, shard.y, shard.s, eta)


def _kinks_along(shard: Shard, loss: Loss, z: Array, q: Array, low: float, high: float) -> Array:
    return kinks_along(loss, z, q, shard.y, shard.s, low, high)


def _conjugates(shard: Shard, loss: Conjugable, a: Array, scale: float) -> float:
    """sum_i s_i l*(scale a_i / s_i, y_i)."""
    if shard.s is None:
        return float(np.sum(loss.conjugate(scale * a, shard.y)))
    counted = shard.s > 0
    s, y = shard.s[counted], shard.y[counted]
    return float(s @ loss.conjugate(weighted(scale / s, a[counted]), y))


def _adjoint(shard: Shard, a: Array) -> Array:
    return shard.rows.adjoint(a)


def _moved(shard: Shard, z: Array, q: Array, eta: float) -> Array:
    return z + eta * q


def _shifted(shard: Shard, z: Array, b: float) -> Array:
    return z + b


def _inner(shard: Shard, a: Array, q: Array) -> float:
    return float(np.vdot(a, q))
