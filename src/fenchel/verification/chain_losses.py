"""The losses of chains from above, in plain NumPy and with all round-off counted.

The loss of a sequence is a sum or maximum over labellings of exp or of what they have more than the
right one: so the score of the right label is taken off at each token, and that of the right
transition at each step, which keeps numbers near the loss. With alpha_j for the labels before, and
v_j = alpha_j + T_jk as computed, top the largest of them and d_j = v_j - top as computed,

    log sum_j exp(v'_j) <= top + u |top| + log(sum_j exp(d_j) + L u)

for the exact sums v'_j <= v_j + u |v_j|: as v'_j - top <= d_j + u |d_j| + u |v_j|, which is at most
d_j + u |top| + 2.1 u |d_j|, and exp(d) (exp(2.1 u |d|) - 1) <= u for d <= 0. The sum of the L
exponentials is off by EXP + L u of itself, its logarithm by LOG (1 + |log|) (tables.py). All else
is rounded up.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fenchel.losses import M3N, SoftM3N
from fenchel.verification import tables
from fenchel.verification.intervals import Array, Interval, exact, up
from fenchel.verification.walks import Indices, batches


@np.errstate(all="ignore")
def losses_above(loss: Any, Z: Interval, T: Array, y: Indices, starts: Indices) -> Array:
    """No less than the loss of each sequence at these scores, or inf where they overflow."""
    rows, L = np.arange(len(y)), len(T)
    tau = exact(loss.temperature if isinstance(loss, SoftM3N) else 1.0)
    margins = Z.minus(Interval(*(end[rows, y][:, np.newaxis] for end in Z))).hi
    margins[rows, y] = 0.0
    if isinstance(loss, M3N) and loss.rescaling == "slack":
        parts = zip(np.split(margins, starts[1:-1]), np.split(y, starts[1:-1]), strict=True)
        return np.array([_slack_above(part, T, codes) for part, codes in parts])
    if isinstance(loss, M3N | SoftM3N):
        margins = exact(margins).plus(exact(loss.costs(L).T[y])).hi
    over = _largest if isinstance(loss, M3N) else _log_sum_exp
    alpha = exact(margins).over(tau).hi
    steps = exact(T).over(tau)
    for _, tokens in batches(starts, L):
        for before, now in itertools.pairwise(tokens):
            right = steps.lo[y[now - 1], y[now]][:, np.newaxis]
            moved = up(alpha[before[: len(now)]] - right)
            alpha[now] = up(alpha[now] + over(moved[:, :, np.newaxis] + steps.hi))
    total = over(alpha[starts[1:] - 1][:, :, np.newaxis])[:, 0]
    return exact(total).times(tau).hi


def _largest(v: Array) -> Array:
    """Over the second axis."""
    return up(np.max(v, axis=1))


def _log_sum_exp(v: Array) -> Array:
    """No less than that over the second axis, of sums v that were rounded once; or inf."""
    u, L, top = tables.UNIT, v.shape[1], np.max(v, axis=1)
    known = np.isfinite(top)
    if not known.all():
        v, top = np.where(known[:, np.newaxis], v, 0.0), np.where(known, top, 0.0)
    total = np.sum(tables.exp(v - top[:, np.newaxis]), axis=1)
    log = tables.log(total * (1 + tables.EXP + (L + 2) * u) + 2 * L * u)
    error = tables.LOG * (2 + log) + 2 * u * np.abs(top)
    return np.where(known, up(top + up(log + error)), np.inf)


def _slack_above(margins: Array, T: Array, y: Indices) -> float:
    """No less than max c (1 + s(y') - s(y)) over y' with c wrong labels, of one sequence.

    alpha[c, j] is no less than the best score of labels so far that end in j, c of them wrong.
    """
    n, L = margins.shape
    wrong = np.arange(L) != y[:, np.newaxis]
    alpha = np.full((n + 1, L), -np.inf)
    alpha[wrong[0].astype(int), np.arange(L)] = margins[0]
    for t in range(1, n):
        moved = up(alpha - T[y[t - 1], y[t]])[:, :, np.newaxis] + T
        longer = up(margins[t] + _largest(moved))
        fewer = np.vstack([np.full(L, -np.inf), longer[:-1]])
        alpha = np.where(wrong[t], fewer, longer)
    c = np.arange(1.0, n + 1)
    values = up(c * up(1 + np.max(alpha[1:], axis=1)))
    return float(max(0.0, np.max(values))) if not np.isnan(values).any() else np.inf
