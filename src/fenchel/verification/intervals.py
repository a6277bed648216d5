"""Arithmetic that encloses: each number is known to lie between two floats, its ends.

IEEE 754 rounds the exact result of +, -, *, / to a nearest float, so the exact result lies between
the two neighbours of what was computed; the ends of a result are these neighbours. That holds for
results that underflow, too, and for those that overflow: the exact result is then at least the
largest float. What is no number (inf - inf, 0 inf) becomes the whole line. The monotony of rounding
lets the ends of a product be found among the four rounded products of ends.

Sums of many terms are by `math.fsum`, which rounds the exact sum once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def down(x: npt.ArrayLike) -> Array:
    """The float below; -inf for what is no number."""
    below = np.nextafter(x, -np.inf)
    return np.where(np.isnan(below), -np.inf, below)


def up(x: npt.ArrayLike) -> Array:
    """The float above; inf for what is no number."""
    above = np.nextafter(x, np.inf)
    return np.where(np.isnan(above), np.inf, above)


class Interval(NamedTuple):
    """Numbers between lo and hi, as arrays of one shape; lo = hi is an exact number."""

    lo: Array
    hi: Array

    def plus(self, other: Interval) -> Interval:
        """Sums; what 0 is added to stays the same."""
        with np.errstate(all="ignore"):
            lo, hi = (mine + theirs for mine, theirs in zip(self, other, strict=True))
        same = [(mine == 0) | (theirs == 0) for mine, theirs in zip(self, other, strict=True)]
        return Interval(np.where(same[0], lo, down(lo)), np.where(same[1], hi, up(hi)))

    def minus(self, other: Interval) -> Interval:
        """Differences."""
        return self.plus(Interval(-other.hi, -other.lo))

    def times(self, other: Interval) -> Interval:
        """The least and the largest of the products of ends."""
        with np.errstate(all="ignore"):
            return _hull([a * b for a in self for b in other], self.is_zero | other.is_zero)

    def over(self, other: Interval) -> Interval:
        """The quotient by numbers > 0 (or >= 0, of which only one end may be known)."""
        with np.errstate(all="ignore"):
            return _hull([a / b for a in self for b in other], self.is_zero & (other.lo > 0))

    @property
    def is_zero(self) -> npt.NDArray[np.bool_]:
        """Where the number is known to be 0."""
        return np.asarray((self.lo == 0) & (self.hi == 0))

    def squared(self) -> Interval:
        """The squares, which are not negative."""
        least, largest = self.least_size, self.size
        with np.errstate(all="ignore"):
            found = Interval(np.maximum(down(least * least), 0.0), up(largest * largest))
        return Interval(found.lo, np.where(largest == 0, 0.0, found.hi))

    @property
    def size(self) -> Array:
        """The largest magnitude."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    @property
    def least_size(self) -> Array:
        """The smallest magnitude."""
        around = (self.lo <= 0) & (self.hi >= 0)
        return np.where(around, 0.0, np.minimum(np.abs(self.lo), np.abs(self.hi)))

    def clipped(self, least: npt.ArrayLike, largest: npt.ArrayLike) -> Interval:
        """The same numbers, of which it is known that they lie between these two as well."""
        return Interval(np.clip(self.lo, least, largest), np.clip(self.hi, least, largest))


def _hull(ends: list[Array], zero: npt.NDArray[np.bool_]) -> Interval:
    """The interval that rounded numbers are the ends of; 0 where that is known."""
    lo, hi = down(np.minimum.reduce(ends)), up(np.maximum.reduce(ends))
    return Interval(np.where(zero, 0.0, lo), np.where(zero, 0.0, hi))


def exact(x: npt.ArrayLike) -> Interval:
    """Numbers that are floats."""
    ends = np.asarray(x, dtype=np.float64)
    return Interval(ends, ends)


def sum_above(x: Array) -> float:
    """A float that is no less than the exact sum."""
    if not x.any():
        return 0.0
    if not np.isfinite(x).all():
        return -math.inf if np.all(x < np.inf) else math.inf
    try:
        return math.nextafter(math.fsum(x.ravel().tolist()), math.inf)
    except OverflowError:
        return math.inf


def sum_below(x: Array) -> float:
    """A float that is no larger than the exact sum."""
    return -sum_above(-x)


def summed(x: Interval) -> Interval:
    """The sum of all numbers."""
    return Interval(np.array(sum_below(x.lo)), np.array(sum_above(x.hi)))
