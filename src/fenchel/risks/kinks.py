"""Rows whose scores lie on a kink of the loss, up to round-off, and the slopes they may have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import Rows
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.losses import Loss, ScalarLoss, VectorLoss, vector_twins
from fenchel.losses.twins import slopes, twin
from fenchel.tolerances import TIE

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def ties(shard: Shard, loss: Loss, z: Array) -> tuple[Indices, Array]:
    """The rows at a kink, and their slopes; most often none, which C++ finds out sooner."""
    rows = _tied(shard, loss, z)
    return rows, slopes(loss, z[rows], shard.y[rows], None)[1]


def _tied(shard: Shard, loss: Loss, z: Array) -> Indices:
    if isinstance(loss, VectorLoss):
        return vector_twins.ties(loss, z, shard.y, TIE)
    assert isinstance(loss, ScalarLoss)
    native = twin(loss)
    if native is not None and not _kernels.near_kinks(native, z, shard.y, TIE):
        return np.empty(0, dtype=np.intp)
    tied = np.zeros(len(z), dtype=bool)
    for kink in loss.kinks(shard.y):
        tied |= np.abs(z - kink) <= TIE * (1 + np.abs(z))
    return np.flatnonzero(tied)


class Kinked(NamedTuple):
    """A shard's rows on a kink: which, their x and s, and the slopes they may have.

    `now` is what they contribute at present, s times a slope.
    """

    rows: Indices
    X: Rows
    s: Array | None
    lowest: Array
    highest: Array
    now: Array

    def steepest(self, q: Array) -> Array:
        """The slopes with the largest <a, q>."""
        return np.where(q > 0, self.highest, self.lowest)


class KinkedVectors(NamedTuple):
    """The same for a vector loss: its scores and labels say which slopes a row may have."""

    rows: Indices
    X: Rows
    s: Array | None
    loss: VectorLoss
    z: Array
    y: npt.NDArray[Any]
    now: Array

    def steepest(self, q: Array) -> Array:
        """The slopes with the largest <a, q> ([Yu10] sections 6.2 and 6.4)."""
        return vector_twins.steepest(self.loss, self.z, q, self.y, None, TIE)


def kinked(shard: Shard, loss: Loss, z: Array, b: float, a: Array) -> Kinked | KinkedVectors:
    """The rows on a kink, a their slopes now."""
    z = z + b if b else z
    rows = _tied(shard, loss, z)
    y, s = shard.y[rows], None if shard.s is None else shard.s[rows]
    X = shard.rows if len(rows) == shard.rows.n_rows else shard.rows.take(rows)
    if isinstance(loss, VectorLoss):
        return KinkedVectors(rows, X, s, loss, z[rows], y, a[rows])
    nearby = 2 * TIE * (1 + np.abs(z[rows]))
    lowest, highest = (slopes(loss, z[rows] + step, y, None)[1] for step in (-nearby, nearby))
    return Kinked(rows, X, s, lowest, highest, a[rows])


def kinked_scores(shard: Shard, kinked: Kinked | KinkedVectors, p: Array) -> Array:
    """X p for the rows on a kink."""
    return kinked.X.scores(p)


def kinked_adjoint(shard: Shard, kinked: Kinked | KinkedVectors, chosen: Array) -> Array:
    """X'(s chosen - now) over the rows on a kink."""
    return kinked.X.adjoint(weighted(kinked.s, chosen) - kinked.now)


def rechosen(shard: Shard, a: Array, kinked: Kinked | KinkedVectors, chosen: Array) -> Array:
    """The slopes a of all rows, with those chosen on the kinks."""
    a = a.copy()
    a[kinked.rows] = weighted(kinked.s, chosen)
    return a


def weighted(s: Array | None, slopes: Array) -> Array:
    """s_i times the slope, or slopes, of row i."""
    return slopes if s is None else (slopes.T * s).T


def n_kinked(shard: Shard, kinked: Kinked | KinkedVectors) -> int:
    """How many rows lie on a kink."""
    return len(kinked.rows)


def kinked_rows(shard: Shard, kinked: Kinked | KinkedVectors) -> Indices:
    """Which rows lie on a kink."""
    return kinked.rows


def steepest(shard: Shard, kinked: Kinked | KinkedVectors, q: Array) -> Array:
    """Argmax of sum_i s_i <a_i, q_i> over slopes a."""
    return kinked.steepest(q)


def balanced(engine: Engine, kinked: PerShard, q: PerShard) -> PerShard:
    """The same with sum_i s_i a_i as it is now: the slopes of the largest q are raised first."""
    parts = list(engine.map(_ranges, kinked, q))
    s, lowest, highest, now, rises = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(-rises, kind="stable")
    room = (s * (highest - lowest))[order]
    budget = float(np.sum(now)) - float(s @ lowest)
    share = np.clip(budget - (np.cumsum(room) - room), 0.0, room)
    a = lowest.copy()
    a[order] += np.divide(share, s[order], out=np.zeros_like(share), where=room > 0)
    a = np.minimum(a, highest)
    return PerShard(np.split(a, np.cumsum([len(part[-1]) for part in parts])[:-1]))


def _ranges(shard: Shard, kinked: Kinked, q: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Weights of the rows on a kink, their slopes' ends, what they contribute, and q itself."""
    s = np.ones(len(kinked.rows)) if kinked.s is None else kinked.s
    return s, kinked.lowest, kinked.highest, kinked.now, q
