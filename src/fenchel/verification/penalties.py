"""Regularisers as verification sees them: value and conjugate by formulas of its own.

They are written from the definitions, without a look at speed, and share nothing with
`regularizers/` but the settings. A regulariser of a user is the only one to know its formulas, so
it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import logsumexp, xlogy

from fenchel.regularizers import (
    L1,
    L2,
    ElasticNet,
    ElasticNetBall,
    Entropy,
    GroupL1,
    Quadratic,
    Regularizer,
    SquaredPNorm,
)
from fenchel.risks.base import Problem
from fenchel.tolerances import DOMAIN_EDGE, ROUND_OFF
from fenchel.verification.checked_cut import CheckedCut
from fenchel.verification.coupled_penalties import COUPLED, quadratic_size

Array = npt.NDArray[np.float64]

_WHOLE = 1.0  # the scale of a cut that need not be shrunk
_BLOCK = 1 << 15  # numbers whose squares are added up together


class Formulas(NamedTuple):
    """Omega(w) and Omega*(u), which is inf outside its domain.

    Those of `SEPARABLE` take the last axis for the columns, and so any number of vectors at once.
    """

    value: Callable[[Any, Array], Any]
    conjugate: Callable[[Any, Array], Any]


def value(omega: Regularizer, w: Array) -> float:
    """Omega(w), by formulas of this package where the regulariser is a built-in one."""
    return float(values(omega, w))


def values(omega: Regularizer, w: Array) -> Any:
    """The same for each of several w under `SEPARABLE` regularisers."""
    ours = known(omega)
    return omega.value(w) if ours is None else ours.value(omega, w)


def size(omega: Regularizer, w: Array, known: float) -> float:
    """The magnitudes that Omega(w) is added up from: itself, `known`, but where terms cancel."""
    if isinstance(omega, Quadratic):
        return quadratic_size(omega, w)
    if type(omega) is Entropy:
        return _entropy_size(w)
    return abs(known)


def free(omega: Regularizer, n: int) -> npt.NDArray[np.intp]:
    """The indices of the unpenalised among n coordinates."""
    if type(omega) not in FORMULAS:
        return omega.free(n)
    return np.empty(0, dtype=np.intp) if omega.weights is None else np.flatnonzero(omega.c == 0)


def bound(problem: Problem, cut: CheckedCut, nonnegative: bool, side: int = 1) -> float:
    """c - lambda Omega*(-a / lambda), the cut shrunk into the domain of Omega* where R >= 0.

    Mixing with the cut R >= 0 stays valid: l*(s alpha) <= s l*(alpha), as l*(0) <= 0. The errors of
    the cut are at its disadvantage, or with side = -1 at its advantage; so is that of what is added
    up here, sums by pairs of up to 2^50 terms: less than 80 units of their magnitudes.
    """
    if problem.strength == 0:
        return cut.c - side * cut.c_error if not cut.a.any() else -math.inf
    return float(bounds(problem.regularizer, problem.strength, cut, nonnegative, side))


def bounds(
    omega: Regularizer, strength: Any, cut: CheckedCut, nonnegative: bool, side: int = 1
) -> Any:
    """The same at strengths > 0: one, or under `SEPARABLE` regularisers several, a cut for each."""
    c = cut.c - side * cut.c_error
    each = np.asarray(strength)[..., np.newaxis]
    u, error = cut.a / -each, side * cut.a_error / each
    u, doubt = _with_error(omega, u, error, cut.c / strength)
    scale = _scale(omega, u)
    ours = known(omega)
    shrunk = u if scale is _WHOLE else np.asarray(scale)[..., np.newaxis] * u
    conjugate = omega.conjugate(shrunk) if ours is None else ours.conjugate(omega, shrunk)
    if cut.length > 0:
        doubt = second_order(conjugate, cut.length / strength)
    penalty = strength * (conjugate + side * doubt)
    size = np.abs(penalty) + strength * _cancelled(omega, shrunk)
    found = scale * c - penalty - side * ROUND_OFF * (np.abs(scale * c) + size)
    return found if nonnegative else np.where(scale < 1, -math.inf, found)


def is_plain(omega: Regularizer) -> bool:
    """Whether Omega(w) is |w|^2 / 2."""
    return type(omega) is L2 and omega.weights is None


def second_order(conjugate: float, length: float) -> float:
    """What |u + e|^2 / 2 may have more than |u|^2 / 2, the conjugate, for any e of that length."""
    return length * (math.sqrt(2 * conjugate) + length / 2) * (1 + ROUND_OFF)


def _cancelled(omega: Regularizer, u: Array) -> float:
    """The magnitudes that cancel in Omega*(u): those of the logarithms in the entropy's."""
    if type(omega) is not Entropy:
        return 0.0
    top = float(np.max(np.abs(u)))
    return top if _cap(omega) == 1 and np.ptp(u) <= 1 else top - math.log(_cap(omega) / len(u)) + 2


