"""Vector losses as functions of offsets that are added to the scores of all rows alike.

risks/offsets.py finds the best of them, and says what the sums and pairs here are for. The offsets
of a loss of a taxonomy's leaves are those of its leaves: inner nodes could add nothing to them.
"""

from __future__ import annotations

import numpy as np

from fenchel import _kernels
from fenchel.losses.base import Array, Labels, Loss
from fenchel.losses.hierarchy import HierarchicalHinge, HierarchicalSoftmax
from fenchel.losses.multiclass import MulticlassHinge, Softmax
from fenchel.losses.multilabel import MultilabelHinge
from fenchel.losses.multioutput import MultivariateSquared
from fenchel.losses.row_loss import RowLoss
from fenchel.losses.vector_rows import LeafRows, NativeVectorRows, VectorRows

# By exact type: a subclass may have changed the formula.
_TAKES = (Softmax, MulticlassHinge, HierarchicalSoftmax, HierarchicalHinge, MultivariateSquared)


def takes_offsets(loss: Loss) -> bool:
    """Whether the best offsets of the loss are found here."""
    if type(loss) is MultilabelHinge:
        return loss.uniform is not None
    return type(loss) in _TAKES


def has_pairs(loss: Loss) -> bool:
    """Whether its slopes are made of differences e_k - e_l; those of squares are any vectors."""
    return type(loss) is not MultivariateSquared


def has_shares(loss: Loss) -> bool:
    """Whether its slopes are p - e_y, with shares p of the classes."""
    rescaled = isinstance(loss, MulticlassHinge) and loss.rescaling == "slack"
    return has_pairs(loss) and loss.labels is not Labels.SETS and not rescaled


def entered(loss: Loss, b: Array) -> Array:
    """The offsets of the leaves, for those of all nodes; of other losses they are the same."""
    if isinstance(loss, HierarchicalHinge | HierarchicalSoftmax):
        return np.asarray(loss.for_classes(np.arange(len(b))).tree.paths @ b)
    return b


def left(loss: Loss, b: Array, K: int) -> Array:
    """The offsets of all K nodes, for those of the leaves."""
    if isinstance(loss, HierarchicalHinge | HierarchicalSoftmax):
        nodes = np.zeros(K)
        nodes[loss.for_classes(np.arange(K)).tree.leaf] = b
        return nodes
    return b


def of_leaves(loss: Loss, r: Array) -> Array:
    """What sums of slopes over rows are for the leaves, for those of all nodes."""
    if isinstance(loss, HierarchicalHinge | HierarchicalSoftmax):
        return np.asarray(r[loss.for_classes(np.arange(len(r))).tree.leaf])
    return r


def pair_costs(loss: Loss, K: int) -> Array:
    """Delta_lk of e_k - e_l for l right: 1 but for rescaled slacks."""
    if isinstance(loss, MulticlassHinge) and loss.rescaling == "slack":
        return np.ascontiguousarray(loss.costs(K).T)
    return np.ones((K, K))


def pair_weights(rows: RowLoss, K: int) -> Array:
    """N_lk, the weight of the rows for which class l is right and k is wrong."""
    if isinstance(rows, LeafRows):
        return pair_weights(rows.leaves(K)[1], len(rows.leaves(K)[0].leaf))
    s = np.ones(len(rows.y)) if rows.s is None else rows.s
    if rows.loss.labels is Labels.SETS:
        right = np.asarray(rows.y, dtype=np.float64)
        return np.asarray((s[:, np.newaxis] * right).T @ (1 - right))
    weights = np.bincount(rows.y, s, K)
    return np.outer(weights, np.ones(K)) * (1 - np.eye(K))


def slopes(rows: RowLoss, z: Array, b: Array) -> tuple[float, Array]:
    """(sum_i s_i l(z_i + b, y_i), the array of s_i times a subgradient there)."""
    assert isinstance(rows, VectorRows | LeafRows)
    return rows.slopes(z, b)


def offset_sums(rows: RowLoss, z: Array, b: Array, mu: float) -> Array:
    """The sums of kernels/offsets.hpp at z_i + b."""
    if isinstance(rows, LeafRows):
        tree, leaves = rows.leaves(z.shape[1])
        return offset_sums(leaves, tree.leaf_scores(z), b, mu)
    assert isinstance(rows, NativeVectorRows)
    sums = np.zeros(3 + len(b) + len(b) ** 2)
    _kernels.offset_sums(rows.native(z.shape[1]), z, rows.y, rows.s, b, mu, sums)
    return sums


def tilted_sums(rows: RowLoss, z: Array, b: Array, mu: float, tilt: Array) -> tuple[Array, Array]:
    """(the sums of the cut's heights and of the slopes, s_i a_i) at z_i + b, tilted."""
    if isinstance(rows, LeafRows):
        tree, leaves = rows.leaves(z.shape[1])
        sums, a = tilted_sums(leaves, tree.leaf_scores(z), b, mu, tilt)
        return sums, tree.node_slopes(a, rows.y)
    assert isinstance(rows, NativeVectorRows)
    sums, a = np.zeros(1 + len(b)), np.empty_like(z)
    _kernels.tilted_sums(rows.native(z.shape[1]), z, rows.y, rows.s, b, mu, tilt, a, sums)
    return sums, a


def evened(rows: RowLoss, a: Array, moves: Array, keep: float) -> Array:
    """keep (s_i a_i + s_i times the moves m_lk (e_k - e_l) that the row admits)."""
    if isinstance(rows, LeafRows):
        tree, leaves = rows.leaves(a.shape[1])
        return tree.node_slopes(evened(leaves, a[:, tree.leaf], moves, keep), rows.y)
    a = np.array(a, order="C")
    if rows.loss.labels is Labels.SETS:
        _kernels.even_sets(a, rows.y, rows.s, moves, keep)
        return a
    table = moves - np.diag(np.sum(moves, axis=1))
    _kernels.even_classes(a, rows.y, rows.s, table, keep)
    return a
