"""What a witness proves of a risk of rows.

Scores and gradients are products of NumPy and SciPy, losses their formulas in NumPy, all in
float64. It proves

    min J >= D(alpha) = -sum_i s_i/S l*(S alpha_i / s_i, y_i) - lambda Omega*(-X'alpha / lambda)

for any dual variables alpha, with sum alpha = 0 where the model has an intercept; and, where the
loss has no conjugate, the weighted tangents' bound instead. Offsets o of the rows add <alpha, o>:
l(z + o) has the conjugate l*(a) - a o. Of a vector loss every row has K dual variables, in alpha
row after row, and w is a matrix of K columns, row after row; its K intercepts are no part of w, or
its last row (risks/linear.py). Either way alpha has the sum 0 for each score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.losses import Loss
from fenchel.result import Result
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.tolerances import (
    CONTRADICTION,
    ROUND_OFF,
    SCORES,
    VERIFIED_KINK,
    VERIFIED_ZERO,
)
from fenchel.verification import penalties, products
from fenchel.verification.checked_cut import CheckedCut
from fenchel.verification.duals import RowCut, conjugate_cut, feasible
from fenchel.verification.evidence import Evidence
from fenchel.verification.tilted_slopes import tilted_slopes
from fenchel.verification.witness_checks import check_weights, checked, offsets_of
from fenchel.witness import Tangency, Ties, Witness

Array = npt.NDArray[np.float64]

# Where a tangent is looked at, relative to 1 and the score it touches the loss at: far enough for a
# loss that is not convex, and close enough for a slope that is not right.
_NEARBY = (-1.0, -1e-3, 1e-3, 1.0)

# Of a cut's constant: what may be lost by an error whose length alone is known.
_NEGLIGIBLE = 5e-10

_NUMBERS = 1 << 22  # that a product with several columns may have: 32 MB


class RowEvidence(Evidence):
    """The rows of all shards, and the loss, with plain NumPy and SciPy."""

    takes_levels = False

    def __init__(self, risk: LinearRisk):
        engine = products.at_hand(risk.engine)
        shards = engine.shards
        self.loss: Loss = risk.loss
        self.K = None if risk.classes is None else len(risk.classes)
        self.has_offsets = risk.n_offsets > 0
        self.shards, self.engine = shards, engine
        self.n_columns = shards[0].rows.n_columns - risk.n_offsets
        self.y = np.concatenate([shard.y for shard in shards])
        weights = [np.ones(len(shard.y)) if shard.s is None else shard.s for shard in shards]
        self.s: Array = np.concatenate(weights)
        self.share: Array = self.s / np.sum(self.s)  # s_i / S
        self.counted = slice(None) if self.share.all() else self.share > 0
        self.has_intercept = risk.facts.has_intercept  # of K scores it has K numbers
        self.nonnegative = self.loss.nonnegative
        given = [shard.offset for shard in shards if shard.offset is not None]
        self.offset = np.concatenate(given) if given else np.zeros(1)

    def blocks(self) -> Iterator[Any]:
        """The rows as matrices, one at a time: they may be more than memory holds."""
        return (shard.rows.matrix() for shard in self.shards)

    def parameters(self, result: Result) -> tuple[Array, float | Array]:
        """(w as one vector, the intercept, or one for each score, that is not part of it)."""
        w, n_columns = np.asarray(result.w, dtype=np.float64), self.n_columns
        if w.shape != ((n_columns,) if self.K is None else (self.K, n_columns)):
            raise InvalidData(f"the result's w has shape {w.shape}, but X {n_columns} columns")
        if self.K is None:
            return w, float(result.intercept)
        offsets = np.broadcast_to(np.asarray(result.intercept, dtype=np.float64), (self.K,))
        if self.has_intercept:
            return w.T.ravel(), np.array(offsets)
        return np.vstack([w.T, offsets] if self.has_offsets else [w.T]).ravel(), 0.0

    def columns(self, v: Array) -> Array:
        """A vector as an array of K columns."""
        return v if self.K is None else v.reshape(-1, self.K)

    def each(self, v: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A number for each row as a factor of what rows have."""
        return v if self.K is None else v[:, np.newaxis]

    def scores(self, w: Array) -> Array:
        """X w, from the blocks of X as they were given."""
        self.passes += 1
        return self._of_rows(products.scores, self.columns(w))

    def _all_scores(self, places: Sequence[Array]) -> Iterator[Array]:
        """X w for each w, of many at a time: one product with many columns takes less."""
        K = self.K or 1
        most = 1
        if products.are_here(self.shards):  # or memory is short
            most = max(1, _NUMBERS // max(len(self.y) * K, self.n_columns * K))
        for first in range(0, len(places), most):
            some = [np.asarray(w, dtype=np.float64) for w in places[first : first + most]]
            W = np.concatenate([w.reshape(-1, K) for w in some], axis=1)
            Z = self._of_rows(products.scores, W)
            self.passes += len(some)
            for k in range(len(some)):
                z = Z[:, K * k : K * (k + 1)]
                yield np.ascontiguousarray(z[:, 0] if self.K is None else z)

    def _of_rows(self, product: Callable[..., Array], W: Array) -> Array:
        """A product of X and W, and the intercepts of a vector loss."""
        n = self.n_columns
        found = products.by_rows(self.engine, product, W[:n])
        return found + W[n] if self.has_offsets else found

    def _of_columns(self, product: Callable[..., Array], a: Array) -> Array:
        """A product of X' and a as one vector, with the sums that belong to intercepts."""
        self.passes += 1
        total = products.by_columns(self.engine, product, a)
        return np.append(total, np.sum(a, axis=0)) if self.has_offsets else total.ravel()

    def parts(self, a: Array) -> Iterator[tuple[Any, Array]]:
        """Each block of rows with its part of a per-row array."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.shards])
        return zip(self.blocks(), np.split(a, ends[:-1]), strict=True)

    def adjoint(self, a: Array) -> Array:
        """X' a, as one vector."""
        return self._of_columns(products.adjoint, a)

    def adjoint_error(self, a: Array, a_error: Array) -> Array:
        """How far `adjoint` may be from X' a', for any |a' - a| <= a_error."""
        return self.magnitude(products.rounding(self.shards) * np.abs(a) + a_error)

    def value(self, w: Array, b: float | Array) -> float:
        """sum_i s_i/S l(<x_i, w> + b, y_i)."""
        value = self.loss.value(self.scores(w) + b + self.offset, self.y)
        return float(np.sum(self.share * np.where(self.share > 0, value, 0.0)))

    def score_error(self, w: Array) -> Array:
        """How far scores may be off that solvers go by: `SCORES` of the magnitudes added up."""
        self.passes += 1
        return SCORES * self._of_rows(products.sizes, np.abs(self.columns(w)))

    def blur(self, w: Array, b: float | Array) -> float:
        """What errors of the scores do to the losses, which are convex: most at either end."""
        z = self.scores(w) + b + self.offset
        off = self.score_error(w) + SCORES * (np.abs(b) + np.abs(self.offset))
        here = self.loss.value(z, self.y)
        if self.K is None:
            ends = (np.abs(self.loss.value(z + move, self.y) - here) for move in (off, -off))
            each = np.maximum(*ends)
        else:
            longest = np.linalg.norm(off, axis=1)
            slope = np.linalg.norm(self.loss.slope(z, self.y), axis=1)
            steep = getattr(self.loss, "largest_slope", lambda y: np.inf)(self.y)
            smooth = self.loss.smoothness
            rise = slope + smooth * longest if smooth < np.inf else np.full_like(slope, steep)
            each = longest * (rise if np.isfinite(rise).all() else slope)
        doubt = each + ROUND_OFF * np.abs(here)
        return float(np.sum(self.share * np.where(self.share > 0, doubt, 0.0)))

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

    def tangent(self, touch: Tangency, z: Array, *, blurred: bool = False) -> RowCut:
        """The tangent at scores z; if blurred, at some that are off by what others' may be."""
        if self.loss.has_conjugate and not blurred:
            return self._slopes(touch, z)
        counted = self.share > 0  # a row of weight 0 is not there, even at inf
        off = self.score_error(touch.w) if blurred else None
        line = RowCut(np.zeros_like(z), 0.0, np.zeros_like(z), 0.0)
        for offset, weight in offsets_of(touch):
            at = z + offset + self.offset
            value = np.where(counted, self.loss.value(at, self.y), 0.0)
            slope = np.where(self.each(counted), self._meant(touch, at), 0.0)
            share = weight * self.each(self.share)
            product = share * slope * (z + offset)
            error, moved = 0.0 * slope, 0.0
            if off is not None:
                error = share * self._slope_error(at, off)
                moved = float(np.sum(np.abs(share * slope) * off))
            terms = np.abs(weight * self.share * value), np.abs(product)
            size = float(sum(np.sum(part) for part in terms))
            doubt = ROUND_OFF * size + moved + float(np.sum(error * np.abs(z + offset)))
            doubt += weight * self._shortfall(at, touch.ties)
            constant = float(np.sum(weight * self.share * value)) - float(np.sum(product))
            line = line.plus(RowCut(share * slope, constant, error, doubt))
        return line

    def _slopes(self, touch: Tangency, z: Array) -> RowCut:
        """The same where the conjugate says what the slopes prove, and nothing else counts."""
        alpha = np.zeros_like(z)
        for offset, weight in offsets_of(touch):
            if weight > 0:
                at = z + (offset + self.offset)
                slope = self._meant(touch, at)
                slope[self.share == 0] = 0.0  # a row of weight 0 is not there, even at inf
                alpha += weight * self.each(self.share) * slope
        return RowCut(alpha, 0.0, np.zeros(1), 0.0)

    def _meant(self, touch: Tangency, z: Array) -> Array:
        """The slopes at z that a tangency means."""
        if touch.offsets is None:
            return self._slope(z, touch.ties)
        slope = tilted_slopes(self.loss, z, self.y, *touch.offsets[1:])
        if touch.ties is not None:
            slope[touch.ties.rows] = touch.ties.slopes
        return slope

    def _shortfall(self, z: Array, ties: Ties | None) -> float:
        """How far below the loss at z the lines of slopes chosen at ties lie, at most.

        A line of the slope a supports the loss within `off` of z, not at z. Of one score, it is at
        z no lower than l(z) - off |a - l'(z)|, as l is convex. Of several scores it is the piece
        that is the highest at z + off a, and 0 where a is 0. A conjugate says it exactly: with one,
        nothing rests on this.
        """
        if ties is None or not len(ties.rows) or self.loss.has_conjugate:
            return 0.0
        at, y, a = z[ties.rows], self.y[ties.rows], ties.slopes
        here = self.loss.value(at, y)
        if self.K is None:
            lost = VERIFIED_KINK * (1 + np.abs(at)) * np.abs(a - self.loss.slope(at, y))
        else:
            off = VERIFIED_KINK * (1 + np.max(np.abs(at), axis=1, keepdims=True))
            piece = self.loss.value(at + off * a, y) - np.sum(off * a**2, axis=1)
            lost = np.maximum(here - np.where(np.any(a, axis=1), piece, 0.0), 0.0)
        return float(np.sum(self.share[ties.rows] * (lost + ROUND_OFF * np.abs(here))))

    def _slope_error(self, z: Array, off: Array) -> Array:
        """How far slopes may be off at scores that are: of one score they do not fall.

        Of several scores the slope of a smooth loss changes by its smoothness at most; of others
        the witness names the rows at a kink.
        """
        if self.K is None:
            ahead, behind = (self.loss.slope(z + move, self.y) for move in (off, -off))
            found = np.asarray(ahead - behind)
        else:
            smooth = self.loss.smoothness if self.loss.smoothness < np.inf else 0.0
            found = smooth * np.linalg.norm(off, axis=1, keepdims=True) + np.zeros_like(z)
        return np.where(self.each(self.share > 0), found, 0.0)

    def cut(
        self,
        witness: Witness,
        problem: Problem,
        w: Array,
        b: float | Array,
        *,
        blurred: bool = False,
    ) -> CheckedCut:
        """That of all tangents and dual variables together."""
        line, doubt = self.line(witness, problem, b, blurred)
        a = self.adjoint(line.alpha)
        if self.K is not None and not self.has_offsets and penalties.is_plain(problem.regularizer):
            length = products.error_length(self.shards, line)
            lost = length * (float(np.linalg.norm(a)) + length)
            if lost <= _NEGLIGIBLE * problem.strength * abs(line.constant):
                doubt += line.constant_error
                return CheckedCut(a, line.constant, np.zeros(1), doubt, length)
        a_error = self.adjoint_error(line.alpha, line.alpha_error)
        free = penalties.free(problem.regularizer, len(a))
        if len(free):
            size = self.magnitude(line.alpha)[free]
            if not self._is_zero(
                a[free], size, lambda error: self.magnitude(error)[free], witness, problem
            ):
                raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
            doubt += 2 * float(np.sum((np.abs(a) + a_error)[free] * np.abs(w[free])))
            a[free] = a_error[free] = 0.0
        return CheckedCut(a, line.constant, a_error, line.constant_error + doubt)

    def line(
        self, witness: Witness, problem: Problem, b: float | Array, blurred: bool
    ) -> tuple[RowCut, float]:
        """The cut in dual variables, which add up to 0 for an intercept; and what is in doubt."""
        line, doubt = self._mixed(witness, problem, blurred), 0.0
        if self.loss.has_conjugate:
            line = conjugate_cut(self, line, blurred)
            doubt += self._left_over(line, b)
        elif self.has_intercept:
            slopes = float(np.sum(np.abs(line.alpha) + self.share * SCORES * np.abs(self.y)))
            if not self._is_zero(np.sum(line.alpha), slopes, np.sum, witness, problem):
                raise InvalidCertificate(
                    "the witness's dual variables do not add up to 0, as an intercept needs"
                )
            doubt += 2 * float(np.max(np.abs(b * np.sum(line.alpha))))
        return line, doubt

    def _left_over(self, line: RowCut, b: float | Array) -> float:
        """What is left of the sums that intercepts need to be 0, where the row cut left some.

        Of losses that are known exactly there is none but what rounds t / S (duals.py).
        """
        if self.K is None or not self.has_intercept:
            return 0.0
        sums, sizes = np.sum(line.alpha, axis=0), np.sum(np.abs(line.alpha), axis=0)
        if np.any(np.abs(sums) > VERIFIED_ZERO * sizes):
            raise InvalidCertificate(
                "the witness's dual variables do not add up to 0 for each score, as intercepts need"
            )
        return 2 * float(np.sum(np.abs(sums * b)))

    def _is_zero(
        self,
        found: npt.ArrayLike,
        size: npt.ArrayLike,
        of_errors: Callable[[Array], Any],
        witness: Witness,
        problem: Problem,
    ) -> bool:
        """Whether sums of slopes are 0 but for their round-off, or that of the scores."""
        over = np.abs(found) > VERIFIED_ZERO * np.asarray(size)
        if not np.any(over):
            return True
        line = self._mixed(witness, problem, True)
        error = of_errors(np.broadcast_to(line.alpha_error, line.alpha.shape))
        return not np.any(np.abs(found) > VERIFIED_ZERO * np.asarray(size) + error)

    def magnitude(self, a: Array) -> Array:
        """|X|' |a|, as one vector."""
        return self._of_columns(products.magnitude, np.abs(a))

    def duals(self, witness: Witness, problem: Problem) -> Array:
        """The dual variables that the witness stands for, inside their domain but for round-off."""
        return feasible(self, self._mixed(witness, problem, False).alpha)

    def _mixed(self, witness: Witness, problem: Problem, blurred: bool) -> RowCut:
        """The cut of the whole witness."""
        weights, alpha = checked(self, witness, problem.risk.n_parameters)
        line = RowCut(alpha, 0.0, np.zeros(1), 0.0)
        scores = self._all_scores([touch.w for touch in witness.tangencies])
        for touch, weight, z in zip(witness.tangencies, weights.tolist(), scores, strict=True):
            line = line.plus(self.tangent(touch, z, blurred=blurred), weight)
        if not self.loss.has_conjugate:
            check_weights(self.loss, weights, witness)
        return line
