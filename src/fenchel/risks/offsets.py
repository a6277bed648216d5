"""The best K offsets of a vector loss at given scores, with a cut that does not rest on them.

    R(W) = min over b in R^K of L(b) = 1/S sum_i s_i l(z_i + b, y_i),   z_i = W'x_i

No penalty holds the offsets, so they are minimised out at every W, as the one intercept of a scalar
loss is (intercept.py). L is convex; Newton's method finds b on kept scores, from one K x K matrix
that the shards add up, with steps halved until L falls: no pass over X.

**The cut.** For slopes a_i in the domain of l*( . , y_i), Fenchel's inequality says for all V and b

    L >= 1/S sum_i s_i [<a_i, V'x_i + b> - l*(a_i, y_i)],

whose right side does not depend on b where the *residual* r = sum_i s_i a_i is 0: then it bounds R.
At the best b the slopes of the loss have r = 0; at the b that Newton's method ends with, r is
small. So the slopes are moved inside their domain until r is 0, whatever it was.

The domains of the losses here are hulls of 0 and of differences e_k - e_l, for classes l that are
right and k that are wrong for a row; of rescaled slacks, of Delta_k (e_k - e_l). Let N_lk be the
weight of the rows that admit e_k - e_l. Moving all of these by m_lk (e_k - e_l) moves N_lk m_lk
units of r from class l to class k. To take off what r has too much, it flows along admissible pairs
to one class, the hub, and from there to the classes that have too little: flows f_lk >= 0, and
m_lk = f_lk / N_lk. The moves of any row are a point of its domain times at most

    phi = sum_lk f_lk / (N_lk Delta_lk)

(Delta = 1 but for rescaled slacks), so (a_i + moves) / (1 + phi), a mean of a_i and of a point of
the domain with the weights 1 and phi over 1 + phi, is in the domain; and its residual is 0 up to
round-off, as that of a one-dimensional bracket is. phi is proportional to r. As l* is convex and
not positive at what was mixed in, the cut's height at W falls by the share phi / (1 + phi) of it
and of the largest difference of a row's scores at most: `floor`.

A flow exists where pairs lead from each class to the hub and back. Of one right class a row, they
do if every class has a row of some weight (and costs > 0 lead everywhere); `Pairs.connected` says.

**Kinks.** A hinge has no Newton's method; its maximum over pieces is softened by mu (see
kernels/offsets.hpp). The slopes of the soft maximum are dual variables of the hinge itself, the
mean of its pieces under p is the height of their cut, and the loss at b is an upper bound: how far
they are apart is known, and falls with mu, which is lowered, b following, until it does not matter.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.losses import Loss, offset_rows
from fenchel.risks import shardwork
from fenchel.tolerances import FEW_OPERATIONS, ROUND_OFF

Array = npt.NDArray[np.float64]

_BALANCED = 1e-11  # phi, at which Newton's method ends: a hundredth of what COARSE allows R
_ROUGHLY = 1e-2  # the same on the way to a smaller mu
_STEPS, _HALVINGS = 60, 40
_DECREASE = 1e-4
_RIDGE = 1e-13
_FIRST_WIDTH, _NARROWER = 0.1, 0.2  # mu to begin with, of the loss; and from one to the next
_KINK_GAP = 1e-7  # of R: how far loss and cut may be apart at a kink
_NARROWEST = 1e-10  # mu, of the scores: below it their round-off counts


class Softness(NamedTuple):
    """Offsets of all K scores, and the mu of the soft maximum whose slopes are meant."""

    b: Array
    mu: float


class Sums(NamedTuple):
    """L at offsets b: the soft maximum, the loss, the cut's height, the residual, C, the slopes."""

    b: Array
    mu: float
    soft: float
    value: float
    mean: float
    r: Array
    C: Array
    slopes: PerShard[Array]


class Found(NamedTuple):
    """The best offsets, with slopes that make a cut."""

    b: Array  # the best that were tried
    value: float  # L there: an upper bound of R(W)
    floor: float  # the height of the cut at W: a lower bound of R(W)
    slopes: PerShard[Array]  # s_i a_i, of residual 0
    at: Softness  # where they come from


