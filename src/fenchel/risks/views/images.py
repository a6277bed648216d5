"""Points of the primal and of the dual problem, each together with its product with the data.

The data come into the objective only by X w, the scores of a point w of the primal, and by X'u, the
parameters' share in a point u of the dual, which has a number for each score. That product is the
*image* of the point, as it lies in the space of the other problem. Computing it is a pass over X;
but it is linear, so that sums and multiples of points that carry their images have theirs for
nothing. Accelerated methods, which go on from means of earlier points, save a pass a step by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from fenchel.engines import PerShard
from fenchel.risks import shardwork
from fenchel.risks.base import Array
from fenchel.risks.sharded_loss import ShardedLoss


class RowVector:
    """A number, or one for each class, of every row; <x, y> is their mean product, with weights.

    It is `scale` times the parts that it was made of, multiplied out where they are asked for: a
    sum of two multiples goes over the rows once.
    """

    __array_ufunc__ = None  # so that a NumPy number times a RowVector asks the RowVector

    def __init__(self, risk: ShardedLoss, parts: PerShard[Array], scale: float = 1.0):
        self.risk, self._parts, self._scale = risk, parts, scale

    @property
    def parts(self) -> PerShard[Array]:
        """The numbers of each shard."""
        if self._scale != 1:
            self._parts = self.risk.engine.map(shardwork.scaled, self._parts, self._scale)
            self._scale = 1.0
        return self._parts

    def __add__(self, other: RowVector) -> RowVector:
        parts, scales = (self._parts, other._parts), (self._scale, other._scale)
        return RowVector(self.risk, self.risk.engine.map(shardwork.mixed, *parts, *scales))

    def __rmul__(self, scale: float) -> RowVector:
        return RowVector(self.risk, self._parts, scale * self._scale)

    def __matmul__(self, other: RowVector) -> float:
        """sum_i s_i x_i y_i / S."""
        engine = self.risk.engine
        products = engine.map(shardwork.weighted_inner, self.parts, other.parts)
        return float(engine.total(products)) / self.risk.weight


X = TypeVar("X", Array, RowVector)  # the space of a problem's own points
Y = TypeVar("Y", Array, RowVector)  # the space of their images, in which the other problem lives


@dataclass(frozen=True)
class Imaged(Generic[X, Y]):
    """A point and its image; of a dual point also its height -R*(u), or less, where it is known.

    R(v) >= <X'u, v> + height for all v. As -R* is concave, what a mean of heights says of a mean of
    points is no more.
    """

    __array_ufunc__ = None  # as above

    x: X
    image: Y
    height: float = float("nan")

    def __add__(self, other: Imaged[X, Y]) -> Imaged[X, Y]:
        return Imaged(self.x + other.x, self.image + other.image, self.height + other.height)

    def __rmul__(self, scale: float) -> Imaged[X, Y]:
        return Imaged(scale * self.x, scale * self.image, scale * self.height)


@dataclass(frozen=True)
class Linearisation(Generic[X, Y]):
    """f at x with its gradient, which is that of the point alpha(x) of the other problem."""

    value: float
    gradient: X
    alpha: Imaged[Y, X]


def packed(v: Array | RowVector) -> Array:
    """A vector of either space as one array."""
    return v.risk.engine.gather(v.parts).ravel() if isinstance(v, RowVector) else v