def _with_error(omega: Regularizer, u: Array, error: Array, value: float) -> tuple[Array, float]:
    """(u, doubt): no |u'_j - u_j| <= |error_j| has a larger Omega*(u') than u has with the doubt.

    Most conjugates grow with each |u_j|, the entropy's with u_j. Elsewhere what the error e adds
    is, to first order, at most its product with the longest w that attains Omega*, and for a
    sigma-strongly convex Omega |e|^2 / (2 sigma) to second order: see `Problem.bound`.
    """
    if not error.any():
        return u, 0.0
    if type(omega) in _GROWING:
        return np.copysign(np.maximum(np.abs(u) + error, 0.0), u), 0.0
    if type(omega) is Entropy:
        return u + error, 0.0
    length = float(np.linalg.norm(error)) or float(np.sum(np.abs(error)))  # squares may underflow
    doubt = length * omega.reach(u, value)
    if omega.strong_convexity > 0:
        doubt += length**2 / (2 * omega.strong_convexity)
    return u, doubt


def _scale(omega: Regularizer, u: Array) -> Any:
    """An s <= 1, as large as possible, for which Omega*(s u) is finite."""
    if type(omega) is not L1:
        return _WHOLE if type(omega) in FORMULAS else omega.dual_scale(u)
    size = np.abs(u)
    outside = size > omega.c
    if not outside.any():
        return np.ones(u.shape[:-1])
    s = np.divide(omega.c, size, out=np.ones_like(u), where=outside).min(axis=-1)
    while (over := (s[..., np.newaxis] * size > omega.c).any(axis=-1)).any():  # rounded up
        s = np.where(over, np.nextafter(s, 0.0), s)
    return s


def known(omega: Regularizer) -> Formulas | None:
    """Our formulas of a built-in regulariser."""
    coupled = COUPLED.get(type(omega))
    return FORMULAS.get(type(omega)) if coupled is None else Formulas(*coupled)


def _l2(omega: L2, w: Array) -> Any:
    return (_square(w) if is_plain(omega) else (omega.c * w**2).sum(axis=-1)) / 2


def _l2_conjugate(omega: L2, u: Array) -> Any:
    """sum u_j^2 / (2 c_j)."""
    return (_square(u) if is_plain(omega) else _over(u**2, omega.c).sum(axis=-1)) / 2


def _square(v: Array) -> Any:
    """|v|^2; of a long vector block by block, which stay in the processor's caches."""
    if v.ndim > 1 or len(v) <= _BLOCK:
        return (v**2).sum(axis=-1)
    return np.sum([np.sum(v[k : k + _BLOCK] ** 2) for k in range(0, len(v), _BLOCK)])


def _l1(omega: L1, w: Array) -> Any:
    return (omega.c * np.abs(w)).sum(axis=-1)


def _l1_conjugate(omega: L1, u: Array) -> Any:
    """0 in the box |u_j| <= c_j."""
    return np.where((np.abs(u) <= omega.c).all(axis=-1), 0.0, math.inf)


def _elastic_net(omega: ElasticNet, w: Array) -> Any:
    rho = omega.l1_ratio
    return np.sum(omega.c * (rho * np.abs(w) + (1 - rho) * w**2 / 2), axis=-1)


def _elastic_net_conjugate(omega: ElasticNet, u: Array) -> Any:
    """sum max(0, |u_j| - c_j rho)^2 / (2 c_j (1 - rho))."""
    excess = np.maximum(np.abs(u) - omega.c * omega.l1_ratio, 0.0)
    return np.sum(_over(excess**2, omega.c), axis=-1) / (2 * (1 - omega.l1_ratio))


def _ball(omega: ElasticNetBall, w: Array) -> float:
    size = _elastic_net(omega.net, w)
    return 0.0 if size <= omega.radius * (1 + DOMAIN_EDGE) else math.inf


