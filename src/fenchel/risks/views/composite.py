"""J = f + Psi as the accelerated methods see it ([Zhang11] eq. 10), in the primal and in the dual.

    primal: min over w of R_mu(w) + lambda Omega(w),                f(w) = R_mu, a function of Xw
    dual:   min over u of lambda Omega*(-X'u / lambda) + R*(u),     f(u) a function of X'u

Both are f(x) = F(K x) with K = X or X', and the gradient of f at x is K' of a point of the other
problem, alpha(x) in [Zhang11]: slopes of the rows' losses in the primal, w = grad Omega* in the
dual. A `Place` is a point with its image K x, so that the means that these methods live from cost
no pass. Rows' numbers are kept by the shards, and <x, y> is their mean product, with sample
weights.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.regularizers import Coupled, Regularizer, StronglyConvex
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import cut_of
from fenchel.risks.views.places import Place, RowVector, Tangent, Vector
from fenchel.risks.views.smoothing import Smooth, SmoothedRisk

if TYPE_CHECKING:
    from fenchel.risks.linear import LinearRisk


class Composite(ABC):
    """f + Psi, where f is smooth and Psi simple, with a prox-function d, <x, x>/2 if no other."""

    sigma = 1.0  # d is sigma-strongly convex
    lambda_1 = 0.0  # f is lambda_1-strongly convex with respect to d
    lambda_2: float  # Psi is
    L: float  # f's gradient changes no faster: an upper bound

    def __init__(self, risk: LinearRisk, regularizer: Regularizer, strength: float, mu: float):
        self.risk, self.regularizer, self.strength = risk, regularizer, strength
        self.mu, self.b = mu, 0.0

    @abstractmethod
    def place(self, x: Vector) -> Place:
        """x with its image: a pass."""

    @abstractmethod
    def start(self, w: Array) -> Place:
        """The place to start from for a w."""

    @abstractmethod
    def dual_place(self, packed: Array) -> Place:
        """A place of the other problem: a pass."""

    def packed(self, x: Vector) -> Array:
        """A vector as one array."""
        return self.risk.engine.gather(x.parts).ravel() if isinstance(x, RowVector) else x

    @abstractmethod
    def unpacked(self, packed: Array) -> Vector:
        """The vector x again."""

    def _rows(self, packed: Array) -> RowVector:
        return RowVector(self.risk, self.risk.engine.scatter(self.risk.outputs(packed)))

    @abstractmethod
    def f(self, at: Place) -> float:
        """f(x): no pass."""

    @abstractmethod
    def tangent(self, at: Place) -> Tangent:
        """f(x) and its gradient: a pass."""

    @abstractmethod
    def Psi(self, x: Vector) -> float:
        """Psi(x)."""

    @abstractmethod
    def ground(self, s: Vector, c: float, A: float) -> Vector:
        """Argmin over x of A Psi(x) + c d(x) + <s, x>."""

    @abstractmethod
    def sides(self, x: Place, alpha: Place) -> tuple[Place, Place]:
        """(primal, dual) of a place and one of the other problem."""

    def value(self, at: Place) -> float:
        """J(x): no pass."""
        return self.f(at) + self.Psi(at.x)

    def d(self, x: Vector) -> float:
        """The prox-function."""
        return float(x @ x) / 2

    def d_gradient(self, x: Vector) -> Vector:
        """Its gradient."""
        return x

    def roughness(self, dual: Place) -> float:
        """How much the dual of R there is above that of R_mu."""
        return 0.0

    def scores(self, w: Array) -> RowVector:
        """X w."""
        self.risk.passes += 1
        return RowVector(self.risk, self.risk.engine.map(shardwork.scores, self.risk.outputs(w)))

    def adjoint(self, u: RowVector) -> Array:
        """X'(s u) / S."""
        self.risk.passes += 1
        engine = self.risk.engine
        total = engine.total(engine.map(shardwork.adjoint, engine.map(shardwork.weighted, u.parts)))
        image: Array = total.ravel() / self.risk.weight
        return image

    def point(self, primal: Place) -> LinearPoint:
        """The risk itself there: no pass."""
        return self.risk.point(self.risk, primal.x, primal.image.parts, self.b)

    def measured(self, dual: Place) -> Place:
        """The dual point with its height: no pass."""
        if not np.isnan(dual.height):
            return dual
        return replace(dual, height=self._constant(1.0, self.feasible(dual.x)))

    def cut(self, dual: Place) -> Cut:
        """The cut that u makes; shortened, where that proves more: no pass."""
        scale = self.regularizer.dual_scale(-dual.image / self.strength)
        if scale == 1:
            cut = self._cut(dual)
            if cut.b - self.strength * self._conjugate(cut.a) >= self._at_zero:
                return cut
            scale = self._best_scale(dual)
        return self._cut(scale * dual)

    def _cut(self, dual: Place) -> Cut:
        return cut_of(self.risk, dual.x.parts, dual.image)

    def _conjugate(self, image: Array) -> float:
        return self.regularizer.conjugate(image / -self.strength)

    @functools.cached_property
    def _at_zero(self) -> float:
        """D(0)."""
        shape = () if self.risk.classes is None else (self.risk.n_outputs,)
        zeros = RowVector(self.risk, self.risk.engine.map(_zeros, shape))
        return self._dual(0.0, Place(zeros, np.zeros(self.risk.n_parameters)))

    def _dual(self, t: float, dual: Place) -> float:
        """D(t u)."""
        conjugate = self.strength * self._conjugate(t * dual.image)
        return self._constant(t, self.feasible(dual.x)) - conjugate

    def _constant(self, t: float, u: RowVector) -> float:
        """-R*(t u)."""
        engine = self.risk.engine
        total = engine.total(engine.map(shardwork.conjugates, self.risk.loss, u.parts, t))
        return -float(total) / self.risk.weight

    def feasible(self, u: RowVector) -> RowVector:
        """Slopes that a mean of others may have led out of the conjugate's domain, by round-off."""
        parts = self.risk.engine.map(shardwork.feasible, self.risk.loss, u.parts)
        return RowVector(self.risk, parts)

    def _best_scale(self, dual: Place) -> float:
        """The t with the largest D(t u): far from the minimum, D(u) may be below D(0)."""
        found = minimize_scalar(
            lambda digits: -self._dual(10.0**-digits, dual), bounds=(0.0, 12.0), method="bounded"
        )
        return float(10.0**-found.x)


