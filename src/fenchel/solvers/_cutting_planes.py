"""The cutting-plane model  max_i <a_i, w> + b_i <= R(w)  of the cuts seen so far ([Smola07] eq. 4).

Its dual ([Smola07] theorem 2) is

    max over alpha in the simplex of  D(alpha) = <b, alpha> - lambda Omega*(-A'alpha / lambda),

with the cuts a_i as the rows of A. Any feasible alpha proves a lower bound of J, and the bound is
always computed from alpha itself, never taken from the inner solver's word. Cut 0 is the zero cut
R >= 0 where the risk allows it.

Memory stays bounded: a cut that had no weight for `_IDLE` solves is dropped, which changes neither
alpha nor its bound; beyond `max_cuts` all cuts without weight go, and if most carry some, the
lighter half is replaced by its weighted mean, which represents the same alpha. Under L1, where a
mean would not do, cuts with weight always stay; and the evidence for a mean of a user's loss
without a conjugate keeps all the points it was made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.risks.base import Array, Point, Problem
from fenchel.solvers.base import State
from fenchel.tolerances import ZERO_SUM
from fenchel.witness import Witness, mixture, packed, unpacked

_IDLE = 50  # solves without weight after which a cut is dropped

Indices = npt.NDArray[np.intp]
Sizes = tuple[float, float]
Evidence = Callable[[], Witness]  # makes a witness, if it is asked for


class InnerFailure(ArithmeticError):
    """The inner problem's numbers are out of its solver's range."""


class ModelMinimum(NamedTuple):
    """The model's minimiser, and what its dual solution proves."""

    w: Array
    lower_bound: float
    witness: Evidence


