"""The dual and the primal objective in rational arithmetic, from the definitions.

Logarithms and exponentials are Decimal's, to eighty digits, and count as exact.
"""

from __future__ import annotations

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np

F = Fraction

_CONTEXT = decimal.Context(prec=80, Emin=-(10**9), Emax=10**9)


def rationals(numbers):
    return [F(float(x)) for x in np.ravel(numbers)]


def log(x):
    return F(_decimal(x).ln(_CONTEXT))


def exp(x):
    return F(_decimal(x).exp(_CONTEXT))


def _decimal(x):
    return _CONTEXT.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))


def x_log_x(p):
    return p * log(p) if p else F(0)


def in_margin(loss, value, least=-1):
    """Of beta = y a, which lies in [least, 0]."""
    return lambda a, y: value(a, y * a) if least <= y * a <= 0 else None


# For each loss l(z, y) and l*(a, y), None outside the domain.
FORMULAS = {
    "Hinge": lambda o: (
        lambda z, y: max(F(0), 1 - y * z),
        in_margin(o, lambda a, beta: beta),
    ),
    "SquaredHinge": lambda o: (
        lambda z, y: max(F(0), 1 - y * z) ** 2 / 2,
        in_margin(o, lambda a, beta: beta + a * a / 2, -math.inf),
    ),
    "Logistic": lambda o: (
        lambda z, y: log(1 + exp(-y * z)) if y * z >= 0 else -y * z + log(1 + exp(y * z)),
        in_margin(o, lambda a, beta: x_log_x(-beta) + x_log_x(1 + beta)),
    ),
    "SquaredError": lambda o: (
        lambda z, y: (z - y) ** 2 / 2,
        lambda a, y: a * y + a * a / 2,
    ),
    "AbsoluteError": lambda o: (
        lambda z, y: abs(z - y),
        lambda a, y: a * y if abs(a) <= 1 else None,
    ),
    "Quantile": lambda o: (
        lambda z, y: max(F(o.quantile) * (y - z), (1 - F(o.quantile)) * (z - y)),
        lambda a, y: a * y if -F(o.quantile) <= a <= 1 - F(o.quantile) else None,
    ),
    "EpsilonInsensitive": lambda o: (
        lambda z, y: max(F(0), abs(z - y) - F(o.epsilon)),
        lambda a, y: a * y + F(o.epsilon) * abs(a) if abs(a) <= 1 else None,
    ),
    "Huber": lambda o: (
        lambda z, y: (
            (z - y) ** 2 / 2
            if abs(z - y) <= F(o.delta)
            else F(o.delta) * (abs(z - y) - F(o.delta) / 2)
        ),
        lambda a, y: a * y + a * a / 2 if abs(a) <= F(o.delta) else None,
    ),
    "Poisson": lambda o: (
        lambda z, y: exp(z) - y * z + x_log_x(y) - y,
        lambda a, y: x_log_x(a + y) - (a + y) - (x_log_x(y) - y) if a >= -y else None,
    ),
    "Gamma": lambda o: (
        lambda z, y: y * exp(-z) + z - 1 - log(y),
        lambda a, y: x_log_x(1 - a) + a * (1 + log(y)) if a <= 1 else None,
    ),
}
WITH_LOGARITHMS = ("Logistic", "Poisson", "Gamma")


def row_formulas(loss):
    return FORMULAS[type(loss).__name__](loss)


def multiclass_conjugate(loss, t, s, y):
    """s l*(t / s) of a row, None outside the domain."""
    wrong = [k for k in range(len(t)) if k != y]
    inside = sum(t) == 0 and all(t[k] >= 0 for k in wrong) and sum(t[k] for k in wrong) <= s
    if not inside:
        return None
    if type(loss).__name__ == "Softmax":
        return s * sum(x_log_x(t[k] / s + (k == y)) for k in range(len(t)))
    costs = rationals(loss.costs(len(t))[:, y])
    return -sum(costs[k] * t[k] for k in wrong)


def multiclass_value(loss, z, y):
    if type(loss).__name__ == "Softmax":
        return max(z) - z[y] + log(sum(exp(x - max(z)) for x in z))
    costs = rationals(loss.costs(len(z))[:, y])
    return max(costs[k] + z[k] - z[y] for k in range(len(z)))


def penalty(omega, w):
    c, rho = _weights(omega, w)
    return sum(cj * (rho * abs(x) + (1 - rho) * x * x / 2) for cj, x in zip(c, w, strict=True))


def penalty_conjugate(omega, u):
    """None outside the domain."""
    c, rho = _weights(omega, u)
    if rho == 1:
        return F(0) if all(abs(x) <= cj for x, cj in zip(u, c, strict=True)) else None
    excess = (max(F(0), abs(x) - cj * rho) for x, cj in zip(u, c, strict=True))
    return sum(e * e / (2 * cj * (1 - rho)) for e, cj in zip(excess, c, strict=True))


def _weights(omega, w):
    c = [F(1)] * len(w) if omega.weights is None else rationals(omega.weights)[: len(w)]
    rho = {"L1": F(1), "L2": F(0)}.get(type(omega).__name__)
    return c, F(omega.l1_ratio) if rho is None else rho


def chain_loss(loss, Z, T, y):
    """Of one sequence, by all of its labellings; terms below exp(-1000) of the largest are 0."""
    L = len(T)
    margins = {}
    for labels in itertools.product(range(L), repeat=len(y)):
        score = sum(Z[t][k] - Z[t][y[t]] for t, k in enumerate(labels))
        steps = zip(itertools.pairwise(labels), itertools.pairwise(y), strict=True)
        margins[labels] = score + sum(T[j][k] - T[a][b] for (j, k), (a, b) in steps)
    if type(loss).__name__ == "CRF":
        return _log_sum_exp(list(margins.values()))
    costs = [rationals(row) for row in loss.costs(L)]
    cost = {labels: sum(costs[k][c] for k, c in zip(labels, y, strict=True)) for labels in margins}
    if type(loss).__name__ == "M3N":
        if loss.rescaling == "slack":
            return max(cost[labels] * (1 + margins[labels]) for labels in margins)
        return max(cost[labels] + margins[labels] for labels in margins)
    tau = F(loss.temperature)
    return tau * _log_sum_exp([(cost[labels] + margins[labels]) / tau for labels in margins])


def _log_sum_exp(x):
    top = max(x)
    return top + log(sum(exp(v - top) for v in x if v - top > -1000))
