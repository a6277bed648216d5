"""Finding a quasi-Newton direction of descent at a kink (000 algorithm 2, appendix A).

The local model of J at w, with B an approximation of the inverse Hessian, is

    M(p) = 1/2 p'B^-1 p + sup over g in dJ(w) of <g, p>.

Its dual is solved over the subgradients seen so far, one exact step of size mu towards the newest
of them at a time; p = -B g_bar with g_bar in dJ(w). Line numbers are those of algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.protocols import Array

Oracle = Callable[[Array], Array]


def descent_direction(
    g: Array, B: Oracle, support: Oracle, *, tolerance: float = 1e-5, k_max: int = 100
) -> tuple[Array, float] | None:
    """A direction p and sup over g in dJ(w) of <g, p>, which is < 0; None if none was found.

    `g` is any subgradient, `B` multiplies by the inverse Hessian, and `support` gives the argsup
    over dJ(w) of <g, p>. The tolerance is relative to the model's first value 1/2 g'B g (the
    paper's is absolute), so that it means the same whatever the units of J.
    """
    g_bar, p = g, -B(g)  # line 3
    g_next = support(p)  # line 4
    M, D = float(p @ g_next) - 0.5 * float(p @ g_bar), 0.5 * float(p @ g_bar)  # eq. 89, 90
    enough = -tolerance * D
    best, best_M, best_slope = p, M, float(p @ g_next)
    gap = M - D  # line 5
    for _ in range(1, k_max):
        if not (gap > 0 and (best_slope >= 0 or gap > enough)):  # line 6
            break
        Bg_next = B(g_next)
        change, B_change = g_bar - g_next, -p - Bg_next
        curvature = float(change @ B_change)
        if not curvature > 0:
            break
        mu = float(np.clip(-(change @ p) / curvature, 0.0, 1.0))  # line 7, eq. 73
        g_bar = (1 - mu) * g_bar + mu * g_next  # line 8
        p = (1 - mu) * p - mu * Bg_next  # line 9
        g_next = support(p)  # line 10
        slope, D = float(p @ g_next), 0.5 * float(p @ g_bar)
        M = slope - D
        if M < best_M:
            best, best_M, best_slope = p, M, slope  # line 14
        gap = best_M - D  # line 11
    return (best, best_slope) if best_slope < 0 else None  # lines 15-19
