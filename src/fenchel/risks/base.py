"""What is minimised: J(w) = strength * Omega(w) + R(w).

The protocols below are all that most solvers see of the data. A *point* is the risk at one w; it
keeps its scores with the shards. A *ray* from it costs one pass over X, after which the risk at any
step along it costs none. What single solvers need beyond that (a dual to ascend, Newton's systems,
a smooth part) are *views* of a risk, each in a file of risks/views, beside its implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.notebook import facts
from fenchel.piecewise import Slope
from fenchel.regularizers import Regularizer
from fenchel.settings import checked_strength
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Witness

Array = npt.NDArray[np.float64]
T = TypeVar("T")

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
        """The risk R(w) itself, without the regulariser."""

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
    def intercept(self) -> float | Array:
        """The offset, or offsets, at which the risk is attained; 0 without an intercept."""

    @property
    def witness(self) -> Witness:
        """The evidence for the cut (a, b), in the least memory."""

    @property
    def duals(self) -> Array:
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


@dataclass(frozen=True)
class Facts:
    """What is known of a risk before any of it is computed; solvers and certificates rely on it."""

    nonnegative: bool = False  # R >= 0 everywhere: admits the bundle's zero cut
    differentiable: bool = False  # R has a gradient everywhere
    piecewise: bool = False  # R is piecewise quadratic along every ray, and rays know its kinks
    knows_kinks: bool = False  # points know where R has no gradient: `steepest` is the steepest
    separable: bool = True  # R is a sum over rows, but for the offset
    has_intercept: bool = False  # R(w) is a minimum over an offset, or over K of them
    has_duals: bool = False  # rows have dual variables: the loss has a conjugate
    keeps_scores: bool = False  # so that steps along a ray cost no pass
    in_one_memory: bool = False  # all rows are at hand, in any order; else they come in blocks
    by_kernel: bool = False  # w is a sum of rows' features, of which products alone are known
    user_written: bool = False  # its formulas are its user's, and so are the claims above


class Risk(Protocol):
    """The data term R(w), convex in w. What single solvers need beyond this are views of it."""

    n_parameters: int
    n_rows: int
    n_numbers: int  # stored in X
    passes: int  # products with X or X' so far
    facts: Facts

    @property
    def n_duals(self) -> int:
        """How many numbers the rows' dual variables are."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which its user sees w."""

    def presented(self, w: Array, intercept: float | Array) -> tuple[Array, float | Array]:
        """(w, intercept) as the user sees them."""

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        """The parameters for a w and an intercept as the user sees them."""

    @property
    def length(self) -> float:
        """The root of the rows' mean squared length: a pass, once."""

    def curvature(self) -> Array:
        """A rough diagonal of the Hessian of R, the same at every w."""

    def at(self, w: Array, near: Point | None = None) -> Point:
        """The risk at w: two passes, X w and X' a; `near`, a point close by, may save work."""

    def agreed(self, compute: Callable[[], T]) -> T:
        """What one process alone can tell, such as the time, on all that run the same program."""

    def fingerprint(self) -> bytes:
        """A digest of the data and the loss."""

    def compressed(self, witness: Witness) -> Witness:
        """The same evidence in bounded memory, for a pass per tangency, where that is possible."""


class View(Protocol):
    """A risk seen in a way that only some solvers need, such as its dual; made of a problem.

    A solver lists the views it needs, and is refused where one of them has an obstacle.
    """

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """Why the risk cannot be seen this way, as the end of "it cannot ...: ", or None."""


def _no_limit() -> None:
    """Nobody waits."""


@dataclass
class Effort:
    """What a step took beside passes, as far as its solver counts it; the driver records it."""

    evaluations: int = 0  # of J or its slope, at the trial steps of searches
    inner: int = 0  # iterations of an inner loop: k of [Yu10]'s algorithm 2, conjugate gradients
    step: float = 0.0  # its length along the direction
    nonzeros: int = 0  # of the best w so far

    def resume(self, evaluations: int, nonzeros: int) -> None:
        """Counts on from those of a run that was interrupted."""
        self.evaluations, self.nonzeros = evaluations, nonzeros

    def taken(self) -> dict[str, Any]:
        """What a record says of the last step; the next one counts anew, but for evaluations."""
        last = dict(vars(self))
        self.inner, self.step = 0, 0.0
        return last


@dataclass(frozen=True)
class Problem:
    """Minimise J(w) = strength * Omega(w) + R(w).

    `pulse` is called inside every loop that may run long between two steps of a solver, once for
    each evaluation or inner programme: a place where a run may end. The driver puts its look at
    the clock there; a solver calls it and knows of no time. In `effort` it counts what it counts.
    """

    risk: Risk
    regularizer: Regularizer
    strength: float
    pulse: Callable[[], None] = field(default=_no_limit, repr=False, compare=False)
    effort: Effort = field(default_factory=Effort, repr=False, compare=False)
    feature_names: tuple[str, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Any kind of number will do for a strength."""
        if type(self.strength) is not float:
            object.__setattr__(self, "strength", checked_strength("strength", self.strength))

    def __repr__(self) -> str:
        risk, offset = self.risk, ", with an intercept" if self.risk.facts.has_intercept else ""
        return (
            f"Problem({self._loss} + {self.strength:g} * {self.regularizer}: {risk.n_rows:,} rows, "
            f"{risk.n_parameters:,} parameters{offset})"
        )

    def _repr_html_(self) -> str:
        return facts(
            "Minimise strength * regulariser + mean loss",
            {
                "loss": self._loss,
                "regulariser": self.regularizer,
                "strength": f"{self.strength:g}",
                "rows": f"{self.risk.n_rows:,}",
                "parameters": f"{self.risk.n_parameters:,}",
                "intercept": "profiled out" if self.risk.facts.has_intercept else "none of its own",
            },
        )

    @property
    def _loss(self) -> object:
        """What the rows lose, as its user gave it."""
        known = (getattr(self.risk, name, None) for name in ("nu_loss", "loss", "oracle"))
        return next((each for each in known if each is not None), type(self.risk).__name__)

    def objective(self, point: Point) -> float:
        """J at a point whose risk is known: no pass."""
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
        u = a / -self.strength
        reach = self.regularizer.reach(u, b / self.strength)
        error = ROUND_OFF * sizes[0]  # of a; it enters Omega* to first and to second order
        doubt = ROUND_OFF * sizes[1] + error * reach
        if self.regularizer.strong_convexity > 0:
            doubt += error * error / (2 * self.strength * self.regularizer.strong_convexity)
        return b - self.strength * self.regularizer.conjugate(u) - doubt
