"""Finding a quasi-Newton direction of descent at a kink ([Yu10] algorithm 2, appendix A).

The local model of J at w, with B an approximation of the inverse Hessian, is

    M(p) = 1/2 p'B^-1 p + sup over g in dJ(w) of <g, p>.

Its dual, max over g_bar in dJ(w) of -1/2 g_bar'B g_bar, is solved over the subgradients seen so
far; p = -B g_bar. The paper takes one exact step from g_bar towards the newest of them (lines 7 to
9); we solve the small quadratic programme itself, which appendix A says goes further, and which
ends after finitely many steps because dJ(w) is a polyhedron. Line numbers are algorithm 2's.

At a minimiser the programme's value is 0, and no accuracy that is relative to it can be reached.
What can be known is absolute: an entry <g, B h> is a sum of terms whose magnitudes add up to
<|g|, |B h|>, so it is off by `ROUND_OFF` of that, and so is the mean of entries that D is. A gap
below the largest of these errors is no gap. And where the steepest subgradient is one of those
seen, the programme would not change: g_bar is its solution, whatever the gap may seem to be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel import _kernels
from fenchel.risks.base import Array
from fenchel.tolerances import ROUND_OFF

_INNER_GAP = 1e-14
_STEPS = 1000  # of the programme, which is warm: it has one more variable than the last

Oracle = Callable[[Array], Array]


def descent_direction(
    g: Array, B: Oracle, support: Oracle, *, tolerance: float = 0.1, k_max: int = 100
) -> tuple[Array, float] | None:
    """A direction p and sup over g in dJ(w) of <g, p>, which is < 0; None if none was found.

    `g` is any subgradient, `B` multiplies by the inverse Hessian, and `support` gives the argsup
    over dJ(w) of <g, p>. The tolerance is relative to the model's first value 1/2 g'B g (the
    paper's is absolute), so that it means the same whatever the units of J.
    """
    G, BG, qp = g[np.newaxis], B(g)[np.newaxis], _kernels.SimplexQP()
    qp.append(np.empty(0), float(g @ BG[0]), 0.0)
    p = -BG[0]  # line 3
    D = -0.5 * float(g @ BG[0])  # eq. 90
    enough, noise = -tolerance * D, _noise(G, BG)
    best, best_M, best_slope = p, np.inf, np.inf
    for _ in range(k_max):
        g = support(p)  # lines 4 and 10
        slope = float(p @ g)
        if slope - D < best_M:  # M(p) = slope + 1/2 p'B^-1 p, and p'B^-1 p = -2 D
            best, best_M, best_slope = p, slope - D, slope  # line 14
        gap = best_M - D  # lines 5 and 11
        if not (gap > noise and (best_slope >= 0 or gap > enough)):  # line 6
            break
        if np.any(np.all(g == G, axis=1)):
            break
        Bg = B(g)
        qp.append(BG @ g, float(g @ Bg), 0.0)
        G, BG = np.vstack([G, g]), np.vstack([BG, Bg])
        noise = max(noise, _noise(G, Bg), _noise(BG, g))
        qp.solve(_INNER_GAP, _STEPS, noise)
        p = -(qp.weights @ BG)  # line 9
        D = 0.5 * float(p @ (qp.weights @ G))
        if not p.any():  # 0 is in dJ(w)
            break
    return (best, best_slope) if best_slope < 0 else None  # lines 15-19


def _noise(G: Array, Bg: Array) -> float:
    """The error of the largest of the products <g, B g>."""
    return ROUND_OFF * float(np.max(np.abs(G) @ np.abs(Bg.T)))
