"""The cut that dual variables make: slopes of the rows' losses, balanced where b is free.

R(w) >= <X'(s a)/S, w> - 1/S sum_i s_i l*(a_i) holds for any slopes a in the conjugate's domain;
with an intercept if their weighted sum is 0, for each of the K classes of a vector loss. Slopes of
one score are balanced by shrinking those of one sign (zero_sum.py), those of K by moving what one
class has too much of to another (class_flows.py; offsets.py has the derivation).
"""

from __future__ import annotations

import functools

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import Loss, offset_rows
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut
from fenchel.risks.linear import LinearRisk
from fenchel.risks.offsets import Offsets
from fenchel.risks.zero_sum import evened, is_even, signed_sums
from fenchel.witness import Witness


def cut_of(risk: LinearRisk, a: PerShard[Array], adjoint: Array | None) -> Cut:
    """The cut that slopes make whose X'(s a)/S may be known; with an intercept, once balanced."""
    engine, loss = risk.engine, risk.loss
    a = engine.map(shardwork.feasible, loss, a)
    if has_offsets(risk):
        balanced = _balanced(risk, a)
        a, adjoint = balanced, adjoint if balanced is a else None
    sums = [engine.map(_square, a), *engine.map(shardwork.conjugates, loss, a, 1.0).split(2)]
    if adjoint is None:
        risk.passes += 1
        square, total, size, image = engine.totals(*sums, engine.map(_adjoint, a))
        adjoint = image.ravel() / risk.weight
        adjoint[adjoint.size - risk.n_offsets * risk.n_outputs :] = 0.0  # but for round-off
    else:
        square, total, size = engine.totals(*sums)

    @functools.cache
    def witness() -> Witness:
        """The dual variables, from where the rows are, if they are asked for."""
        weighted = engine.gather(engine.map(shardwork.weighted, a))
        return Witness(alpha=weighted.ravel() / risk.weight)

    slopes = float(np.sqrt(square * risk.n_rows)) / risk.weight
    sizes = risk.length * slopes, float(size) / risk.weight
    return Cut(adjoint, -float(total) / risk.weight, sizes, witness)


def has_offsets(risk: LinearRisk) -> bool:
    """Whether an offset, or K of them, is free: profiled out, or as coordinates."""
    return risk.facts.has_intercept or risk.n_offsets > 0


def _balanced(risk: LinearRisk, a: PerShard[Array]) -> PerShard[Array]:
    """Slopes that add up to 0 with their weights: the same where they do."""
    if risk.offsets is not None:
        return _with_flows(risk, risk.offsets, a)
    up, down = risk.engine.totals(*risk.engine.map(_signed_sums, a).split(2))
    return a if is_even(up, down) else risk.engine.map(_evened, a, up, down)


def _with_flows(risk: LinearRisk, offsets: Offsets, a: PerShard[Array]) -> PerShard[Array]:
    """Slopes of K scores whose residual is 0, without their weights."""
    engine = risk.engine
    r = engine.total(engine.map(_residual, a)) / risk.weight
    if not r.any():
        return a
    if not offset_rows.has_pairs(risk.loss):  # those of squares may be moved anywhere
        return engine.map(_moved, a, -r)
    r = offset_rows.of_leaves(risk.loss, r)
    keep = 1 / (1 + offsets.flows.share(r))
    return engine.map(_evened_classes, risk.loss, a, offsets.flows.moves(r), keep)


def _residual(shard: Shard, a: Array) -> Array:
    """sum_i s_i a_i."""
    return np.asarray(np.sum(shardwork.weighted(shard, a), axis=0))


def _moved(shard: Shard, a: Array, by: Array) -> Array:
    return a + by


def _evened_classes(shard: Shard, loss: Loss, a: Array, moves: Array, keep: float) -> Array:
    moved = offset_rows.evened(shard.bound(loss), shardwork.weighted(shard, a), moves, keep)
    return shardwork.unweighted(shard, moved, 1.0, loss)


def _square(shard: Shard, a: Array) -> float:
    """sum_i |s_i a_i|^2."""
    weighted = shardwork.weighted(shard, a)
    return float(np.vdot(weighted, weighted))


def _adjoint(shard: Shard, a: Array) -> Array:
    return shard.rows.adjoint(shardwork.weighted(shard, a))


def _signed_sums(shard: Shard, a: Array) -> tuple[float, float]:
    return signed_sums(shardwork.weighted(shard, a))


def _evened(shard: Shard, a: Array, up: float, down: float) -> Array:
    return evened(a, up, down)
