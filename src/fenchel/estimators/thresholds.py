"""Where to cut scores: between which two of them a decision changes, to serve a measure best.

A row is above a threshold if its score is larger. Equal scores cannot be told apart, so there is
room for a threshold between two different scores only, and at the ends. Scores that differ by no
more than round-off are equal: those of the same row in another place may do so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.risks.base import Array

_NOISE = 2.0**-38  # of the largest score

# Of the rows that are taken: measure(right ones, all, right ones there are, rows there are).
Measure = Callable[[Array, Array, float, float], Array]


def f_measure(beta: float) -> Measure:
    """F_beta = (1 + beta^2) hits / (beta^2 right + taken)."""
    square = beta**2
    return lambda hits, taken, right, total: (1.0 + square) * hits / (square * right + taken)


def balanced_accuracy(hits: Array, taken: Array, right: float, total: float) -> Array:
    """The mean of the shares of positives that are taken and of negatives that are not."""
    return (1.0 + hits / right - (taken - hits) / (total - right)) / 2.0


def best_threshold(
    z: Array, right: npt.NDArray[Any], measure: Measure, s: Array | None = None
) -> float:
    """The threshold with the largest measure of the rows above it; of equals, the highest.

    From the highest score down, hits and taken are cumulative sums: every cut is looked at.
    """
    s = np.ones(len(z)) if s is None else s
    order = np.argsort(-z, kind="stable")
    order = order[s[order] > 0]
    falling, taken = z[order], np.cumsum(s[order])
    hits = np.cumsum(s[order] * right[order])
    room = np.append(_apart(falling), True)
    value = measure(hits, taken, hits[-1], taken[-1])
    return _below(falling, int(np.argmax(np.where(room, value, -np.inf))))


def top_threshold(z: Array, k: int) -> float:
    """The threshold below the k-th highest score and all that equal it."""
    falling = -np.sort(-z)
    room = np.append(_apart(falling), True)
    return _below(falling, k - 1 + int(np.argmax(room[k - 1 :])))


def ordinal_thresholds(
    z: Array, level: npt.NDArray[np.intp], cost: Array, s: Array | None = None
) -> Array:
    """K - 1 rising thresholds with the least sum of s_i cost[level_i, thresholds below z_i].

    With c_m rows below threshold m, and P_m(c) what the c lowest rows cost if they are taken for
    level m, the sum is  const + sum_m (P_m - P_m+1)(c_m),  to be minimised over c_0 <= c_1 <= ...:
    a dynamic programme of running minima, of n steps for each threshold.
    """
    s = np.ones(len(z)) if s is None else s
    order = np.argsort(z, kind="stable")
    order = order[s[order] > 0]
    rising = z[order]
    room = np.concatenate([[True], _apart(rising), [True]])
    best, places = np.zeros(len(rising) + 1), []
    for m in range(len(cost) - 1):
        step = s[order] * (cost[:, m] - cost[:, m + 1])[level[order]]
        value = np.where(room, best + np.concatenate([[0.0], np.cumsum(step)]), np.inf)
        best = np.minimum.accumulate(value)
        new = np.concatenate([[True], best[1:] < best[:-1]])
        places.append(np.maximum.accumulate(np.where(new, np.arange(len(new)), 0)))
    counts, c = [], len(rising)
    for place in reversed(places):
        c = int(place[c])
        counts.append(c)
    return np.array([_above(rising, c) for c in reversed(counts)])


def _apart(z: Array) -> npt.NDArray[np.bool_]:
    """Where a score differs from the next, of scores in order."""
    return np.abs(np.diff(z)) > _noise(z)


def _noise(z: Array) -> float:
    """What round-off may do to scores in order."""
    return float(_NOISE * max(abs(z[0]), abs(z[-1])))


def _below(falling: Array, last: int) -> float:
    """Between the last score taken and the next, or just below the lowest."""
    if last + 1 == len(falling):
        return float(np.nextafter(falling[last] - _noise(falling), -np.inf))
    return float(falling[last + 1] + (falling[last] - falling[last + 1]) / 2)


def _above(rising: Array, count: int) -> float:
    """Between the `count` lowest scores and the next, or just above the highest."""
    if count == len(rising):
        return float(rising[-1] + _noise(rising))
    return _below(rising[::-1], len(rising) - count - 1)
