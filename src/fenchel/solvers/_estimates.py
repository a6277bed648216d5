"""Estimate functions, the models of J that both accelerated methods of [Zhang11] build.

    psi(x) = A Psi(x) + c d(x) + <s, x> + constant

All past tangents of f and Bregman divergences of d add up to one such function ([Zhang11] section
3.1). With its constant goes the size of all that was added up to it: what an estimate is off by
goes with that, not with its value.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Generic

from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, Linearisation, X, Y

_LEAST = sys.float_info.min


@dataclass(frozen=True)
class Minimum(Generic[X]):
    """The minimiser of an estimate and its value, with the size of the terms of that."""

    x: X
    value: float
    size: float

    def over(self, A: float) -> Minimum[X]:
        """The same of the estimate over A."""
        return Minimum(self.x, self.value / A, self.size / A)


@dataclass(frozen=True)
class Estimate(Generic[X, Y]):
    """psi, for one J = f + Psi."""

    J: Composite[X, Y]
    A: float
    c: float
    s: X
    constant: float
    size: float

    @classmethod
    def around(
        cls, J: Composite[X, Y], weight: float, x: X, low: Minimum[X] | None = None
    ) -> Estimate[X, Y]:
        """Weight * Delta(., x), plus a minimum."""
        gradient = J.d_gradient(x)
        constant, size = (0.0, 0.0) if low is None else (low.value, low.size)
        product, d = J.d_terms(x)
        constant, size = constant + weight * (product - d), size + weight * (abs(product) + abs(d))
        return cls(J, 0.0, weight, -weight * gradient, constant, size)

    def plus(self, a: float, at_u: Linearisation[X, Y], u: Imaged[X, Y]) -> Estimate[X, Y]:
        """Psi + a [Psi + l_f(.; u, lambda_1)]."""
        J, s = self.J, self.s + a * at_u.gradient
        terms = [at_u.value, -J.along(at_u, u)]
        if J.lambda_1 > 0:
            gradient = J.d_gradient(u.x)
            s = s + (-a * J.lambda_1) * gradient
            product, d = J.d_terms(u.x)
            terms += [J.lambda_1 * product, -J.lambda_1 * d]
        constant = self.constant + a * sum(terms)
        size = self.size + a * sum(map(abs, terms))
        return Estimate(J, self.A + a, self.c + a * J.lambda_1, s, constant, size)

    def times(self, scale: float) -> Estimate[X, Y]:
        """The estimate scale * psi, of which c stays above 0 where that is too small a number."""
        A, c, constant, size = (scale * t for t in (self.A, self.c, self.constant, self.size))
        return Estimate(self.J, A, max(c, _LEAST), scale * self.s, constant, size)

    def minimum(self) -> Minimum[X]:
        """The minimum of psi and where it is, by a call of J.ground."""
        x = self.J.ground(self.s, self.c, self.A)
        Psi, d, product = self.J.terms(x, self.s)
        terms = self.A * Psi, self.c * d, product
        return Minimum(x, sum(terms) + self.constant, sum(map(abs, terms)) + self.size)
