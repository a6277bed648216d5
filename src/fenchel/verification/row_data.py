"""What a witness proves of a risk of rows.

Scores and gradients are products of NumPy and SciPy, losses their formulas in NumPy, all in
float64. It proves

    min J >= D(alpha) = -sum_i s_i/S l*(S alpha_i / s_i, y_i) - lambda Omega*(-X'alpha / lambda)

for any dual variables alpha, with sum alpha = 0 where the model has an intercept; and, where the
loss has no conjugate, the weighted tangents' bound instead. Offsets o of the rows add <alpha, o>:
l(z + o) has the conjugate l*(a) - a o. Of a vector loss every row has K dual variables, in alpha
row after row, and w is a matrix of K columns, row after row, the intercepts its last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.losses import Conjugable, ConjugableVector, Loss
from fenchel.result import Result
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.tolerances import CONTRADICTION, SCORES, VERIFIED_KINK, VERIFIED_ZERO
from fenchel.verification import penalties
from fenchel.verification.check import Evidence
from fenchel.witness import Tangency, Ties, Witness

Array = npt.NDArray[np.float64]

# Where a tangent is looked at, relative to 1 and the score it touches the loss at: far enough for a
# loss that is not convex, and close enough for a slope that is not right.
_NEARBY = (-1.0, -1e-3, 1e-3, 1.0)


class RowEvidence(Evidence):
    """The rows of all shards, and the loss, with plain NumPy and SciPy."""

    def __init__(self, risk: LinearRisk):
        shards = risk.engine.shards
        self.loss: Loss = risk.loss
        self.K = None if risk.classes is None else len(risk.classes)
        self.has_offsets = risk.n_offsets > 0
        self.shards = shards
        self.n_columns = shards[0].rows.n_columns - risk.n_offsets
        self.y = np.concatenate([shard.y for shard in shards])
        weights = [np.ones(len(shard.y)) if shard.s is None else shard.s for shard in shards]
        self.s: Array = np.concatenate(weights)
        self.share: Array = self.s / np.sum(self.s)  # s_i / S
        self.has_intercept = risk.facts.has_intercept
        self.nonnegative = self.loss.nonnegative
        given = [shard.offset for shard in shards if shard.offset is not None]
        self.offset = np.concatenate(given) if given else np.zeros(1)

    def blocks(self) -> Iterator[Any]:
        """The rows as matrices, one at a time: they may be more than memory holds."""
        return (shard.rows.matrix() for shard in self.shards)

    def parameters(self, result: Result) -> tuple[Array, float]:
        """(w as one vector, the intercept that is not part of it)."""
        w, n_columns = np.asarray(result.w, dtype=np.float64), self.n_columns
        if w.shape != ((n_columns,) if self.K is None else (self.K, n_columns)):
            raise InvalidData(f"the result's w has shape {w.shape}, but X {n_columns} columns")
        if self.K is None:
            return w, float(result.intercept)
        offsets = np.broadcast_to(np.asarray(result.intercept, dtype=np.float64), (self.K,))
        return np.vstack([w.T, offsets] if self.has_offsets else [w.T]).ravel(), 0.0

    def columns(self, v: Array) -> Array:
        """A vector as an array of K columns."""
        return v if self.K is None else v.reshape(-1, self.K)

    def each(self, v: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A number for each row as a factor of what rows have."""
        return v if self.K is None else v[:, np.newaxis]

    def scores(self, w: Array) -> Array:
        """X w, from the blocks of X as they were given."""
        W, n = self.columns(w), self.n_columns
        offset = W[n] if self.has_offsets else 0.0
        return np.concatenate(
            [np.asarray(block @ W[:n], dtype=np.float64) + offset for block in self.blocks()]
        )

    def parts(self, a: Array) -> Iterator[tuple[Any, Array]]:
        """Each block of rows with its part of a per-row array."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.shards])
        return zip(self.blocks(), np.split(a, ends[:-1]), strict=True)

    def adjoint(self, a: Array) -> Array:
        """X' a, as one vector."""
        total = np.zeros((self.n_columns, *a.shape[1:]))
        for block, part in self.parts(a):
            total += block.T @ part
        offsets = np.sum(a, axis=0) if self.has_offsets else np.empty(0)
        return np.concatenate([total.ravel(), offsets])

    def magnitude(self, a: Array, coordinates: npt.NDArray[np.intp]) -> Array:
        """|X|' |a| in some coordinates."""
        columns, n = coordinates // (self.K or 1), self.n_columns
        inner = np.unique(columns[columns < n])
        total = np.zeros((n + 1, *a.shape[1:]))
        for block, part in self.parts(a):
            total[inner] += abs(block[:, inner]).T @ np.abs(part)
        total[n] = np.sum(np.abs(a), axis=0)
        return total.ravel()[coordinates]

    def value(self, w: Array, b: float) -> float:
        """sum_i s_i/S l(<x_i, w> + b, y_i)."""
        value = self.loss.value(self.scores(w) + b + self.offset, self.y)
        return float(np.sum(self.share * np.where(self.share > 0, value, 0.0)))

    def scale(self, w: Array, b: float) -> float:
        """The mean magnitude of scores and labels."""
        if self.K is not None:
            largest = 1 + np.max(np.abs(self.scores(w)), axis=1)
            if self.y.dtype.kind == "f":  # targets, not codes
                largest += np.max(np.abs(self.y), axis=1)
            return float(np.sum(self.share * largest))
        sizes = np.abs(self.scores(w)) + np.abs(self.offset)
        return float(np.sum(self.share * (sizes + abs(b) + np.abs(self.y))))

    def _slope(self, z: Array, ties: Ties | None) -> Array:
        """The slopes at z, for rows at a kink as the witness chose them, if that is possible."""
        slope = np.array(self.loss.slope(z, self.y), dtype=np.float64)
        if ties is not None and len(ties.rows):
            possible = self._possible if self.K is None else self._possible_vectors
            if not np.all(possible(z[ties.rows], self.y[ties.rows], ties.slopes)):
                raise InvalidCertificate("the witness claims a slope that its loss does not have")
            slope[ties.rows] = ties.slopes
        if not self.loss.has_conjugate:
            self._check_lines(z, slope)
        return slope

    def _check_lines(self, z: Array, slope: Array) -> None:
        """Raises InvalidCertificate where tangents are above the loss at some scores nearby.

        That cannot prove a user's loss convex, but finds most that are not, and wrong slopes.
        """
        each = self.loss.value(z, self.y)
        ahead = np.ones_like(z) if self.K is None else np.sign(slope)
        for distance in _NEARBY:
            step = distance * (1 + np.abs(z)) * ahead
            value, rise = self.loss.value(z + step, self.y), slope * step
            line = each + (rise if self.K is None else np.sum(rise, axis=1))
            size = np.abs(each) + np.abs(value) + np.abs(line - each)
            below = (value < line - CONTRADICTION * size) & (self.share > 0)
            if np.any(below):
                i = int(np.argmax(below))
                raise InvalidCertificate(
                    f"the tangent of row {i} at the score {z[i]} is above the loss at "
                    f"{(z + step)[i]}: {line[i]:.9g} > {value[i]:.9g}. The loss is not convex, or "
                    "its slope is no subgradient"
                )

    def _possible(self, z: Array, y: Array, slope: Array) -> npt.NDArray[np.bool_]:
        """Between the slopes on the two sides of z."""
        off = VERIFIED_KINK * (1 + np.abs(z))
        below, above = self.loss.slope(z - off, y), self.loss.slope(z + off, y)
        return np.asarray((below <= slope) & (slope <= above))

    def _possible_vectors(self, z: Array, y: Any, slope: Array) -> npt.NDArray[np.bool_]:
        """The slope a little further in its own direction; or 0 where nothing is lost.

        Going along the gradient of one piece, no other of the same length rises as fast. With a
        conjugate, which says what any dual variables prove, there is nothing to check.
        """
        if self.loss.has_conjugate:
            return np.ones(len(z), dtype=bool)
        off = VERIFIED_KINK * (1 + np.max(np.abs(z), axis=1))
        ahead = self.loss.slope(z + off[:, np.newaxis] * slope, y)
        flat = ~np.any(slope, axis=1) & (self.loss.value(z, y) <= off)
        return np.asarray(flat | np.all(ahead == slope, axis=1))

    def tangent(self, touch: Tangency) -> tuple[Array, float]:
        """(alpha, constant): R(v) >= <X'alpha, v> + constant + b sum(alpha) for all v and b."""
        z = self.scores(np.asarray(touch.w, dtype=np.float64))
        alpha, constant = np.zeros_like(z), 0.0
        below, above, *weights = touch.bracket
        for offset, weight in zip((below, above), weights, strict=True):
            counted = self.share > 0  # a row of weight 0 is not there, even at inf
            at = z + offset + self.offset
            value = np.where(counted, self.loss.value(at, self.y), 0.0)
            slope = np.where(self.each(counted), self._slope(at, touch.ties), 0.0)
            part = weight * self.each(self.share) * slope
            product = part * (z + offset)
            product = product if self.K is None else np.sum(product, axis=1)
            alpha += part
            constant += float(np.sum(weight * self.share * value - product))
        return alpha, constant

    def cut(self, witness: Witness, problem: Problem) -> tuple[Array, float]:
        """(X'alpha, constant) of all tangents and dual variables together."""
        alpha, constant, magnitude = self._mixed(witness, problem)
        if self.loss.has_conjugate:
            alpha, constant = _conjugate_bound(self, alpha)
        if self.has_intercept:
            slopes = magnitude + SCORES * float(np.sum(self.share * np.abs(self.y)))
            if abs(float(np.sum(alpha))) > VERIFIED_ZERO * slopes:
                raise InvalidCertificate(
                    "the witness's dual variables do not add up to 0, as an intercept needs"
                )
        return self._without_free(alpha, problem), constant

    def duals(self, witness: Witness, problem: Problem) -> Array:
        """The dual variables that the witness stands for, inside their domain but for round-off."""
        loss, counted = self.loss, self.share > 0
        assert isinstance(loss, Conjugable | ConjugableVector)
        alpha, share = self._mixed(witness, problem)[0], self.each(self.share[counted])
        alpha[counted] = share * loss.feasible(alpha[counted] / share, self.y[counted])
        return alpha

    def _mixed(self, witness: Witness, problem: Problem) -> tuple[Array, float, float]:
        """(alpha, constant, magnitude of what was added up to alpha) of the whole witness."""
        weights, alpha = _checked(self, witness, problem.risk.n_parameters)
        constant, magnitude = 0.0, float(np.sum(np.abs(alpha)))
        for touch, weight in zip(witness.tangencies, weights, strict=True):
            part, rest = self.tangent(touch)
            alpha += weight * part
            constant += weight * rest
            magnitude += weight * float(np.sum(np.abs(part)))
        if not self.loss.has_conjugate:
            _check_weights(self, weights, witness)
        return alpha, constant, magnitude

    def _without_free(self, alpha: Array, problem: Problem) -> Array:
        """X'alpha, 0 in unpenalised coordinates, where it must be 0 but for round-off."""
        a = self.adjoint(alpha)
        free = penalties.free(problem.regularizer, len(a))
        if len(free):
            if np.any(np.abs(a[free]) > VERIFIED_ZERO * self.magnitude(alpha, free)):
                raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
            a[free] = 0.0
        return a


