"""From a vector loss to its twin in C++, and to the sums over rows that both can do.

A loss of a taxonomy's leaves has no twin of its own: its scores become those of the leaves in C++,
and slopes come back from there, with the twin of the loss of leaves in between. What Python does
here, for losses without a twin, rests on `value`, `slope` and `pieces` alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses.base import Array
from fenchel.losses.hierarchy import Hierarchical, HierarchicalHinge, HierarchicalSoftmax
from fenchel.losses.multiclass import MulticlassHinge, Softmax
from fenchel.losses.multilabel import MultilabelHinge
from fenchel.losses.taxonomy import Taxonomy
from fenchel.losses.vector import VectorLoss

Indices = npt.NDArray[np.intp]


def twin(loss: VectorLoss, K: int) -> Any:
    """The native loss of K scores, by exact type: a subclass may have changed the formula."""
    if type(loss) is Softmax:
        return _kernels.Softmax(K)
    if type(loss) is MulticlassHinge:
        if loss.rescaling == "slack":
            return _kernels.MulticlassSlackHinge(K, _cost(loss, K))
        return _kernels.MulticlassHinge(K, _cost(loss, K))
    if type(loss) is MultilabelHinge:
        kind = _kernels.MultilabelCostHinge if loss.uniform is None else _kernels.MultilabelHinge
        return kind(K, _cost(loss, K))
    return None


def _cost(loss: MulticlassHinge | MultilabelHinge, K: int) -> Any:
    """One number, or a matrix with a row for each right label."""
    return np.ascontiguousarray(loss.costs(K).T) if loss.uniform is None else loss.uniform


def _flat(loss: VectorLoss, K: int) -> tuple[VectorLoss, Taxonomy | None]:
    """The loss of a taxonomy's leaves, by exact type, and the taxonomy; other losses themselves."""
    if isinstance(loss, Hierarchical) and type(loss) in (HierarchicalHinge, HierarchicalSoftmax):
        loss = loss.for_classes(np.arange(K))
        return loss.of_leaves, loss.tree
    return loss, None


def _leaf_scores(tree: Taxonomy | None, Z: Array) -> Array:
    return Z if tree is None else tree.leaf_scores(Z)


def _node_slopes(tree: Taxonomy | None, B: Array, y: Any) -> Array:
    return B if tree is None else tree.node_slopes(B, y)


def slopes(loss: VectorLoss, Z: Array, y: Any, s: Array | None) -> tuple[float, Array]:
    """(sum_i s_i l(z_i, y_i), the array of s_i times a subgradient in z_i)."""
    loss, tree = _flat(loss, Z.shape[1])
    value, slope = _slopes(loss, _leaf_scores(tree, Z), y, s)
    return value, _node_slopes(tree, slope, y)


def _slopes(loss: VectorLoss, Z: Array, y: Any, s: Array | None) -> tuple[float, Array]:
    native = twin(loss, Z.shape[1])
    if native is not None:
        A = np.empty_like(Z)
        return _kernels.vector_slopes(native, Z, y, s, A), A
    value, slope = np.asarray(loss.value(Z, y)), np.asarray(loss.slope(Z, y))
    if value.shape != (len(Z),) or slope.shape != Z.shape:
        raise InvalidData(
            f"{loss!r} must give a value for each row and a slope for each score; for scores of "
            f"shape {Z.shape} it gave shapes {value.shape} and {slope.shape}"
        )
    if s is not None:
        value = s * np.where(s > 0, value, 0.0)
        slope = s[:, np.newaxis] * np.where(s[:, np.newaxis] > 0, slope, 0.0)
    return float(np.sum(value)), np.ascontiguousarray(slope, dtype=np.float64)


def ties(loss: VectorLoss, Z: Array, y: Any, tolerance: float) -> Indices:
    """The rows where several pieces are the highest, up to tolerance (1 + the largest score)."""
    loss, tree = _flat(loss, Z.shape[1])
    Z = _leaf_scores(tree, Z)
    native = None if loss.differentiable else twin(loss, Z.shape[1])
    if native is not None:
        return np.asarray(_kernels.vector_ties(native, Z, y, tolerance)[:, 0], dtype=np.intp)
    pieces = loss.pieces(Z, y)
    if pieces is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.sum(_highest(pieces, Z, tolerance), axis=1) > 1)


