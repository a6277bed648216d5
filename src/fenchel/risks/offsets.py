"""The best K offsets of a vector loss at given scores, with a cut that does not rest on them.

    R(W) = min over b in R^K of L(b) = 1/S sum_i s_i l(z_i + b, y_i),   z_i = W'x_i

No penalty holds the offsets, so they are minimised out at every W, as the one intercept of a scalar
loss is (intercept.py). L is convex; Newton's method finds b on kept scores, from one K x K matrix
that the shards add up, with steps halved until L falls: no pass over X.

**The cut.** For slopes a_i in the domain of l*( . , y_i), Fenchel's inequality says for all V and b

    L >= 1/S sum_i s_i [<a_i, V'x_i + b> - l*(a_i, y_i)],

whose right side does not depend on b where the *residual* r = sum_i s_i a_i is 0: then it bounds R.
At the best b the slopes of the loss have r = 0; at the b that Newton's method ends with, r is
small. Two steps make it 0, inside the domain.

*Tilt.* The slopes of a row are a mean of the gradients g_j of its pieces (kernels/soft_pieces.hpp),
with shares p_j. Newton's next step would be -mu t, with sum_i s_i Cov_i t = r for the covariance
Cov_i of the g_j. It is not made: the shares are multiplied by 1 - d_j instead, d_j = <g_j, t> less
its mean, so that they are still shares where |d_j| <= 1, and the slopes a_i - Cov_i t. Their
residual is r - r = 0 up to round-off, and the cut is lower than at the best b by the square of
Newton's step only: of softmax by sum_j p_j d_j^2 in a row at most, of hinges by what the mean of
the pieces says.

*Flow.* What round-off leaves (or all of r, if t is too long) is moved between classes. A domain is
the hull of 0 and of differences e_k - e_l, for classes l that are right and k that are wrong for a
row; of rescaled slacks, of Delta_k (e_k - e_l). Let N_lk be the weight of the rows that admit
e_k - e_l. Moving all of these by m_lk (e_k - e_l) moves N_lk m_lk units of r from class l to class
k. So what r has too much flows along admissible pairs to one class, the hub, and from there to the
classes that have too little: flows f_lk >= 0, and m_lk = f_lk / N_lk. The moves of any row are a
point of its domain times at most

    phi = sum_lk f_lk / (N_lk Delta_lk)

(Delta = 1 but for rescaled slacks), so (a_i + moves) / (1 + phi), a mean of a_i and of a point of
the domain, is in the domain. phi is proportional to r. As l* is convex and not positive at what was
mixed in, the cut's height at W falls by the share phi / (1 + phi) of it and of the largest
difference of a row's scores at most: `floor`. What is left of r is the round-off of the moves, some
1e-16 of the residual that they took off.

A flow exists where pairs lead from each class to the hub and back. Of one right class a row, they
do if every class has a row of some weight (and costs > 0 lead everywhere): `attained`.

**Kinks.** A hinge has no Newton's method; its maximum over pieces is softened by mu. The slopes of
the soft maximum are dual variables of the hinge itself, the mean of its pieces under p is the
height of their cut, and the loss at b is an upper bound: how far they are apart is known, and falls
with mu, which is lowered until it does not matter. The best b moves with mu on a smooth path, the
more nearly a straight line the smaller mu is, and is sought where that leads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.losses import Loss, offset_rows
from fenchel.losses.vector_rows import LeafRows, NativeVectorRows
from fenchel.risks import shardwork
from fenchel.risks.class_flows import ClassFlows
from fenchel.tolerances import FEW_OPERATIONS, ROUND_OFF
from fenchel.witness import Tilted

Array = npt.NDArray[np.float64]

_CLOSE = 1e-12  # of L and mu: the square of Newton's step at which its method ends
_CLOSE_TO_KINKS = 1e-2  # the same on the way to a smaller mu
_TILT = 0.5  # the largest |d|
_STEPS, _FEW_STEPS = 100, 10
_DECREASE = 1e-4
_LEAST_DAMPING, _DAMPED = 1e-6, 30.0
_LEAST_SHARE = 1e-17  # of the weight: what is left of one below is round-off
_RIDGE = 1e-13  # over mu: of a Hessian whose norm is at most about that of 1 / mu
_FIRST_WIDTH, _NARROWER = 0.02, 0.25  # mu to begin with, of the scores; and from one to the next
_SLOWEST = 0.8
_KINK_GAP = 1e-10  # of R: how far loss and cut may be apart at a kink
_NARROWEST = 1e-12  # mu, of the scores: below it their round-off counts


class OffsetSums(NamedTuple):
    """L at offsets b: soft maximum, loss, height of the cut, residual, C, Newton's step."""

    b: Array
    mu: float
    soft: float
    value: float
    mean: float
    r: Array
    C: Array
    p: Array


