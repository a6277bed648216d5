"""Finding a quasi-Newton direction of descent at a kink ([Yu10] algorithm 2, appendix A).

The local model of J at w, with B an approximation of the inverse Hessian, is

    M(p) = 1/2 p'B^-1 p + sup over g in dJ(w) of <g, p>.

Its dual, max over g_bar in dJ(w) of -1/2 g_bar'B g_bar, is solved over the subgradients seen so
far; p = -B g_bar. The paper takes one exact step from g_bar towards the newest of them (lines 7 to
9); we solve the small quadratic programme itself, which appendix A says goes further, and which
ends after finitely many steps because dJ(w) is a polyhedron. Line numbers are algorithm 2's.

Two things end it in floating point, where at a minimiser the programme's value is 0 and its digits
are round-off. A steepest subgradient that was seen before leaves the programme as it is, and its
solution with it: the gap that is left is round-off, however large it seems beside D. And one
programme may take `_STEPS` steps, as round-off can make its matrix indefinite and its steps
endless. An absolute floor for the gap, the round-off in <g, B g>, would do the same but give away
digits: at a strength of 1e-9, J on separable rows is of that size itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel import _kernels
from fenchel.risks.base import Array
from fenchel.tolerances import ZERO_SUM

_INNER_GAP = 1e-14
_STEPS = 1000  # of a programme that has one subgradient more than the last, and is warm

Oracle = Callable[[Array], Array]


def descent_direction(
    g: Array, B: Oracle, support: Oracle, *, tolerance: float = 0.1, k_max: int = 100
) -> tuple[Array, float] | None:
    """A direction p and sup over g in dJ(w) of <g, p>, which is < 0; None if none was found.

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
    return (best, best_slope) if best_slope < 0 else None  # lines 15-19
