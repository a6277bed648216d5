"""Losses of one score a row and their conjugates, from above, in exact arithmetic.

Both are convex in z and in the dual variable, so on an interval each is at most its larger value at
the two ends. It is enough to bound them from above at floats: the formulas are those of `losses/`,
computed in intervals. Labels y and options are the numbers that they are as floats; 1 - q of a
quantile is the exact difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fenchel import losses
from fenchel.losses import Conjugable
from fenchel.verification import elementary
from fenchel.verification.intervals import Array, Interval, down, exact, up

Formula = Callable[[Any, Array, Array], Array]

ONE, HALF, TWO = exact(1.0), exact(0.5), exact(2.0)


class FromAbove(NamedTuple):
    """Bounds from above of l(z, y), and of l*(a, y) for an a in its domain or next to it."""

    value: Formula
    conjugate: Formula


def value_above(loss: Conjugable, z: Interval, y: Array) -> Array:
    """No less than l(z, y) for any z between the ends."""
    formula = SCALAR[type(loss)].value
    return np.maximum(*(formula(loss, end, y) for end in z))


def conjugate_above(loss: Conjugable, a: Interval, y: Array) -> Array:
    """No less than l*(a, y) for any a between the ends that is in the domain."""
    formula = SCALAR[type(loss)].conjugate
    return np.maximum(*(formula(loss, end, y) for end in a))


def domain_within(loss: Conjugable, y: Array) -> tuple[Array, Array]:
    """The domain of l*, or as much of it as has floats for ends."""
    lowest, highest = loss.domain(y)
    return (lowest, down(highest)) if isinstance(loss, losses.Quantile) else (lowest, highest)


def _half_square(x: Interval) -> Interval:
    return x.squared().times(HALF)


def _difference(z: Array, y: Array) -> Interval:
    return exact(z).minus(exact(y))


def _linear(loss: Any, a: Array, y: Array) -> Array:
    return exact(a).times(exact(y)).hi


def _zero(loss: Any, a: Array, y: Array) -> Array:
    return np.zeros_like(a)


def _gap(z: Array, y: Array) -> Array:
    """No less than max(0, 1 - y z), for y = +-1."""
    return np.maximum(0.0, ONE.minus(exact(y * z)).hi)


def _smoothed_hinge(loss: losses.SmoothedHinge, z: Array, y: Array) -> Array:
    gap, mu = exact(_gap(z, y)), exact(loss.mu)
    curved = gap.squared().over(TWO.times(mu)).hi
    return np.where(gap.lo < loss.mu, curved, gap.minus(mu.times(HALF)).hi)


def _smoothed_hinge_conjugate(loss: losses.SmoothedHinge, a: Array, y: Array) -> Array:
    return exact(y * a).plus(exact(loss.mu).times(_half_square(exact(a)))).hi


def _squared_hinge_conjugate(loss: Any, a: Array, y: Array) -> Array:
    return exact(y * a).plus(_half_square(exact(a))).hi


def _exponential_conjugate(loss: Any, a: Array, y: Array) -> Array:
    p = np.maximum(-y * a, 0.0)
    return exact(elementary.x_log_x_above(exact(p))).minus(exact(p)).hi


def _logistic(loss: Any, z: Array, y: Array) -> Array:
    """max(0, -u) + log(1 + exp(-|u|))."""
    u = y * z
    rest = elementary.log1p(elementary.exp(exact(-np.abs(u))).clipped(0.0, 1.0))
    return exact(np.maximum(0.0, -u)).plus(rest).hi


def _logistic_conjugate(loss: Any, a: Array, y: Array) -> Array:
    p = np.clip(-y * a, 0.0, 1.0)
    sides = elementary.x_log_x_above(exact(p)), elementary.one_plus_x_log_above(exact(-p))
    return up(sides[0] + sides[1])


def _quantile(loss: losses.Quantile, z: Array, y: Array) -> Array:
    q = exact(loss.quantile)
    return np.maximum(q.times(_difference(y, z)).hi, ONE.minus(q).times(_difference(z, y)).hi)


def _expectile_weight(loss: losses.Expectile, positive: np.ndarray[Any, Any]) -> Interval:
    q = exact(loss.expectile)
    ends = zip(ONE.minus(q), q, strict=True)
    return Interval(*(np.where(positive, above, below) for above, below in ends))


def _expectile(loss: losses.Expectile, z: Array, y: Array) -> Array:
    return _expectile_weight(loss, z > y).times(_half_square(_difference(z, y))).hi


def _expectile_conjugate(loss: losses.Expectile, a: Array, y: Array) -> Array:
    curved = _half_square(exact(a)).over(_expectile_weight(loss, a > 0))
    return exact(a).times(exact(y)).plus(curved).hi


def _outside(loss: Any, z: Array, y: Array) -> Array:
    """No less than max(0, |z - y| - epsilon)."""
    distance = exact(_difference(z, y).size)
    return np.maximum(0.0, distance.minus(exact(loss.epsilon)).hi)


def _squared_outside(loss: Any, z: Array, y: Array) -> Array:
    return _half_square(exact(_outside(loss, z, y))).hi


def _tube_conjugate(loss: Any, a: Array, y: Array) -> Interval:
    return exact(a).times(exact(y)).plus(exact(np.abs(a)).times(exact(loss.epsilon)))


def _squared_conjugate(loss: Any, a: Array, y: Array) -> Array:
    return exact(a).times(exact(y)).plus(_half_square(exact(a))).hi


def _huber(loss: losses.Huber, z: Array, y: Array) -> Array:
    r, delta = exact(_difference(z, y).size), exact(loss.delta)
    far = delta.times(r.minus(delta.times(HALF))).hi
    return np.where(r.lo <= loss.delta, _half_square(r).hi, far)


def _poisson(loss: Any, z: Array, y: Array) -> Array:
    """exp(z) - y z + (y log y - y)."""
    rate = elementary.exp(exact(z)).minus(exact(y).times(exact(z)))
    return rate.plus(_entropy(y)).hi


def _entropy(y: Array) -> Interval:
    """Y log y - y, for labels y >= 0."""
    positive = exact(np.where(y > 0, y, 1.0))
    found = positive.times(elementary.log(positive)).minus(positive)
    return Interval(np.where(y > 0, found.lo, 0.0), np.where(y > 0, found.hi, 0.0))


def _poisson_conjugate(loss: Any, a: Array, y: Array) -> Array:
    """r log r - r - (y log y - y), with r = a + y: convex in r, so its ends are enough."""
    rate = exact(a).plus(exact(y)).clipped(0.0, np.inf)
    ends = (exact(elementary.x_log_x_above(exact(r))).minus(exact(r)).hi for r in rate)
    return exact(np.maximum(*ends)).minus(_entropy(y)).hi


def _gamma(loss: Any, z: Array, y: Array) -> Array:
    """y exp(-z) + z - (1 + log y)."""
    fall = exact(y).times(elementary.exp(exact(-z))).plus(exact(z))
    return fall.minus(ONE.plus(elementary.log(exact(y)))).hi


def _gamma_conjugate(loss: Any, a: Array, y: Array) -> Array:
    """(1 - a) log(1 - a) + a (1 + log y)."""
    inside = np.minimum(a, 1.0)
    rest = exact(inside).times(ONE.plus(elementary.log(exact(y))))
    return exact(elementary.one_plus_x_log_above(exact(-inside))).plus(rest).hi


SCALAR: dict[type[Conjugable], FromAbove] = {
    losses.Perceptron: FromAbove(lambda loss, z, y: np.maximum(0.0, -y * z), _zero),
    losses.SquaredPerceptron: FromAbove(
        lambda loss, z, y: _half_square(exact(np.maximum(0.0, -y * z))).hi,
        lambda loss, a, y: _half_square(exact(a)).hi,
    ),
    losses.Hinge: FromAbove(lambda loss, z, y: _gap(z, y), lambda loss, a, y: y * a),
    losses.SquaredHinge: FromAbove(
        lambda loss, z, y: _half_square(exact(_gap(z, y))).hi, _squared_hinge_conjugate
    ),
    losses.SmoothedHinge: FromAbove(_smoothed_hinge, _smoothed_hinge_conjugate),
    losses.Exponential: FromAbove(
        lambda loss, z, y: elementary.exp(exact(-y * z)).hi, _exponential_conjugate
    ),
    losses.Logistic: FromAbove(_logistic, _logistic_conjugate),
    losses.SquaredError: FromAbove(
        lambda loss, z, y: _half_square(_difference(z, y)).hi, _squared_conjugate
    ),
    losses.AbsoluteError: FromAbove(lambda loss, z, y: _difference(z, y).size, _linear),
    losses.Quantile: FromAbove(_quantile, _linear),
    losses.Expectile: FromAbove(_expectile, _expectile_conjugate),
    losses.EpsilonInsensitive: FromAbove(
        _outside, lambda loss, a, y: _tube_conjugate(loss, a, y).hi
    ),
    losses.SquaredEpsilonInsensitive: FromAbove(
        _squared_outside,
        lambda loss, a, y: _tube_conjugate(loss, a, y).plus(_half_square(exact(a))).hi,
    ),
    losses.Huber: FromAbove(_huber, _squared_conjugate),
    losses.Novelty: FromAbove(
        lambda loss, z, y: np.maximum(0.0, exact(loss.rho).minus(exact(z)).hi),
        lambda loss, a, y: exact(a).times(exact(loss.rho)).hi,
    ),
    losses.Poisson: FromAbove(_poisson, _poisson_conjugate),
    losses.Gamma: FromAbove(_gamma, _gamma_conjugate),
}
