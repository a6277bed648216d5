"""The limited-memory inverse Hessian: the last m pairs (s, y) and the two-loop recursion."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy

from fenchel.risks.base import Array
from fenchel.solvers.base import State

_CURVATURE = 1e-12  # pairs with s'y below this fraction of |s||y| carry no information


class Pair(NamedTuple):
    """A step s, the change y of the gradient along it, and 1 / s'y."""

    s: Array
    y: Array
    rho: float


class LBFGSMemory:
    """H, an approximation of the inverse Hessian that is never formed.

    It starts from the diagonal `D`, scaled by the newest pair.
    """

    def __init__(self, m: int, D: Array):
        self.D = D
        self.pairs: deque[Pair] = deque(maxlen=m)

    def state(self) -> dict[str, Array]:
        """The pairs as plain arrays."""
        S, Y = [pair.s for pair in self.pairs], [pair.y for pair in self.pairs]
        return {"S": np.array(S), "Y": np.array(Y)}

    def restore(self, state: State) -> None:
        """Takes over the pairs."""
        for s, y in zip(state["S"], state["Y"], strict=True):
            self.add(s, y)

    def add(self, s: Array, y: Array) -> None:
        """Remembers a pair, unless its curvature is lost in round-off or underflow."""
        sy, scale = float(s @ y), float((self.D * y) @ y)
        if scale > 0 and sy > _CURVATURE * float((s @ s) * (y @ y)) ** 0.5:
            self.pairs.append(Pair(s, y, 1.0 / sy))

    def forget(self) -> bool:
        """Drops all pairs; False if there were none."""
        learnt = bool(self.pairs)
        self.pairs.clear()
        return learnt

    def times(self, g: Array) -> Array:
        """H g, from the pairs by the two-loop recursion.

        BLAS adds a multiple of a vector in its place: of a million columns in an eighth of the time
        that one more array of the multiple would take.
        """
        q = g.copy()
        alphas = []
        for s, y, rho in reversed(self.pairs):
            alphas.append(rho * float(s @ q))
            q = daxpy(y, q, a=-alphas[-1])
        q *= self.D
        if self.pairs:
            _, y, rho = self.pairs[-1]
            q *= 1.0 / (rho * float((self.D * y) @ y))
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            q = daxpy(s, q, a=alpha - rho * float(y @ q))
        return q
