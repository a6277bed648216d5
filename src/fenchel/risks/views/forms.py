"""A regularised risk as a smooth plus a simple function, over w or over dual variables.

The accelerated methods minimise f + Psi (composite.py). A risk can be put so in two ways
([Zhang11] eq. 10), and which of them is the better depends on which side is strongly convex:

    primal: min over w of R_mu(w) + lambda Omega(w),                f(w) = R_mu, a function of Xw
    dual:   min over u of lambda Omega*(-X'u / lambda) + R*(u),     f(u) a function of X'u

w are the parameters; u has a slope of the loss, the dual variable, for each score. Omega* and R*
are the conjugates of the regulariser and of the risk, lambda is the strength. R_mu is R with its
kinks rounded off by mu > 0, or R itself where mu = 0 and it has none (smoothing.py).

Both are f(x) = F(K x) with K = X or X'. The gradient of f at x is K' of a point of the other
problem: slopes of the rows' losses in the primal, w = grad Omega* in the dual. So each form has
with every point x one of the other problem, and the two together prove a gap. An image K x and a
gradient cost a pass each; values, proximal steps and cuts are computed from images and cost none.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import replace

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.engines.base import Elsewhere
from fenchel.losses import Loss
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Point, Problem
from fenchel.risks.intercept import Offset
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.composite import Composite
from fenchel.risks.views.dual_cut import cut_of
from fenchel.risks.views.images import Imaged, Linearisation, RowVector, X, Y
from fenchel.risks.views.prox_functions import OwnGeometry, ProxFunction
from fenchel.risks.views.smoothing import Pending, Smooth, SmoothedRisk
from fenchel.witness import Bracket

_SCALES = 25  # of a dual point, that are tried at once

PrimalPoint = Imaged[Array, RowVector]
DualPoint = Imaged[RowVector, Array]


class Form(Composite[X, Y]):
    """A regularised risk as f + Psi."""

    guess = 20.0  # of L, where that has no bound; it is soon learnt

    def __init__(self, problem: Problem):
        self.problem = problem
        self.regularizer, self.strength = problem.regularizer, problem.strength

    @abstractmethod
    def start(self, w: Array) -> Imaged[X, Y]:
        """Where to start from for a w: a pass or two."""

    @abstractmethod
    def point(self, x: Imaged[X, Y], alpha: Imaged[Y, X]) -> Point:
        """The risk itself at that of the two which is a w: no pass where scores are kept."""

    def near_point(self, x: Imaged[X, Y], alpha: Imaged[Y, X]) -> Point:
        """The same, with an intercept that may only be nearly the best."""
        return self.point(x, alpha)


class OverParameters(Form[Array, Y]):
    """What the forms over w share: Psi = lambda Omega, in the geometry of a prox-function."""

    prox: ProxFunction

    def measured_by(self, prox: ProxFunction) -> None:
        """Distances are those of this prox-function."""
        self.prox, self.lambda_2 = prox, self.strength * prox.convexity

    def unpacked(self, packed: Array) -> Array:
        return packed

    def Psi(self, x: Array) -> float:
        return self.strength * self.regularizer.value(x)

    def ground(self, s: Array, c: float, A: float) -> Array:
        return self.prox.ground(s, c, A * self.strength)

    def d(self, x: Array) -> float:
        return self.prox.d(x)

    def d_gradient(self, x: Array) -> Array:
        return self.prox.d_gradient(x)


class LinearForm(Form[X, Y]):
    """A form of a linear risk, whose points of both problems have images, and dual points cuts."""

    def __init__(self, problem: Problem, mu: float):
        super().__init__(problem)
        assert isinstance(problem.risk, LinearRisk)
        self.risk, self.mu = problem.risk, mu
        self.b: float | Array = 0.0

    @abstractmethod
    def primal(self, x: Imaged[X, Y], alpha: Imaged[Y, X]) -> PrimalPoint:
        """That of the two which is a w."""

    @abstractmethod
    def dual(self, x: Imaged[X, Y], alpha: Imaged[Y, X]) -> DualPoint:
        """That of the two which is a slope for each row."""

    def point(self, x: Imaged[X, Y], alpha: Imaged[Y, X]) -> LinearPoint:
        """The risk itself at the w of the two: no pass."""
        primal = self.primal(x, alpha)
        return self.risk.point(self.risk, primal.x, primal.image.parts, self.b)

    def scores(self, w: Array) -> RowVector:
        """X w: a pass."""
        self.problem.pulse()
        self.risk.passes += 1
        return RowVector(self.risk, self.risk.engine.map(shardwork.scores, self.risk.outputs(w)))

    def adjoint(self, u: RowVector) -> Array:
        """X'(s u) / S: a pass."""
        self.problem.pulse()
        self.risk.passes += 1
        engine = self.risk.engine
        total = engine.total(engine.map(shardwork.adjoint, engine.map(shardwork.weighted, u.parts)))
        image: Array = total.ravel() / self.risk.weight
        return image

    def rows(self, packed: Array) -> RowVector:
        """A number for each score as shards keep them."""
        return RowVector(self.risk, self.risk.engine.scatter(self.risk.outputs(packed)))

    def roughness(self, dual: DualPoint) -> float:
        """How much the dual of R there is above that of R_mu."""
        return 0.0

    def measured(self, duals: list[DualPoint]) -> list[DualPoint]:
        """Dual points with their heights, in one round: no pass."""
        unknown = [dual for dual in duals if np.isnan(dual.height)]
        heights = iter(self.constants(1.0, [self.feasible(dual.x) for dual in unknown]))
        return [
            replace(dual, height=next(heights)) if np.isnan(dual.height) else dual for dual in duals
        ]

    def cut(self, dual: DualPoint) -> Cut:
        """The cut that u makes; shortened, where that proves more: no pass."""
        scale = self.regularizer.dual_scale(-dual.image / self.strength)
        if scale == 1:
            cut = self._cut(dual)
            if cut.b - self.strength * self._conjugate(cut.a) >= self._at_zero:
                return cut
            scale = self._best_scale(dual)
        return self._cut(scale * dual)

    def _cut(self, dual: DualPoint) -> Cut:
        return cut_of(self.risk, dual.x.parts, dual.image)

    def _conjugate(self, image: Array) -> float:
        return self.regularizer.conjugate(image / -self.strength)

    @functools.cached_property
    def _at_zero(self) -> float:
        """D(0), the dual objective where all slopes are 0."""
        shape = () if self.risk.classes is None else (self.risk.n_outputs,)
        zeros = RowVector(self.risk, self.risk.engine.map(_zeros, shape))
        return self._dual_value(0.0, Imaged(zeros, np.zeros(self.risk.n_parameters)))

    def _dual_value(self, t: float, dual: DualPoint) -> float:
        """D(t u) = -R*(t u) - lambda Omega*(-t X'u / lambda), which no J(w) is below."""
        conjugate = self.strength * self._conjugate(t * dual.image)
        return self.constant(t, self.feasible(dual.x)) - conjugate

    def constant(self, t: float, u: RowVector) -> float:
        """-R*(t u): how high the cut with the slopes t u lies at w = 0."""
        return self.constants(t, [u])[0]

    def constants(self, t: float, points: list[RowVector]) -> list[float]:
        """The same of several points, in one round if there are any."""
        if not points:
            return []
        engine, loss = self.risk.engine, self.risk.loss
        terms = [engine.map(shardwork.conjugates, loss, u.parts, t).split(2)[0] for u in points]
        return [-float(total) / self.risk.weight for total in engine.totals(*terms)]

    def feasible(self, u: RowVector) -> RowVector:
        """Slopes that a mean of others may have led out of the conjugate's domain, by round-off."""
        parts = self.risk.engine.map(shardwork.feasible, self.risk.loss, u.parts)
        return RowVector(self.risk, parts)

    def _best_scale(self, dual: DualPoint) -> float:
        """The t with the largest D(t u): far from the minimum, D(u) may be below D(0).

        D is concave: of some t, then of some between the best one's neighbours. Two rounds.
        """
        u, engine, low, high = self.feasible(dual.x), self.risk.engine, 0.0, 12.0
        for _ in range(2):
            digits = np.linspace(low, high, _SCALES)
            t = 10.0**-digits
            total = engine.total(engine.map(_conjugates, self.risk.loss, u.parts, t))
            dearer = np.array([self._conjugate(each * dual.image) for each in t])
            best = int(np.argmax(-total / self.risk.weight - self.strength * dearer))
            low, high = digits[max(best - 1, 0)], digits[min(best + 1, _SCALES - 1)]
        return float(t[best])


