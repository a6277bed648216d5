"""Finding a quasi-Newton direction of descent at a kink ([Yu10] algorithm 2, appendix A).

The local model of J at w, with B an approximation of the inverse Hessian, is

    M(p) = 1/2 p'B^-1 p + sup over g in dJ(w) of <g, p>.

Its dual, max over g_bar in dJ(w) of -1/2 g_bar'B g_bar, is solved over the subgradients seen so
far; p = -B g_bar. The paper takes one exact step from g_bar towards the newest of them (lines 7 to
9); we solve the small quadratic programme itself, which appendix A says goes further, and which
ends after finitely many steps because dJ(w) is a polyhedron. `one_step_direction` is the paper's,
for comparison. Line numbers are algorithm 2's.

Two things end it in floating point, where at a minimiser the programme's value is 0 and its digits
are round-off. A steepest subgradient that was seen before leaves the programme as it is, and its
solution with it: the gap that is left is round-off, however large it seems beside D. And one
programme may take `_STEPS` steps, as round-off can make its matrix indefinite and its steps
endless. An absolute floor for the gap, the round-off in <g, B g>, would do the same but give away
digits: at a strength of 1e-9, J on separable rows is of that size itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel import _kernels
from fenchel.risks.base import Array
from fenchel.tolerances import ZERO_SUM

_INNER_GAP = 1e-14
_STEPS = 1000  # of a programme that has one subgradient more than the last, and is warm

Oracle = Callable[[Array], Array]


class Direction(NamedTuple):
    """A direction p, sup over g in dJ(w) of <g, p>, which is < 0, and the rounds it took."""

    p: Array
    slope: float
    rounds: int  # of lines 6 to 13: 0 if the first guess was good enough


def descent_direction(
    g: Array, B: Oracle, support: Oracle, *, tolerance: float = 0.1, k_max: int = 100
) -> Direction | None:
    """A direction of descent; None if none was found.

    `g` is any subgradient, `B` multiplies by the inverse Hessian, and `support` gives the argsup
    over dJ(w) of <g, p>. The tolerance is relative to the model's first value 1/2 g'B g (the
    paper's is absolute), so that it means the same whatever the units of J.
    """
    G, BG, qp = [g], [B(g)], _kernels.SimplexQP()
    qp.append(np.empty(0), float(g @ BG[0]), 0.0)
    p = -BG[0]  # line 3
    D = -0.5 * float(g @ BG[0])  # eq. 90
    enough, largest = -tolerance * D, -D
    best, best_M, best_slope = p, np.inf, np.inf
    for _ in range(k_max):
        g = support(p)  # lines 4 and 10
        slope = float(p @ g)
        if slope - D < best_M:  # M(p) = slope + 1/2 p'B^-1 p, and p'B^-1 p = -2 D
            best, best_M, best_slope = p, slope - D, slope  # line 14
        gap = best_M - D  # lines 5 and 11
        if not (gap > 0 and (best_slope >= 0 or gap > enough)):  # line 6
            break
        if any(np.array_equal(g, h) for h in G):
            break
        Bg = B(g)
        qp.append(np.array([float(g @ Bh) for Bh in BG]), float(g @ Bg), 0.0)
        largest = max(largest, 0.5 * float(g @ Bg))
        G.append(g)
        BG.append(Bg)
        qp.solve(_INNER_GAP, _STEPS)
        p = -(qp.weights @ np.array(BG))  # line 9
        D = 0.5 * float(p @ (qp.weights @ np.array(G)))
        if -D <= ZERO_SUM**2 * largest:  # 0 is in dJ(w), up to round-off
            break
    rounds = len(G) - 1
    return Direction(best, best_slope, rounds) if best_slope < 0 else None  # lines 15-19


def one_step_direction(
    g: Array, B: Oracle, support: Oracle, *, tolerance: float = 1e-5, k_max: int = 100
) -> Direction | None:
    """Algorithm 2 as it is printed: one exact step towards the newest subgradient at a time.

    The tolerance is absolute; the paper has 1e-5.
    """
    g_bar, p = g, -B(g)  # line 3
    best, best_M, best_slope, rounds = p, np.inf, np.inf, 0
    while True:
        g = support(p)  # lines 4 and 10
        slope, D = float(p @ g), 0.5 * float(p @ g_bar)
        if slope - D < best_M:
            best, best_M, best_slope = p, slope - D, slope  # line 14
        gap = best_M - D  # lines 5 and 11
        if not ((slope > 0 or gap > tolerance) and gap > 0 and rounds + 1 < k_max):  # line 6
            return Direction(best, best_slope, rounds) if best_slope < 0 else None  # lines 15-19
        Bg = B(g)
        away, B_away = g_bar - g, -p - Bg  # p = -B g_bar
        curvature = float(away @ B_away)
        mu = min(1.0, -float(away @ p) / curvature) if curvature > 0 else 1.0  # line 7
        g_bar, p = (1 - mu) * g_bar + mu * g, (1 - mu) * p - mu * Bg  # lines 8 and 9
        rounds += 1
