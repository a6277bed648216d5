"""What a loss is: a convex function l(z, y) of a row's score z, or K scores, and its label y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.losses.table import Labels as Labels
from fenchel.settings import Configured

Array = npt.NDArray[np.float64]


class Pieces(NamedTuple):
    """A piecewise quadratic loss, row by row, by its slope: start + curvature z left of all breaks.

    At the score at[k] the slope jumps by jump[k] and its own slope changes by bend[k].
    """

    start: Array
    curvature: Array
    at: Array  # of shape (n_breaks, n_rows), as the next two
    jump: Array
    bend: Array


def pieces_of(
    y: Array,
    start: npt.ArrayLike,
    curvature: npt.ArrayLike,
    *breaks: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
) -> Pieces:
    """Pieces from numbers or arrays for all rows; a break is (at, jump, bend)."""
    lines, table = np.empty((2, len(y))), np.empty((3, len(breaks), len(y)))
    lines[0], lines[1] = start, curvature
    for k, (at, jump, bend) in enumerate(breaks):
        table[0, k], table[1, k], table[2, k] = at, jump, bend
    return Pieces(*lines, *table)


class Bends(NamedTuple):
    """How the slope of a loss of one score changes."""

    piecewise: bool = False  # it is known where, and linear in between
    jumps: bool = False
    steps: bool = False  # it jumps and does nothing else: the loss is piecewise linear


class Loss(Configured, ABC):
    """A convex loss l(z, y), written over arrays of scores and labels.

    `value` and `slope` are all a loss must have. The facts below are claims that solvers and
    certificates rely on; their defaults claim nothing.
    """

    labels: ClassVar[Labels]
    nonnegative: ClassVar[bool] = False  # l >= 0 everywhere: admits the bundle's zero cut
    differentiable: ClassVar[bool] = False  # no kinks: quasi-Newton solvers may be used
    intercept: ClassVar[bool] = True  # min over b of sum l(z + b, y) is attained for sensible data

    @abstractmethod
    def value(self, z: Array, y: Any) -> Any:
        """l(z, y), a number for each row; one for all of them where the loss is multivariate."""

    @abstractmethod
    def slope(self, z: Array, y: Any) -> Array:
        """One element of the subdifferential of l in z, in the shape of z."""

    @property
    def smoothness(self) -> float:
        """The Lipschitz constant of the slope; inf where the slope jumps or has none."""
        return np.inf

    @property
    def has_conjugate(self) -> bool:
        """Its convex conjugate is known in closed form."""
        return False


class ScalarLoss(Loss):
    """A convex loss l(z, y) of one score a row."""

    labels = Labels.REAL

    def pieces(self, y: Array) -> Pieces | None:
        """Where the slope bends, if the loss is piecewise quadratic in z; None if it is not."""
        return None

    def bends(self) -> Bends:
        """How its slope changes, as that of any one row tells."""
        pieces = self.pieces(np.ones(1))
        if pieces is None:
            return Bends()
        if self.differentiable or not pieces.jump.any():
            return Bends(True)
        return Bends(True, True, not (pieces.curvature.any() or pieces.bend.any()))

    def kinks(self, y: Array) -> Array:
        """The scores at which the slope jumps, as an array of shape (n_kinks, len(y))."""
        pieces = self.pieces(y)
        if pieces is None:
            return np.empty((0, len(y)))
        return pieces.at[pieces.jump.any(axis=1)]


class Conjugable(ScalarLoss):
    """A scalar loss whose convex conjugate in z is known in closed form."""

    @property
    def has_conjugate(self) -> bool:
        """Yes, by `conjugate`."""
        return True

    @abstractmethod
    def conjugate(self, alpha: Array, y: Array) -> Array:
        """l*(alpha, y) = sup over z of alpha z - l(z, y); inf outside its domain."""

    @abstractmethod
    def domain(self, y: Array) -> tuple[Array, Array]:
        """The closed interval of alpha, for each row, outside which the conjugate is inf."""

    def feasible(self, alpha: Array, y: Array) -> Array:
        """Dual variables moved into the domain, each as little as possible."""
        lowest, highest = self.domain(y)
        return np.minimum(np.maximum(alpha, lowest), highest)  # a third of np.clip's time

    def largest_slope(self, y: Array) -> float:
        """The largest slope for any of the labels; inf where there is none."""
        return float(max(np.max(np.abs(end)) for end in self.domain(y)))

    def within(self, alpha: Array, y: Array, inside: Array) -> Array:
        """The conjugate's value inside its domain, inf outside."""
        lowest, highest = self.domain(y)
        return np.where((lowest <= alpha) & (alpha <= highest), inside, np.inf)
