"""R(w) = (1/S) sum_i s_i l(<x_i, w> + b, y_i) over shards, the intercept b profiled out."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.bends import Slope
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.errors import InvalidData
from fenchel.intercept import Offset, profile
from fenchel.losses.base import Conjugable, ScalarLoss
from fenchel.losses.twins import kinks_along, slope_along, slopes, sums, twin
from fenchel.protocols import ROUND_OFF, Point
from fenchel.witness import Bracket, Tangency, Ties, Witness, mixture

Array = npt.NDArray[np.float64]

_TIE = 1e-11  # a score this close to a kink may be on either side of it
_EPSILON = float(np.finfo(np.float64).eps)
_DRIFT = 1e-13  # of scores, relative to them, before they are computed anew
_RESOLUTION = 1e-12  # of an intercept, relative to the scores: some thousand units of round-off


class LinearRisk:
    """The mean loss of a linear model."""

    def __init__(self, loss: ScalarLoss, engine: Engine, *, intercept: bool = False):
        self.loss = loss
        self.engine = engine
        self.has_intercept = intercept
        self.n_parameters = engine.shards[0].rows.n_columns
        self.n_rows = sum(shard.rows.n_rows for shard in engine.shards)
        self.weight = float(engine.total(engine.map(_weight)))  # S
        self.passes = 0

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
        """The loss is piecewise quadratic, and no intercept is profiled out."""
        return not self.has_intercept and self.loss.pieces(np.zeros(0)) is not None

    @property
    def knows_kinks(self) -> bool:
        """The loss has no kinks, or says where they are."""
        return self.differentiable or len(self.loss.kinks(np.zeros(1))) > 0

    @property
    def has_duals(self) -> bool:
        """Rows have dual variables, because l has a conjugate."""
        return isinstance(self.loss, Conjugable)

    def curvature(self) -> Array:
        """The columns' mean squares, about their means where there is an intercept.

        Times the loss's curvature, as far as that is bounded.
        """
        squares = self.squares
        if self.has_intercept:
            self.passes += 1
            means = self.engine.total(self.engine.map(_means)) / self.weight
            squares = np.maximum(squares - means**2, _RESOLUTION * squares)
        curvature: Array = min(self.loss.smoothness, 1.0) * squares
        return curvature

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
        values, gradients, z = self.engine.map(_evaluate, self.loss, w).split()
        point = LinearPoint(self, w, z)
        value = self.engine.total(values) / self.weight
        point.offset = Offset(Bracket(), 0.0, value, value)
        point.subgradient = self.engine.total(gradients) / self.weight
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
        return self.engine.gather(self.engine.map(_scores, v))

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha: a pass."""
        self.passes += 1
        total: Array = self.engine.total(self.engine.map(_adjoint, self.engine.scatter(alpha)))
        return total

    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """n / len(rows) times the sum over these rows, over S: right in the mean."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.engine.shards])
        parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
        local = PerShard(
            part - end + shard.rows.n_rows
            for part, end, shard in zip(parts, ends, self.engine.shards, strict=True)
        )
        total: Array = self.engine.total(self.engine.map(_sampled, self.loss, w, intercept, local))
        return total * (self.n_rows / (len(rows) * self.weight))

    def fingerprint(self) -> bytes:
        """A digest of the loss and of every shard."""
        digest = hashlib.blake2b(f"{self.loss!r} {self.has_intercept}".encode(), digest_size=16)
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
        z = self.engine.map(_scores, touch.w)
        return (
            self.engine.gather(self.engine.map(_slopes, self.loss, z, touch.bracket)) / self.weight
        )


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
        return total / self.risk.weight

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
        if self.risk.has_duals and self.risk.n_rows < self.risk.n_parameters:
            return Witness(alpha=self.alpha)
        return Witness([Tangency(self.w, self.offset.bracket, self._ties())], [1.0])

    def _ties(self) -> Ties | None:
        engine, chosen = self.risk.engine, self._chosen
        if self.risk.differentiable or (self.risk.has_intercept and chosen is None):
            return None
        if chosen is None:
            rows, slopes = engine.map(_ties, self.risk.loss, self.z).split()
        else:
            rows, slopes = PerShard(part.rows for part in self._kinked), chosen
        first = np.cumsum([0, *(shard.rows.n_rows for shard in engine.shards)])
        places = [start + part for start, part in zip(first, rows, strict=False)]
        return Ties(np.concatenate(places), np.concatenate(slopes))

    @property
    def alpha(self) -> Array:
        """alpha_i = s_i/S l'(z_i + b, y_i)."""
        return self.risk.engine.gather(self.slopes) / self.risk.weight

    @functools.cached_property
    def _kinked(self) -> PerShard:
        """The rows whose score lies on a kink, up to round-off."""
        engine, loss = self.risk.engine, self.risk.loss
        return engine.map(_kinked, loss, self.z, self.intercept, self.slopes)

    def steepest(self, p: Array) -> LinearPoint:
        """The point with the slopes of the rows on a kink chosen anew; itself where there are none.

        With an intercept the slopes must still add up to what they do, so that b stays the best.
        """
        engine, n = self.risk.engine, sum(len(part.rows) for part in self._kinked)
        if n == 0:
            return self
        if n > self.risk.n_rows / 4:
            self.risk.passes += 2  # so many rows that the two products count as passes
        q = engine.map(_kinked_scores, self._kinked, p)
        chosen = (_balanced if self.risk.has_intercept else _highest)(self._kinked, q)
        change = engine.total(engine.map(_kinked_adjoint, self._kinked, chosen)) / self.risk.weight
        point = LinearPoint(self.risk, self.w, self.z, self.near, self.drift)
        best, value = self.offset.best, self.offset.value
        point.offset = Offset(Bracket(best, best), best, value, value)
        point.subgradient = self.subgradient + change
        point.slopes = engine.map(_rechosen, self.slopes, self._kinked, chosen)
        point._kinked, point._chosen = self._kinked, chosen
        return point

    def towards(self, p: Array) -> LinearRay:
        """The ray w + eta p: one pass, X p; one more where the scores have drifted from X w."""
        origin, engine = self, self.risk.engine
        if self.drift > _DRIFT * float(np.linalg.norm(self.w) + np.linalg.norm(p)):
            self.risk.passes += 1
            origin = LinearPoint(self.risk, self.w, engine.map(_scores, self.w), self.intercept)
        self.risk.passes += 1
        return LinearRay(origin, p, engine.map(_scores, p))


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

    def slope(self, eta: float) -> Slope:
        """The slope of R just right of eta."""
        risk = self.origin.risk
        parts = risk.engine.map(_slope_along, risk.loss, self.origin.z, self.q, eta).split()
        slope, curvature = (float(risk.engine.total(part)) / risk.weight for part in parts)
        return Slope(slope, curvature)

    def kinks(self, low: float, high: float) -> Array:
        """The kinks of R in (low, high]."""
        risk = self.origin.risk
        found = risk.engine.map(_kinks_along, risk.loss, self.origin.z, self.q, low, high)
        kinks: Array = np.concatenate(found) / [1, risk.weight, risk.weight]
        return kinks