class CuttingPlanes(ABC):
    """Cuts of the risk, and the dual weights alpha of the model's minimiser."""

    cuts_cost_a_pass: ClassVar[bool] = False  # beyond those that their point has cost

    def __init__(self, problem: Problem, max_cuts: int):
        self.problem = problem
        self.max_cuts = max_cuts
        self.enough = 0.0  # of the dual's gap may be left; 0 for what round-off leaves
        self.free = problem.regularizer.free(problem.risk.n_parameters)
        self.b, self.alpha = np.empty(0), np.empty(0)
        self._storage = np.empty((8, self.width))
        self._evidence: list[Witness] = []
        self._sizes = np.empty((0, 2))  # behind each cut's a and b, for their round-off
        self._idle = np.empty(0, dtype=np.int64)
        if problem.risk.facts.nonnegative:
            self.append(np.zeros(self.width), 0.0, Witness())

    @property
    def width(self) -> int:
        """How many numbers a cut has."""
        return self.problem.risk.n_parameters

    @property
    def A(self) -> Array:
        """The cuts' subgradients, one a row."""
        return self._storage[: len(self.b)]

    def add(self, point: Point) -> None:
        """The cut at a point: a in dR(w), b = R(w) - <a, w>; none where nothing is known of R."""
        if point.constant == -np.inf:
            return
        self.append(point.subgradient, point.constant, point.witness, sizes=point.sizes)

    def state(self, w: Array) -> State:
        """All that is known of the cuts, as plain arrays; w is where to go on from."""
        return {
            "w": w,
            "A": self.A.copy(),
            "b": self.b,
            "weights": self.alpha.copy(),
            "sizes": self._sizes,
            "idle": self._idle,
            **packed("evidence", self._evidence),
        }

    def restore(self, state: State) -> None:
        """Takes over the cuts of `state`."""
        self._storage = np.array(state["A"])
        self.b, self.alpha = state["b"], state["weights"].copy()
        self._sizes, self._idle = state["sizes"], state["idle"]
        self._evidence = unpacked("evidence", state)

    def forget(self, n: int) -> None:
        """Drops all but the newest n cuts."""
        self.drop(np.arange(len(self.b) - n))

    def minimize(self) -> ModelMinimum:
        """Argmin over w of lambda Omega(w) + max_i <a_i, w> + b_i, and the bound it proves."""
        if not len(self.b):
            raise InnerFailure("there is no cut")
        if len(self.b) > self.max_cuts:
            self.aggregate()
        self.maximize()
        a = self.combined()
        w = self.minimizer(a)
        lower_bound, scale = self._bound(a)
        evidence = self.evidence(scale)
        self._idle = np.where(self.alpha > 0, 0, self._idle + 1)
        idle = np.flatnonzero(self._idle > _IDLE)
        if len(idle) > len(self.b) // 4:  # many at once: the others have to be moved
            self.drop(idle)
        return ModelMinimum(w, lower_bound, evidence)

    def combined(self) -> Array:
        """The subgradient of the cuts' mean with the weights alpha, A'alpha."""
        return self.alpha @ self.A

    def evidence(self, scale: float) -> Evidence:
        """The witness of scale * alpha."""
        used = np.flatnonzero(self.alpha)
        parts, weights = [self._evidence[i] for i in used], scale * self.alpha[used]
        return lambda: mixture(parts, weights.tolist())

    @abstractmethod
    def maximize(self) -> None:
        """Sets `alpha` to the maximiser of the dual."""

    @abstractmethod
    def minimizer(self, a: Array) -> Array:
        """The w that belongs to a = A'alpha."""

    @abstractmethod
    def extend(self, a: Array, b: float) -> None:
        """Extends what a model keeps beside the cuts, once one was appended."""

    @abstractmethod
    def shrink(self, cuts: Indices) -> None:
        """Shrinks it, once these cuts were dropped."""

    def _bound(self, a: Array) -> tuple[float, float]:
        """The lower bound that alpha proves, and the factor that makes alpha feasible."""
        b = float(self.alpha @ self.b)
        if len(self.free):
            terms = self.alpha @ np.abs(self.A[:, self.free])
            a[self.free] *= np.abs(a[self.free]) > ZERO_SUM * terms
        scale = self.problem.regularizer.dual_scale(-a / self.problem.strength)
        size_a, size_b = self.alpha @ self._sizes
        return self.problem.bound(scale * a, scale * b, (float(size_a), float(size_b))), scale

    def append(
        self, a: Array, b: float, evidence: Witness, weight: float = 0.0, sizes: Sizes = (0, 0)
    ) -> None:
        """The cut <a, w> + b, with its evidence."""
        n = len(self.b)
        if n == len(self._storage):
            grown = np.empty((n + n // 2 + 1, self._storage.shape[1]))
            grown[:n] = self._storage
            self._storage = grown
        self._storage[n] = a
        self.b, self.alpha = np.append(self.b, b), np.append(self.alpha, weight)
        self._sizes = np.vstack([self._sizes, sizes])
        self._idle = np.append(self._idle, 0)
        self._evidence.append(evidence)
        self.extend(a, b)

    def drop(self, cuts: Indices) -> None:
        """Forgets these cuts and their weights, but for the zero cut."""
        if self.problem.risk.facts.nonnegative:
            cuts = cuts[cuts != 0]  # the zero cut stays: it makes every scaling of alpha feasible
        if not len(cuts):
            return
        kept = np.delete(np.arange(len(self.b)), cuts)
        self._storage[: len(kept)] = self._storage[kept]
        self.b, self.alpha = self.b[kept], self.alpha[kept]
        self._sizes, self._idle = self._sizes[kept], self._idle[kept]
        self._evidence = [self._evidence[i] for i in kept]
        self.shrink(cuts)

    def aggregate(self) -> None:
        """Drops the cuts without weight, the newest apart; merges the lighter if most have some."""
        self.drop(np.flatnonzero(self.alpha[:-1] == 0))
        if len(self.b) <= self.max_cuts // 2:
            return
        first = int(self.problem.risk.facts.nonnegative)
        light = first + np.argsort(self.alpha[first:-1], kind="stable")[: len(self.b) // 2]
        weight = float(np.sum(self.alpha[light]))
        share = self.alpha[light] / weight
        parts = mixture([self._evidence[i] for i in light], share.tolist())
        mean = share @ self.A[light], float(share @ self.b[light])
        size_a, size_b = (share @ self._sizes[light]).tolist()
        self.alpha[light] = 0.0
        self.append(*mean, self.problem.risk.compressed(parts), weight, (size_a, size_b))
        self.drop(light)
