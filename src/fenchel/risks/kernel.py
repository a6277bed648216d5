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
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines import Engine
from fenchel.errors import Incompatible
from fenchel.losses import Loss
from fenchel.regularizers import Regularizer
from fenchel.risks import shardwork
from fenchel.risks.base import Array
from fenchel.risks.digests import digest_of
from fenchel.risks.gram_rows import GramMatrix
from fenchel.risks.linear import LinearRisk, OffsetsRisk
from fenchel.risks.offsets_point import OffsetsPoint
from fenchel.risks.point import LinearPoint
from fenchel.tolerances import ROUND_OFF

_KNOWN = 16  # products that are remembered


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

    point: ClassVar[type[LinearPoint]] = KernelOffsetsPoint  # type: ignore[assignment]


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
        """beta'K beta / 2."""
        return max(0.5 * float(w @ self.subgradient(w)), 0.0)

    def along(self, w: Array, p: Array, eta: float) -> float:
        """From the products of w and p with K: no other for any eta."""
        Kw, Kp = self.subgradient(w), self.subgradient(p)
        square = float(w @ Kw) + eta * (2 * float(p @ Kw) + eta * float(p @ Kp))
        return max(square / 2, 0.0)

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
