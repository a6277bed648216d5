"""Risks of structured outputs: R(w) = (1/S) sum_i s_i l_i(w), by value and subgradient alone.

An example is a sequence, or whatever an oracle of a user takes; its scores are not kept, as there
may be more of them than of anything else. So a step along a ray costs what a point costs.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.bends import Slope
from fenchel.engines import Engine, PerShard
from fenchel.errors import Incompatible, InvalidData
from fenchel.opaque import OpaqueRisk
from fenchel.protocols import Array, Point
from fenchel.witness import Bracket, Tangency, Ties, Witness

T = TypeVar("T")


class Evaluation(NamedTuple):
    """sum_i s_i l_i(w) over a shard, its subgradient, and the labels it was found at, if any."""

    value: float
    gradient: Array
    labels: npt.NDArray[np.int64] | None = None


class StructuredPoint:
    """The risk at one w."""

    intercept = 0.0

    def __init__(self, risk: StructuredRisk, w: Array):
        self.risk, self.w = risk, w
        risk.passes += 2
        values, gradients, self.labels = risk.evaluated(w).split(3)
        value, gradient = risk.engine.totals(values, gradients)
        self.value = float(value) / risk.weight
        gradient /= risk.weight
        self.subgradient: Array = gradient

    @functools.cached_property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v."""
        return self.value - float(self.subgradient @ self.w)

    def shrunk(self, scale: float) -> float:
        """Scale * constant, mixing the cut with R >= 0."""
        if scale == 1:
            return self.constant
        return scale * self.constant if self.risk.nonnegative else -np.inf

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

    @property
    def alpha(self) -> Array:
        """None: the risk has no dual variables."""
        return np.empty(0)

    def steepest(self, p: Array) -> StructuredPoint:
        """Itself: of its subgradients one is known."""
        return self

    def towards(self, p: Array) -> StructuredRay:
        """The ray w + eta p; nothing is computed yet."""
        return StructuredRay(self, p)


class StructuredRay:
    """eta -> R(w + eta p), a point for each eta that is asked for."""

    def __init__(self, origin: StructuredPoint, p: Array):
        self.origin, self.p = origin, p
        self._last = (0.0, origin)  # a line search asks for the step it accepts once more

    def at(self, eta: float) -> StructuredPoint:
        """The point w + eta p."""
        if eta != self._last[0]:
            self._last = eta, StructuredPoint(self.origin.risk, self.origin.w + eta * self.p)
        return self._last[1]

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), its slope)."""
        point = self.at(eta)
        return point.value, float(point.subgradient @ self.p)

    def slope(self, eta: float) -> Slope:
        """Of a `piecewise` risk only, which this is not."""
        raise Incompatible("the risk is not known to be piecewise quadratic")

    def kinks(self, low: float, high: float) -> Array:
        """None that are known."""
        return np.empty((0, 3))


class StructuredRisk(OpaqueRisk, ABC):
    """The mean loss of examples."""

    nonnegative = False
    differentiable = False
    classes: npt.NDArray[Any] | None = None

    def __init__(self, engine: Engine, n_parameters: int, n_rows: int, n_numbers: int):
        self.engine = engine
        self.n_parameters, self.n_rows, self.n_numbers = n_parameters, n_rows, n_numbers
        self.weight = float(n_rows)  # S
        self.passes = 0

    @abstractmethod
    def evaluated(self, w: Array) -> PerShard:
        """An `Evaluation` for each shard."""

    @property
    @abstractmethod
    def length(self) -> float:
        """The mean length of what an example can add to the subgradient, at most."""

    @abstractmethod
    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """The mean subgradient of these examples."""

    @abstractmethod
    def fingerprint(self) -> bytes:
        """A digest of the examples and the loss."""

    def agreed(self, compute: Callable[[], T]) -> T:
        """Of processes that share an engine, what the first computes."""
        return self.engine.agreed(compute)

    @property
    def knows_kinks(self) -> bool:
        """Only that there are none."""
        return self.differentiable

    @property
    def n_duals(self) -> int:
        """One for each example, to compare their number with that of the parameters."""
        return self.n_rows

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_parameters,)."""
        return (self.n_parameters,)

    def presented(self, w: Array, intercept: float) -> tuple[Array, float | Array]:
        """As they are."""
        return w, intercept

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """As it is."""
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
