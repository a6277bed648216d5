"""Checking a result from its witness and the data alone.

This file shares no code with the solvers or the kernels: scores and gradients are products of
NumPy and SciPy, losses and regularisers are their Python formulas, all in float64. It proves

    min J >= D(alpha) = -sum_i s_i/S l*(S alpha_i / s_i, y_i) - lambda Omega*(-X'alpha / lambda)

for any dual variables alpha, with sum alpha = 0 where the model has an intercept; and, where the
loss has no conjugate, the weighted tangents' bound instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.losses import Conjugable, ScalarLoss
from fenchel.protocols import Problem
from fenchel.result import Certificate, Result
from fenchel.risk import LinearRisk
from fenchel.witness import Bracket, Tangency, Ties, Witness

Array = npt.NDArray[np.float64]

_AGREEMENT = 1e-9  # how far recomputed and claimed bounds may differ, relative to the objective
_ROUND_OFF = 1e-13  # of a mean loss, relative to the scores and labels it is computed from
_KINK = 1e-10  # how far from a kink a witness may choose the slope of a row
_ZERO = 1e-10  # a sum below this fraction of its terms' magnitude is zero up to round-off


def verify(result: Result, problem: Problem) -> Certificate:
    """The certificate recomputed from the result's witness and the data.

    Raises InvalidCertificate if the witness is not a dual point, or if it proves less than the
    result claims. A result without a witness gets the tangent bound at its w, and says so.
    """
    risk = problem.risk
    if not isinstance(risk, LinearRisk):
        raise InvalidData(f"verify does not know risks of type {type(risk).__name__}")
    data = _Data(risk)
    w = np.asarray(result.w, dtype=np.float64)
    if w.shape != (risk.n_parameters,):
        raise InvalidData(f"the result's w has shape {w.shape}, but X {risk.n_parameters} columns")
    upper = problem.strength * problem.regularizer.value(w) + data.mean_loss(w, result.intercept)
    if result.witness is None:
        return _without_witness(data, problem, result, upper)
    lower = _proved(data, problem, result.witness)
    allowed = _AGREEMENT * abs(upper) + _ROUND_OFF * data.scale(w, result.intercept)
    if not (np.isfinite(upper) and abs(upper - result.objective) <= allowed):
        raise InvalidCertificate(
            f"the objective at w is {upper!r}, but the result claims {result.objective!r}"
        )
    if not lower >= result.lower_bound - allowed:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but the result claims {result.lower_bound!r}"
        )
    return Certificate(min(lower, upper), upper, "witness")


class _Data:
    """The rows of all shards, and the loss, with plain NumPy and SciPy."""

    def __init__(self, risk: LinearRisk):
        shards = risk.engine.shards
        self.loss: ScalarLoss = risk.loss
        self.blocks: list[Any] = [shard.rows.matrix() for shard in shards]
        self.y = np.concatenate([shard.y for shard in shards])
        weights = [np.ones(len(shard.y)) if shard.s is None else shard.s for shard in shards]
        s = np.concatenate(weights)
        self.share: Array = s / np.sum(s)  # s_i / S
        self.has_intercept = risk.has_intercept

    def scores(self, w: Array) -> Array:
        """X w."""
        return np.concatenate([np.asarray(block @ w, dtype=np.float64) for block in self.blocks])

    def parts(self, a: Array) -> Iterator[tuple[Any, Array]]:
        """Each block of rows with its part of a per-row array."""
        ends = np.cumsum([block.shape[0] for block in self.blocks])
        return zip(self.blocks, np.split(a, ends[:-1]), strict=True)

    def adjoint(self, a: Array) -> Array:
        """X' a."""
        total = np.zeros(self.blocks[0].shape[1])
        for block, part in self.parts(a):
            total += block.T @ part
        return total

    def magnitude(self, a: Array, columns: npt.NDArray[np.intp]) -> Array:
        """|X|' |a| in some columns."""
        total = np.zeros(len(columns))
        for block, part in self.parts(a):
            total += abs(block[:, columns]).T @ np.abs(part)
        return total

    def mean_loss(self, w: Array, b: float) -> float:
        """sum_i s_i/S l(<x_i, w> + b, y_i)."""
        value = self.loss.value(self.scores(w) + b, self.y)
        return float(np.sum(self.share * np.where(self.share > 0, value, 0.0)))

    def scale(self, w: Array, b: float) -> float:
        """The mean magnitude of scores and labels."""
        return float(np.sum(self.share * (np.abs(self.scores(w)) + abs(b) + np.abs(self.y))))

    def _slope(self, z: Array, ties: Ties | None) -> Array:
        """The slopes at z, for rows at a kink as the witness chose them, if that is possible."""
        slope = np.array(self.loss.slope(z, self.y), dtype=np.float64)
        if ties is not None and len(ties.rows):
            at, y, off = z[ties.rows], self.y[ties.rows], _KINK * (1 + np.abs(z[ties.rows]))
            below, above = self.loss.slope(at - off, y), self.loss.slope(at + off, y)
            if not np.all((below <= ties.slopes) & (ties.slopes <= above)):
                raise InvalidCertificate("the witness claims a slope that its loss does not have")
            slope[ties.rows] = ties.slopes
        return slope

    def tangent(self, touch: Tangency) -> tuple[Array, float]:
        """(alpha, constant): R(v) >= <X'alpha, v> + constant + b sum(alpha) for all v and b."""
        z = self.scores(np.asarray(touch.w, dtype=np.float64))
        alpha, constant = np.zeros_like(z), 0.0
        below, above, *weights = touch.bracket
        for offset, weight in zip((below, above), weights, strict=True):
            counted = self.share > 0  # a row of weight 0 is not there, even at inf
            value = np.where(counted, self.loss.value(z + offset, self.y), 0.0)
            slope = np.where(counted, self._slope(z + offset, touch.ties), 0.0)
            part = weight * self.share * slope
            rest = weight * self.share * value - part * (z + offset)
            alpha += part
            constant += float(np.sum(rest))
        return alpha, constant


