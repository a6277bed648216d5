"""The augmented Lagrangian of a linear risk with kinks, which Newton's method can minimise.

A piecewise linear loss, such as the hinge, has no second derivative to take a Newton step with. Let
each row have a score t_i of its own at which the loss is taken, and demand t_i = z_i for the score
z_i = <x_i, w> + b of the model. With a slope a_i of the loss as that demand's multiplier and a
quadratic penalty 1/(2 kappa) on its violation,

    M(w, b) = (1/S) sum_i s_i min over t of l(t, y_i) + a_i (z_i - t) + (z_i - t)^2 / (2 kappa)

is smooth, with s_i the rows' weights and S their sum. Its slopes u_i in z_i are slopes of l at the
best t_i: dual variables as good as any, from which lower bounds of the objective follow. Only rows
whose t_i is a kink of the loss are bent; the others, however many, add nothing to the Hessian
X_K' X_K / kappa, where X_K are the bent rows. Once M is minimised the slopes u become the next
multipliers a, and the minimum of M comes to that of the risk.

The gradient costs a pass, a ray one more, and slopes along it none. A Newton step costs as much of
a pass as there are bent rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import built_in
from fenchel.piecewise import Slope
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Risk, State
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.dual_cut import cut_of
from fenchel.risks.views.newton_system import NewtonSystem


class AugmentedLagrangian:
    """M at (w, b), with its multipliers a and kappa."""

    b: float
    kappa: float
    gradient: Array  # of M in w: X'u, with slopes u of the loss that are dual feasible

    def __init__(self, risk: Risk, w: Array):
        """Multipliers 0, and a kappa for which most rows are bent at w = 0: a pass."""
        assert isinstance(risk, LinearRisk)
        point = risk.lazy_at(w)
        self.risk, self.w, self.b, self.z = risk, point.w, float(point.intercept), point.z
        engine, loss = risk.engine, risk.loss
        self.a = engine.map(shardwork.zeros)
        squares = engine.total(engine.map(_squared_distances, loss, self.b))
        self.kappa = 2 * float(np.sqrt(squares / risk.weight)) or 1.0

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """M's Hessian is that of the rows on kinks alone where the loss is piecewise linear."""
        return None if is_piecewise_linear(risk) else "it needs a built-in piecewise linear loss"

    def look(self) -> None:
        """The slopes u and the bent rows at (w, b), and the gradient: a pass."""
        engine, risk = self.risk.engine, self.risk
        settings = risk.loss, self.z, self.a, self.kappa, self.b
        self.u, self.bent = engine.map(_augmented_slopes, *settings).split(2)
        risk.passes += 1
        weighted = engine.map(shardwork.weighted, self.u)
        self.gradient = engine.total(engine.map(shardwork.adjoint, weighted)) / risk.weight
        self.offset_slope = float(engine.total(engine.map(shardwork.total, weighted))) / risk.weight

    def start(self, alpha: Array, kappa: float) -> None:
        """Takes over multipliers alpha_i = s_i/S a_i."""
        slopes = self.risk.engine.scatter(alpha)
        self.a = self.risk.engine.map(
            shardwork.unweighted, slopes, self.risk.weight, self.risk.loss
        )
        self.kappa = kappa

    def state(self) -> State:
        """All that the next step depends on."""
        a = self.risk.engine.gather(self.a)
        return {"w": self.w, "a": a, "b": np.array(self.b), "kappa": np.array(self.kappa)}

    def restore(self, state: State) -> None:
        """Takes over multipliers, b and kappa."""
        self.a = self.risk.engine.scatter(state["a"])
        self.b, self.kappa = float(state["b"]), float(state["kappa"])

    @property
    def distance(self) -> float:
        """(1/S) sum_i s_i (z_i - t_i)^2 / (2 kappa): what the multipliers have yet to pay for."""
        squares = self.risk.engine.map(_squared_change, self.a, self.u)
        return float(self.risk.engine.total(squares)) * self.kappa / (2 * self.risk.weight)

    def update(self, kappa: float) -> None:
        """Takes the slopes for multipliers, and the round-off of many steps out of the scores."""
        self.risk.passes += 1
        self.z = self.risk.engine.map(shardwork.scores, self.w)
        self.a, self.kappa = self.u, kappa
        self.look()

    def point(self) -> LinearPoint:
        """The risk itself at w."""
        return LinearPoint(self.risk, self.w, self.z, self.b)

    def cut(self) -> Cut:
        """The cut that the slopes u make."""
        return cut_of(self.risk, self.u, self.gradient)

    def newton(self, diagonal: Array, g: Array) -> tuple[Array, float]:
        """(p, rate of b) that solve (diagonal + Hessian of M) p = -g and the same for b."""
        h = self.risk.engine.map(_curvatures, 1 / (self.risk.weight * self.kappa))
        system = NewtonSystem(self.risk, self.bent, h)
        p, rate = system.solved(diagonal, g, self.offset_slope)
        return -p, -rate

    def towards(self, p: Array, rate: float) -> AugmentedRay:
        """The ray (w + eta p, b + eta rate): a pass."""
        self.risk.passes += 1
        return AugmentedRay(self, p, rate, self.risk.engine.map(shardwork.scores, p))


