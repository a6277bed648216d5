"""A Wolfe line search for a convex function of one variable whose trials are cheap."""

from __future__ import annotations

import math
from collections.abc import Callable

_DECREASE = 1e-4
_CURVATURE = 0.9
_TRIALS = 200
_ROUND_OFF = 1e-15


def wolfe(
    phi: Callable[[float], tuple[float, float]], value: float, slope: float, eta: float
) -> float:
    """A step with sufficient decrease and |phi'(eta)| <= 0.9 |phi'(0)|; 0 if round-off leaves none.

    `phi(eta)` gives value and slope; `value` and `slope` < 0 are those at 0, `eta` is tried first.
    Values of inf are survived: the step is shortened. inf is returned where phi falls for ever.
    """
    low, low_slope = 0.0, slope
    high, high_slope = math.inf, math.nan
    for _ in range(_TRIALS):
        trial, trial_slope = phi(eta)
        descends = _descends(trial, trial_slope, value, slope, eta)
        if descends and abs(trial_slope) <= -_CURVATURE * slope:
            return eta
        if descends and trial_slope < 0:
            low, low_slope = eta, trial_slope
        else:
            high, high_slope = eta, trial_slope
        if eta > 1e100:
            return math.inf
        eta = 4 * eta if high == math.inf else _between(low, low_slope, high, high_slope)
        if not low < eta < high:
            return low
    return low


def _descends(trial: float, trial_slope: float, value: float, slope: float, eta: float) -> bool:
    """Sufficient decrease, or its slope form where the values differ by round-off only."""
    if trial <= value + _DECREASE * eta * slope:
        return True
    flat = trial <= value + _ROUND_OFF * abs(value)
    return flat and trial_slope <= (2 * _DECREASE - 1) * slope


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """The secant's zero of the slope, kept away from the ends; the middle where it is unknown."""
    width = high - low
    if not low_slope < high_slope < math.inf:
        return low + 0.5 * width
    eta = low - low_slope * width / (high_slope - low_slope)
    return min(max(eta, low + 0.1 * width), high - 0.1 * width)
