"""Logarithms and exponentials with proved errors, from the four operations alone.

No library's `log` or `exp` says by how much it may be off, so none is used. With x = m 2^e,
1/sqrt 2 <= m <= sqrt 2, and f = (m - 1) / (m + 1), |f| <= 0.1716,

    log x = e log 2 + 2 atanh f,    2 atanh f = 2 f (1 + f^2/3 + f^4/5 + ... + f^24/25 + rest),

where 0 <= rest <= f^26 / (27 (1 - f^2)) < 1e-20. With k = x / log 2, rounded, and r = x - k log 2,
|r| <= 0.36 (half of log 2 and some round-off),

    exp x = 2^k (1 + r + r^2/2 + ... + r^15/15! + rest),    |rest| <= |r|^16 / 16! e^|r| < 1e-20.

All is computed in intervals (intervals.py), so the round-off is enclosed with the rests. log 2 is
LN2_HIGH, a number of 32 bits of which multiples by k are exact, plus a number in LN2_LOW.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fenchel.verification.intervals import Array, Interval, down, exact, up

LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = Interval(
    np.array(float.fromhex("0x1.a39ef35793c76p-33")),
    np.array(float.fromhex("0x1.a39ef35793c77p-33")),
)
_REST = 1e-20


def log(x: Interval) -> Interval:
    """Of numbers >= 0; -inf at 0."""
    return Interval(_log(x.lo).lo, _log(x.hi).hi)


def log1p(x: Interval) -> Interval:
    """log(1 + x) for numbers >= -1, without loss near 0."""
    return Interval(_log1p(x.lo).lo, _log1p(x.hi).hi)


def exp(x: Interval) -> Interval:
    """Of any numbers."""
    return Interval(_exp(x.lo).lo, _exp(x.hi).hi)


def x_log_x_above(x: Interval) -> Array:
    """No less than x log x anywhere between the ends: it is convex, and 0 at 0."""
    ends = [np.where(end > 0, exact(end).times(log(exact(end))).hi, 0.0) for end in x]
    return np.maximum(*ends)


def one_plus_x_log_above(x: Interval) -> Array:
    """No less than (1 + x) log(1 + x) for x >= -1, anywhere between the ends."""
    ends = []
    for end in x:
        factor = exact(np.ones_like(end)).plus(exact(end)).clipped(0.0, np.inf)
        ends.append(np.where(end > -1, factor.times(log1p(exact(end))).hi, 0.0))
    return np.maximum(*ends)


def _log(x: Array) -> Interval:
    """At floats >= 0."""
    inside = (x > 0) & (x < np.inf)
    m, e = np.frexp(np.where(inside, x, 1.0))
    small = m < math.sqrt(0.5)
    m, e = np.where(small, 2 * m, m), np.where(small, e - 1, e)
    found = _with_power(_two_atanh(exact(m - 1).over(exact(m).plus(exact(1.0)))), e)
    # Beyond the largest float nothing is known but that log x is at least its logarithm.
    lo = np.where(inside, found.lo, np.where(x == np.inf, 709.0, -np.inf))
    return Interval(lo, np.where(inside, found.hi, np.where(x == np.inf, np.inf, -np.inf)))


def _log1p(x: Array) -> Interval:
    """Near 0 with f = x / (2 + x), for which (1 + f) / (1 - f) = 1 + x."""
    near = np.abs(x) <= 0.25
    small = np.where(near, x, 0.0)
    series = _two_atanh(exact(small).over(exact(2.0).plus(exact(small))))
    whole = exact(1.0).plus(exact(np.where(near, 0.0, x))).clipped(0.0, np.inf)
    far = log(whole)
    return Interval(np.where(near, series.lo, far.lo), np.where(near, series.hi, far.hi))


def _with_power(rest: Interval, e: npt.NDArray[np.signedinteger]) -> Interval:
    """E log 2 + rest; exact where e = 0."""
    power = e.astype(np.float64)
    total = exact(power * LN2_HIGH).plus(rest.plus(exact(power).times(LN2_LOW)))
    none = e == 0
    return Interval(np.where(none, rest.lo, total.lo), np.where(none, rest.hi, total.hi))


def _two_atanh(f: Interval) -> Interval:
    square, one = f.squared(), exact(1.0)
    total = one.over(exact(25.0))
    for k in range(23, 0, -2):
        total = total.times(square).plus(one.over(exact(float(k))) if k > 1 else one)
    total = Interval(total.lo, up(total.hi + _REST))
    return Interval(2 * f.lo, 2 * f.hi).times(total)


def _exp(x: Array) -> Interval:
    """At floats; below exp(-760) < 2^-1075 and above exp(720) > 2^1024 only their ends count."""
    inside = np.clip(x, -760.0, 720.0)
    k = np.rint(inside / math.log(2))
    r = exact(inside).minus(exact(k * LN2_HIGH)).minus(exact(k).times(LN2_LOW))
    total = exact(np.ones_like(inside))
    for n in range(15, 0, -1):
        total = total.times(r).over(exact(float(n))).plus(exact(1.0))
    power = k.astype(np.int64)
    with np.errstate(over="ignore", under="ignore"):
        lo = down(np.ldexp(down(total.lo - _REST), power))
        hi = up(np.ldexp(up(total.hi + _REST), power))
    return Interval(np.where(x < -760, 0.0, np.maximum(lo, 0.0)), np.where(x > 720, np.inf, hi))
