"""Vector losses that have met their rows: native, by their formula, or through a taxonomy's leaves.

What Python does here, for losses without a twin in C++, rests on `value`, `slope` and `pieces`
alone. The offset b of `RowLoss` is 0, or a number for each score: see offset_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Loss
from fenchel.losses.hierarchy import Hierarchical, HierarchicalHinge, HierarchicalSoftmax
from fenchel.losses.multiclass import MulticlassHinge, Softmax
from fenchel.losses.multilabel import MultilabelHinge
from fenchel.losses.row_loss import Indices, RowLoss
from fenchel.losses.taxonomy import Taxonomy
from fenchel.losses.vector import Softened, VectorLoss


class PieceChoices(NamedTuple):
    """The slopes of the pieces that are the highest at z, up to the tolerance of a tie."""

    rows: VectorRows | LeafRows
    z: Array
    tolerance: float

    def towards(self, q: Array) -> Array:
        """For each row the slopes a with the largest <a, q> ([Yu10] sections 6.2 and 6.4)."""
        return self.rows.steepest(self.z, q, self.tolerance)

    @property
    def shortfalls(self) -> Array:
        """How far the lowest of these pieces is below the highest."""
        return self.rows.shortfalls(self.z, self.tolerance)


class VectorRows(RowLoss):
    """A loss of K scores a row, by its Python formula."""

    loss: VectorLoss

    def slopes(self, z: Array, b: float | Array = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i times a subgradient there)."""
        z = _shifted(z, b)
        value = np.asarray(self.loss.value(z, self.y))
        slope = np.asarray(self.loss.slope(z, self.y))
        if value.shape != (len(z),) or slope.shape != z.shape:
            raise InvalidData(
                f"{self.loss!r} must give a value for each row and a slope for each score; for "
                f"scores of shape {z.shape} it gave shapes {value.shape} and {slope.shape}"
            )
        if self.s is not None:
            s = self.s[:, np.newaxis]
            value = self.s * np.where(self.s > 0, value, 0.0)
            slope = s * np.where(s > 0, slope, 0.0)
        return float(np.sum(value)), np.ascontiguousarray(slope, dtype=np.float64)

    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows where several pieces are the highest."""
        pieces = self.loss.pieces(z, self.y)
        if pieces is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(np.sum(_highest(pieces, z, tolerance), axis=1) > 1)

    def choices(self, z: Array, tolerance: float) -> PieceChoices:
        """The slopes of the highest pieces."""
        return PieceChoices(self, z, tolerance)

    def steepest(self, z: Array, q: Array, tolerance: float) -> Array:
        """The slopes of the highest piece, or of the one that rises most along q; without s."""
        pieces, rise = self._pieces(z), self._rise(q)
        best = np.argmax(np.where(_highest(pieces, z, tolerance), rise, -np.inf), axis=1)
        return self._gradient(best, z.shape)

    def shortfalls(self, z: Array, tolerance: float) -> Array:
        """How far the lowest of the pieces that count as the highest is below the highest."""
        pieces = self._pieces(z)
        top = np.max(pieces, axis=1)
        lowest = np.min(np.where(_highest(pieces, z, tolerance), pieces, np.inf), axis=1)
        return np.asarray(top - lowest)

    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta; and its own, 0."""
        slope = _lead(self._pieces(z + eta * q), self._rise(q))[1]
        return float(np.sum(slope) if self.s is None else self.s @ slope), 0.0

    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        rise = self._rise(q)
        value, last = self._pieces(z + low * q), _lead(self._pieces(z + high * q), rise)[1]
        top, slope = _lead(value, rise)
        weight = np.ones(len(z)) if self.s is None else self.s
        found = [np.empty((0, 3))]
        while len(rows := np.flatnonzero(slope < last)):  # from each row's corner to its next
            here, climb, start = slope[rows, np.newaxis], rise[rows], value[rows]
            steeper = (climb > here) & (climb <= last[rows, np.newaxis])
            with np.errstate(all="ignore"):
                meet = (top[rows, np.newaxis] - start) / (climb - here)
            meet = np.where(steeper, meet, np.inf)
            at = np.min(meet, axis=1)
            best = np.argmax(np.where(meet <= at[:, np.newaxis], climb, -np.inf), axis=1)
            each = np.arange(len(rows)), best
            jump = weight[rows] * (climb[each] - slope[rows])
            found.append(np.column_stack([np.clip(low + at, low, high), jump, np.zeros(len(rows))]))
            top[rows], slope[rows] = start[each], climb[each]
        return np.concatenate(found)

    def _pieces(self, z: Array) -> Array:
        pieces = self.loss.pieces(z, self.y)
        assert pieces is not None
        return pieces

    def _rise(self, q: Array) -> Array:
        """The slopes of the pieces along q; -inf for a piece that a row does not have."""
        moved, start = self._pieces(q), self._pieces(np.zeros_like(q))
        return np.where(np.isinf(start), -np.inf, moved - np.where(np.isinf(start), 0.0, start))

    def _gradient(self, piece: Indices, shape: tuple[int, ...]) -> Array:
        """The gradient of one piece of each row."""
        rows, gradient = np.arange(shape[0]), np.empty(shape)
        start = self._pieces(np.zeros(shape))[rows, piece]
        for k in range(shape[1]):
            unit = np.zeros(shape)
            unit[:, k] = 1.0
            gradient[:, k] = self._pieces(unit)[rows, piece] - start
        return gradient


