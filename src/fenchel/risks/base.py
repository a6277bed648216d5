"""What is minimised: J(w) = strength * Omega(w) + R(w).

The protocols below are all a solver sees of the data. A *point* is the risk at one w; it keeps its
scores with the shards. A *ray* from it costs one pass over X, after which the risk at any step
along it costs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.piecewise import Slope
from fenchel.regularizers import Regularizer
from fenchel.risks.views.declared import AugmentedRisk, Composite, Dual
from fenchel.witness import Witness

Array = npt.NDArray[np.float64]
T = TypeVar("T")

ROUND_OFF = 2e-14  # a hundred units in the last place: what a sum over rows may be off by


# What a solver has learnt, as plain arrays; it may be lossy, but "w" is where to go on from.
State = Mapping[str, npt.NDArray[Any]]


class Cut(NamedTuple):
    """R(v) >= <a, v> + b for all v, with the magnitudes behind a and b, and its evidence."""

    a: Array
    b: float
    sizes: tuple[float, float]
    witness: Callable[[], Witness]


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

    def shrunk(self, scale: float) -> float:
        """The b for which R(v) >= scale <a, v> + b for all v, with 0 <= scale <= 1; no pass.

        -inf where nothing is known of the scaled cut: no conjugate, and the risk may be negative.
        """

    @property
    def sizes(self) -> tuple[float, float]:
        """The magnitudes behind subgradient and constant, with which their round-off goes."""

    @property
    def intercept(self) -> float:
        """The offset at which the risk is attained; 0 without an intercept."""

    @property
    def witness(self) -> Witness:
        """The evidence for the cut (a, b), in the least memory."""

    @property
    def alpha(self) -> Array:
        """One dual variable for each score; its evidence where the risk `has_duals`."""

    def steepest(self, p: Array) -> Point:
        """The same point with the subgradient a of the largest <a, p> ([Yu10] section 4.1)."""

    def towards(self, p: Array) -> Ray:
        """The ray w + eta p: one pass, X p."""


class Ray(Protocol):
    """eta -> R(w + eta p)."""

    def at(self, eta: float) -> Point:
        """The point w + eta p; no pass for its scores."""

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), one element of its subdifferential in eta); no pass."""

    def slope(self, eta: float) -> Slope:
        """The slope of a `piecewise` risk just right of eta; no pass.

        Where an intercept is profiled out, of a function that lies above R and meets it at 0.
        """

    def kinks(self, low: float, high: float) -> Array:
        """Where it bends in (low, high], and by how much: rows (eta, jump, bend); no pass."""


