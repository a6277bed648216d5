"""Groups, boxes and quadratic forms, by formulas of verification's own.

They are written from the definitions, without a look at speed, and share nothing with
`regularizers/` but the settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.regularizers import L1, L2, Boxed, ElasticNet, GroupL1, Quadratic, Regularizer
from fenchel.tolerances import DOMAIN_EDGE, OUTSIDE_RANGE, VERIFIED_NORM

Array = npt.NDArray[np.float64]


def group_l1(omega: GroupL1, w: Array) -> float:
    norms = [float(np.linalg.norm(w[omega.groups == g])) for g in range(len(omega.penalties))]
    return float(omega.penalties @ norms)


def group_l1_conjugate(omega: GroupL1, u: Array) -> float:
    """0 where no group's ||u_g|| is larger than c_g."""
    index, c = omega.groups, omega.penalties
    for g in range(len(c)):
        if float(np.linalg.norm(u[index == g])) > c[g] * (1 + VERIFIED_NORM):
            return math.inf
    return 0.0


def quadratic(omega: Quadratic, w: Array) -> float:
    """1/2 w'Qw, for each output; no round-off makes it negative, and nan stays nan."""
    W = w.reshape(len(omega.Q), -1)
    return max(float(np.sum(W * (omega.Q @ W))) / 2, 0.0)


def quadratic_size(omega: Quadratic, w: Array) -> float:
    """1/2 |w|'|Q||w|: what w'Qw is the sum of, whose terms cancel where Q is nearly singular."""
    W = np.abs(w.reshape(len(omega.Q), -1))
    return float(np.sum(W * (np.abs(omega.Q) @ W))) / 2


def quadratic_conjugate(omega: Quadratic, u: Array) -> float:
    """1/2 <u, x> with Q x = u, for each output."""
    U = u.reshape(len(omega.Q), -1)
    X = np.linalg.lstsq(omega.Q, U, rcond=None)[0]
    if np.linalg.norm(omega.Q @ X - U) > OUTSIDE_RANGE * np.linalg.norm(U):
        return math.inf
    return float(np.sum(U * X)) / 2


def boxed(omega: Boxed, w: Array) -> float:
    """The inner regulariser's in the box, inf outside."""
    doubt = DOMAIN_EDGE * (1 + np.abs(w))
    outside = np.any(w < omega.lower - doubt) or np.any(w > omega.upper + doubt)
    return math.inf if outside else float(omega.inner.value(w))


def boxed_conjugate(omega: Boxed, u: Array) -> float:
    """sum_j of the sup over t in the box of u_j t - c_j (rho |t| + (1 - rho)/2 t^2).

    That is concave in t, so the sup is at a bound, at 0, or where one of the two parabolas to the
    left and right of 0 has its top.
    """
    ratios: dict[type, float] = {L1: 1.0, L2: 0.0}
    inner = omega.inner
    rho = inner.l1_ratio if isinstance(inner, ElasticNet) else ratios.get(type(inner))
    if rho is None:
        return omega.conjugate(u)  # a user's, who alone knows its formula
    c, lower, upper = (np.broadcast_to(x, u.shape) for x in (inner.c, omega.lower, omega.upper))
    straight = c * (1 - rho) == 0
    rises = (u > c * rho) & np.isposinf(upper) | (u < -c * rho) & np.isneginf(lower)
    if np.any(straight & rises):
        return math.inf
    bend = np.where(straight, 1.0, c * (1 - rho))
    tops = [(u - c * rho) / bend, (u + c * rho) / bend]
    tried = [np.clip(t, lower, upper) for t in (np.zeros_like(u), *tops)]
    tried += [np.where(np.isfinite(t), t, tried[0]) for t in (lower, upper)]
    values = [u * t - c * (rho * np.abs(t) + (1 - rho) * t**2 / 2) for t in tried]
    return float(np.sum(np.max(values, axis=0)))


Formula = Callable[[Any, Array], float]
COUPLED: dict[type[Regularizer], tuple[Formula, Formula]] = {
    GroupL1: (group_l1, group_l1_conjugate),
    Quadratic: (quadratic, quadratic_conjugate),
    Boxed: (boxed, boxed_conjugate),
}
