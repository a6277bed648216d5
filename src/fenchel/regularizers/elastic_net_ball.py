"""The elastic net as a constraint ([Zhang11] eq. 68)."""

from __future__ import annotations

import math

import numpy as np

from fenchel import _kernels
from fenchel.errors import InvalidData, Setting
from fenchel.regularizers.base import Array, Regularizer
from fenchel.regularizers.elastic_net import ElasticNet
from fenchel.settings import positive
from fenchel.tolerances import DOMAIN_EDGE


class ElasticNetBall(Regularizer):
    """Omega(w) = 0 where rho |w|_1 + (1 - rho)/2 |w|^2 <= radius, else inf; rho = l1_ratio.

    The strength of a problem does not matter: the radius takes its place.
    """

    finite = False

    def __init__(self, radius: float = 1.0, l1_ratio: float = 0.5):
        self.radius = positive("radius", radius)
        self.net = ElasticNet(l1_ratio)

    def check(self, w: Array) -> None:
        """The weights are in the ball."""
        size = self.net.value(w)
        if size > self.radius * (1 + DOMAIN_EDGE):
            raise InvalidData(
                Setting("w0"),
                f" lies outside the ball: its elastic net is {size:.6g}, the radius "
                f"{self.radius:.6g}",
            )

    def value(self, w: Array) -> float:
        return 0.0 if self.net.value(w) <= self.radius * (1 + DOMAIN_EDGE) else math.inf

    def subgradient(self, w: Array) -> Array:
        return np.zeros_like(w)

    def prox(self, v: Array, step: float) -> Array:
        """The projection onto the ball, whatever the step; nan where v is not finite."""
        if not np.isfinite(v).all():
            return np.full_like(v, np.nan)
        x, rho = np.empty_like(v), self.net.l1_ratio
        _kernels.project_elastic_net_ball(v, rho, 1 - rho, self.radius, x)
        return self._inside(x)

    def _inside(self, x: Array) -> Array:
        """x, shortened where round-off led it out of the ball: net(t x) <= t net(x) for t <= 1.

        Of a small ball and a large v, what is left of v was subtracted from numbers of its size.
        """
        size = self.net.value(x)
        return x if size <= self.radius else x * (self.radius / size)

    def conjugate(self, u: Array) -> float:
        """kappa radius + kappa net*(u / kappa): by duality no less than Omega*, for any kappa."""
        kappa = self._multiplier(u)
        return kappa * (self.radius + self.net.conjugate(u / kappa)) if kappa > 0 else 0.0

    def conjugate_argmax(self, u: Array) -> Array:
        """The gradient of net* at u / kappa, on the sphere; 0 at u = 0."""
        kappa = self._multiplier(u)
        return self._inside(self.net.conjugate_argmax(u / kappa)) if kappa > 0 else np.zeros_like(u)

    def dual_scale(self, u: Array) -> float:
        """1: Omega* is finite."""
        return 1.0

    def conjugate_curvature(self, u: Array) -> Array:
        """That of net* at u / kappa, over kappa."""
        kappa = self._multiplier(u)
        return self.net.conjugate_curvature(u / kappa) / kappa if kappa > 0 else np.zeros_like(u)

    def conjugate_coupling(self, u: Array) -> Array:
        """u where |u_j| > kappa rho, scaled to 1: along it the conjugate is straight."""
        kept = np.where(np.abs(u) > self._multiplier(u) * self.net.l1_ratio, u, 0.0)
        return np.asarray(kept / (float(np.linalg.norm(kept)) or 1.0))

    def _multiplier(self, u: Array) -> float:
        """The kappa for which the gradient of net* at u / kappa is on the sphere.

        Over the k coordinates with |u_j| > kappa rho:  sum (u_j^2 - kappa^2 rho^2) / 2 = kappa^2
        (1 - rho) radius, where the left side without the right falls as k grows.
        """
        rho = self.net.l1_ratio
        a = np.sort(np.abs(u))[::-1]
        top = float(a[0]) if len(a) else 0.0
        if top == 0:
            return 0.0
        a /= top
        k = np.arange(1, len(a) + 1)
        squares = np.cumsum(a**2) / (2 * (1 - rho) * self.radius + k * rho**2)
        inside = np.flatnonzero(a**2 > squares * rho**2)
        return top * math.sqrt(squares[inside[-1]])

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"radius": self.radius, "l1_ratio": self.net.l1_ratio}
