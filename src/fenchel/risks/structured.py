"""Risks of structured outputs: R(w) = (1/S) sum_i s_i l_i(w), by value and subgradient alone.

An example is a sequence, or whatever an oracle of a user takes; its scores are not kept, as there
may be more of them than of anything else. So a step along a ray costs what a point costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.engines import Engine, PerShard
from fenchel.errors import InvalidData
from fenchel.risks.base import Array, Facts, Point
from fenchel.risks.black_box import BlackBoxPoint, BlackBoxRisk
from fenchel.witness import Bracket, Tangency, Ties, Witness

T = TypeVar("T")
Rows = npt.NDArray[np.int64]  # of a shard, by their numbers


class Evaluation(NamedTuple):
    """sum_i s_i l_i(w) over a shard, its subgradient, and the labels it was found at, if any."""

    value: float
    gradient: Array
    labels: npt.NDArray[np.int64] | None = None


class StructuredPoint(BlackBoxPoint):
    """The risk at one w."""

    risk: StructuredRisk

    def __init__(self, risk: StructuredRisk, w: Array):
        self.risk, self.w = risk, w
        risk.passes += 2
        values, gradients, self.labels = risk.evaluated(w).split(3)
        value, gradient = risk.engine.totals(values, gradients)
        self.value = float(value) / risk.weight
        self.subgradient: Array = gradient / risk.weight

    @property
    def sizes(self) -> tuple[float, float]:
        """The features of an example; and R with the scores that it is a difference of."""
        longest = self.risk.length
        return longest, abs(self.value) + longest * float(np.linalg.norm(self.w))

    @property
    def witness(self) -> Witness:
        """The labels whose line the cut is, which prove it for themselves; else where it is met."""
        if self.labels[0] is None:
            return Witness([Tangency(self.w)], [1.0])
        labels = np.concatenate(self.labels)
        ties = Ties(np.arange(len(labels), dtype=np.intp), labels.astype(np.float64))
        return Witness([Tangency(np.empty(0), Bracket(), ties)], [1.0])


class StructuredRisk(BlackBoxRisk, ABC):
    """The mean loss of examples."""

    def __init__(
        self,
        engine: Engine,
        n_parameters: int,
        sizes: list[int],
        n_numbers: int,
        *,
        nonnegative: bool,
        differentiable: bool,
        user_written: bool = False,
    ):
        self.engine, self.sizes = engine, sizes  # how many examples each shard has
        self.facts = Facts(
            nonnegative=nonnegative,
            differentiable=differentiable,
            knows_kinks=differentiable,  # only that there are none
            user_written=user_written,
        )
        self.n_parameters, self.n_rows, self.n_numbers = n_parameters, sum(sizes), n_numbers
        self.weight = float(self.n_rows)  # S
        self.passes = 0

    @abstractmethod
    def evaluated(self, w: Array, rows: PerShard[Rows] | None = None) -> PerShard[Evaluation]:
        """An `Evaluation` for each shard, of all its examples or these."""

    @property
    @abstractmethod
    def length(self) -> float:
        """The mean length of what an example can add to the subgradient, at most."""

    @abstractmethod
    def fingerprint(self) -> bytes:
        """A digest of the examples and the loss."""

    def agreed(self, compute: Callable[[], T]) -> T:
        """Of processes that share an engine, what the first computes."""
        return self.engine.agreed(compute)

    @property
    def n_duals(self) -> int:
        """One for each example, to compare their number with that of the parameters."""
        return self.n_rows

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_parameters,)

    def presented(self, w: Array, intercept: float | Array) -> tuple[Array, float | Array]:
        return w, intercept

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        return w

    def curvature(self) -> Array:
        """The same for all parameters: nothing is known of their scales."""
        return np.ones(self.n_parameters)

    def at(self, w: Array, near: Point | None = None) -> StructuredPoint:
        """The risk at w."""
        w = np.array(w, dtype=np.float64)  # a copy: the point's own
        if w.shape != (self.n_parameters,):
            raise InvalidData(f"w must have length {self.n_parameters}; got shape {w.shape}")
        return StructuredPoint(self, w)
