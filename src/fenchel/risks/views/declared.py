"""What a risk can be seen as besides its values: a dual, an augmented Lagrangian, f + Psi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fenchel.piecewise import Slope

if TYPE_CHECKING:
    from fenchel.risks.base import Array, Cut, Point, State


class Dual(Protocol):
    """A dual point: a slope a_i of the loss for each row, and the w that goes with them.

    Coordinate ascent moves it; see duals.py. With an intercept, b is the offset.
    """

    b: float

    @property
    def w(self) -> Array:
        """The primal point."""

    @property
    def a(self) -> Array:
        """The slopes of all rows."""

    def assign(self, a: Array, b: float) -> None:
        """Takes over slopes and an offset: a pass."""

    def start(self, alpha: Array, b: float) -> None:
        """Takes over dual variables, scaled for the largest dual objective: three passes."""

    def release(self, point: Point, margin: float) -> None:
        """Makes active all rows but those that rest, by the scores at a point.

        A row rests if it lies more than `margin` inside a flat piece of its loss and has its slope.
        """

    def sweep(self, seeds: Sequence[int], margin: float) -> tuple[float, float]:
        """Steps on the active rows, then, for each further seed, on those that the last ones moved.

        Lets rows rest. Gives how far a score had to move at first, at most, and the first rise of
        the dual up to a factor.
        """

    def balance(self) -> None:
        """Moves the offset as far as the slopes are out of balance."""

    def settle(self) -> None:
        """Takes the round-off of many steps out of w: a pass."""

    def point(self, w: Array, near: Point | None = None) -> Point:
        """The risk at w, whose scores `release` can have: a pass."""

    def cut(self) -> Cut:
        """The cut that the slopes make."""


class AugmentedRisk(Protocol):
    """The augmented Lagrangian M of a piecewise linear risk at (w, b); see multipliers.py."""

    w: Array
    b: float
    kappa: float
    gradient: Array  # of M in w: X'u, with slopes u of the loss that are dual feasible

    def look(self) -> None:
        """Finds u and the gradient, after new multipliers were taken over: a pass."""

    @property
    def distance(self) -> float:
        """What M falls short of the risk by, as its scores are not where the slopes say."""

    def point(self) -> Point:
        """The risk itself at w."""

    def cut(self) -> Cut:
        """The cut that the slopes u make."""

    def start(self, alpha: Array, kappa: float) -> None:
        """Takes over a nearby problem's dual variables for multipliers."""

    def update(self, kappa: float) -> None:
        """Takes the slopes u for multipliers: two passes."""

    def newton(self, diagonal: Array, g: Array) -> tuple[Array, float]:
        """(p, rate) with (diagonal + Hessian of M in w) p = -g, and the same for b."""

    def towards(self, p: Array, rate: float) -> AugmentedRay:
        """The ray (w + eta p, b + eta rate): a pass."""

    def state(self) -> State:
        """The multipliers, w, b and kappa."""

    def restore(self, state: State) -> None:
        """Takes over the multipliers, b and kappa."""


class AugmentedRay(Protocol):
    """eta -> M(w + eta p, b + eta rate)."""

    start: float  # its slope at 0

    def slope(self, eta: float) -> Slope:
        """Its slope at eta; no pass."""

    def move(self, eta: float) -> None:
        """Takes the step: a pass."""


class Place(Protocol):
    """A point x, of w or of the rows' slopes, with its image X w or X'u; see composites.py.

    Sums and multiples of places are places, and cost no pass.
    """

    @property
    def x(self) -> Any:
        """The point: it can be added, scaled, and multiplied by others with @."""

    @property
    def image(self) -> Any:
        """Its image."""

    @property
    def height(self) -> float:
        """Of a dual point -R*(u), or less, or nan: R(v) >= <X'u, v> + height for all v."""

    def __add__(self, other: Any) -> Any: ...

    def __rmul__(self, scale: float) -> Any: ...


class Tangent(Protocol):
    """A tangent of f: its value and gradient, and the place of the other problem it is made of."""

    @property
    def value(self) -> float:
        """f(u)."""

    @property
    def gradient(self) -> Any:
        """The gradient of f at u."""

    @property
    def alpha(self) -> Place:
        """alpha(u)."""


class Composite(Protocol):
    """J = f + Psi with f smooth and Psi simple, and a prox-function d ([Zhang11] section 2)."""

    sigma: float  # d is sigma-strongly convex
    lambda_1: float  # f is lambda_1-strongly convex with respect to d
    lambda_2: float  # Psi is
    L: float  # an upper bound of the Lipschitz constant of f's gradient

    def start(self, w: Array) -> Place:
        """The place to start from for a w: a pass or two."""

    def place(self, x: Any) -> Place:
        """The place of a point: a pass."""

    def dual_place(self, packed: Array) -> Place:
        """A place of the other problem: a pass."""

    def packed(self, x: Any) -> Array:
        """A point, of this problem or the other, as one array."""

    def unpacked(self, packed: Array) -> Any:
        """The point of this problem again."""

    def tangent(self, at: Any) -> Tangent:
        """The tangent of f: a pass."""

    def value(self, at: Any) -> float:
        """J: no pass."""

    def Psi(self, x: Any) -> float:
        """Psi."""

    def d(self, x: Any) -> float:
        """The prox-function."""

    def d_gradient(self, x: Any) -> Any:
        """Its gradient."""

    def ground(self, s: Any, c: float, A: float) -> Any:
        """Argmin over x of A Psi(x) + c d(x) + <s, x>."""

    def sides(self, x: Any, alpha: Any) -> tuple[Place, Place]:
        """(primal, dual) of a place and one of the other problem."""

    def point(self, primal: Any) -> Point:
        """The risk itself there: no pass."""

    def measured(self, dual: Any) -> Place:
        """The dual point with its height: no pass."""

    def cut(self, dual: Any) -> Cut:
        """The cut that a dual point makes, or a multiple of it that proves more: no pass."""

    def roughness(self, dual: Any) -> float:
        """How much the smoothed risk's dual there lies below that of the risk itself."""
