"""A convex function of a user's own, known by its values and subgradients: no data at all.

What else may be known of it are its kinks. `steepest` gives, of all subgradients at w, one that is
largest along p; by it a method of subgradients sees a kink for what it is ([Yu10] section 4.1), and
the slopes of R along a ray on both sides of a point are <a, p> of the steepest a along p and along
-p. In floating point a kink is met up to some digits: then the other piece's slope a is that of a
tangent which passes a little below R(w). So `steepest` also gives the height h at which it passes,
and the cut is R(v) >= h + <a, v - w>, whatever the user takes for a tie. If the function is
piecewise linear along every ray, and `kinks` tells where a ray bends, the line search is exact.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.errors import InvalidData
from fenchel.piecewise import Slope
from fenchel.risks.base import Array, Facts, Point
from fenchel.risks.black_box import BlackBoxPoint, BlackBoxRay, BlackBoxRisk
from fenchel.risks.digests import pickled
from fenchel.risks.oracle import real, shown
from fenchel.witness import Bracket, Tangency, Ties, Witness


@dataclass(frozen=True)
class OwnFunction:
    """What a user gives of a function of `n_parameters` variables; every answer is checked."""

    oracle: Callable[[Array], Any]
    n_parameters: int
    steepest: Callable[[Array, Array], Any] | None = None
    kinks: Callable[[Array, Array], Any] | None = None
    nonnegative: bool = False
    differentiable: bool = False

    def at(self, w: Array) -> tuple[float, Array]:
        """(value, a subgradient) at w."""
        value, slopes = self._numbers("the function", self.oracle(w.copy()), w)
        if self.nonnegative and value < 0:
            raise InvalidData(
                f"the function is {value:.6g}, less than 0, though it says nonnegative=True"
            )
        return value, slopes

    def steepest_at(self, w: Array, p: Array) -> tuple[float, Array]:
        """(height, the subgradient that is largest along p) of a tangent at w."""
        assert self.steepest is not None
        return self._numbers("steepest", self.steepest(w.copy(), p.copy()), w)

    def kinks_of(self, w: Array, p: Array) -> Array:
        """All eta > 0 at which w + eta p may meet a kink."""
        assert self.kinks is not None
        found = np.asarray(self.kinks(w.copy(), p.copy()), dtype=np.float64).ravel()
        return np.unique(found[np.isfinite(found)])

    def _numbers(self, who: str, answer: Any, w: Array) -> tuple[float, Array]:
        wanted = f"it must give (value, {self.n_parameters} slopes)"
        try:
            given, slopes = answer
        except (TypeError, ValueError) as error:
            raise InvalidData(f"{who} gave {shown(answer)}; {wanted}") from error
        value, a = real(given, ()), real(slopes, (self.n_parameters,))
        if value is None:
            raise InvalidData(f"{who} gave {shown(given)} as its value; {wanted}")
        if a is None:
            raise InvalidData(f"{who} gave {shown(slopes)} as slopes; {wanted}")
        # A function may be inf far out, but not nan; and where it is finite, so are its slopes.
        fine = float(value) == math.inf or (np.isfinite(value) and np.isfinite(a).all())
        if not fine and np.isfinite(w).all():
            raise InvalidData(f"{who} gave nan or inf at a w that is finite")
        return float(value), a


class FunctionPoint(BlackBoxPoint):
    """The function at one w, and a tangent of slope a that passes there at a height.

    That is the value itself, unless the slope is the steepest along some direction p.
    """

    risk: FunctionRisk

    def __init__(
        self,
        risk: FunctionRisk,
        w: Array,
        value: float,
        tangent: tuple[float, Array],
        p: Array | None = None,
    ):
        self.risk, self.w, self.value, self.p = risk, w, value, p
        self.height, self.subgradient = tangent

    @property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v."""
        return self.height - float(self.subgradient @ self.w)

    @property
    def sizes(self) -> tuple[float, float]:
        """The slopes, and the value with what is taken off it."""
        length = float(np.linalg.norm(self.subgradient))
        return length, abs(self.value) + length * float(np.linalg.norm(self.w))

    @property
    def witness(self) -> Witness:
        """Where the cut touches, and along which direction its slope is the steepest, if any."""
        every = np.arange(len(self.w), dtype=np.intp)
        ties = None if self.p is None else Ties(every, self.p)
        return Witness([Tangency(self.w, Bracket(), ties)], [1.0])

    def steepest(self, p: Array) -> FunctionPoint:
        """The same with the subgradient that is largest along p, where that is known."""
        if self.risk.function.steepest is None or not np.isfinite(self.value):
            return self
        self.risk.passes += 1
        tangent = self.risk.function.steepest_at(self.w, p)
        return FunctionPoint(self.risk, self.w, self.value, tangent, p)

    def towards(self, p: Array) -> FunctionRay:
        return FunctionRay(self, p)


class FunctionRay(BlackBoxRay):
    """eta -> R(w + eta p), with the slopes on both sides of a kink where they are known."""

    origin: FunctionPoint

    def slope(self, eta: float) -> Slope:
        """Just right of eta: of all subgradients the largest along p."""
        return Slope(self._beside(eta, 1.0), 0.0)

    def kinks(self, low: float, high: float) -> Array:
        """Where the slope jumps in (low, high], and by how much."""
        function = self.origin.risk.function
        if function.kinks is None:
            return super().kinks(low, high)
        etas = function.kinks_of(self.origin.w, self.p)
        inside = etas[(low < etas) & (etas <= high)]
        jumps = [self._beside(eta, 1.0) - self._beside(eta, -1.0) for eta in inside.tolist()]
        return np.column_stack([inside, jumps, np.zeros(len(inside))])

    def _beside(self, eta: float, side: float) -> float:
        """The slope along p to the right (1) or to the left (-1) of eta."""
        risk, w = self.origin.risk, self.origin.w + eta * self.p
        risk.passes += 1
        return float(risk.function.steepest_at(w, side * self.p)[1] @ self.p)


class FunctionRisk(BlackBoxRisk):
    """R(w) = the function; a pass is a question to it."""

    n_rows = n_duals = 1

    def __init__(self, function: OwnFunction):
        self.function, self.passes = function, 0
        self.n_parameters = self.n_numbers = function.n_parameters
        self.facts = Facts(
            nonnegative=function.nonnegative,
            differentiable=function.differentiable,
            piecewise=function.kinks is not None,
            knows_kinks=function.differentiable or function.steepest is not None,
            in_one_memory=True,
            user_written=True,
        )

    def at(self, w: Array, near: Point | None = None) -> FunctionPoint:
        """The function at w: one question."""
        w = np.array(w, dtype=np.float64)  # a copy: the point's own
        if w.shape != (self.n_parameters,):
            raise InvalidData(f"w must have length {self.n_parameters}; got shape {w.shape}")
        self.passes += 1
        tangent = self.function.at(w)
        return FunctionPoint(self, w, tangent[0], tangent)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n_parameters,)

    def presented(self, w: Array, intercept: float | Array) -> tuple[Array, float | Array]:
        return w, intercept

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        return w

    @property
    def length(self) -> float:
        """Of the slopes at 0, for want of anything better."""
        return 1.0 + float(np.linalg.norm(self.at(np.zeros(self.n_parameters)).subgradient))

    def curvature(self) -> Array:
        """The same for all parameters: nothing is known of their scales."""
        return np.ones(self.n_parameters)

    def fingerprint(self) -> bytes:
        """A digest of the pickled function."""
        return hashlib.blake2b(pickled("a function", self.function), digest_size=16).digest()