def _checked(data: RowEvidence, witness: Witness, n_parameters: int) -> tuple[Array, Array]:
    """The tangents' weights and the rows' dual variables, if they are such."""
    weights = np.asarray(witness.weights, dtype=np.float64)
    shares = np.array([touch.bracket[2:] for touch in witness.tangencies]).reshape(-1, 2)
    if len(weights) != len(witness.tangencies) or not np.all(weights >= 0):
        raise InvalidCertificate("the witness needs one weight >= 0 for each tangent")
    if not (np.all(shares >= 0) and np.all(np.abs(shares.sum(axis=1) - 1) <= VERIFIED_ZERO)):
        raise InvalidCertificate("a tangent of the witness is not a mean of two")
    for touch in witness.tangencies:
        rows = np.empty(0, dtype=np.intp) if touch.ties is None else touch.ties.rows
        if np.shape(touch.w) != (n_parameters,) or np.any(rows >= len(data.y)):
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
    n_duals = len(data.y) * (data.K or 1)
    alpha = (
        np.zeros(n_duals) if witness.alpha is None else np.array(witness.alpha, dtype=np.float64)
    )
    if alpha.shape != (n_duals,) or not np.isfinite(alpha).all():
        raise InvalidCertificate(f"the witness needs {n_duals} finite dual variables")
    return weights, data.columns(alpha)


