"""What a risk says that gives values and subgradients alone, and no scores or dual variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from fenchel.errors import Incompatible
from fenchel.piecewise import Slope
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array, Point
from fenchel.risks.views.composite import Opaque
from fenchel.witness import Witness

T = TypeVar("T")


class OpaquePoint:
    """The risk at one w, of which one subgradient is known."""

    intercept = 0.0
    risk: Any
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
        return scale * self.constant if self.risk.nonnegative else -math.inf

    def steepest(self, p: Array) -> Self:
        """Itself: of its subgradients one is known."""
        return self

    def towards(self, p: Array) -> OpaqueRay:
        """The ray w + eta p; nothing is computed yet."""
        return OpaqueRay(self, p)


class OpaqueRay:
    """eta -> R(w + eta p), a point for each eta that is asked for."""

    def __init__(self, origin: OpaquePoint, p: Array):
        self.origin, self.p = origin, p
        self._last: tuple[float, Any] = (
            0.0,
            origin,
        )  # the step that is accepted is asked for again

    def at(self, eta: float) -> Any:
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
        """None that are known."""
        return np.empty((0, 3))


class OpaqueRisk:
    """A risk without scores: solvers that need them see so by its properties, and are refused."""

    has_intercept = piecewise = has_duals = has_dual_steps = is_piecewise_linear = False
    has_hessian = smoothable = in_one_memory = keeps_scores = False
    separable = True
    roughness = math.inf

    def _closed(self) -> NoReturn:
        raise Incompatible(f"{type(self).__name__} gives values and subgradients, but no scores")

    def agreed(self, compute: Callable[[], T]) -> T:
        """What this process computes."""
        return compute()

    def scores(self, v: Array) -> Array:
        """None."""
        self._closed()

    def adjoint(self, alpha: Array) -> Array:
        """None."""
        self._closed()

    def dual(self, regularizer: Regularizer, strength: float, at_once: bool) -> NoReturn:
        """None."""
        self._closed()

    def polished(self, point: Point, regularizer: Regularizer, strength: float) -> NoReturn:
        """None."""
        self._closed()

    def augmented(self, w: Array) -> NoReturn:
        """None."""
        self._closed()

    def newton(self, point: Point, diagonal: Array, g: Array) -> NoReturn:
        """None."""
        self._closed()

    def primal_composite(
        self, regularizer: Regularizer, strength: float, mu: float, optimised: bool = False
    ) -> Opaque:
        """R, which must be smooth as it is, plus strength * Omega."""
        return Opaque(self, regularizer, strength)

    def dual_composite(self, regularizer: Regularizer, strength: float, mu: float) -> NoReturn:
        """None."""
        self._closed()

    def compressed(self, witness: Witness) -> Witness:
        """The witness itself."""
        return witness
