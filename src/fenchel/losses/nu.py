"""Losses with a margin of their own choice: the nu-trick.

See [Smola07] section 2, and Schoelkopf et al. 2000.


    R = min over rho of mean of max(0, rho - u_i) - nu rho,    u_i the margin of row i

At the best rho at most a share nu of the rows has a margin below rho, and at least that share has
one of at most rho. By duality

    R = max of -sum_i alpha_i u_i  over  0 <= alpha_i <= s_i/S,  sum_i alpha_i = nu

with s_i/S the share of row i: nu times the mean of the worst margins, its sign changed. The best
alpha fills up the rows of the lowest margins, and rho is the margin at which nu is used up.

An intercept b in u_i = y_i (z_i + b) adds the condition sum_i alpha_i y_i = 0. Then both classes
get nu/2, and the problem falls apart into one for each class, with thresholds t+ = rho - b on z and
t- = rho + b on -z (Crisp and Burges 2000: the reduced convex hulls of the classes).

Some w has R < 0 if no such alpha has X'(alpha y) = 0: if nu is larger than the largest sum of an
alpha that has, which is, by linear programming duality, the least mean hinge loss of all w and b.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData, Setting
from fenchel.losses.base import Array, Labels, Loss
from fenchel.losses.table import NU
from fenchel.tolerances import ZERO_SUM

Mask = npt.NDArray[np.bool_]


class Group(NamedTuple):
    """Rows that share a threshold, and the sum of their alpha."""

    rows: Mask
    mass: float


class NuLoss(Loss):
    """A loss of all margins at once; `value` and `slope` are each row's, at the best rho."""

    without_direction: ClassVar[str]  # what it means that no w is better than 0

    def __init__(self, nu: float = 0.5):
        self.nu = NU.checked(nu)

    @abstractmethod
    def signs(self, y: Array) -> Array:
        """The y_i = +-1 of u_i = y_i z_i."""

    @abstractmethod
    def offset(self, thresholds: list[float]) -> float:
        """What the model adds to its scores, from the thresholds of its groups."""

    def groups(self, y: Array, share: Array, intercept: bool) -> list[Group]:
        """All rows, or those of each class."""
        return [Group(np.ones(len(y), dtype=bool), self.nu)]

    def value(self, z: Array, y: Array) -> Array:
        """max(0, rho - u) - nu rho."""
        u = self.signs(y) * z
        rho = tail(u, np.full(len(u), 1 / len(u)), self.nu)[0]
        return np.maximum(0.0, rho - u) - self.nu * rho

    def slope(self, z: Array, y: Array) -> Array:
        """-y n alpha: -y below rho, in between at rho."""
        sign = self.signs(y)
        return -sign * len(z) * tail(sign * z, np.full(len(z), 1 / len(z)), self.nu)[1]


class NuHinge(NuLoss):
    """l = max(0, rho - y z) - nu rho: the nu support vector machine's loss."""

    labels = Labels.BINARY
    without_direction = "the classes overlap: a mean of rows of the one is a mean of the other's"

    def signs(self, y: Array) -> Array:
        return y

    def offset(self, thresholds: list[float]) -> float:
        """b = (t- - t+) / 2; 0 where there is one threshold, rho."""
        return (thresholds[1] - thresholds[0]) / 2 if len(thresholds) == 2 else 0.0

    def groups(self, y: Array, share: Array, intercept: bool) -> list[Group]:
        """With an intercept the classes, each of which must have a share of nu/2."""
        if not intercept:
            return super().groups(y, share, intercept)
        classes = [y > 0, y < 0]
        most = 2 * min(float(np.sum(share[rows])) for rows in classes)
        if self.nu > most * (1 + ZERO_SUM):
            raise InvalidData(
                Setting("nu"),
                f" = {self.nu:g} is out of reach: the margin of both classes would grow without "
                "end. With an intercept, ",
                Setting("nu"),
                f" is at most twice the smaller class's share, {most:g}",
            )
        return [Group(rows, self.nu / 2) for rows in classes]


class NuNovelty(NuLoss):
    """l = max(0, rho - z) - nu rho: the one-class support vector machine's loss."""

    labels = Labels.NONE
    intercept = False
    without_direction = "the rows surround the origin: some of them have it for their mean"

    def signs(self, y: Array) -> Array:
        """All rows are on one side."""
        return np.ones(len(y))

    def offset(self, thresholds: list[float]) -> float:
        """-rho, so that the novel rows have scores below 0."""
        return -thresholds[0]


def tail(u: Array, share: Array, mass: float) -> tuple[float, Array]:
    """(rho, alpha): the lowest margins filled up to their shares; rows with u = rho do so alike."""
    order = np.argsort(u)
    full = np.cumsum(share[order])
    last = min(int(np.searchsorted(full, mass * (1 - ZERO_SUM))), len(u) - 1)
    rho = float(u[order[last]])
    below, at = u < rho, u == rho
    left = (mass - float(np.sum(share[below]))) / float(np.sum(share[at]))
    return rho, share * (below + at * min(max(left, 0.0), 1.0))