def _shifted(z: Array, b: float | Array) -> Array:
    return z + b if np.any(b) else z


def _highest(pieces: Array, z: Array, tolerance: float) -> npt.NDArray[np.bool_]:
    near = tolerance * (1 + np.max(np.abs(z), axis=1, initial=0.0, keepdims=True))
    return np.asarray(pieces >= np.max(pieces, axis=1, keepdims=True) - near)


def _lead(value: Array, rise: Array) -> tuple[Array, Array]:
    """The highest value of each row, and the largest slope of the pieces that have it."""
    top = np.max(value, axis=1)
    return top, np.max(np.where(value == top[:, np.newaxis], rise, -np.inf), axis=1)


class NativeVectorRows(VectorRows):
    """A built-in loss of K scores a row, in C++."""

    def __init__(self, loss: Loss, y: npt.NDArray[Any], s: Array | None = None):
        super().__init__(loss, y, s)
        self._made: tuple[int, Any] | None = None  # K, and the native loss of K scores

    def native(self, K: int) -> Any:
        """The native loss of K scores, made when their number is first seen."""
        if self._made is None or self._made[0] != K:
            self._made = K, NATIVE[type(self.loss)](self.loss, K)
        return self._made[1]

    def slopes(self, z: Array, b: float | Array = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i times a subgradient there)."""
        return self._slopes(self.native(z.shape[1]), _shifted(z, b))

    def _slopes(self, native: Any, z: Array) -> tuple[float, Array]:
        a = np.empty_like(z)
        return _kernels.vector_slopes(native, z, self.y, self.s, a), a

    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows where several pieces are the highest."""
        if self.loss.differentiable:
            return np.empty(0, dtype=np.intp)
        found = _kernels.vector_ties(self.native(z.shape[1]), z, self.y, tolerance)
        return np.asarray(found[:, 0], dtype=np.intp)

    def steepest(self, z: Array, q: Array, tolerance: float) -> Array:
        """The slopes of the highest piece, or of the one that rises most along q; without s."""
        a = np.empty_like(z)
        _kernels.vector_steepest(self.native(z.shape[1]), z, q, self.y, None, tolerance, a)
        return a

    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta; and its own, 0."""
        return _kernels.vector_slope_along(self.native(z.shape[1]), z, q, self.y, self.s, eta), 0.0

    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        return _kernels.vector_kinks_along(self.native(z.shape[1]), z, q, self.y, self.s, low, high)

    def block_problem(self, K: int, over: float, *settings: Any) -> _kernels.BlockProblem:
        """What sweeps of dual block ascent take of K scores: see kernels/block_ascent.hpp.

        `settings` are rate, kappa, threshold and scale, and the dual's curvature along a row is at
        most `over` times its kappa.
        """
        return _kernels.BlockProblem(self.native(K), self.y, *settings)

    def smoothed(
        self, z: Array, mu: float, widths: Array | None, b: float
    ) -> tuple[float, float, float, Array]:
        """A hinge with a soft maximum; rows are all smoothed alike."""
        if mu == 0:
            return super().smoothed(z, mu, widths, b)
        a = np.empty_like(z)
        value = _kernels.soft_slopes(self.native(z.shape[1]), z, self.y, self.s, mu, a)
        value -= mu * self.most_entropy(z.shape[1])
        return value, float(np.sum(a)), 0.0, self._without_weights(a)

    def most_entropy(self, K: int) -> float:
        """sum_i s_i times the most that the entropy of a row's pieces can be."""
        assert isinstance(self.loss, Softened)
        each = np.log(self.loss.n_pieces(self.y, K))
        return float(np.sum(each) if self.s is None else self.s @ each)


def _softmax(loss: Softmax, K: int) -> _kernels.Softmax:
    return _kernels.Softmax(K)


def _multiclass_hinge(loss: MulticlassHinge, K: int) -> Any:
    if loss.rescaling == "slack":
        return _kernels.MulticlassSlackHinge(K, _cost(loss, K))
    return _kernels.MulticlassHinge(K, _cost(loss, K))


def _multilabel_hinge(loss: MultilabelHinge, K: int) -> Any:
    kind = _kernels.MultilabelCostHinge if loss.uniform is None else _kernels.MultilabelHinge
    return kind(K, _cost(loss, K))


