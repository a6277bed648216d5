"""A reference that is no solver of ours: CVXPY and Clarabel, on a sample of the problems.

What comes back is a w, and J there in long double is above min J, whatever the tolerances of the
solver were. So nothing has to be trusted; where the conic solver fails, there is no reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from draws import Draw
from values import Reference, Value

from fenchel import losses, regularizers
from fenchel.risks.base import Problem

EVERY = 25  # of all seeds, one in so many


def conic_value(drawn: Draw, problem: Problem, reference: Reference) -> Value | None:
    """J at the w of a conic solver, None where it has none."""
    import cvxpy as cp

    loss, omega = drawn.given["loss"], drawn.given["regularizer"]
    if not isinstance(loss, losses.ScalarLoss) or isinstance(loss, losses.Tweedie | losses.Gamma):
        return None
    X = np.asarray(reference.X, dtype=np.float64)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    z = X @ w + drawn.given.get("offset", 0.0) + (b if drawn.given["intercept"] else 0.0)
    share = np.asarray(reference.rows.share, dtype=np.float64)
    each = _losses(cp, loss, z, np.asarray(reference.rows.y, dtype=np.float64))
    penalty, inside = _penalty(cp, omega, w)
    if each is None or penalty is None:
        return None
    try:
        goal = cp.Minimize(problem.strength * penalty + share @ each)
        cp.Problem(goal, inside).solve(solver="CLARABEL")
        offset = float(b.value) if drawn.given["intercept"] else 0.0
        value = reference.at(np.asarray(w.value, dtype=np.float64), offset)
    except Exception:  # it may fail in any way it likes
        return None
    return value if np.isfinite(value.above) else None


def _losses(cp: Any, loss: Any, z: Any, y: Any) -> Any:
    """The loss of each row as an expression; None where there is none."""
    u, r = cp.multiply(y, z), z - y
    made = {
        "Hinge": lambda: cp.pos(1 - u),
        "SquaredHinge": lambda: cp.square(cp.pos(1 - u)) / 2,
        "Logistic": lambda: cp.logistic(-u),
        "Exponential": lambda: cp.exp(-u),
        "Perceptron": lambda: cp.pos(-u),
        "SquaredPerceptron": lambda: cp.square(cp.pos(-u)) / 2,
        "SmoothedHinge": lambda: cp.huber(cp.pos(1 - u), loss.mu) / (2 * loss.mu),
        "SquaredError": lambda: cp.square(r) / 2,
        "AbsoluteError": lambda: cp.abs(r),
        "Huber": lambda: cp.huber(r, loss.delta) / 2,
        "EpsilonInsensitive": lambda: cp.pos(cp.abs(r) - loss.epsilon),
        "SquaredEpsilonInsensitive": lambda: cp.square(cp.pos(cp.abs(r) - loss.epsilon)) / 2,
        "Quantile": lambda: cp.maximum(-loss.quantile * r, (1 - loss.quantile) * r),
        "Novelty": lambda: cp.pos(loss.rho - z),
        "Poisson": lambda: cp.exp(z) - cp.multiply(y, z),
    }.get(type(loss).__name__)
    return None if made is None else made()


def _penalty(cp: Any, omega: Any, w: Any) -> tuple[Any, list[Any]]:
    """(Omega, the constraints of its domain); None where there is no such expression."""
    if isinstance(omega, regularizers.Boxed):
        sides = [w >= omega.lower] if np.isfinite(omega.lower).all() else []
        sides += [w <= omega.upper] if np.isfinite(omega.upper).all() else []
        return _penalty(cp, omega.inner, w)[0], sides
    if isinstance(omega, regularizers.ElasticNetBall):
        return 0.0, [_penalty(cp, omega.net, w)[0] <= omega.radius]
    if isinstance(omega, regularizers.Quadratic):
        return cp.quad_form(w, cp.psd_wrap(omega.Q)) / 2, []
    if isinstance(omega, regularizers.SquaredPNorm):
        return cp.square(cp.pnorm(w, omega.p)) / 2, []
    if isinstance(omega, regularizers.GroupL1):
        groups = [np.flatnonzero(omega.groups == g) for g in range(len(omega.penalties))]
        return sum(c * cp.norm(w[g]) for c, g in zip(omega.penalties, groups, strict=True)), []
    if isinstance(omega, regularizers.Entropy):
        cap = 1.0 if omega.cap is None else min(omega.cap, 1.0)
        return -cp.sum(cp.entr(w)), [w >= 0, w <= cap, cp.sum(w) == 1]
    ratio = {regularizers.L1: 1.0, regularizers.L2: 0.0}.get(
        type(omega), getattr(omega, "l1_ratio", 0.0)
    )
    c = np.broadcast_to(omega.c, w.shape)
    return ratio * (c @ cp.abs(w)) + (1 - ratio) / 2 * (c @ cp.square(w)), []