def _conjugates(shard: Shard, loss: Loss, u: Array, scales: Array) -> Array:
    """sum_i s_i l*(t u_i) for each t."""
    return np.array([shardwork.conjugates(shard, loss, u, float(t))[0] for t in scales])


def _zeros(shard: Shard, shape: tuple[int, ...]) -> Array:
    return np.zeros((shard.rows.n_rows, *shape))


class PrimalForm(OverParameters[RowVector], LinearForm[Array, RowVector]):
    """R_mu + lambda Omega over w; row i is smoothed by mu * widths_i, where there are widths."""

    def __init__(
        self,
        problem: Problem,
        mu: float,
        widths: PerShard[Array] | None = None,
        prox: ProxFunction | None = None,
    ):
        LinearForm.__init__(self, problem, mu)
        self.smoothed = SmoothedRisk(self.risk, mu, widths)
        self.measured_by(OwnGeometry(problem) if prox is None else prox)
        self.L = self.smoothed.smoothness * self.prox.stretch

    def imaged(self, x: Array) -> PrimalPoint:
        return Imaged(x, self.scores(x))

    def start(self, w: Array) -> PrimalPoint:
        return self.imaged(w)

    def unpacked_dual(self, packed: Array) -> DualPoint:
        u = self.rows(packed)
        return Imaged(u, self.adjoint(u))

    def f(self, at: PrimalPoint) -> float:
        """R_mu; without an intercept R too, in the same round, as J is asked for next."""
        self._met = at
        if self.risk.facts.has_intercept:
            smooth, self._exact = self._smooth(at), np.nan
            self._met_offset = smooth.b
            return smooth.value
        ahead = None if self._ahead is None else self._ahead[1]
        value, self._exact = self.smoothed.beside(at.image.parts, ahead)
        return value

    _met: PrimalPoint | None = None  # where f was asked for last
    _exact = np.nan  # R there
    _met_offset: float | Array = 0.0  # and the best of R_mu
    _ahead: tuple[PrimalPoint, Pending] | None = None  # what was foreseen

    def point(self, x: PrimalPoint, alpha: DualPoint) -> LinearPoint:
        """The risk itself at x: nothing more where f was asked for."""
        point = super().point(x, alpha)
        if x is self._met and not np.isnan(self._exact):
            point.offset = Offset(Bracket(), 0.0, self._exact, self._exact)
        return point

    def near_point(self, x: PrimalPoint, alpha: DualPoint) -> LinearPoint:
        """With the best offset of R_mu, where a better one would be searched for in many rounds."""
        point, b = self.point(x, alpha), self._met_offset
        profiled = self.risk.facts.has_intercept and self.risk.offsets is None
        if profiled and x is self._met and not self.risk.profiles_at_once:
            assert isinstance(b, float)
            value = point.sums(b)[0]
            point.offset = Offset(Bracket(b, b), b, value, value)
        return point

    def foresee(self, at: PrimalPoint) -> None:
        """Rows that are elsewhere are asked once for f here and the tangent there.

        What is foreseen in vain counts as no pass, so that all engines count alike.
        """
        if isinstance(self.risk.engine, Elsewhere) and not self.risk.facts.has_intercept:
            self._ahead = at, self.smoothed.gradient_task(at.image.parts)

    def tangent(self, at: PrimalPoint) -> Linearisation[Array, RowVector]:
        """R_mu(w), and its gradient X'u with the slopes u of the rows."""
        if self.risk.facts.has_intercept:
            smooth = self._smooth(at)
            u = RowVector(self.risk, smooth.u)
            gradient, rough = self.adjoint(u), np.nan if self.mu > 0 else 0.0
        else:  # in one round
            self.problem.pulse()
            ahead, self._ahead = self._ahead, None
            if ahead is not None and ahead[0] is at:
                task = ahead[1]
            else:
                task = self.smoothed.gradient_task(at.image.parts)
            smooth, rough, gradient = self.smoothed.with_gradient(task)
            u = RowVector(self.risk, smooth.u)
        # Fenchel-Young: R_mu(w) = <X'u, w> - R*(u) - mu d2(u); nan leaves R* to `measured`.
        height = smooth.value - float(gradient @ at.x) + self.mu * rough
        return Linearisation(smooth.value, gradient, Imaged(u, gradient, height))

    def _smooth(self, at: PrimalPoint) -> Smooth:
        smooth = self.smoothed.at(at.image.parts, self.b)
        self.b = smooth.b
        return smooth

    def primal(self, x: PrimalPoint, alpha: DualPoint) -> PrimalPoint:
        return x

    def dual(self, x: PrimalPoint, alpha: DualPoint) -> DualPoint:
        return alpha

    def roughness(self, dual: DualPoint) -> float:
        return self.mu * self.smoothed.d2(dual.x.parts)
