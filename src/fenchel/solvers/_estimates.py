"""Estimate functions, the models of J that both accelerated methods of [Zhang11] build.

    psi(x) = A Psi(x) + c d(x) + <s, x> + constant

All past tangents of f and Bregman divergences of d add up to one such function ([Zhang11] section
3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fenchel.risks.views.declared import Composite, Place, Tangent


class Minimum(NamedTuple):
    """The minimiser of an estimate and its value."""

    x: Any
    value: float


@dataclass(frozen=True)
class Estimate:
    """psi, for one J = f + Psi."""

    J: Composite
    A: float
    c: float
    s: Any
    constant: float

    @classmethod
    def around(cls, J: Composite, weight: float, x: Any, constant: float = 0.0) -> Estimate:
        """Weight * Delta(., x) + constant."""
        gradient = J.d_gradient(x)
        lowest = float(gradient @ x) - J.d(x)
        return cls(J, 0.0, weight, -weight * gradient, constant + weight * lowest)

    def plus(self, a: float, at_u: Tangent, u: Place) -> Estimate:
        """Psi + a [Psi + l_f(.; u, lambda_1)]."""
        J, s = self.J, self.s + a * at_u.gradient
        constant = self.constant + a * (at_u.value - float(at_u.gradient @ u.x))
        if J.lambda_1 > 0:
            gradient = J.d_gradient(u.x)
            s = s + (-a * J.lambda_1) * gradient
            constant += a * J.lambda_1 * (float(gradient @ u.x) - J.d(u.x))
        return Estimate(J, self.A + a, self.c + a * J.lambda_1, s, constant)

    def times(self, scale: float) -> Estimate:
        """Scale * psi."""
        return Estimate(
            self.J, scale * self.A, scale * self.c, scale * self.s, scale * self.constant
        )

    def minimum(self) -> Minimum:
        """By the ground problem."""
        x = self.J.ground(self.s, self.c, self.A)
        value = self.A * self.J.Psi(x) + self.c * self.J.d(x) + float(self.s @ x) + self.constant
        return Minimum(x, value)
