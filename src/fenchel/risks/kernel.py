"""The risk of rows that are known through a kernel alone ([Teo07] section 6).

    J(w) = lambda/2 ||w||^2 + min over b of (1/S) sum_i s_i l(<phi(x_i), w> + b, y_i),

with w in the space of features phi, of which only the products k(x, x') = <phi(x), phi(x')> can be
computed. Its minimiser is a sum of the rows' features (a part of w that is orthogonal to them all
costs length and changes no score), w = sum_j beta_j phi(x_j), so that with K_ij = k(x_i, x_j)

    scores z = K beta,    ||w||^2 = beta'K beta,    the gradient of R is sum_i alpha_i phi(x_i),

alpha_i = s_i/S l'(z_i + b) the rows' dual variables. So beta is the w of a linear risk whose data
matrix is K, under the penalty beta'K beta / 2: points, rays and exact intercepts are those of
linear.py. Only what is the geometry of features is different, and K itself is never stored unless
there is room for it. A cut of the risk has the slope alpha *in features*; the inner product of two
of them is alpha'K alpha', and of a cut and w it is alpha'z. Its dual bound,

    D(alpha) = -sum_i s_i/S l*(S alpha_i / s_i) - alpha'K alpha / (2 lambda),

needs no inverse of K, which may be singular. w = -(1/lambda) sum_i alpha_i phi(x_i) goes with it.
"""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.shards import Shard
from fenchel.engines import Engine
from fenchel.errors import Incompatible
from fenchel.losses import Loss
from fenchel.regularizers import Regularizer
from fenchel.risks import shardwork
from fenchel.risks.base import Array
from fenchel.risks.digests import digest_of
from fenchel.risks.linear import LinearRisk, OffsetsRisk
from fenchel.risks.offsets_point import OffsetsPoint
from fenchel.risks.point import LinearPoint
from fenchel.tolerances import ROUND_OFF

NUMBERS_AT_ONCE = 1 << 21  # of K that are computed at a time: 16 MB
_SHARDS = 8  # of rows that are more than such a block; each works on blocks of its own
_KNOWN = 16  # products that are remembered


class GramMatrix(Protocol):
    """K_ij = k(x_i, x_j), by blocks."""

    @property
    def n(self) -> int: ...

    @property
    def bytes(self) -> int: ...  # that may be kept of it

    @property
    def diagonal(self) -> Array: ...

    @property
    def doubt(self) -> float: ...  # how far a number of `block` may be off

    def block(self, rows: Any, columns: Any = None) -> Array:
        """K[rows, columns], all columns by default."""

    def digest(self) -> bytes:
        """What tells it from others."""


@dataclass(frozen=True)
class KernelRows:
    """Some rows of K; kept once they were computed, if all of K is within the memory granted."""

    gram: GramMatrix
    index: npt.NDArray[np.intp]
    _kept: list[Array] = field(default_factory=list, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.index)

    @property
    def n_columns(self) -> int:
        """All rows of the data."""
        return self.gram.n

    @property
    def n_numbers(self) -> int:
        """How many numbers of K these are, whether they are kept or not."""
        return self.n_rows * self.n_columns

    @property
    def fits(self) -> bool:
        """Whether K is kept."""
        return 8 * self.gram.n**2 <= self.gram.bytes

    def matrix(self) -> Array:
        """The rows as an array: computed anew unless they are kept."""
        if self._kept:
            return self._kept[0]
        block = self.gram.block(self.index)
        if self.fits:
            self._kept.append(block)
        return block

    def columns(self, some: npt.NDArray[np.intp]) -> Array:
        """Some columns of these rows."""
        if self.fits:
            return np.ascontiguousarray(self.matrix()[:, some])
        return self.gram.block(self.index, some)

    def scores(self, w: Array) -> Array:
        """K w: of rows without a weight nothing is computed."""
        if self.fits:
            return np.asarray(self.matrix() @ w)
        used = np.flatnonzero(w if w.ndim == 1 else np.any(w, axis=1))
        z, step = np.zeros((self.n_rows, *w.shape[1:])), max(1, NUMBERS_AT_ONCE // self.n_rows)
        for first in range(0, len(used), step):
            some = used[first : first + step]
            z += self.gram.block(self.index, some) @ w[some]
        return z

    def adjoint(self, a: Array) -> Array:
        """K'a, over these rows."""
        if self.fits:
            return np.asarray(self.matrix().T @ a)
        used = np.flatnonzero(a if a.ndim == 1 else np.any(a, axis=1))
        g, step = np.zeros((self.n_columns, *a.shape[1:])), max(1, NUMBERS_AT_ONCE // self.gram.n)
        for first in range(0, len(used), step):
            some = used[first : first + step]
            g += self.gram.block(self.index[some]).T @ a[some]
        return g

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) K_i, z)."""
        z = self.scores(w)
        a = np.empty_like(z)
        total = _kernels.slopes(loss, z, y, s, 0.0, a)
        return total, self.adjoint(a), z

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i K_ij^2."""
        K = self.matrix()
        return np.asarray((K * K).T @ (np.ones(self.n_rows) if s is None else s))

    def take(self, rows: npt.NDArray[np.intp]) -> KernelRows:
        """Some of them, computed when needed."""
        return KernelRows(self.gram, self.index[rows])


