"""Residuals of slopes that flow between classes until they are 0.

The slopes a_i of the rows of a vector loss with offsets need the residual r = sum_i s_i a_i = 0
(offsets.py, which has the derivation). A row admits moves along e_k - e_l for classes l that are
right and k that are wrong for it; what r has too much flows along such pairs to one class, the hub,
and from there to the classes that have too little.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Path = list[tuple[int, int]]


class ClassFlows:
    """Pairs (l, k) of classes, l right and k wrong, along which residuals can flow.

    `N` has the rows' shares that admit a pair, `costs` the Delta of rescaled slacks.
    """

    def __init__(self, N: Array, costs: Array):
        self.N, self.steepest = N, max(1.0, float(np.max(costs, initial=0.0)))
        room = N * costs
        hub = int(np.argmax(np.sum(N, axis=1)))
        back = [_reversed(path) for path in _paths(room.T, hub)]
        self._ways = back, _paths(room, hub)  # to the hub, and from it
        self.connected = all(path is not None for ways in self._ways for path in ways)
        price = np.divide(1.0, room, out=np.full_like(room, np.inf), where=room > 0)
        # What a unit of r above 0 in each class takes of phi, and one below it.
        self.prices = [np.array([_sum_over(price, path) for path in ways]) for ways in self._ways]

    def share(self, r: Array) -> float:
        """phi: how much has to be mixed in to take off the residual r."""
        to, back = self.prices
        return float(np.maximum(r, 0.0) @ to + np.maximum(-r, 0.0) @ back)

    def moves(self, r: Array) -> Array:
        """m_lk, which take off the residual r."""
        f = np.zeros_like(self.N)
        for k, excess in enumerate(r.tolist()):
            for pair in self._ways[0 if excess > 0 else 1][k] or []:
                f[pair] += abs(excess)
        return np.divide(f, self.N, out=np.zeros_like(f), where=self.N > 0)


def _paths(room: Array, hub: int) -> list[Path | None]:
    """The shortest way from the hub to each class along pairs with room; None where none leads."""
    paths: list[Path | None] = [None] * len(room)
    paths[hub], reached = [], [hub]
    for here in reached:
        if len(reached) == len(room):
            break
        for k in np.flatnonzero(room[here] > 0).tolist():
            if paths[k] is None:
                paths[k] = [*(paths[here] or []), (here, k)]
                reached.append(k)
    return paths


def _reversed(path: Path | None) -> Path | None:
    return None if path is None else [(k, here) for here, k in reversed(path)]


def _sum_over(price: Array, path: Path | None) -> float:
    return np.inf if path is None else float(sum(price[pair] for pair in path))
