"""What a risk says that gives values and subgradients alone, and no scores or dual variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn, TypeVar

from fenchel.errors import Incompatible
from fenchel.protocols import Array, Point
from fenchel.regularizers import Regularizer, StronglyConvex
from fenchel.witness import Witness

T = TypeVar("T")


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

    def dual(self, regularizer: StronglyConvex, strength: float, at_once: bool) -> NoReturn:
        """None."""
        self._closed()

    def polished(self, point: Point, regularizer: StronglyConvex, strength: float) -> NoReturn:
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
    ) -> NoReturn:
        """None."""
        self._closed()

    def dual_composite(self, regularizer: Regularizer, strength: float, mu: float) -> NoReturn:
        """None."""
        self._closed()

    def compressed(self, witness: Witness) -> Witness:
        """The witness itself."""
        return witness