def _weight(shard: Shard) -> float:
    return float(shard.rows.n_rows if shard.s is None else np.sum(shard.s))


def _fingerprint(shard: Shard) -> bytes:
    digest, X = hashlib.blake2b(digest_size=16), shard.rows.matrix()
    rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*rows, shard.y, shard.s):
        if array is not None:
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _steepest(shard: Shard, loss: ScalarLoss) -> float:
    if not isinstance(loss, Conjugable):
        return np.inf
    return float(max(np.max(np.abs(end)) for end in loss.domain(shard.y)))


def _squares(shard: Shard) -> Array:
    return shard.rows.squares(shard.s)


def _means(shard: Shard) -> Array:
    return shard.rows.adjoint(np.ones(shard.rows.n_rows) if shard.s is None else shard.s)


def _scores(shard: Shard, w: Array) -> Array:
    return shard.rows.scores(w)


def _evaluate(shard: Shard, loss: ScalarLoss, w: Array) -> tuple[float, Array, Array]:
    native = twin(loss)
    if native is not None:
        return shard.rows.evaluate(native, shard.y, shard.s, w)
    z = shard.rows.scores(w)
    value, a = slopes(loss, z, shard.y, shard.s)
    return value, shard.rows.adjoint(a), z


def _sampled(
    shard: Shard, loss: ScalarLoss, w: Array, b: float, rows: npt.NDArray[np.intp]
) -> Array:
    X, s = shard.rows.matrix()[rows], None if shard.s is None else shard.s[rows]
    a = slopes(loss, np.asarray(X @ w), shard.y[rows], s, b)[1]
    return np.asarray(X.T @ a)


def _largest(shard: Shard, z: Array) -> float:
    return float(max(np.max(z), -np.min(z)))


def _sums(shard: Shard, loss: ScalarLoss, z: Array, b: float) -> tuple[float, float]:
    return sums(loss, z, shard.y, shard.s, b)


def _slopes(shard: Shard, loss: ScalarLoss, z: Array, bracket: Bracket) -> Array:
    a = slopes(loss, z, shard.y, shard.s, bracket.below)[1]
    if bracket.above == bracket.below:
        return a
    above = slopes(loss, z, shard.y, shard.s, bracket.above)[1]
    return bracket.weight_below * a + bracket.weight_above * above


