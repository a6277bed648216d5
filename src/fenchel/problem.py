"""What is minimised: J(w) = strength * Omega(w) + R(w).

The protocols below are all a solver sees of the data. A *point* is the risk at one w; it keeps its
scores with the shards. A *ray* from it costs one pass over X, after which the risk at any step
along it costs none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fenchel.regularizers import Regularizer
from fenchel.witness import Witness

Array = npt.NDArray[np.float64]

ROUND_OFF = 2e-14  # a hundred units in the last place: what a sum over rows may be off by


class Point(Protocol):
    """The risk at one w."""

    w: Array

    @property
    def value(self) -> float:
        """R(w)."""

    @property
    def subgradient(self) -> Array:
        """One element a of the subdifferential of R at w; computed on first use."""

    @property
    def constant(self) -> float:
        """The b for which R(v) >= <a, v> + b for all v, with equality at w up to round-off."""

    @property
    def intercept(self) -> float:
        """The offset at which the risk is attained; 0 without an intercept."""

    @property
    def witness(self) -> Witness:
        """The evidence for the cut (a, b), in the least memory."""

    @property
    def duals(self) -> Witness:
        """The same evidence as one dual variable for each row; needs `risk.has_duals`."""

    def towards(self, p: Array) -> Ray:
        """The ray w + eta p: one pass, X p."""


class Ray(Protocol):
    """eta -> R(w + eta p)."""

    def at(self, eta: float) -> Point:
        """The point w + eta p; no pass for its scores."""

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), one element of its subdifferential in eta); no pass."""


class Risk(Protocol):
    """The data term R(w), convex in w."""

    n_parameters: int
    n_rows: int
    passes: int  # products with X or X' so far

    @property
    def nonnegative(self) -> bool:
        """R >= 0 everywhere: admits the bundle's zero cut."""

    @property
    def differentiable(self) -> bool:
        """R has a gradient everywhere."""

    @property
    def has_duals(self) -> bool:
        """Its rows have dual variables: the loss has a conjugate."""

    def curvature(self) -> Array:
        """A rough diagonal of the Hessian of R, the same at every w: a pass, two with intercept."""

    def at(self, w: Array, near: Point | None = None) -> Point:
        """The risk at w: two passes, X w and X' a; `near`, a point close by, may save work."""

    def compressed(self, witness: Witness) -> Witness:
        """The same evidence in bounded memory, for a pass per tangency, where that is possible."""


@dataclass(frozen=True)
class Problem:
    """Minimise J(w) = strength * Omega(w) + R(w)."""

    risk: Risk
    regularizer: Regularizer
    strength: float

    def objective(self, point: Point) -> float:
        """J(w)."""
        return self.strength * self.regularizer.value(point.w) + point.value

    def bound(self, a: Array, b: float, sizes: tuple[float, float] | None = None) -> float:
        """What a cut (a, b) proves: min over w of strength * Omega(w) + <a, w> + b <= min J.

        Less what round-off may have added. `sizes` are the magnitudes of the sums that made a (as
        a norm) and b, where these cancelled; an error in a counts as often as w is long.
        """
        if self.strength == 0:
            return b if not a.any() else -np.inf
        u = -a / self.strength
        size_a, size_b = sizes or (float(np.linalg.norm(a)), abs(b))
        doubt = ROUND_OFF * (size_b + size_a * self.regularizer.reach(u, b / self.strength))
        return b - self.strength * self.regularizer.conjugate(u) - doubt
