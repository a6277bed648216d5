"""FISTA (Beck and Teboulle, SIAM J. Imaging Sciences 2009, section 4), for comparison.

    x_k = the proximal step from y_k,    t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2
    y_{k+1} = x_k + (t_k - 1) / t_{k+1} (x_k - x_{k-1})

Unlike AGM-EF it takes no notice of strong convexity, and its L must not fall. Two passes an
iteration, one more for each L tried.

With `restart` the momentum ends, t = 1 and y = x_k, where it leads uphill: <y_k - x_k, x_k -
x_{k-1}> > 0 (O'Donoghue and Candes 2015). Near its minimum J is often strongly convex as far as it
matters, and that is what takes notice of it; `auto` has it on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Problem
from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, X, Y, packed
from fenchel.risks.views.prox_functions import ProxFunction
from fenchel.solvers._accelerated import Accelerated, Iterate, lowered
from fenchel.solvers.base import State
from fenchel.solvers.proximal_gradient import proximal_step


class FISTA(Accelerated):
    """FISTA on R, smoothed to the level `mu` where it has kinks."""

    name = "fista"

    def __init__(
        self, mu: float | None = None, prox: str | ProxFunction = "own", restart: bool = False
    ):
        super().__init__("primal", mu, prox=prox)
        self.restart = bool(restart)

    def obstacle(self, problem: Problem) -> str | None:
        """Its momentum may leave a set where the prox-function alone is defined."""
        if problem.regularizer.has("d"):
            return "it needs a regulariser whose prox-function is that of Euclid"
        return super().obstacle(problem)

    def iterates(
        self, J: Composite[X, Y], x: Imaged[X, Y], L: float, state: State | None = None
    ) -> Iterator[Iterate[X, Y]]:
        y, t, L = x, 1.0, lowered(J, L)
        if state is not None:
            y, t = J.imaged(J.unpacked(state["y"])), float(state["t"])
        while True:
            at_y = J.tangent(y)
            x_next, L = proximal_step(J, at_y, y, L)
            if self.restart and _uphill(y, x_next, x):
                t = 1.0
            t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
            push = (t - 1) / t_next
            y = (1 + push) * x_next + (-push) * x
            x, share, t = x_next, 1 / t, t_next
            memory = functools.partial(_memory, y, t)
            yield Iterate(x, at_y.alpha, (x, at_y.alpha), share, L, memory)


def _uphill(y: Imaged[X, Y], x: Imaged[X, Y], before: Imaged[X, Y]) -> bool:
    """Whether the step from y to x turns back on the way that x has come."""
    return bool(((y + (-1.0) * x).x @ (x + (-1.0) * before).x) > 0)


def _memory(y: Imaged[X, Y], t: float) -> State:
    return {"y": packed(y.x), "t": np.array(t)}