class AugmentedRay:
    """eta -> M(w + eta p, b + eta rate)."""

    def __init__(self, origin: AugmentedLagrangian, p: Array, rate: float, q: PerShard[Array]):
        self.origin, self.p, self.rate, self.q = origin, p, rate, q
        self.start = float(origin.gradient @ p) + origin.offset_slope * rate

    def slope(self, eta: float) -> Slope:
        """The slope of M along the ray at eta, and its own: no pass."""
        at, engine = self.origin, self.origin.risk.engine
        settings = at.risk.loss, at.z, at.a, at.kappa, at.b, self.q, self.rate, eta
        parts = engine.map(_augmented_slope_along, *settings).split(2)
        slope, curvature = engine.totals(*parts)
        return Slope(float(slope) / at.risk.weight, float(curvature) / at.risk.weight)

    def move(self, eta: float) -> None:
        """Takes the step: a pass for the gradient."""
        at = self.origin
        at.z = at.risk.engine.map(shardwork.moved, at.z, self.q, eta)
        at.w, at.b = at.w + eta * self.p, at.b + eta * self.rate
        at.look()


def is_piecewise_linear(risk: Risk) -> bool:
    """Its loss is a built-in one of one score whose slope jumps and does nothing else."""
    return isinstance(risk, LinearRisk) and has_dual_steps(risk) and risk.bends.steps


def _squared_distances(shard: Shard, loss: Loss, b: float) -> float:
    """sum_i s_i (b - its nearest kink)^2."""
    nearest = built_in(shard.bound(loss)).nearest_kinks(b)
    return float(shardwork.weights(shard) @ nearest**2)


def _augmented_slopes(
    shard: Shard, loss: Loss, z: Array, a: Array, kappa: float, b: float
) -> tuple[Array, npt.NDArray[np.int32]]:
    return built_in(shard.bound(loss)).augmented_slopes(z, a, kappa, b)


def _augmented_slope_along(
    shard: Shard,
    loss: Loss,
    z: Array,
    a: Array,
    kappa: float,
    b: float,
    q: Array,
    rate: float,
    eta: float,
) -> tuple[float, float]:
    return built_in(shard.bound(loss)).augmented_slope_along(z, a, kappa, b, q, rate, eta)


def _squared_change(shard: Shard, a: Array, u: Array) -> float:
    return float(shardwork.weights(shard) @ (u - a) ** 2)


def _curvatures(shard: Shard, scale: float) -> Array:
    """What a row adds to the Hessian if it is bent."""
    return scale * shardwork.weights(shard)
