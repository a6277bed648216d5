"""The limited-memory inverse Hessian: the last m pairs (s, y) and the two-loop recursion."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from fenchel.protocols import Array

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

    def add(self, s: Array, y: Array) -> None:
        """Remembers a pair, unless its curvature is lost in round-off."""
        sy = float(s @ y)
        if sy > _CURVATURE * float((s @ s) * (y @ y)) ** 0.5:
            self.pairs.append(Pair(s, y, 1.0 / sy))

    def times(self, g: Array) -> Array:
        """H g."""
        q = g.copy()
        alphas = []
        for s, y, rho in reversed(self.pairs):
            alphas.append(rho * float(s @ q))
            q -= alphas[-1] * y
        q *= self.D
        if self.pairs:
            _, y, rho = self.pairs[-1]
            q *= 1.0 / (rho * float((self.D * y) @ y))
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            q += (alpha - rho * float(y @ q)) * s
        return q
