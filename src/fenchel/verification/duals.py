"""What dual variables prove of the mean of a loss with a conjugate, in float64.

They are moved inside the domain of the conjugate, exactly, and to the sums that they need, so that
only what is computed of them is rounded.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import Conjugable, ConjugableVector, Labels
from fenchel.tolerances import EPSILON, ROUND_OFF, VERIFIED_ZERO
from fenchel.verification import grid
from fenchel.verification.enclosed_losses import domain_within
from fenchel.verification.enclosed_vectors import enclosed_vectors

Array = npt.NDArray[np.float64]


_NUMBERS = (Labels.REAL, Labels.VECTORS, Labels.COUNT, Labels.POSITIVE)


class RowCut(NamedTuple):
    """R(v) >= <X'alpha, v> + constant + b sum(alpha) for all v and b, but for these errors."""

    alpha: Array
    constant: float
    alpha_error: Array
    constant_error: float

    def plus(self, other: RowCut, weight: float = 1.0) -> RowCut:
        """With another, weighted."""
        return RowCut(
            self.alpha + weight * other.alpha,
            self.constant + weight * other.constant,
            self.alpha_error + weight * other.alpha_error,
            self.constant_error + weight * other.constant_error,
        )


class WeightedRows(Protocol):
    """Rows with their loss, labels and weights."""

    loss: Any
    y: npt.NDArray[Any]
    s: Array
    share: Array
    offset: Array
    K: int | None
    has_intercept: bool
    has_offsets: bool
    counted: Any  # an index of the rows that have a weight

    def each(self, v: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A number for each row as a factor of what rows have."""


def feasible(data: WeightedRows, alpha: Array) -> Array:
    """Dual variables moved into the domain, and 0 for rows that do not count, in float64."""
    counted = data.counted
    share, moved = data.each(data.share[counted]), np.zeros_like(alpha)
    moved[counted] = share * data.loss.feasible(alpha[counted] / share, data.y[counted])
    return moved


def conjugate_cut(data: WeightedRows, line: RowCut, blurred: bool) -> RowCut:
    """What the dual variables of a cut prove, moved inside the domain: -sum_i s_i/S l*(t_i / s_i).

    A conjugate is computed by a few operations on terms of the magnitudes in `sizes`, and added up
    over the rows. It does not matter how alpha was found; if blurred it does, to those who have
    found it otherwise.
    """
    loss, counted, y = data.loss, data.counted, data.y[data.counted]
    moved = feasible(data, line.alpha)
    far = np.abs(moved - line.alpha) > VERIFIED_ZERO * (
        np.abs(line.alpha) + data.each(data.share)
    ) + np.max(line.alpha_error, initial=0.0)
    if np.any(far):
        raise InvalidCertificate("the witness's dual variables lie outside the conjugate's domain")
    s, S = data.s[counted], float(np.sum(data.s))
    t = _exactly(data, S * moved[counted], y, s)
    each = loss.feasible(t / data.each(s), y)
    alpha = np.zeros_like(moved)
    alpha[counted] = t / S
    conjugate, shift = loss.conjugate(each, y), alpha * data.offset
    share = data.share[counted]
    size = share * (np.abs(conjugate) + sizes(loss, each, y))
    error = ROUND_OFF * float(np.sum(size) + np.sum(np.abs(shift)))
    if blurred and loss.labels not in _NUMBERS:
        error += ROUND_OFF  # others may compute 1 - p of probabilities p, and their shares are 1
    constant = float(np.sum(shift)) - float(np.sum(share * conjugate))
    return RowCut(
        alpha, constant, line.alpha_error, error + (line.constant_error if blurred else 0.0)
    )


def sizes(loss: Any, each: Array, y: npt.NDArray[Any]) -> Array:
    """The magnitudes that conjugates are added up from, beside themselves."""
    size = np.abs(each)
    if loss.labels in (Labels.COUNT, Labels.POSITIVE):
        whole = size + np.abs(y)
        logs = [np.abs(np.log(np.where(x > 0, x, 1.0))) for x in (whole, y)]
        return np.asarray(whole * (1 + logs[0] + logs[1]))
    labels = np.abs(y) if y.dtype.kind == "f" else 0.0
    terms = size * (1 + labels) + size**2
    return np.asarray(terms if terms.ndim == 1 else np.sum(terms, axis=1))


def _exactly(data: WeightedRows, t: Array, y: npt.NDArray[Any], s: Array) -> Array:
    """Dual variables of which it is certain that they are inside, with the right sums.

    Of vector losses that are not known here they stay as `feasible` left them.
    """
    if isinstance(data.loss, Conjugable):
        return exact_duals(data.loss, t, y, s, balance=data.has_intercept)
    assert isinstance(data.loss, ConjugableVector) and data.K is not None
    try:
        rows = enclosed_vectors(data.loss, data.K, y, s)
    except Incompatible:
        return t
    return rows.at_scores(rows.duals(t, data.has_offsets or data.has_intercept))


def exact_duals(loss: Conjugable, t: Array, y: Array, s: Array, *, balance: bool) -> Array:
    """Dual variables near t with t_i / s_i in the domain for sure, and the sum 0 if `balance`."""
    lowest, highest = exact_ends(loss, y, s, t.shape)
    t = np.minimum(np.maximum(t, lowest), highest)
    return balanced(t, s, lowest, highest) if balance else t


def exact_ends(
    loss: Conjugable, y: Array, s: Array | None, shape: tuple[int, ...]
) -> tuple[Array, Array]:
    """Ends between which t_i / s_i is in the domain for sure; s is None where all weights are 1.

    `shape` is that of t, whose last axis is that of the rows; y has the labels one after another.
    """
    ends = (end if np.ndim(end) else np.full(len(y), end) for end in domain_within(loss, y))
    lowest, highest = (end.reshape(shape) for end in ends)
    return (lowest, highest) if s is None else (_inward(lowest, s), _inward(highest, s))


def balanced(t: Array, s: Array | float, lowest: Array, highest: Array) -> Array:
    """Dual variables moved within these ends to the sum 0.

    The last axis is that of the rows; of several vectors each has its own sum.
    """
    return grid.balanced(_nearly_balanced(t, s, lowest, highest), lowest, highest)


_EVEN = 64 * EPSILON  # of a sum's terms: what may be left of it for a single row to make up for


def _nearly_balanced(t: Array, s: Array | float, lowest: Array, highest: Array) -> Array:
    """Dual variables moved within their domain, each by its room, so that they nearly add up to 0.

    Few rows moved far would lose more than many moved a little.
    """
    for _ in range(3):
        total = t.sum(axis=-1, keepdims=True)
        # What is left is a matter of rounding, or there is no room.
        open_ = np.abs(total) > _EVEN * np.abs(t).sum(axis=-1, keepdims=True)
        if not open_.any():
            break
        room = np.minimum(np.where(total > 0, t - lowest, highest - t), s)
        rooms = room.sum(axis=-1, keepdims=True)
        open_ &= rooms > np.abs(total)
        if not open_.any():
            break
        share = np.divide(total, rooms, out=np.zeros_like(total), where=open_)
        t = np.minimum(np.maximum(t - share * room, lowest), highest)
    return t


def _inward(end: Array, s: Array) -> Array:
    """The end of a domain times s, no farther from 0 than exactly."""
    product, size = end * s, np.abs(end)
    exactly = (size == 0) | (size == 1) | (size == np.inf)
    return product if exactly.all() else np.where(exactly, product, np.nextafter(product, 0.0))