def _proved(data: _Data, problem: Problem, witness: Witness) -> float:
    """The lower bound that the witness proves."""
    weights = np.asarray(witness.weights, dtype=np.float64)
    shares = np.array([touch.bracket[2:] for touch in witness.tangencies]).reshape(-1, 2)
    if len(weights) != len(witness.tangencies) or not np.all(weights >= 0):
        raise InvalidCertificate("the witness needs one weight >= 0 for each tangent")
    if not (np.all(shares >= 0) and np.all(np.abs(shares.sum(axis=1) - 1) <= _ZERO)):
        raise InvalidCertificate("a tangent of the witness is not a mean of two")
    for touch in witness.tangencies:
        rows = np.empty(0, dtype=np.intp) if touch.ties is None else touch.ties.rows
        if np.shape(touch.w) != (problem.risk.n_parameters,) or np.any(rows >= len(data.y)):
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
    alpha = (
        np.zeros(len(data.y))
        if witness.alpha is None
        else np.array(witness.alpha, dtype=np.float64)
    )
    if alpha.shape != data.y.shape or not np.isfinite(alpha).all():
        raise InvalidCertificate(f"the witness needs {len(data.y)} finite dual variables")
    constant, magnitude = 0.0, float(np.sum(np.abs(alpha)))
    for touch, weight in zip(witness.tangencies, weights, strict=True):
        part, rest = data.tangent(touch)
        alpha += weight * part
        constant += weight * rest
        magnitude += weight * float(np.sum(np.abs(part)))
    if isinstance(data.loss, Conjugable):
        alpha, constant = _conjugate_bound(data, alpha)
    else:
        _check_weights(data, weights, witness)
    return _regularised(data, problem, alpha, constant, magnitude)


def _conjugate_bound(data: _Data, alpha: Array) -> tuple[Array, float]:
    """(alpha moved into the conjugate's domain, -sum_i s_i/S l*(S alpha_i / s_i))."""
    loss = data.loss
    assert isinstance(loss, Conjugable)
    counted = data.share > 0
    share, y = data.share[counted], data.y[counted]
    lowest, highest = loss.domain(y)
    each = np.clip(alpha[counted] / share, lowest, highest)
    moved = np.zeros_like(alpha)
    moved[counted] = share * each
    if np.any(np.abs(moved - alpha) > _ZERO * (np.abs(alpha) + data.share)):
        raise InvalidCertificate("the witness's dual variables lie outside the conjugate's domain")
    if data.has_intercept:
        each = _balanced(each, share, lowest, highest)
        moved[counted] = share * each
    return moved, -float(np.sum(share * loss.conjugate(each, y)))


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


def _check_weights(data: _Data, weights: Array, witness: Witness) -> None:
    total = float(np.sum(weights))
    if witness.alpha is not None:
        raise InvalidCertificate("dual variables prove nothing for a loss without a conjugate")
    if total > 1 + _ZERO or (total < 1 - _ZERO and not data.loss.nonnegative):
        raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")


def _regularised(
    data: _Data, problem: Problem, alpha: Array, constant: float, magnitude: float
) -> float:
    """constant - lambda Omega*(-X'alpha / lambda), after the conditions of free coordinates."""
    slopes = magnitude + _ROUND_OFF * float(np.sum(data.share * np.abs(data.y)))
    if data.has_intercept and abs(float(np.sum(alpha))) > _ZERO * slopes:
        raise InvalidCertificate(
            "the witness's dual variables do not add up to 0, as an intercept needs"
        )
    a = data.adjoint(alpha)
    free = problem.regularizer.free(len(a))
    if len(free):
        if np.any(np.abs(a[free]) > _ZERO * data.magnitude(alpha, free)):
            raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
        a[free] = 0.0
    if problem.strength == 0:
        return constant if not a.any() else -np.inf
    u = -a / problem.strength
    scale = problem.regularizer.dual_scale(u)
    if scale < 1:
        if not data.loss.nonnegative:
            return -np.inf
        # Mixing with the cut R >= 0 stays valid: l*(s alpha) <= s l*(alpha), as l*(0) <= 0.
        u, constant = scale * u, scale * constant
    return constant - problem.strength * problem.regularizer.conjugate(u)


def _without_witness(data: _Data, problem: Problem, result: Result, upper: float) -> Certificate:
    touch = Tangency(np.asarray(result.w), Bracket(result.intercept, result.intercept))
    alpha, constant = data.tangent(touch)
    try:
        lower = _regularised(data, problem, alpha, constant, float(np.sum(np.abs(alpha))))
    except InvalidCertificate:
        lower = -np.inf
    if data.loss.nonnegative:
        lower = max(lower, 0.0)
    return Certificate(lower, upper, "tangent at w, as the result has no witness")
