"""scikit-learn's Huber regression, whose scale sigma is found with the coefficients.

With H(r) = r^2 where |r| <= epsilon, else 2 epsilon |r| - epsilon^2, scikit-learn minimises over w,
b and sigma > 0

    F = sum_i s_i (sigma + sigma H(r_i / sigma)) + alpha ||w||^2,    r_i = <x_i, w> + b - y_i,

which is convex in all of them, because sigma H(r / sigma) is the perspective of H. For a given
sigma, sigma H(r / sigma) = (2 / sigma) h(r), with h our Huber loss that turns linear at delta =
epsilon sigma. Hence F = S sigma + f J, where J is our objective with h at the strength
alpha sigma / S, and f = 2 S / sigma. What is left is

    g(sigma) = min over w, b of F,

a convex function of one variable, known at each sigma up to a certified gap. Its slope there is
S - sum_i s_i min(r_i^2 / sigma^2, epsilon^2), as w and b are at their minimum. Newton's method on
it, as if the residuals did not depend on sigma, finds where it vanishes.

The bound of min g needs no slopes, only lower <= g <= upper at three places p < q < r, where g is
proved to be higher at p and at r than at q, so that the minimum lies between them. Beyond q, seen
from p, a convex function lies above the line through its values at p and q, and all the more above
the line through (p, upper) and (q, lower), which falls, and is lowest at r. Likewise from r. With
places that are apart by h in log sigma that costs c F h^2 / 2, where c F is the curvature of g.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor as Base

from fenchel.callers import users_line
from fenchel.data.checked import checked_labels
from fenchel.estimators.protocol import Saved
from fenchel.estimators.regressor import Regressor
from fenchel.losses import Labels
from fenchel.result import relative_gap
from fenchel.risks.base import Array
from fenchel.sklearn.core import DropIn, Task, gap_of, total, weights_of
from fenchel.tolerances import EPSILON

_LEAST_SCALE = 10 * EPSILON  # scikit-learn's bound of sigma
_LEAST_GAP = 1e-9  # because it takes values of g up to a small part of it
_PART = 1 / 30  # which is this one
_STEPS = 50  # of Newton's method, which takes about five
_LONGEST = 3.0  # change of log sigma in a step
_TINY = 1e-300
_ROUNDS = 4  # of bounds, of which one is the rule


class Place(NamedTuple):
    """What is known at one sigma: lower <= g <= upper, and where upper is attained."""

    sigma: float
    lower: float
    upper: float
    task: Task
    squares: float  # sum_i s_i min(r_i^2 / sigma^2, epsilon^2) / S
    inner: float  # the part of it that rows on the quadratic part have


class HuberRegressor(DropIn, Base):
    """scikit-learn's HuberRegressor, to a certified gap: coefficients and scale together."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimises scikit-learn's objective over coefficients, intercept and scale."""
        s = weights_of(X, sample_weight)
        gap = max(gap_of(self.tol), _LEAST_GAP)
        places = self._around(_Profile(self, X, y, s, gap), gap)
        best = min(places, key=lambda place: place.upper)
        self._keep([best.task])
        self.objective_, self.lower_bound_ = best.upper, least(places)
        self.gap_, self.scale_ = relative_gap(self.objective_, self.lower_bound_), best.sigma
        self.n_iter_ = sum(place.task.model.n_iter_ for place in places)
        residuals = np.asarray(y) - self._decision_function(X)
        self.outliers_ = np.abs(residuals) > self.scale_ * self.epsilon
        if self.gap_ > gap:
            self.status_ = "stalled" if self.status_ == "converged" else self.status_
            warnings.warn(
                f"HuberRegressor did not converge: the certified gap is {self.gap_:.2g}, tol asks "
                f"for {gap:.2g}",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return self

    def _around(self, profile: _Profile, gap: float) -> list[Place]:
        """What is known at the best sigma, and close to it on either side."""
        sigma = self.scale_ if self.warm_start and hasattr(self, "scale_") else None
        middle = profile.minimum(sigma)
        for _ in range(_ROUNDS):
            width = profile.width(middle)
            sides = [profile.at(middle.sigma * math.exp(step)) for step in (-width, width)]
            places = [sides[0], middle, sides[1]]
            if relative_gap(min(each.upper for each in places), least(places)) <= gap:
                break
            middle = profile.at(_vertex(places))
        return places

    def _more(self) -> dict[str, Array]:
        return {"scale": np.array([self.scale_, self.n_iter_], dtype=np.float64)}

    def _restore(self, saved: Saved) -> None:
        """All but outliers_, which belong to the rows that were fitted."""
        super()._restore(saved)
        scale, n_iter = saved.numbers("scale", 2).tolist()
        self.scale_, self.n_iter_ = scale, int(n_iter)


class _Profile:
    """g and its slope, one certified fit for each sigma."""

    def __init__(self, estimator: HuberRegressor, X: Any, y: Any, s: Array | None, gap: float):
        self.of, self.X, self.s, self.gap = estimator, X, s, gap  # of the bound
        self.y, self.S = Regressor()._target(y), total(X, s)
        self.start = getattr(estimator, "coef_", None) if estimator.warm_start else None

    def at(self, sigma: float) -> Place:
        """What is known at a sigma; each fit starts from the last."""
        estimator, sigma = self.of, max(sigma, _LEAST_SCALE)
        model = Regressor(
            loss="huber",
            delta=estimator.epsilon * sigma,
            alpha=estimator.alpha * sigma / self.S,
            fit_intercept=estimator.fit_intercept,
            warm_start=self.start is not None,
            **{**estimator._common(), "tol": self.gap * _PART},
        )
        if self.start is not None:
            model.coef_ = self.start
        posed = model._posed(self.X, self.y, sample_weight=self.s)
        model._take(posed, posed.run())
        self.start = model.coef_
        squares, inner = self._squares(model, sigma)
        f = 2 * self.S / sigma
        lower, upper = (self.S * sigma + f * J for J in (model.lower_bound_, model.objective_))
        return Place(sigma, lower, upper, Task(model, self.y, self.s, f), squares, inner)

    def _squares(self, model: Regressor, sigma: float) -> tuple[float, float]:
        residuals = checked_labels(self.y, Labels.REAL, len(self.y)) - model.predict(self.X)
        squares = (residuals / sigma) ** 2 * (1.0 if self.s is None else self.s)
        far = np.abs(residuals) > self.of.epsilon * sigma
        inner = float(squares[~far].sum()) / self.S
        outer = float(np.sum(far if self.s is None else self.s[far])) * self.of.epsilon**2
        return inner + outer / self.S, inner

    def width(self, place: Place) -> float:
        """How far apart places are to be, in log sigma, for c h^2 to be the gap."""
        curvature = 2 * self.S * place.sigma * place.inner
        return min(math.sqrt(self.gap * place.upper / max(curvature, _TINY)), 1.0)

    def minimum(self, sigma: float | None) -> Place:
        """A place that is much nearer to the minimum of g than others are to be to it."""
        place = self.at(self._first() if sigma is None else sigma)
        low, high = -math.inf, math.inf  # of log sigma
        for _ in range(_STEPS):
            here = math.log(place.sigma)
            low, high = (here, high) if place.squares > 1 else (low, here)
            # Of log sigma -> squares - 1, whose slope is -2 inner.
            step = (place.squares - 1) / max(2 * place.inner, 1e-3)
            step = min(max(step, -_LONGEST), _LONGEST)
            if abs(step) <= self.width(place) / 8 or (place.sigma <= _LEAST_SCALE and step < 0):
                break
            there = here + step
            if not low < there < high:
                there = (low + high) / 2
            place = self.at(math.exp(there))
        return place

    def _first(self) -> float:
        """The standard deviation of y, the scale of a model that explains nothing."""
        y = checked_labels(self.y, Labels.REAL, len(self.y))
        if not len(y):
            return 1.0  # no rows are refused later
        mean = np.average(y, weights=self.s)
        return math.sqrt(float(np.average((y - mean) ** 2, weights=self.s))) or 1.0


def least(places: list[Place]) -> float:
    """A lower bound of min g from what is known at three places, from left to right."""
    left, middle, right = places
    if not (left.lower > middle.upper and right.lower > middle.upper):
        return 0.0  # which F never is below
    return min(_beyond(left, middle, right.sigma), _beyond(right, middle, left.sigma))


def _beyond(first: Place, second: Place, sigma: float) -> float:
    """The line through (first, upper) and (second, lower) at a sigma beyond the second."""
    slope = (second.lower - first.upper) / (second.sigma - first.sigma)
    return second.lower + slope * (sigma - second.sigma)


def _vertex(places: list[Place]) -> float:
    """Where the parabola through three places has its minimum, not far outside of them."""
    left, middle, right = (place.upper for place in places)
    width = math.log(places[2].sigma / places[1].sigma)
    bend = left - 2 * middle + right
    step = (left - right) / (2 * bend) if bend > 0 else math.copysign(1.0, left - right)
    return places[1].sigma * math.exp(width * min(max(step, -4.0), 4.0))
