"""The dual of a regularised risk as a smooth plus a simple function (forms.py)."""

from __future__ import annotations

from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.forms import DualPoint, LinearForm, PrimalPoint
from fenchel.risks.views.images import Imaged, Linearisation, RowVector
from fenchel.risks.views.smoothing import SmoothedRisk


class DualForm(LinearForm[RowVector, Array]):
    """lambda Omega*(-X'u / lambda) + (R* + mu d2)(u) over a slope u_i for each row.

    [Zhang11] puts R* into f and asks it to be smooth (section 5.1.2); in Psi it need not be.
    """

    def __init__(self, problem: Problem, mu: float = 0.0):
        super().__init__(problem, mu)
        self.lambda_2 = mu + 1 / self.risk.loss.smoothness
        stretch = self.regularizer.stretch(self.risk.squares)
        self.L = stretch / (self.strength * self.regularizer.relative_convexity)

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The proximal step on each slope must be known."""
        if not has_dual_steps(risk):
            return "it knows the built-in losses of one score a row only"
        return None

    _met: tuple[RowVector, float, Array] | None = None  # the last x of `terms`, Psi, the image

    def imaged(self, x: RowVector) -> DualPoint:
        if self._met is None or self._met[0] is not x:
            return Imaged(x, self.adjoint(x))
        self.risk.passes += 1
        return Imaged(x, self._met[2])

    def terms(self, x: RowVector, s: RowVector) -> tuple[float, float, float]:
        """All sums over the rows, and the image that is asked for next, in one round."""
        self.problem.pulse()
        engine, weight = self.risk.engine, self.risk.weight
        u = self.feasible(x).parts
        parts = (
            engine.map(shardwork.conjugates, self.risk.loss, u, 1.0).split(2)[0],
            engine.map(shardwork.weighted_inner, x.parts, x.parts),
            engine.map(shardwork.weighted_inner, s.parts, x.parts),
            engine.map(shardwork.adjoint, engine.map(shardwork.weighted, x.parts)),
        )
        conjugates, square, product, image = engine.totals(*parts)
        d = float(square) / weight / 2
        Psi = self.mu * d + float(conjugates) / weight
        self._met = x, Psi, image.ravel() / weight
        return Psi, d, float(product) / weight

    def start(self, w: Array) -> DualPoint:
        """The slopes at w, of the loss smoothed as kinks have none."""
        smoothed = SmoothedRisk(self.risk, 1.0).at(self.scores(w).parts)
        return self.imaged(RowVector(self.risk, smoothed.u))

    def unpacked(self, packed: Array) -> RowVector:
        return self.rows(packed)

    def unpacked_dual(self, packed: Array) -> PrimalPoint:
        return Imaged(packed, self.scores(packed))

    def f(self, at: DualPoint) -> float:
        return self.strength * self.regularizer.conjugate(at.image / -self.strength)

    def tangent(self, at: DualPoint) -> Linearisation[RowVector, Array]:
        """f(u), and its gradient: minus the scores of w = grad Omega*."""
        w = self.regularizer.conjugate_argmax(at.image / -self.strength)
        z = self.scores(w)
        return Linearisation(self.f(at), -1.0 * z, Imaged(w, z))

    def along(self, at: Linearisation[RowVector, Array], x: DualPoint) -> float:
        """<-X w, u> is <-w, X'u>, which is known."""
        return -float(at.alpha.x @ x.image)

    def d_terms(self, x: RowVector) -> tuple[float, float]:
        square = x @ x
        return square, square / 2

    def Psi(self, x: RowVector) -> float:
        """R*(u) + mu d2(u)."""
        if self._met is not None and self._met[0] is x:
            return self._met[1]
        rough = self.mu * self.d(x) if self.mu > 0 else 0.0
        return rough - self.constant(1.0, self.feasible(x))

    def ground(self, s: RowVector, c: float, A: float) -> RowVector:
        """The slopes u of the risk smoothed by c / A, at the scores -s / A.

        With an intercept this is a quadratic over a box and a hyperplane ([Zhang11] eq. 64).
        """
        smoothed = SmoothedRisk(self.risk, c / A + self.mu)
        u, self.b = smoothed.slopes(((-1 / A) * s).parts, self.b)
        return RowVector(self.risk, u)

    def primal(self, x: DualPoint, alpha: PrimalPoint) -> PrimalPoint:
        return alpha

    def dual(self, x: DualPoint, alpha: PrimalPoint) -> DualPoint:
        return x
