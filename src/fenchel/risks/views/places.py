"""Points of the primal and the dual with their images X w and X'u; see composites.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fenchel.engines import PerShard
from fenchel.risks import shardwork

if TYPE_CHECKING:
    from fenchel.risks.linear import LinearRisk


class RowVector:
    """A number, or one for each class, of every row."""

    __array_ufunc__ = None  # so that a NumPy number times a RowVector asks the RowVector

    def __init__(self, risk: LinearRisk, parts: PerShard):
        self.risk, self.parts = risk, parts

    def __add__(self, other: RowVector) -> RowVector:
        parts = self.risk.engine.map(shardwork.moved, self.parts, other.parts, 1.0)
        return RowVector(self.risk, parts)

    def __rmul__(self, scale: float) -> RowVector:
        return RowVector(self.risk, self.risk.engine.map(shardwork.scaled, self.parts, scale))

    def __matmul__(self, other: RowVector) -> float:
        """sum_i s_i x_i y_i / S."""
        engine = self.risk.engine
        products = engine.map(shardwork.weighted_inner, self.parts, other.parts)
        return float(engine.total(products)) / self.risk.weight


Vector = Any  # an Array in the space of w, a RowVector in that of the rows


@dataclass(frozen=True)
class Place:
    """A point and its image; of a dual point also -R*(u), or less, where it is known.

    As -R* is concave, what a mean of heights says of a mean of points is no more.
    """

    __array_ufunc__ = None

    x: Vector
    image: Vector
    height: float = float("nan")

    def __add__(self, other: Place) -> Place:
        return Place(self.x + other.x, self.image + other.image, self.height + other.height)

    def __rmul__(self, scale: float) -> Place:
        return Place(scale * self.x, scale * self.image, scale * self.height)


class Tangent(NamedTuple):
    """f at u with its gradient, which is that of the place alpha(u) of the other problem."""

    value: float
    gradient: Vector
    alpha: Place