def shards_of(
    gram: GramMatrix, y: npt.NDArray[Any], s: Array | None, offset: Array | None
) -> tuple[Shard, ...]:
    """The rows of K in shards, whose number depends on that of the rows alone."""
    step = gram.n if gram.n**2 <= NUMBERS_AT_ONCE else -(-gram.n // _SHARDS)
    parts = [slice(first, first + step) for first in range(0, gram.n, step)]

    def of(values: Array | None, part: slice) -> Array | None:
        return None if values is None else values[part]

    return tuple(
        Shard(
            KernelRows(gram, np.arange(gram.n)[part]),
            y[part],
            of(s, part),
            offset=of(offset, part),
        )
        for part in parts
    )


class KnownProducts:
    """The last products K v that somebody computed, by their v."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Array] = OrderedDict()

    def remember(self, v: Array, product: Array) -> None:
        """Takes over that K v is `product`."""
        self._known[self._key(v)] = product
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    def find(self, v: Array) -> Array | None:
        """K v, if it is known."""
        return self._known.get(self._key(v))

    def _key(self, v: Array) -> bytes:
        return hashlib.blake2b(np.ascontiguousarray(v).data, digest_size=16).digest()


class KernelPoint(LinearPoint):
    """The risk at one beta, whose product with K is remembered: the penalty needs it, too."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        risk = cast(KernelRisk, self.risk)
        risk.products.remember(self.w, risk.engine.gather(self.z).ravel())

    def _start(self, p: Array) -> Any:
        """The product of a ray's direction with K is remembered, too."""
        origin, p, q = super()._start(p)
        cast(KernelRisk, self.risk).products.remember(p, self.risk.engine.gather(q).ravel())
        return origin, p, q

    @property
    def sizes(self) -> tuple[float, float]:
        """In the space of features: the gradient's magnitude is that of rows times slopes."""
        slopes = self.risk.length * self._slope
        if self._by_conjugate:
            return slopes, self._conjugates[1]
        z = self.risk.engine.gather(self.z).ravel()
        product = float(np.abs(self.duals) @ np.abs(z))
        return slopes, abs(self.value) + product + self._blur / ROUND_OFF

    @functools.cached_property
    def _blur(self) -> float:
        """What the scores' round-off may add: |K_ij| is at most the largest k(x, x)."""
        largest = float(np.max(cast(KernelRisk, self.risk).gram.diagonal))
        fresh = ROUND_OFF * largest * float(np.sum(np.abs(self.w)))
        return self._slope * (fresh + self.risk.length * self.drift)


class KernelOffsetsPoint(OffsetsPoint, KernelPoint):
    """The same of several scores with their offsets."""


class KernelRisk(LinearRisk):
    """The mean loss of rows that are known through a kernel."""

    point = KernelPoint

    def __init__(self, gram: GramMatrix, loss: Loss, engine: Engine, **settings: Any):
        self.gram, self.products = gram, KnownProducts()
        super().__init__(loss, engine, **settings)
        self.facts = replace(self.facts, by_kernel=True)

    @functools.cached_property
    def length(self) -> float:
        """The root of the rows' mean squared length, k(x, x)."""
        s = self.engine.gather(self.engine.map(shardwork.weights))
        return float(np.sqrt(s @ self.gram.diagonal / self.weight))

    def fingerprint(self) -> bytes:
        """A digest of the loss, the kernel, the rows and all that belongs to them."""
        known = self.loss, self.facts.has_intercept, self.classes, self.gram.digest()
        return digest_of(self.engine, _labels_digest, *known)


class KernelOffsetsRisk(KernelRisk, OffsetsRisk):
    """The same of K scores a row, minimised over their offsets."""

    point = KernelOffsetsPoint


def _labels_digest(shard: Shard) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for array in (shard.y, shard.s, shard.offset):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).data)
    return digest.digest()


class KernelNorm(Regularizer):
    """Omega(beta) = 1/2 beta'K beta, the squared length of w = sum_j beta_j phi(x_j).

    Of several outputs it is the sum over them; beta has their numbers row after row.
    """

    smooth = quadratic = True

    def __init__(self, risk: KernelRisk | None = None):
        self.risk = risk

    def subgradient(self, w: Array) -> Array:
        """K beta: no pass where it is known."""
        risk = self.risk
        assert risk is not None
        found = risk.products.find(w)
        if found is None:
            risk.passes += 1
            found = risk.engine.gather(risk.engine.map(shardwork.scores, risk.outputs(w))).ravel()
            risk.products.remember(w, found)
        return found

    def value(self, w: Array) -> float:
        return max(0.5 * float(w @ self.subgradient(w)), 0.0)

    def conjugate(self, u: Array) -> float:
        """That of u = K v is v'K v / 2, but v is not known: see KernelPlanes for those that are."""
        return super().conjugate(u)

    def __repr__(self) -> str:
        return "KernelNorm()"


def check_engine(engine: Engine) -> None:
    """Refuses engines that part the rows: every row belongs to pairs with all others."""
    if not engine.in_one_memory:
        raise Incompatible(
            f"rows that are known through a kernel belong to pairs, which {type(engine).__name__} "
            "would part: use engine='serial' or 'threads', or low-rank features "
            "(docs/how-to/kernels.md)"
        )