def _zeros(shard: Shard, shape: tuple[int, ...]) -> Array:
    return np.zeros((shard.rows.n_rows, *shape))


class Primal(Composite):
    """R_mu + lambda Omega over w."""

    def __init__(
        self,
        risk: LinearRisk,
        regularizer: Regularizer,
        strength: float,
        mu: float,
        widths: PerShard | None = None,
    ):
        super().__init__(risk, regularizer, strength, mu)
        self.smoothed = SmoothedRisk(risk, mu, widths)
        self.lambda_2 = strength * regularizer.relative_convexity
        self.L = self.smoothed.smoothness * regularizer.stretch(risk.squares)

    def place(self, x: Vector) -> Place:
        """w with its scores."""
        return Place(x, self.scores(x))

    def start(self, w: Array) -> Place:
        """w itself."""
        return self.place(w)

    def dual_place(self, packed: Array) -> Place:
        """u with X'u."""
        u = self._rows(packed)
        return Place(u, self.adjoint(u))

    def unpacked(self, packed: Array) -> Vector:
        """It is an array."""
        return packed

    def f(self, at: Place) -> float:
        """R_mu(w)."""
        return self._smooth(at).value

    def tangent(self, at: Place) -> Tangent:
        """R_mu(w), and its gradient X'u with the slopes u of the rows."""
        smooth = self._smooth(at)
        u = RowVector(self.risk, smooth.u)
        gradient = self.adjoint(u)
        # Fenchel-Young: R_mu(w) = <X'u, w> - R*(u) - mu d2(u).
        height = smooth.value - float(gradient @ at.x) if self.mu == 0 else np.nan
        return Tangent(smooth.value, gradient, Place(u, gradient, height))

    def _smooth(self, at: Place) -> Smooth:
        smooth = self.smoothed.at(at.image.parts, self.b)
        self.b = smooth.b
        return smooth

    def Psi(self, x: Vector) -> float:
        """lambda Omega(w)."""
        return self.strength * self.regularizer.value(x)

    def ground(self, s: Vector, c: float, A: float) -> Vector:
        """The regulariser's own."""
        return self.regularizer.ground(s, c, A * self.strength)

    def d(self, x: Vector) -> float:
        """The regulariser's own."""
        return self.regularizer.d(x)

    def d_gradient(self, x: Vector) -> Vector:
        """The regulariser's own."""
        return self.regularizer.d_gradient(x)

    def sides(self, x: Place, alpha: Place) -> tuple[Place, Place]:
        """As they are."""
        return x, alpha

    def roughness(self, dual: Place) -> float:
        """How much the dual of R there is above that of R_mu."""
        return self.mu * self.smoothed.d2(dual.x.parts)