def _cost(loss: MulticlassHinge | MultilabelHinge, K: int) -> Any:
    """One number, or a matrix with a row for each right label."""
    return np.ascontiguousarray(loss.costs(K).T) if loss.uniform is None else loss.uniform


# By exact type: a subclass may have changed the formula.
NATIVE: dict[type[Loss], Callable[[Any, int], Any]] = {
    Softmax: _softmax,
    MulticlassHinge: _multiclass_hinge,
    MultilabelHinge: _multilabel_hinge,
}
LEAVES: dict[type[Loss], Callable[..., Any]] = {
    HierarchicalHinge: _kernels.LeafHinge,
    HierarchicalSoftmax: _kernels.LeafSoftmax,
}


def has_block_step(loss: Loss) -> bool:
    """A step on all dual variables of a row is known: see kernels/block_steps.hpp."""
    return (type(loss) in NATIVE or type(loss) in LEAVES) and loss.has_conjugate


def has_bends(loss: Loss) -> bool:
    """So is how slopes bend with the scores: see kernels/block_bends.hpp."""
    slack = isinstance(loss, MulticlassHinge) and loss.rescaling == "slack"
    return type(loss) in NATIVE and loss.has_conjugate and not slack


class LeafRows(RowLoss):
    """A built-in loss of a taxonomy's leaves, as one of all nodes' scores.

    The scores become those of the leaves in C++, the loss of leaves answers for its own rows, and
    slopes come back from there.
    """

    loss: Hierarchical

    def __init__(self, loss: Loss, y: npt.NDArray[Any], s: Array | None = None):
        super().__init__(loss, y, s)
        self._made: tuple[int, Taxonomy, NativeVectorRows] | None = None

    def _with(self, **rows: Any) -> Self:
        return super()._with(**rows, _made=None)  # which knows the rows

    def leaves(self, K: int) -> tuple[Taxonomy, NativeVectorRows]:
        """The taxonomy of K nodes and the rows of its leaves, made when K is first seen."""
        if self._made is None or self._made[0] != K:
            on = self.loss.for_classes(np.arange(K))
            self._made = K, on.tree, NativeVectorRows(on.of_leaves, self.y, self.s)
        return self._made[1:]

    def block_problem(self, K: int, over: float, *settings: Any) -> _kernels.BlockProblem:
        """What sweeps of dual block ascent take of K nodes: see kernels/leaf_steps.hpp."""
        tree, leaves = self.leaves(K)
        of_leaves = leaves.native(len(tree.leaf))
        native = LEAVES[type(self.loss)](of_leaves, tree.parent, tree.leaf, tree.stretch, over)
        return _kernels.BlockProblem(native, self.y, *settings)

    def slopes(self, z: Array, b: float | Array = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i times a subgradient there)."""
        tree, leaves = self.leaves(z.shape[1])
        value, a = leaves.slopes(tree.leaf_scores(_shifted(z, b)))
        return value, tree.node_slopes(a, self.y)

    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows where several leaves are the highest."""
        tree, leaves = self.leaves(z.shape[1])
        return leaves.tied(tree.leaf_scores(z), tolerance)

    def choices(self, z: Array, tolerance: float) -> PieceChoices:
        """The slopes of the highest leaves."""
        return PieceChoices(self, z, tolerance)

    def steepest(self, z: Array, q: Array, tolerance: float) -> Array:
        """The slopes of the highest leaf, or of the one that rises most along q; without s."""
        tree, leaves = self.leaves(z.shape[1])
        a = leaves.steepest(tree.leaf_scores(z), tree.leaf_scores(q), tolerance)
        return tree.node_slopes(a, self.y)

    def shortfalls(self, z: Array, tolerance: float) -> Array:
        """How far the lowest of the leaves that count as the highest is below the highest."""
        tree, leaves = self.leaves(z.shape[1])
        return leaves.shortfalls(tree.leaf_scores(z), tolerance)

    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta; and its own, 0."""
        tree, leaves = self.leaves(z.shape[1])
        return leaves.slope_along(tree.leaf_scores(z), tree.leaf_scores(q), eta)

    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        tree, leaves = self.leaves(z.shape[1])
        return leaves.kinks_along(tree.leaf_scores(z), tree.leaf_scores(q), low, high)

    def smoothed(
        self, z: Array, mu: float, widths: Array | None, b: float
    ) -> tuple[float, float, float, Array]:
        """The hinge of leaves with a soft maximum."""
        if mu == 0:
            return super().smoothed(z, mu, widths, b)
        tree, leaves = self.leaves(z.shape[1])
        value, _, rise, u = leaves.smoothed(tree.leaf_scores(z), mu, widths, b)
        u = tree.node_slopes(u, self.y)
        return value, float(np.sum(u)), rise, u

    def most_entropy(self, K: int) -> float:
        """sum_i s_i times the most that the entropy of a row's leaves can be."""
        tree, leaves = self.leaves(K)
        return leaves.most_entropy(len(tree.leaf))