def steepest(
    loss: VectorLoss, Z: Array, Q: Array, y: Any, s: Array | None, tolerance: float
) -> Array:
    """s_i times the slopes of the highest piece, of several the one that rises most along q_i."""
    loss, tree = _flat(loss, Z.shape[1])
    B = _steepest(loss, _leaf_scores(tree, Z), _leaf_scores(tree, Q), y, s, tolerance)
    return _node_slopes(tree, B, y)


def _steepest(
    loss: VectorLoss, Z: Array, Q: Array, y: Any, s: Array | None, tolerance: float
) -> Array:
    native = twin(loss, Z.shape[1])
    if native is not None:
        A = np.empty_like(Z)
        _kernels.vector_steepest(native, Z, Q, y, s, tolerance, A)
        return A
    pieces, rise = _pieces(loss, Z, y), _rise(loss, Q, y)
    best = np.argmax(np.where(_highest(pieces, Z, tolerance), rise, -np.inf), axis=1)
    slope = _gradient(loss, best, Z.shape, y)
    return slope if s is None else s[:, np.newaxis] * slope


def slope_along(
    loss: VectorLoss, Z: Array, Q: Array, y: Any, s: Array | None, eta: float
) -> tuple[float, float]:
    """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i) just right of eta, and its slope, 0."""
    loss, tree = _flat(loss, Z.shape[1])
    Z, Q = _leaf_scores(tree, Z), _leaf_scores(tree, Q)
    native = twin(loss, Z.shape[1])
    if native is not None:
        return _kernels.vector_slope_along(native, Z, Q, y, s, eta), 0.0
    slope = _lead(_pieces(loss, Z + eta * Q, y), _rise(loss, Q, y))[1]
    return float(np.sum(slope) if s is None else s @ slope), 0.0


def kinks_along(
    loss: VectorLoss, Z: Array, Q: Array, y: Any, s: Array | None, low: float, high: float
) -> Array:
    """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
    loss, tree = _flat(loss, Z.shape[1])
    Z, Q = _leaf_scores(tree, Z), _leaf_scores(tree, Q)
    native = twin(loss, Z.shape[1])
    if native is not None:
        return _kernels.vector_kinks_along(native, Z, Q, y, s, low, high)
    rise = _rise(loss, Q, y)
    value, last = _pieces(loss, Z + low * Q, y), _lead(_pieces(loss, Z + high * Q, y), rise)[1]
    top, slope = _lead(value, rise)
    weight = np.ones(len(Z)) if s is None else s
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


def _pieces(loss: VectorLoss, Z: Array, y: Any) -> Array:
    pieces = loss.pieces(Z, y)
    assert pieces is not None
    return pieces


def _rise(loss: VectorLoss, Q: Array, y: Any) -> Array:
    """The slopes of the pieces along q; -inf for a piece that a row does not have."""
    moved, start = _pieces(loss, Q, y), _pieces(loss, np.zeros_like(Q), y)
    return np.where(np.isinf(start), -np.inf, moved - np.where(np.isinf(start), 0.0, start))


def _highest(pieces: Array, Z: Array, tolerance: float) -> npt.NDArray[np.bool_]:
    near = tolerance * (1 + np.max(np.abs(Z), axis=1, initial=0.0, keepdims=True))
    return np.asarray(pieces >= np.max(pieces, axis=1, keepdims=True) - near)


def _lead(value: Array, rise: Array) -> tuple[Array, Array]:
    """The highest value of each row, and the largest slope of the pieces that have it."""
    top = np.max(value, axis=1)
    return top, np.max(np.where(value == top[:, np.newaxis], rise, -np.inf), axis=1)


def _gradient(loss: VectorLoss, piece: Indices, shape: tuple[int, ...], y: Any) -> Array:
    """The gradient of one piece of each row."""
    rows, gradient = np.arange(shape[0]), np.empty(shape)
    start = _pieces(loss, np.zeros(shape), y)[rows, piece]
    for k in range(shape[1]):
        unit = np.zeros(shape)
        unit[:, k] = 1.0
        gradient[:, k] = _pieces(loss, unit, y)[rows, piece] - start
    return gradient
