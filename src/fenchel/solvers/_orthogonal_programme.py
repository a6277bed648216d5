"""The bundle's quadratic programme by orthogonal factors, for cuts too long for their Gram matrix.

    max over alpha in the simplex of  <b, alpha> - 1/2 ||B'alpha||^2
    min over x of                     1/2 ||x||^2 + max_i <B_i, x> + b_i,         x = -B'alpha

Where the strength is tiny for the columns, rows of B are of the size 1e11, x is of the size 1, and
entries of BB', rounded, are off by 1e6: no weights found from them are of use. Nor does x follow
from alpha, of whose terms all digits cancel. So x is found by itself, as the point at which the
cuts of the support S meet. With one of them, o, as the origin, N the differences B_i - B_o of the
others, c = b_o - b_i and N' = Q R,

    N x = c  and  x = -B_o - N'(alpha but for o)
    =>  x = Q R^-T c - (I - QQ') B_o,     R (alpha but for o) = -R^-T c - Q'B_o.

These equations are as accurate as N is well conditioned; BB' squares its condition. The supports
are those of Wolfe's algorithm (1976, "Finding the nearest point in a polytope"): the cut that is
highest at x enters, alpha moves towards the solution on S, and the cuts whose weight vanishes on
the way leave. Affinely dependent supports have a direction that moves alpha alone; along it <b,
alpha> rises until a weight vanishes, which is a step of the simplex method.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from fenchel.risks.base import Array

_DEPENDENT = 1e-13  # of a difference's length: what is left of it once it is made orthogonal
_LEVEL = 1e-13  # of the terms of <B_i, x> + b_i: by so much a cut may be above those in use
_back = functools.partial(solve_triangular, check_finite=False)  # overflow ends the exchanges
_STEPS_PER_CUT, _STEPS = 4, 100  # exchanges, at most; as a rule a few


class _Met(NamedTuple):
    """Where the cuts of a support meet, with their weights; or a way along which nothing but
    weights moves."""

    x: Array | None
    alpha: Array


def solved(
    B: Array, b: Array, alpha: Array, pulse: Callable[[], None]
) -> tuple[Array, Array | None]:
    """The programme's weights, from feasible ones, and x; None where it was not found."""
    order = np.argsort(-np.max(np.abs(B), axis=0), kind="stable")  # large first: stable by rows
    columns, x = np.ascontiguousarray(B[:, order]), None
    size, alpha = np.abs(columns), alpha.copy()
    support = [int(i) for i in np.flatnonzero(alpha)]
    seen: set[frozenset[int]] = set()  # the dual rises from one to the next, but for round-off
    for _ in range(_STEPS + _STEPS_PER_CUT * len(b)):
        pulse()
        met = _met(columns[support], b[support])
        if met.x is not None and np.min(met.alpha) >= 0:
            x, alpha[:] = met.x, 0.0
            alpha[support] = met.alpha
            heights = columns @ x + b
            j, at = int(np.argmax(heights)), int(support[int(np.argmax(met.alpha))])
            noise = _LEVEL * (size[[j, at]] @ np.abs(x) + np.abs(b[[j, at]]))
            level = j in support or heights[j] - heights[at] <= np.sum(noise)
            if level or frozenset(support) in seen:
                break
            seen.add(frozenset(support))
            support.append(j)
            continue
        here = alpha[support]
        way = met.alpha - here if met.x is not None else met.alpha
        falling = np.flatnonzero(way < 0)
        if not len(falling):
            break
        steps = here[falling] / -way[falling]
        first = int(falling[np.argmin(steps)])
        alpha[support] = np.maximum(here + float(np.min(steps)) * way, 0.0)
        alpha[support[first]] = 0.0
        del support[first]
    if x is not None:
        x = x[np.argsort(order)]
    return alpha / np.sum(alpha), x


def _met(B: Array, b: Array) -> _Met:
    """The solution on a support, whose weights may be negative; or the way of dependent cuts."""
    o = int(np.argmin(np.linalg.norm(B, axis=1)))
    others = np.delete(np.arange(len(b)), o)
    N, c = B[others] - B[o], b[o] - b[others]
    alpha = np.zeros(len(b))
    if not len(others):
        alpha[o] = 1.0
        return _Met(-B[o], alpha)
    Q, R, order = qr(N.T, mode="economic", pivoting=True, check_finite=False)
    lengths = np.linalg.norm(N, axis=1)[order]
    pivots = np.zeros(len(others))
    pivots[: min(R.shape)] = np.abs(np.diag(R))
    dependent = np.flatnonzero(~(pivots > _DEPENDENT * lengths))
    if len(dependent):
        k = int(dependent[0])
        way = np.zeros(len(others))
        way[order[k]] = 1.0
        if k:
            way[order[:k]] = -_back(R[:k, :k], R[:k, k])
        alpha[others], alpha[o] = way, -np.sum(way)
        return _Met(None, alpha if b @ alpha >= 0 else -alpha)
    t = _back(R, c[order], trans="T")
    across = B[o] - Q @ (Q.T @ B[o])
    across -= Q @ (Q.T @ across)
    alpha[others[order]] = _back(R, -t - Q.T @ B[o])
    alpha[o] = 1 - np.sum(alpha)
    return _Met(Q @ t - across, alpha)