def _ties(shard: Shard, loss: ScalarLoss, z: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """The rows at a kink, and their slopes."""
    rows = _at_kinks(shard, loss, z)
    return rows, slopes(loss, z[rows], shard.y[rows], None)[1]


def _at_kinks(shard: Shard, loss: ScalarLoss, z: Array) -> npt.NDArray[np.intp]:
    """The rows at a kink; most often there are none, which C++ finds out sooner."""
    native = twin(loss)
    if native is not None and not _kernels.near_kinks(native, z, shard.y, _TIE):
        return np.empty(0, dtype=np.intp)
    tied = np.zeros(len(z), dtype=bool)
    for kink in loss.kinks(shard.y):
        tied |= np.abs(z - kink) <= _TIE * (1 + np.abs(z))
    return np.flatnonzero(tied)


class Kinked(NamedTuple):
    """A shard's rows on a kink: which, their x and s, and the slopes they may have.

    `now` is what they contribute at present, s times a slope.
    """

    rows: npt.NDArray[np.intp]
    X: Any
    transposed: Any
    s: Array | float
    lowest: Array
    highest: Array
    now: Array


def _kinked(shard: Shard, loss: ScalarLoss, z: Array, b: float, a: Array) -> Kinked:
    z = z + b if b else z
    rows = _at_kinks(shard, loss, z)
    nearby = 2 * _TIE * (1 + np.abs(z[rows]))
    lowest, highest = (
        slopes(loss, z[rows] + step, shard.y[rows], None)[1] for step in (-nearby, nearby)
    )
    X, s = shard.rows.matrix()[rows], 1.0 if shard.s is None else shard.s[rows]
    return Kinked(rows, X, X.T, s, lowest, highest, a[rows])


def _kinked_scores(shard: Shard, kinked: Kinked, p: Array) -> Array:
    return np.asarray(kinked.X @ p)


def _kinked_adjoint(shard: Shard, kinked: Kinked, chosen: Array) -> Array:
    return np.asarray(kinked.transposed @ (kinked.s * chosen - kinked.now))


def _rechosen(shard: Shard, a: Array, kinked: Kinked, chosen: Array) -> Array:
    a = a.copy()
    a[kinked.rows] = kinked.s * chosen
    return a


def _highest(kinked: PerShard, q: PerShard) -> PerShard:
    """Argmax of sum_i s_i a_i q_i over slopes a."""
    return PerShard(
        np.where(moves > 0, part.highest, part.lowest)
        for part, moves in zip(kinked, q, strict=True)
    )


def _balanced(kinked: PerShard, q: PerShard) -> PerShard:
    """The same with sum_i s_i a_i as it is now: the slopes of the largest q are raised first."""
    s, lowest, highest = (
        np.concatenate([np.broadcast_to(getattr(part, name), len(part.rows)) for part in kinked])
        for name in ("s", "lowest", "highest")
    )
    order = np.argsort(-np.concatenate(q), kind="stable")
    room = (s * (highest - lowest))[order]
    budget = sum(float(np.sum(part.now)) for part in kinked) - float(s @ lowest)
    share = np.clip(budget - (np.cumsum(room) - room), 0.0, room)
    a = lowest.copy()
    a[order] += np.divide(share, s[order], out=np.zeros_like(share), where=room > 0)
    a = np.minimum(a, highest)
    return PerShard(np.split(a, np.cumsum([len(part) for part in q])[:-1]))


def _slope_along(
    shard: Shard, loss: ScalarLoss, z: Array, q: Array, eta: float
) -> tuple[float, float]:
    return slope_along(loss, z, q, shard.y, shard.s, eta)


def _kinks_along(
    shard: Shard, loss: ScalarLoss, z: Array, q: Array, low: float, high: float
) -> Array:
    return kinks_along(loss, z, q, shard.y, shard.s, low, high)


def _conjugates(shard: Shard, loss: Conjugable, a: Array, scale: float) -> float:
    """sum_i s_i l*(scale a_i / s_i, y_i)."""
    if shard.s is None:
        return float(np.sum(loss.conjugate(scale * a, shard.y)))
    counted = shard.s > 0
    s, y = shard.s[counted], shard.y[counted]
    return float(np.sum(s * loss.conjugate(scale * a[counted] / s, y)))


def _adjoint(shard: Shard, a: Array) -> Array:
    return shard.rows.adjoint(a)


def _moved(shard: Shard, z: Array, q: Array, eta: float) -> Array:
    return z + eta * q


def _inner(shard: Shard, a: Array, q: Array) -> float:
    return float(a @ q)
