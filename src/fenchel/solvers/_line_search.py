"""Line searches on eta -> J(w + eta p), whose trials cost no pass over the data.

`exact` for a piecewise quadratic J ([Yu10] algorithm 3), `between_tangents` where the kinks are not
known, `wolfe` for any other; `backtracking` is [Yu10]'s inexact search, for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel.piecewise import Slope, crossing
from fenchel.risks.base import Array, Point, Problem
from fenchel.tolerances import FEW_OPERATIONS

_DECREASE = 1e-4
_CURVATURE = 0.9
_TRIALS, _TRIALS_AT_KINKS = 200, 12
_LEFT = 0.05  # of the descent that a step between tangents may leave
_HOPELESS = 1e-6  # of the descent that the slope promises, where there was none so far
_FAR = 1e100  # a step beyond this finds no end
_NARROWINGS = 4  # of the bracket before its kinks are collected
_C1, _C2, _DECAY = 1e-3, 0.8, 0.9  # of `backtracking`: [Yu10]'s first footnote


class Trial(NamedTuple):
    """J at one step."""

    eta: float
    value: float
    slope: float


class Along:
    """J on the ray w + eta p: one pass, X p."""

    def __init__(self, problem: Problem, point: Point, p: Array):
        self.problem, self.w, self.p = problem, point.w, p
        self.ray = point.towards(p)

    @property
    def is_piecewise(self) -> bool:
        """J is piecewise quadratic and knows its kinks."""
        return self.problem.risk.facts.piecewise and self.problem.regularizer.piecewise

    def at(self, eta: float) -> Point:
        """The point w + eta p."""
        return self.ray.at(eta)

    def __call__(self, eta: float) -> tuple[float, float]:
        """(J(w + eta p), one element of its subdifferential in eta)."""
        strength, regularizer = self.problem.strength, self.problem.regularizer
        self.problem.pulse()
        self.problem.effort.evaluations += 1
        risk, slope = self.ray.along(eta)
        regular = regularizer.slope(self.w, self.p, eta).slope
        value = strength * regularizer.along(self.w, self.p, eta) + risk
        return value, strength * regular + slope

    def slope(self, eta: float) -> Slope:
        """The slope of a piecewise quadratic J just right of eta."""
        self.problem.pulse()
        self.problem.effort.evaluations += 1
        strength, risk = self.problem.strength, self.ray.slope(eta)
        regular = self.problem.regularizer.slope(self.w, self.p, eta)
        slope = strength * regular.slope + risk.slope
        return Slope(slope, strength * regular.curvature + risk.curvature)

    def kinks(self, low: float, high: float) -> Array:
        """Its kinks in (low, high]."""
        regular = self.problem.regularizer.kinks(self.w, self.p, low, high)
        strength = self.problem.strength
        return np.concatenate([regular * [1, strength, strength], self.ray.kinks(low, high)])


def exact(along: Along, eta: float) -> float:
    """Argmin over eta >= 0 of a piecewise quadratic J; inf where it falls for ever.

    The minimum is bracketed from `eta` and the bracket narrowed by its slopes, at a sweep over the
    scores each, before the kinks left in it are looked at one by one.
    """
    low, at_low = 0.0, along.slope(0.0)
    if at_low.slope >= 0:
        return 0.0
    high, at_high = eta, along.slope(eta)
    while at_high.slope < 0:
        low, at_low = high, at_high
        high *= 4
        if high > _FAR:  # of a J >= 0, whose end underflow has hidden, there is no telling
            return 0.0 if along.problem.risk.facts.nonnegative else math.inf
        at_high = along.slope(high)
    for _ in range(_NARROWINGS):
        eta = _between(low, at_low.slope, high, at_high.slope)
        at = along.slope(eta)
        if at.slope < 0:
            low, at_low = eta, at
        else:
            high, at_high = eta, at
    return min(crossing(at_low, low, along.kinks(low, high)), high)


def search(along: Along, value: float, eta: float = 1.0) -> float:
    """The best step: exactly, nearly, or up to the Wolfe conditions.

    `value` is J at 0 and `eta` is tried first; 0 where p does not descend.
    """
    risk, regularizer = along.problem.risk, along.problem.regularizer
    if along.is_piecewise and not risk.facts.has_intercept:
        return exact(along, eta)
    slope = along(0.0)[1]
    if not slope < 0:
        return 0.0
    knows_kinks = risk.facts.knows_kinks and (regularizer.smooth or regularizer.piecewise)
    if not (knows_kinks and risk.facts.separable):
        return between_tangents(along, value, slope, eta)
    trials = _TRIALS if risk.facts.differentiable else _TRIALS_AT_KINKS
    return wolfe(along, value, slope, eta, trials)


def between_tangents(
    phi: Callable[[float], tuple[float, float]], value: float, slope: float, eta: float
) -> float:
    """A step that leaves at most a twentieth of the descent that phi has; inf where it has no end.

    The tangents on the two sides of the minimum meet below it, which says how much is left. As
    phi is convex, its slopes say on which side a trial is; a kink needs no more care than that. At
    a kink the slope at 0 may promise what is not there; the search for it is soon given up.
    """
    promised = -slope * eta
    low, high = Trial(0.0, value, slope), Trial(eta, *phi(eta))
    while high.slope < 0 and high.value < math.inf:
        low, high = high, Trial(4 * high.eta, *phi(4 * high.eta))
        if high.eta > _FAR:
            return math.inf
    for _ in range(_TRIALS):
        least = min(low.value, high.value)
        enough = _LEFT * (value - least) if least < value else _HOPELESS * promised
        if least - _meet(low, high) <= enough:
            break
        eta = _between(low.eta, low.slope, high.eta, high.slope)
        if not low.eta < eta < high.eta:
            break
        trial = Trial(eta, *phi(eta))
        if trial.slope < 0 and trial.value < math.inf:
            low = trial
        else:  # values and slopes of inf and nan as well
            high = trial
    return high.eta if high.value < low.value else low.eta


def _meet(low: Trial, high: Trial) -> float:
    """The height at which their tangents meet; -inf where that is not known."""
    if not 0 <= high.slope < math.inf:
        return -math.inf
    rise = high.value - low.value - high.slope * (high.eta - low.eta)
    return low.value + low.slope * rise / (low.slope - high.slope)


def wolfe(
    phi: Callable[[float], tuple[float, float]],
    value: float,
    slope: float,
    eta: float,
    trials: int = _TRIALS,
) -> float:
    """A step with sufficient decrease and |phi'(eta)| <= 0.9 |phi'(0)|; 0 if round-off leaves none.

    At a kink of phi the second condition may hold nowhere: after `trials` a step with sufficient
    decrease will do, as close to the kink as they came ([Yu10] eq. 23 and 24). Where a bracket
    closes on a step at which phi is no lower than at 0, its values do not follow its slopes, and
    that step is none: a run of them would creep on for as long as it may.

    `phi(eta)` gives value and slope; `value` and `slope` < 0 are those at 0, `eta` is tried first.
    Values of inf are survived: the step is shortened. inf is returned where phi falls for ever.
    """
    low, low_slope, fell = 0.0, slope, False
    high, high_slope = math.inf, math.nan
    for k in range(_TRIALS):
        if k >= trials and 0 < low and high < math.inf:
            return low
        trial, trial_slope = phi(eta)
        descends = _descends(trial, trial_slope, value, slope, eta)
        if descends and abs(trial_slope) <= -_CURVATURE * slope:
            return eta
        if descends and trial_slope < 0:
            low, low_slope, fell = eta, trial_slope, trial < value
        else:
            high, high_slope = eta, trial_slope
        if eta > _FAR:
            return math.inf
        eta = 4 * eta if high == math.inf else _between(low, low_slope, high, high_slope)
        if not low < eta < high:
            break
    return low if fell else 0.0


def backtracking(phi: Callable[[float], tuple[float, float]], value: float) -> float:
    """The inexact search of [Yu10] section 2.1.1, which seldom ends on a kink; 0 if it fails.

    From a step past which phi has lost a fifth of its slope, back until it has descended enough.
    inf is returned where phi falls for ever.
    """
    slope, eta = phi(0.0)[1], 1.0
    if not slope < 0:
        return 0.0
    while phi(eta)[1] < _C2 * slope:
        eta *= 2
        if eta > _FAR:
            return math.inf
    while eta > FEW_OPERATIONS and not phi(eta)[0] <= value + _C1 * eta * slope:
        eta *= _DECAY
    return eta if eta > FEW_OPERATIONS else 0.0


def _descends(trial: float, trial_slope: float, value: float, slope: float, eta: float) -> bool:
    """Sufficient decrease, or its slope form where the values differ by round-off only."""
    if trial <= value + _DECREASE * eta * slope:
        return True
    flat = trial <= value + FEW_OPERATIONS * abs(value)
    return flat and trial_slope <= (2 * _DECREASE - 1) * slope


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """The secant's zero of the slope, kept away from the ends; the middle where it is unknown."""
    width = high - low
    if not low_slope < high_slope < math.inf:
        return low + 0.5 * width
    eta = low - low_slope * width / (high_slope - low_slope)
    return min(max(eta, low + 0.1 * width), high - 0.1 * width)
