"""Estimate functions, the models of J that both accelerated methods of [Zhang11] build.

    psi(x) = A Psi(x) + c d(x) + <s, x> + constant

All past tangents of f and Bregman divergences of d add up to one such function ([Zhang11] section
3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple

from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, Linearisation, X, Y


class Minimum(NamedTuple, Generic[X]):
    """The minimiser of an estimate and its value."""

    x: X
    value: float


@dataclass(frozen=True)
class Estimate(Generic[X, Y]):
    """psi, for one J = f + Psi."""

    J: Composite[X, Y]
    A: float
    c: float
    s: X
    constant: float

    @classmethod
    def around(
        cls, J: Composite[X, Y], weight: float, x: X, constant: float = 0.0
    ) -> Estimate[X, Y]:
        """Weight * Delta(., x) + constant."""
        gradient = J.d_gradient(x)
        lowest = float(gradient @ x) - J.d(x)
        return cls(J, 0.0, weight, -weight * gradient, constant + weight * lowest)

    def plus(self, a: float, at_u: Linearisation[X, Y], u: Imaged[X, Y]) -> Estimate[X, Y]:
        """Psi + a [Psi + l_f(.; u, lambda_1)]."""
        J, s = self.J, self.s + a * at_u.gradient
        constant = self.constant + a * (at_u.value - float(at_u.gradient @ u.x))
        if J.lambda_1 > 0:
            gradient = J.d_gradient(u.x)
            s = s + (-a * J.lambda_1) * gradient
            constant += a * J.lambda_1 * (float(gradient @ u.x) - J.d(u.x))
        return Estimate(J, self.A + a, self.c + a * J.lambda_1, s, constant)

    def times(self, scale: float) -> Estimate[X, Y]:
        """The estimate scale * psi."""
        return Estimate(
            self.J, scale * self.A, scale * self.c, scale * self.s, scale * self.constant
        )

    def minimum(self) -> Minimum[X]:
        """The minimum of psi and where it is, by a call of J.ground."""
        x = self.J.ground(self.s, self.c, self.A)
        value = self.A * self.J.Psi(x) + self.c * self.J.d(x) + float(self.s @ x) + self.constant
        return Minimum(x, value)