class Whole(Primal):
    """The same for a smooth loss of all scores at once: its points know all that is needed.

    Rows' slopes come with their weights here. How fast they change is not known.
    """

    def __init__(self, risk: LinearRisk, regularizer: Regularizer, strength: float):
        Composite.__init__(self, risk, regularizer, strength, mu=0.0)
        self.lambda_2 = strength * regularizer.relative_convexity
        self.L = np.inf

    def f(self, at: Place) -> float:
        """R(w)."""
        return self._met(at).value

    def tangent(self, at: Place) -> Tangent:
        """R(w), and its gradient."""
        point = self._met(at)
        slopes = Place(RowVector(self.risk, point.slopes), point.subgradient)
        return Tangent(point.value, point.subgradient, slopes)

    def _met(self, at: Place) -> LinearPoint:
        point = self.point(at)
        self.b = point.intercept
        return point

    def adjoint(self, u: RowVector) -> Array:
        """X'u."""
        self.risk.passes += 1
        image: Array = self.risk.engine.total(self.risk.engine.map(shardwork.adjoint, u.parts))
        return image


class Opaque(Whole):
    """The same for a risk of which values and gradients alone are known: two passes for each place.

    A place has no image, and the other problem's is its gradient.
    """

    def __init__(self, risk: Any, regularizer: Regularizer, strength: float):
        super().__init__(risk, regularizer, strength)
        self._last: Any = None  # the last point, as it is asked for again

    def place(self, x: Vector) -> Place:
        """It is its x."""
        return Place(x, 0.0)

    def dual_place(self, packed: Array) -> Place:
        """It is its gradient."""
        return Place(packed, 0.0)

    def tangent(self, at: Place) -> Tangent:
        """R(w), and its gradient."""
        point = self.point(at)
        return Tangent(point.value, point.subgradient, Place(point.subgradient, 0.0))

    def point(self, primal: Place) -> Any:
        """The risk itself there: two passes, unless it was the last."""
        if self._last is None or not np.array_equal(self._last.w, primal.x):
            self._last = self.risk.at(primal.x)
        return self._last


class Dual(Composite):
    """lambda Omega*(-X'u / lambda) + (R* + mu d2)(u) over a slope u_i for each row.

    [Zhang11] puts R* into f and asks it to be smooth (section 5.1.2); in Psi it need not be.
    """

    regularizer: StronglyConvex | Coupled

    def __init__(
        self,
        risk: LinearRisk,
        regularizer: StronglyConvex | Coupled,
        strength: float,
        mu: float = 0.0,
    ):
        super().__init__(risk, regularizer, strength, mu)
        self.lambda_2 = mu + 1 / risk.loss.smoothness
        self.L = regularizer.stretch(risk.squares) / (strength * regularizer.relative_convexity)

    def place(self, x: Vector) -> Place:
        """u with X'u."""
        return Place(x, self.adjoint(x))

    def start(self, w: Array) -> Place:
        """The slopes at w, of the loss smoothed as kinks have none."""
        smoothed = SmoothedRisk(self.risk, 1.0).at(self.scores(w).parts)
        return self.place(RowVector(self.risk, smoothed.u))

    def dual_place(self, packed: Array) -> Place:
        """w with its scores."""
        return Place(packed, self.scores(packed))

    def unpacked(self, packed: Array) -> Vector:
        """A number for each row."""
        return self._rows(packed)

    def f(self, at: Place) -> float:
        """lambda Omega*(-X'u / lambda)."""
        return self.strength * self.regularizer.conjugate(at.image / -self.strength)

    def tangent(self, at: Place) -> Tangent:
        """f(u), and its gradient: minus the scores of w = grad Omega*."""
        w = self.regularizer.conjugate_argmax(at.image / -self.strength)
        z = self.scores(w)
        return Tangent(self.f(at), -1.0 * z, Place(w, z))

    def Psi(self, x: Vector) -> float:
        """R*(u) + mu d2(u)."""
        return self.mu * self.d(x) - self._constant(1.0, self.feasible(x))

    def ground(self, s: Vector, c: float, A: float) -> Vector:
        """The slopes u of the risk smoothed by c / A, at the scores -s / A.

        With an intercept this is a quadratic over a box and a hyperplane ([Zhang11] eq. 64).
        """
        smoothed = SmoothedRisk(self.risk, c / A + self.mu).at(((-1 / A) * s).parts, self.b)
        self.b = smoothed.b
        return RowVector(self.risk, smoothed.u)

    def sides(self, x: Place, alpha: Place) -> tuple[Place, Place]:
        """The other way round."""
        return alpha, x