class BestOffsets(NamedTuple):
    """The best offsets, with slopes that make a cut."""

    b: Array  # the best that were tried
    value: float  # L there: an upper bound of R(W)
    floor: float  # the height of the cut at W: a lower bound of R(W)
    slopes: PerShard[Array]  # s_i a_i, of residual 0
    at: Tilted  # where they come from


class Offsets:
    """The profile of a vector loss over its offsets, on the shards of one engine."""

    def __init__(self, loss: Loss, engine: Engine, S: float, K: int):
        self.loss, self.engine, self.S, self.K = loss, engine, S, K
        self.fits = offset_rows.has_shares(loss)

    @functools.cached_property
    def flows(self) -> ClassFlows:
        """Along the pairs of classes that slopes are made of."""
        N: Array = self.engine.total(self.engine.map(_pair_weights, self.loss, self.K))
        return ClassFlows(N / self.S, offset_rows.pair_costs(self.loss, len(N)))

    @functools.cached_property
    def _most_entropy(self) -> float:
        """The most that the entropy of a hinge's pieces can be, on average."""
        return float(self.engine.total(self.engine.map(most_entropy, self.loss, self.K))) / self.S

    @property
    def attained(self) -> bool:
        """Whether residuals can be taken off, whatever they are."""
        return not offset_rows.has_pairs(self.loss) or self.flows.connected

    def best(self, z: PerShard[Array], near: Array) -> BestOffsets:
        """The best offsets at these scores, sought from those of a point nearby."""
        if not offset_rows.has_pairs(self.loss):
            return self._centred(z)
        b = offset_rows.entered(self.loss, near)
        if not self.loss.differentiable:
            return self._settled(z, b)
        at = self._newton(z, b, 1.0, _CLOSE, _FEW_STEPS)
        if self._steep(at) > _TILT:  # too far from `near`
            at = self._newton(z, self._approached(z, at.b), 1.0, _CLOSE)
        return self._found(z, at)

    def softened(self, z: PerShard[Array], near: Array, mu: float) -> BestOffsets:
        """The best offsets of the soft maximum alone, centred as [Zhang11] has it."""
        b = offset_rows.entered(self.loss, near)
        at = self._newton(z, b, mu, _CLOSE, _FEW_STEPS)
        if self._steep(at) > _TILT:  # too far from `near`
            for path in self._path(z, b, mu):
                at = path
            at = self._newton(z, at.b, mu, _CLOSE)
        centre = mu * self._most_entropy
        return self._found(z, at)._replace(value=at.soft - centre, floor=at.soft - centre)

    def slopes(self, z: PerShard[Array], at: Tilted) -> PerShard[Array]:
        """The slopes that a tangency at such offsets stands for, whose residual is round-off."""
        if not offset_rows.has_pairs(self.loss):
            return self._centred(z).slopes
        b, t = (offset_rows.entered(self.loss, each) for each in (at.b, at.tilt))
        return self.engine.map(_tilted_sums, self.loss, z, b, at.mu, t).split(2)[1]

    def _settled(self, z: PerShard[Array], b: Array) -> BestOffsets:
        """The best offsets of a hinge: those of its soft maximum, mu falling until both agree."""
        best: OffsetSums | None = None
        found: BestOffsets | None = None
        for at in self._path(z, b, 0.0):
            best = at if best is None or at.value < best.value else best
            enough = best.value - _KINK_GAP * abs(best.value)
            # The mean is the height of a cut once its residual is 0.
            if at.mean >= enough - at.mu * self._steep(at):
                found = self._found(z, at)
                if found.floor >= enough:
                    break
        found = self._found(z, at) if found is None else found
        assert best is not None
        b = offset_rows.left(self.loss, best.b, self.K)
        return found._replace(b=b, value=best.value, floor=min(found.floor, best.value))

    def _approached(self, z: PerShard[Array], b: Array) -> Array:
        """Offsets near the best ones of a smooth loss at scores that are large.

        Far from the best offsets the loss is all but straight there, and Newton's method gets
        nowhere. It is bent if scores and offsets are divided by a number, which falls to 1.
        """
        scale = (
            _FIRST_WIDTH
            * self.flows.steepest
            * (1 + max(self.engine.map(_largest, z, np.zeros(self.K))))
        )
        while scale > 1:
            smaller = self.engine.map(_divided, z, scale)
            b = scale * self._newton(smaller, b / scale, 1.0, _CLOSE_TO_KINKS, _FEW_STEPS).b
            scale *= _NARROWER
        return b

    def _path(self, z: PerShard[Array], b: Array, least: float) -> Iterator[OffsetSums]:
        """The best offsets for smaller and smaller mu, each sought where the last two lead.

        Where they are not found, mu was lowered too fast; the path ends where that does not help.
        """
        size = self.flows.steepest * (1 + max(self.engine.map(_largest, z, np.zeros(self.K))))
        least, narrower = max(least, _NARROWEST * size), _NARROWER
        before = at = self._newton(z, b, max(_FIRST_WIDTH * size, least), _CLOSE_TO_KINKS)
        yield at
        while at.mu > least and narrower < _SLOWEST:
            mu = max(narrower * at.mu, least)
            ahead = (at.mu - mu) / (before.mu - at.mu) if before is not at else 0.0
            new = self._newton(z, at.b + ahead * (at.b - before.b), mu, _CLOSE_TO_KINKS)
            if self._steep(new) <= _TILT:
                before, at, narrower = at, new, _NARROWER
                yield at
            else:
                before, narrower = at, math.sqrt(narrower)

    def _sums(self, z: PerShard[Array], b: Array, mu: float) -> OffsetSums:
        """L and what Newton's method needs at the offsets b."""
        total: Array = (
            self.engine.total(self.engine.map(_offset_sums, self.loss, z, b, mu)) / self.S
        )
        m = len(b)
        soft, value, mean = total[:3].tolist()
        r, C = total[3 : 3 + m], total[3 + m :].reshape(m, m)
        return OffsetSums(b, mu, soft, value, mean, r, C, _newton_step(C, r, _RIDGE / mu))

    def _newton(
        self, z: PerShard[Array], b: Array, mu: float, close: float, steps: int = _STEPS
    ) -> OffsetSums:
        """Newton's method from b until its steps are short, or none is better.

        Where L is not less after a step, a step of `_fitted` is made instead if the loss has it,
        and the next one is shortened as Levenberg and Marquardt have it: the unit matrix times
        `damping` / mu is added to the Hessian, whose norm is at most steepest^2 / mu, so that L is
        less before long.
        """
        at, damping = self._sums(z, b - np.mean(b), mu), 0.0
        for _ in range(steps):
            size = min(mu, abs(at.value)) if self.loss.differentiable else mu
            promised, blur = float(at.r @ at.p), ROUND_OFF * abs(at.soft)
            if not promised > blur or (promised <= close * size and self._steep(at) <= _TILT):
                break
            p = _newton_step(at.C, at.r, (damping + _RIDGE) / mu) if damping else at.p
            new = self._sums(z, at.b - p, mu)
            if new.soft < at.soft - _DECREASE * float(at.r @ (at.b - new.b)) + blur:
                at, damping = new, damping / _DAMPED if damping > _LEAST_DAMPING else 0.0
            else:
                at = self._sums(z, self._fitted(at), mu) if self.fits else at
                damping = max(_DAMPED * damping, _LEAST_DAMPING * self.flows.steepest**2)
        return at

    def _fitted(self, at: OffsetSums) -> Array:
        """Offsets by one step of iterative scaling (Darroch and Ratcliff 1972).

        L(b + mu t) - L(b) is mu times the mean of log sum_k p_ik exp(t_k) - t_y, at most mu times
        sum_k q_k exp(t_k) - 1 - sum_k n_k t_k, as log x <= x - 1: n are the classes' shares of the
        weight and q = n + r the means of p. It is least at t = log n / q, which are steps of the
        right length where p is all but 0 or 1 and the Hessian says nothing.
        """
        n: Array = np.max(self.flows.N, axis=1)
        t: Array = np.log(np.maximum(n, _LEAST_SHARE) / np.maximum(n + at.r, _LEAST_SHARE))
        return at.b + at.mu * (t - np.mean(t))

    def _steep(self, at: OffsetSums) -> float:
        """The largest |d| that the tilt may have, at most."""
        return float(self.flows.steepest * np.ptp(at.p)) / at.mu

    def _found(self, z: PerShard[Array], at: OffsetSums) -> BestOffsets:
        """The slopes there, moved until their residual is 0."""
        tilt = at.p / at.mu if self._steep(at) <= _TILT else np.zeros_like(at.p)
        slopes, floor = self._evened(z, at.b, at.mu, tilt)
        b, tilt = (offset_rows.left(self.loss, each, self.K) for each in (at.b, tilt))
        return BestOffsets(b, at.value, min(floor, at.value), slopes, Tilted(b, at.mu, tilt))

    def _evened(
        self, z: PerShard[Array], b: Array, mu: float, tilt: Array
    ) -> tuple[PerShard[Array], float]:
        """The slopes at offsets b, tilted and moved, and how high their cut is at least."""
        sums, slopes = self.engine.map(_tilted_sums, self.loss, z, b, mu, tilt).split(2)
        height, *r = (self.engine.total(sums) / self.S).tolist()
        moves, phi = self.flows.moves(np.array(r)), self.flows.share(np.array(r))
        if phi == 0:
            return slopes, height
        keep = 1 / (1 + phi)
        nodes = offset_rows.left(self.loss, b, self.K)
        spread = 2 * max(self.engine.map(_largest, z, nodes))
        slopes = self.engine.map(_evened, self.loss, slopes, moves, keep)
        return slopes, keep * height - (1 - keep) * self.flows.steepest * spread

    def _centred(self, z: PerShard[Array]) -> BestOffsets:
        """The offsets of a squared error: the mean of what is left, exactly up to round-off."""
        b = self.engine.total(self.engine.map(_left_over, z)) / self.S
        values, slopes = self.engine.map(_slopes, self.loss, z, b).split(2)
        value = float(self.engine.total(values)) / self.S
        r = self.engine.total(self.engine.map(_residual, slopes)) / self.S
        slopes = self.engine.map(_centred, slopes, r)
        return BestOffsets(
            b, value, value - FEW_OPERATIONS * value, slopes, Tilted(b, 1.0, np.zeros_like(b))
        )