def _ball_conjugate(omega: ElasticNetBall, u: Array) -> float:
    """min over kappa > 0 of kappa (radius + net*(u / kappa)): none is less than Omega*.

    The derivative is radius - net(w) at the w that attains net*(u / kappa), 0 for a large kappa.
    """
    rho, top = omega.net.l1_ratio, float(np.max(np.abs(u), initial=0.0))
    if top == 0:
        return 0.0

    def excess(log_kappa: float) -> float:
        w = np.maximum(np.abs(u) / math.exp(log_kappa) - rho, 0.0) / (1 - rho)
        return float(_elastic_net(omega.net, w)) - omega.radius

    high = math.log(top) - math.log(rho)
    low = high - 1.0
    while excess(low) < 0:
        low -= 1.0
    kappa = math.exp(brentq(excess, low, high, xtol=1e-14))
    return kappa * (omega.radius + float(_elastic_net_conjugate(omega.net, u / kappa)))


def _entropy(omega: Entropy, w: Array) -> float:
    cap, total = _cap(omega), float(np.sum(w))
    inside = np.all(w >= -DOMAIN_EDGE) and np.all(w <= cap + DOMAIN_EDGE)
    if not inside or abs(total - 1) > DOMAIN_EDGE:
        return math.inf
    return float(np.sum(xlogy(np.maximum(w, 0.0), len(w) * np.maximum(w, 0.0))))


def _entropy_size(w: Array) -> float:
    """sum_j w_j (|log d w_j| + 1): d w_j is rounded before its logarithm is taken."""
    w = np.maximum(w, 0.0)
    return float(np.sum(np.abs(xlogy(w, len(w) * w)) + w))


def _entropy_conjugate(omega: Entropy, u: Array) -> float:
    """log mean exp u_j; with a cap, min over t of sum_j phi(u_j - t) + t - log d.

    phi(v) = max over 0 <= x <= cap of v x - x log x, and t is the multiplier of sum w = 1: by weak
    duality no t gives less than Omega*. Of u that lie together the mean is as exact as they are.
    """
    d, cap, top = len(u), _cap(omega), float(np.max(u))
    if cap == 1 and np.ptp(u) <= 1:
        return top + math.log1p(float(np.mean(np.expm1(u - top))))
    if cap == 1:
        return float(logsumexp(u)) - math.log(d)

    def weights(t: float) -> Array:
        return np.asarray(np.exp(np.minimum(u - t - 1, math.log(cap))))

    # At `low` all weights are at the cap; at `high` they would be right without one.
    low, high = float(np.min(u)) - 1 - math.log(cap), float(logsumexp(u)) - 1
    t = high if weights(high).sum() >= 1 else low
    if weights(low).sum() > 1 > weights(high).sum():
        t = brentq(lambda t: weights(t).sum() - 1, low, high, xtol=1e-14)
    w = weights(t)
    return float(np.sum((u - t) * w - xlogy(w, w))) + t - math.log(d)


def _cap(omega: Entropy) -> float:
    return 1.0 if omega.cap is None else min(omega.cap, 1.0)


def _p_norm(omega: SquaredPNorm, w: Array) -> float:
    return _norm(w, omega.p) ** 2 / 2


def _p_norm_conjugate(omega: SquaredPNorm, u: Array) -> float:
    """|u|_q^2 / 2 with 1/p + 1/q = 1."""
    return _norm(u, omega.p / (omega.p - 1)) ** 2 / 2


def _norm(w: Array, p: float) -> float:
    """|w|_p, scaled so that no power overflows."""
    top = float(np.max(np.abs(w), initial=0.0))
    return top * float(np.linalg.norm(w / top, p)) if top > 0 else 0.0


def _over(squares: Array, c: Array | float) -> Array:
    """What is 0 counts as 0 over any c, and all else as inf over c = 0."""
    return np.divide(squares, c, out=np.zeros_like(squares), where=squares > 0)


FORMULAS: dict[type[Regularizer], Formulas] = {
    L2: Formulas(_l2, _l2_conjugate),
    L1: Formulas(_l1, _l1_conjugate),
    ElasticNet: Formulas(_elastic_net, _elastic_net_conjugate),
    ElasticNetBall: Formulas(_ball, _ball_conjugate),
    Entropy: Formulas(_entropy, _entropy_conjugate),
    SquaredPNorm: Formulas(_p_norm, _p_norm_conjugate),
}

SEPARABLE = (L2, L1, ElasticNet)

# Regularisers whose conjugate does not fall as any |u_j| grows.
_GROWING = (L2, L1, ElasticNet, ElasticNetBall, SquaredPNorm, GroupL1)
