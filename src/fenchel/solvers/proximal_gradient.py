"""The proximal gradient method: AGM-EF-1's first step, over and over ([Zhang11] algorithm 4, 2-7).

    x <- argmin of f(x_k) + <grad f(x_k), x - x_k> + L/2 |x - x_k|^2 + Psi(x)

A baseline for the accelerated methods. Two passes an iteration, one more for each L tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, Linearisation, X, Y
from fenchel.risks.views.prox_functions import ProxFunction
from fenchel.solvers._accelerated import (
    GAMMA_D,
    GAMMA_U,
    Accelerated,
    Iterate,
    accepted,
    lowered,
)
from fenchel.solvers._estimates import Estimate
from fenchel.solvers.base import State


class ProximalGradient(Accelerated):
    """Proximal gradient steps on R, smoothed to the level `mu` where it has kinks."""

    name = "proximal-gradient"

    def __init__(self, mu: float | None = None, prox: str | ProxFunction = "own"):
        super().__init__("primal", mu, prox=prox)

    def iterates(
        self, J: Composite[X, Y], x: Imaged[X, Y], L: float, state: State | None = None
    ) -> Iterator[Iterate[X, Y]]:
        """Steps; there is nothing else to remember."""
        for k in itertools.count(1):
            at_x = J.tangent(x)
            x, L = proximal_step(J, at_x, x, lowered(J, L / GAMMA_D))
            yield Iterate(x, at_x.alpha, (x, at_x.alpha), 1 / k, L, dict)


def proximal_step(
    J: Composite[X, Y], at_y: Linearisation[X, Y], y: Imaged[X, Y], L: float
) -> tuple[Imaged[X, Y], float]:
    """(The next x, the L it was taken with): L rises until the model at y lies above J at x."""
    while True:
        low = Estimate.around(J, L / J.sigma - J.lambda_1, y.x).plus(1.0, at_y, y).minimum()
        x = J.imaged(low.x)
        if accepted(J, x, low, L):
            return x, L
        L *= GAMMA_U