def most_entropy(shard: Shard, loss: Loss, K: int) -> float:
    """sum_i s_i times the most that the entropy of a row's pieces can be."""
    rows = shard.bound(loss)
    assert isinstance(rows, NativeVectorRows | LeafRows)
    return rows.most_entropy(K)


def _newton_step(C: Array, r: Array, damping: float) -> Array:
    """p with (H + damping) p = r, for the Laplacian H of C, and the sum 0; 0 if there is none."""
    p = np.empty_like(r)
    _kernels.laplacian_step(C, r, damping, p)
    return p


def _pair_weights(shard: Shard, loss: Loss, K: int) -> Array:
    return offset_rows.pair_weights(shard.bound(loss), K)


def _offset_sums(shard: Shard, loss: Loss, z: Array, b: Array, mu: float) -> Array:
    return offset_rows.offset_sums(shard.bound(loss), z, b, mu)


def _tilted_sums(
    shard: Shard, loss: Loss, z: Array, b: Array, mu: float, tilt: Array
) -> tuple[Array, Array]:
    return offset_rows.tilted_sums(shard.bound(loss), z, b, mu, tilt)


def _evened(shard: Shard, loss: Loss, a: Array, moves: Array, keep: float) -> Array:
    return offset_rows.evened(shard.bound(loss), a, moves, keep)


def _largest(shard: Shard, z: Array, b: Array) -> float:
    """The largest |z_ik + b_k|."""
    return float(np.max(np.abs(z + b), initial=0.0))


def _divided(shard: Shard, z: Array, scale: float) -> Array:
    return z / scale


def _left_over(shard: Shard, z: Array) -> Array:
    """sum_i s_i (y_i - z_i)."""
    return np.asarray(shardwork.weights(shard) @ (shard.y - z))


def _slopes(shard: Shard, loss: Loss, z: Array, b: Array) -> tuple[float, Array]:
    return offset_rows.slopes(shard.bound(loss), z, b)


def _residual(shard: Shard, a: Array) -> Array:
    """sum_i s_i a_i."""
    return np.asarray(np.sum(a, axis=0))


def _centred(shard: Shard, a: Array, r: Array) -> Array:
    """s_i (a_i - r)."""
    return a - np.outer(shardwork.weights(shard), r)
