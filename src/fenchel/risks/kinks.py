"""Rows whose scores lie on a kink of the loss, up to round-off, and the slopes they may have.

At a kink, such as the margin 1 of the hinge, a loss has no derivative but a range of slopes, from
the one on its left to the one on its right. Each choice for the rows there gives another
subgradient of the risk. A direction that is downhill for one of them need not be so for all, so
methods of descent ask for the one that rises most along a direction p ([Yu10] section 4.1). It
comes from the rows on kinks alone, by their scores q = X p and by X' of what changed: less than a
pass, as such rows are few. With an intercept the chosen slopes have to add up to what they did
before.

The functions here run on one shard each, but for `balanced`, which has to see all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.rows import Rows
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.losses import Loss
from fenchel.losses.row_loss import Choices
from fenchel.losses.scalar_rows import SlopeRange
from fenchel.tolerances import TIE

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def ties(shard: Shard, loss: Loss, z: Array) -> tuple[Indices, Array]:
    """The rows at a kink, and their slopes."""
    bound = shard.bound(loss)
    rows = bound.tied(z, TIE)
    return rows, bound.take(rows).unweighted().slopes(z[rows])[1]


class Kinked(NamedTuple):
    """A shard's rows on a kink: which, their x and s, and the slopes they may have.

    `now` is what they contribute at present, s times a slope.
    """

    rows: Indices
    X: Rows
    s: Array | None
    choices: Choices
    now: Array


def kinked(shard: Shard, loss: Loss, z: Array, b: float, a: Array) -> Kinked:
    """The rows on a kink, a their slopes now."""
    z = z + b if b else z
    bound = shard.bound(loss)
    rows = bound.tied(z, TIE)
    X = shard.rows if len(rows) == shard.rows.n_rows else shard.rows.take(rows)
    own = bound.take(rows)
    return Kinked(rows, X, own.s, own.choices(z[rows], TIE), a[rows])


def kinked_scores(shard: Shard, kinked: Kinked, p: Array) -> Array:
    """X p for the rows on a kink."""
    return kinked.X.scores(p)


def kinked_adjoint(shard: Shard, kinked: Kinked, chosen: Array) -> Array:
    """X'(s chosen - now) over the rows on a kink."""
    return kinked.X.adjoint(weighted(kinked.s, chosen) - kinked.now)


def rechosen(shard: Shard, a: Array, kinked: Kinked, chosen: Array) -> Array:
    """The slopes a of all rows, with those chosen on the kinks."""
    a = a.copy()
    a[kinked.rows] = weighted(kinked.s, chosen)
    return a


def weighted(s: Array | None, slopes: Array) -> Array:
    """s_i times the slope, or slopes, of row i."""
    return slopes if s is None else (slopes.T * s).T


def n_kinked(shard: Shard, kinked: Kinked) -> int:
    """How many rows lie on a kink."""
    return len(kinked.rows)


def kinked_rows(shard: Shard, kinked: Kinked) -> Indices:
    """Which rows lie on a kink."""
    return kinked.rows


def shortfall(shard: Shard, kinked: Kinked) -> float:
    """How far below the loss at their scores all chosen lines together lie, at most."""
    return float(np.sum(weighted(kinked.s, kinked.choices.shortfalls)))


def steepest(shard: Shard, kinked: Kinked, q: Array) -> Array:
    """Argmax of sum_i s_i <a_i, q_i> over slopes a."""
    return kinked.choices.towards(q)


def balanced(engine: Engine, kinked: PerShard[Kinked], q: PerShard[Array]) -> PerShard[Array]:
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
    assert isinstance(kinked.choices, SlopeRange)
    s = np.ones(len(kinked.rows)) if kinked.s is None else kinked.s
    return s, kinked.choices.lowest, kinked.choices.highest, kinked.now, q
