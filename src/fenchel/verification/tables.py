"""Logarithms and exponentials of many numbers at once, by tables, with errors bounded beforehand.

The functions of elementary.py compute in intervals, some hundred operations a number. Here there
are some fifteen, each of which is off by u = 2^-53 of its result at most, as no result underflows.

**log x**, x > 0: x = m 2^e with 1/2 <= m < 1, c the middle of the 1024th of [1/2, 1) that m is in,
and f = (m - c) / (m + c), |f| <= 2^-12, for which

    log x = e log 2 + (log c + 2 f + 2 f^3 (1/3 + f^2/5) + rest),    |rest| < 0.3 |f|^7 < 1e-25.

m - c is exact, so what follows log c, at most 2^-11, is off by less than 8 u of itself. log c and
log 2 are off by u of themselves, and so are their product and the two sums, |log c| <= 0.7: by

    u (3 |e| log 2 + 2 * 0.7 + 0.1) <= u (3 |log x| + 3.7)

in all, as |e| log 2 <= |log x| + 0.7; `LOG` = 8 u of 1 + |log x| is more.

**exp x** for -700 <= x <= 0: k = 64 x / log 2, rounded, r = x - k log 2 / 64, |r| < 0.0055, and

    exp x = 2^(k / 64) (1 + r + r^2/2 + ... + r^6/720 + rest),    |rest| < |r|^7 / 5000 < 1e-19.

k LN2_HIGH / 64 is exact, and so is its difference from x by Sterbenz' lemma (or as k is 0); what is
left of k log 2 / 64 is less than 3e-10. So r is off by u |r| and some 1e-25, the sum by 2 u and the
product by 4 u of itself; `EXP` = 8 u is more. Below -700 the exponential of -700 is found.

The tables are computed in whole numbers of 2^-128, a hundred roundings each, and rounded once.
"""

from __future__ import annotations

import functools

import numpy as np

from fenchel.verification.elementary import LN2_HIGH
from fenchel.verification.intervals import Array

UNIT = 2.0**-53
LOG = 8 * UNIT
EXP = 8 * UNIT
LEAST = -700.0

_ONE = 1 << 128
_MIDDLES = 0.5 + (np.arange(1024) + 0.5) / 2048


def log(x: Array) -> Array:
    """log x of normal floats > 0, off by at most `LOG` (1 + |log x|)."""
    ln2, logarithms = _logarithms()
    m, e = np.frexp(x)
    of = ((m - 0.5) * 2048).astype(np.intp)
    c = _MIDDLES[of]
    f = (m - c) / (m + c)
    square = f * f
    rest = 2 * f + 2 * f * square * (1 / 3 + square / 5)
    return np.asarray(e * ln2 + (logarithms[of] + rest))


def exp(x: Array) -> Array:
    """exp x of floats from -700 to 0, off by at most `EXP` exp x; of lower ones exp(-700)."""
    low, powers = _powers()
    x = np.maximum(x, LEAST)
    k = np.rint(x * (64 / (LN2_HIGH + 64 * low)))
    r = (x - k * (LN2_HIGH / 64)) - k * low
    total = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r / 720)))))
    whole = k.astype(np.int32)
    return np.asarray(np.ldexp(powers[whole & 63] * total, whole >> 6))


@functools.cache
def _logarithms() -> tuple[float, Array]:
    """Log 2, and log c = 2 atanh((c - 1) / (c + 1)) of all middles c = (2049 + 2 i) / 4096."""
    found = [_two_atanh(2 * i - 2047, 2 * i + 6145) / _ONE for i in range(1024)]
    return _two_atanh(1, 3) / _ONE, np.array(found)


@functools.cache
def _powers() -> tuple[float, Array]:
    """What LN2_HIGH / 64 lacks of log 2 / 64, and 2^(j / 64) for j < 64."""
    ln2, found = _two_atanh(1, 3), []
    for j in range(64):
        term = total = _ONE
        for n in range(1, 40):
            term = (term * (j * ln2 // 64) >> 128) // n
            total += term
        found.append(total / _ONE)
    return (ln2 - int(LN2_HIGH * _ONE)) / (64 * _ONE), np.array(found)


def _two_atanh(p: int, q: int) -> int:
    """2 atanh(p / q) in units of 2^-128, |p / q| <= 1/3: 2 (f + f^3/3 + ...), 41 terms."""
    power, total = _ONE * p // q, 0
    square = power * power >> 128
    for k in range(1, 83, 2):
        total += power // k
        power = power * square >> 128
    return 2 * total