def _conjugate_bound(data: RowEvidence, alpha: Array) -> tuple[Array, float]:
    """(alpha moved into the conjugate's domain, -sum_i s_i/S l*(S alpha_i / s_i))."""
    loss = data.loss
    assert isinstance(loss, Conjugable | ConjugableVector)
    counted = data.share > 0
    share, y = data.share[counted], data.y[counted]
    each = loss.feasible(alpha[counted] / data.each(share), y)
    moved = np.zeros_like(alpha)
    moved[counted] = data.each(share) * each
    if np.any(np.abs(moved - alpha) > VERIFIED_ZERO * (np.abs(alpha) + data.each(data.share))):
        raise InvalidCertificate("the witness's dual variables lie outside the conjugate's domain")
    if data.has_intercept and isinstance(loss, Conjugable):
        each = _balanced(each, share, *loss.domain(y))
        moved[counted] = share * each
    return moved, float(np.sum(moved * data.offset) - np.sum(share * loss.conjugate(each, y)))


def _balanced(each: Array, share: Array, lowest: Array, highest: Array) -> Array:
    """Dual variables moved within their domain so that they add up to 0, as an intercept needs.

    Any dual variables with that sum prove a bound, so this takes nothing on trust: what round-off
    left is taken off, and what was wrong from the start proves less than was claimed.
    """
    for _ in range(3):
        total = float(np.sum(share * each))
        room = (each - lowest) if total > 0 else (highest - each)
        room = np.minimum(room, 1.0)
        if total == 0 or not np.sum(share * room) > abs(total):
            break
        each = np.clip(each - total * room / np.sum(share * room), lowest, highest)
    return each


def _check_weights(data: RowEvidence, weights: Array, witness: Witness) -> None:
    total = float(np.sum(weights))
    if witness.alpha is not None:
        raise InvalidCertificate("dual variables prove nothing for a loss without a conjugate")
    if total > 1 + VERIFIED_ZERO or (total < 1 - VERIFIED_ZERO and not data.loss.nonnegative):
        raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")