class Risk(Protocol):
    """The data term R(w), convex in w."""

    n_parameters: int
    n_rows: int
    n_numbers: int  # stored in X
    passes: int  # products with X or X' so far
    has_intercept: bool  # R(w) is a minimum over an offset
    separable: bool  # R(w) is a sum over rows, but for the offset
    keeps_scores: bool  # so that steps along a ray cost no pass
    classes: npt.NDArray[Any] | None  # of a vector loss, in the order of its scores

    @property
    def in_one_memory(self) -> bool:
        """All rows are at hand, in any order; else they are read or asked for block by block."""

    def agreed(self, compute: Callable[[], T]) -> T:
        """What one process alone can tell, such as the time, on all that run the same program."""

    @property
    def n_duals(self) -> int:
        """How many numbers the rows' dual variables are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which its user sees w."""

    def presented(self, w: Array, intercept: float) -> tuple[Array, float | Array]:
        """(w, intercept) as the user sees them."""

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """The parameters for a w and an intercept as the user sees them."""

    @property
    def length(self) -> float:
        """The root of the rows' mean squared length: a pass, once."""

    @property
    def nonnegative(self) -> bool:
        """R >= 0 everywhere: admits the bundle's zero cut."""

    @property
    def differentiable(self) -> bool:
        """R has a gradient everywhere."""

    @property
    def piecewise(self) -> bool:
        """R is piecewise quadratic along every ray, which knows its kinks."""

    @property
    def knows_kinks(self) -> bool:
        """Points know where R has no gradient, so that `steepest` tells the truth there."""

    @property
    def has_duals(self) -> bool:
        """Its rows have dual variables: the loss has a conjugate."""

    @property
    def has_dual_steps(self) -> bool:
        """The best step on one dual variable is known, so that there is a `dual`."""

    def dual(self, regularizer: Regularizer, strength: float, at_once: bool) -> Dual:
        """The dual point a = 0: a pass.

        Sweeps mix the rows of all shards, or go through all shards `at_once`.
        """

    @property
    def is_piecewise_linear(self) -> bool:
        """It is, row by row, and built in, so that it can be `polished` and `augmented`."""

    def polished(self, point: Point, regularizer: Regularizer, strength: float) -> Cut | None:
        """The cut of a point's slopes, those of rows near kinks chosen anew; see polishing.py."""

    def augmented(self, w: Array) -> AugmentedRisk:
        """Its augmented Lagrangian at w, with multipliers 0: a pass."""

    @property
    def has_hessian(self) -> bool:
        """R has a Hessian almost everywhere, and knows it."""

    def newton(self, point: Point, diagonal: Array, g: Array) -> Array:
        """The p with (diagonal + Hessian of R at the point) p = -g: about a pass."""

    @property
    def smoothable(self) -> bool:
        """The loss has kinks that can be smoothed."""

    @property
    def roughness(self) -> float:
        """How far R smoothed by mu lies below R, at most, over mu."""

    def primal_composite(
        self, regularizer: Regularizer, strength: float, mu: float, optimised: bool = False
    ) -> Composite:
        """R smoothed by mu, each row equally or `optimised`, plus strength * Omega."""

    def dual_composite(self, regularizer: Regularizer, strength: float, mu: float) -> Composite:
        """The dual of the same, over the rows' slopes."""

    def curvature(self) -> Array:
        """A rough diagonal of the Hessian of R, the same at every w."""

    def at(self, w: Array, near: Point | None = None) -> Point:
        """The risk at w: two passes, X w and X' a; `near`, a point close by, may save work."""

    def scores(self, v: Array) -> Array:
        """X v, one number for each score: a pass."""

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha: a pass."""

    def sampled(self, w: Array, intercept: float, rows: npt.NDArray[np.intp]) -> Array:
        """An estimate of a subgradient at w, with that intercept, from these rows, in order."""

    def fingerprint(self) -> bytes:
        """A digest of the data and the loss."""

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

    def subgradient(self, point: Point) -> Array:
        """One element of the subdifferential of J."""
        return self.strength * self.regularizer.subgradient(point.w) + point.subgradient

    def tangent_bound(self, point: Point) -> float:
        """The bound that the tangent of the risk at a point proves ([Teo07] lemma 5 for L2)."""
        return self.bound(point.subgradient, point.constant, point.sizes)

    def bound(self, a: Array, b: float, sizes: tuple[float, float]) -> float:
        """What a cut (a, b) proves: min over w of strength * Omega(w) + <a, w> + b <= min J.

        Less what round-off may have added. `sizes` are the magnitudes of the terms that were added
        up to a (as a norm) and to b; an error in a counts as often as w is long.
        """
        if self.strength == 0:
            return b if not a.any() else -np.inf
        u = -a / self.strength
        reach = self.regularizer.reach(u, b / self.strength)
        error = ROUND_OFF * sizes[0]  # of a; it enters Omega* to first and to second order
        doubt = ROUND_OFF * sizes[1] + error * reach
        if self.regularizer.strong_convexity > 0:
            doubt += error * error / (2 * self.strength * self.regularizer.strong_convexity)
        return b - self.strength * self.regularizer.conjugate(u) - doubt
