"""Risks that give values and subgradients alone: no scores, no dual variables, no kinks.

Whatever a solver needs beyond that is a view, which such a risk does not have: so it is refused.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import numpy as np

from fenchel.errors import Incompatible
from fenchel.piecewise import Slope
from fenchel.risks.base import Array, Facts, Point
from fenchel.witness import Witness

T = TypeVar("T")


class _Evaluated(Protocol):
    """The risk of a point: what can be asked for at another w."""

    facts: Facts

    def at(self, w: Array, near: Point | None = None) -> BlackBoxPoint:
        """The risk at w."""


class BlackBoxPoint(ABC):
    """The risk at one w, of which one subgradient is known."""

    intercept = 0.0
    risk: _Evaluated
    w: Array
    value: float
    subgradient: Array

    @property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v."""
        return self.value - float(self.subgradient @ self.w)

    def shrunk(self, scale: float) -> float:
        """Scale * constant, mixing the cut with R >= 0."""
        if scale == 1:
            return self.constant
        return scale * self.constant if self.risk.facts.nonnegative else -math.inf

    @property
    @abstractmethod
    def sizes(self) -> tuple[float, float]:
        """The magnitudes behind subgradient and constant, with which their round-off goes."""

    @property
    @abstractmethod
    def witness(self) -> Witness:
        """The evidence for the cut (a, b)."""

    @property
    def duals(self) -> Array:
        """The risk has no dual variables that could be shown."""
        raise Incompatible(f"{type(self.risk).__name__} has no dual variables of rows")

    def steepest(self, p: Array) -> Self:
        """Itself: of its subgradients one is known."""
        return self

    def towards(self, p: Array) -> BlackBoxRay:
        """The ray w + eta p; nothing is computed yet."""
        return BlackBoxRay(self, p)


class BlackBoxRay:
    """eta -> R(w + eta p), a point for each eta that is asked for."""

    def __init__(self, origin: BlackBoxPoint, p: Array):
        self.origin, self.p = origin, p
        self._last = 0.0, origin  # the step that is accepted is asked for again

    def at(self, eta: float) -> BlackBoxPoint:
        """The point w + eta p."""
        if eta != self._last[0]:
            self._last = eta, self.origin.risk.at(self.origin.w + eta * self.p)
        return self._last[1]

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), its slope)."""
        point = self.at(eta)
        return point.value, float(point.subgradient @ self.p)

    def slope(self, eta: float) -> Slope:
        """Of a `piecewise` risk only, which this is not."""
        raise Incompatible("the risk is not known to be piecewise quadratic")

    def kinks(self, low: float, high: float) -> Array:
        return np.empty((0, 3))


class BlackBoxRisk:
    """What risks without scores share."""

    def agreed(self, compute: Callable[[], T]) -> T:
        return compute()

    def compressed(self, witness: Witness) -> Witness:
        """The witness itself: it cannot be said in less."""
        return witness