class Offsets:
    """The profile of a vector loss over its offsets, on the shards of one engine."""

    def __init__(self, loss: Loss, engine: Engine, S: float, K: int):
        self.loss, self.engine, self.S, self.K = loss, engine, S, K

    @functools.cached_property
    def pairs(self) -> Pairs:
        """The pairs of classes that slopes are made of."""
        N: Array = self.engine.total(self.engine.map(_pair_weights, self.loss, self.K))
        return Pairs(N / self.S, offset_rows.pair_costs(self.loss, len(N)))

    @property
    def attained(self) -> bool:
        """Whether residuals can be taken off, whatever they are."""
        return not offset_rows.has_pairs(self.loss) or self.pairs.connected

    def best(self, z: PerShard[Array], near: Array) -> Found:
        """The best offsets at these scores, sought from those of a point nearby."""
        if not offset_rows.has_pairs(self.loss):
            return self._centred(z)
        b = offset_rows.entered(self.loss, near)
        if self.loss.differentiable:
            return self._found(z, self._newton(z, b, 1.0, _BALANCED))
        return self._settled(z, b)

    def softened(self, z: PerShard[Array], near: Array, mu: float) -> Found:
        """The best offsets of the soft maximum alone, centred as [Zhang11] has it."""
        at = self._newton(z, offset_rows.entered(self.loss, near), mu, _BALANCED)
        centre = mu * float(np.log(len(at.b)))
        return self._found(z, at)._replace(value=at.soft - centre, floor=at.soft - centre)

    def slopes(self, z: PerShard[Array], at: Softness) -> PerShard[Array]:
        """The slopes of the cut that a tangency at such offsets stands for."""
        if not offset_rows.has_pairs(self.loss):
            return self._centred(z).slopes
        return self._found(z, self._sums(z, offset_rows.entered(self.loss, at.b), at.mu)).slopes

    def _settled(self, z: PerShard[Array], b: Array) -> Found:
        """The best offsets of a hinge: those of its soft maximum, mu falling until both agree."""
        size = self.pairs.steepest * (1 + max(self.engine.map(_largest, z, np.zeros(self.K))))
        mu, best = _FIRST_WIDTH * self.pairs.steepest, None
        while True:
            at = self._newton(z, b, mu, _ROUGHLY)
            best = at if best is None or at.value < best.value else best
            close = best.value - at.mean <= _KINK_GAP * abs(best.value)
            if close or not mu > _NARROWEST * size:
                break
            b, mu = at.b, _NARROWER * mu
        found = self._found(z, self._newton(z, at.b, mu, _BALANCED))
        if best.value < found.value:
            b = offset_rows.left(self.loss, best.b, self.K)
            found = found._replace(b=b, value=best.value, floor=min(found.floor, best.value))
        return found

    def _sums(self, z: PerShard[Array], b: Array, mu: float) -> Sums:
        """L and what Newton's method needs at the offsets b."""
        parts, slopes = self.engine.map(_offset_sums, self.loss, z, b, mu).split(2)
        total: Array = self.engine.total(parts) / self.S
        m = len(b)
        soft, value, mean = total[:3].tolist()
        return Sums(
            b, mu, soft, value, mean, total[3 : 3 + m], total[3 + m :].reshape(m, m), slopes
        )

    def _newton(self, z: PerShard[Array], b: Array, mu: float, enough: float) -> Sums:
        """Steps of Newton's method from b until phi is small enough, or no step is better."""
        at = self._sums(z, b - np.mean(b), mu)
        for _ in range(_STEPS):
            if not self.pairs.share(at.r) > enough:  # nan where the scores are out of range
                break
            new = self._descended(z, at, mu)
            if new is None:
                break
            at = new
        return at

    def _descended(self, z: PerShard[Array], at: Sums, mu: float) -> Sums | None:
        """The first of Newton's step, its half and so on, after which L is less.

        Where round-off hides whether it is, the whole step is taken if it leaves less to balance.
        """
        p = _newton_step(at.C, at.r)
        promised, blur = float(at.r @ p), ROUND_OFF * abs(at.soft)
        if promised <= blur:
            new = self._sums(z, at.b - p, mu)
            return new if self.pairs.share(new.r) < 0.5 * self.pairs.share(at.r) else None
        for k in range(_HALVINGS):
            t = 0.5**k
            new = self._sums(z, at.b - t * p, mu)
            if new.soft <= at.soft - _DECREASE * t * promised + blur:
                return new
        return None

    def _found(self, z: PerShard[Array], at: Sums) -> Found:
        """The slopes there, moved until their residual is 0."""
        moves, phi = self.pairs.moves(at.r), self.pairs.share(at.r)
        keep = 1 / (1 + phi)
        slopes = at.slopes
        if phi > 0:
            slopes = self.engine.map(_evened, self.loss, slopes, moves, keep)
        b = offset_rows.left(self.loss, at.b, self.K)
        range_ = 2 * max(self.engine.map(_largest, z, b)) if phi > 0 else 0.0
        floor = keep * at.mean - (1 - keep) * self.pairs.steepest * range_
        return Found(b, at.value, min(floor, at.value), slopes, Softness(b, at.mu))

    def _centred(self, z: PerShard[Array]) -> Found:
        """The offsets of a squared error: the mean of what is left, exactly up to round-off."""
        b = self.engine.total(self.engine.map(_left_over, z)) / self.S
        values, slopes = self.engine.map(_slopes, self.loss, z, b).split(2)
        value = float(self.engine.total(values)) / self.S
        r = self.engine.total(self.engine.map(_residual, slopes)) / self.S
        slopes = self.engine.map(_centred, slopes, r)
        return Found(b, value, value - FEW_OPERATIONS * value, slopes, Softness(b, 1.0))


