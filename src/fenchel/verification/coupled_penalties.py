"""Conjugates of groups, boxes and quadratic forms, by formulas of verification's own.

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

Array = npt.NDArray[np.float64]

_EDGE = 1e-13  # round-off of a norm, relative to it
_RESIDUAL = 1e-9  # of Q x = u, relative to u, within which u is in the range of Q


def group_l1_conjugate(omega: GroupL1, u: Array) -> float:
    """0 where no group's ||u_g|| is larger than c_g."""
    index, c = omega.groups, omega.penalties
    for g in range(len(c)):
        if float(np.linalg.norm(u[index == g])) > c[g] * (1 + _EDGE):
            return math.inf
    return 0.0


def quadratic_conjugate(omega: Quadratic, u: Array) -> float:
    """1/2 <u, x> with Q x = u, for each output."""
    U = u.reshape(len(omega.Q), -1)
    X = np.linalg.lstsq(omega.Q, U, rcond=None)[0]
    if np.linalg.norm(omega.Q @ X - U) > _RESIDUAL * np.linalg.norm(U):
        return math.inf
    return float(np.sum(U * X)) / 2


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


CONJUGATES: dict[type[Regularizer], Callable[[Any, Array], float]] = {
    GroupL1: group_l1_conjugate,
    Quadratic: quadratic_conjugate,
    Boxed: boxed_conjugate,
}