Path = list[tuple[int, int]]


class Pairs:
    """Pairs (l, k) of classes, l right and k wrong, along which residuals can flow.

    `N` has the rows' shares that admit a pair, `costs` the Delta of rescaled slacks.
    """

    def __init__(self, N: Array, costs: Array):
        self.N, self.steepest = N, max(1.0, float(np.max(costs, initial=0.0)))
        room = N * costs
        hub = int(np.argmax(np.sum(N, axis=1)))
        back = [_reversed(path) for path in _paths(room.T, hub)]
        self._ways = back, _paths(room, hub)  # to the hub, and from it
        self.connected = all(path is not None for ways in self._ways for path in ways)
        price = np.divide(1.0, room, out=np.full_like(room, np.inf), where=room > 0)
        self._prices = [np.array([_sum_over(price, path) for path in ways]) for ways in self._ways]

    def share(self, r: Array) -> float:
        """phi: how much has to be mixed in to take off the residual r."""
        to, back = self._prices
        return float(np.maximum(r, 0.0) @ to + np.maximum(-r, 0.0) @ back)

    def moves(self, r: Array) -> Array:
        """m_lk, which take off the residual r."""
        f = np.zeros_like(self.N)
        for k, excess in enumerate(r.tolist()):
            for pair in self._ways[0 if excess > 0 else 1][k] or []:
                f[pair] += abs(excess)
        return np.divide(f, self.N, out=np.zeros_like(f), where=self.N > 0)


def _paths(room: Array, hub: int) -> list[Path | None]:
    """The shortest way from the hub to each class along pairs with room; None where none leads."""
    paths: list[Path | None] = [None] * len(room)
    paths[hub], reached = [], [hub]
    for here in reached:
        for k in np.flatnonzero(room[here] > 0).tolist():
            if paths[k] is None:
                paths[k] = [*(paths[here] or []), (here, k)]
                reached.append(k)
    return paths


def _reversed(path: Path | None) -> Path | None:
    return None if path is None else [(k, here) for here, k in reversed(path)]


def _sum_over(price: Array, path: Path | None) -> float:
    return np.inf if path is None else float(sum(price[pair] for pair in path))


def _newton_step(C: Array, r: Array) -> Array:
    """p with H p = r, for the Laplacian H of C, and the sum 0.

    H is 0 along the vector of ones, and nearly so along others where classes hardly meet: a trace
    of the unit matrix keeps the step finite, and the line search the rest in order.
    """
    H = np.diag(np.sum(C, axis=1) - np.diag(C)) - (C - np.diag(np.diag(C)))
    size = float(np.trace(H)) / len(r)
    if not 0 < size < np.inf:
        return np.zeros_like(r)
    H += size * (1.0 / len(r) + _RIDGE * np.eye(len(r)))
    p = np.linalg.solve(H, r)
    return np.asarray(p - np.mean(p))


def _pair_weights(shard: Shard, loss: Loss, K: int) -> Array:
    return offset_rows.pair_weights(shard.bound(loss), K)


def _offset_sums(shard: Shard, loss: Loss, z: Array, b: Array, mu: float) -> tuple[Array, Array]:
    return offset_rows.offset_sums(shard.bound(loss), z, b, mu)


def _evened(shard: Shard, loss: Loss, a: Array, moves: Array, keep: float) -> Array:
    return offset_rows.evened(shard.bound(loss), a, moves, keep)


def _largest(shard: Shard, z: Array, b: Array) -> float:
    """The largest |z_ik + b_k|."""
    return float(np.max(np.abs(z + b), initial=0.0))


def _left_over(shard: Shard, z: Array) -> Array:
    """sum_i s_i (y_i - z_i)."""
    return np.asarray(shardwork.weights(shard) @ (shard.y - z))


def _slopes(shard: Shard, loss: Loss, z: Array, b: Array) -> tuple[float, Array]:
    return shard.bound(loss).slopes(z, b)


def _residual(shard: Shard, a: Array) -> Array:
    """sum_i s_i a_i."""
    return np.asarray(np.sum(a, axis=0))


def _centred(shard: Shard, a: Array, r: Array) -> Array:
    """s_i (a_i - r)."""
    return a - np.outer(shardwork.weights(shard), r)
