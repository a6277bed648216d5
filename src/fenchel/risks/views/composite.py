"""The objective as a sum f + Psi of a smooth and a simple function ([Zhang11] eq. 10).

Accelerated gradient methods do not ask what is minimised. They ask for the gradient of a function f
whose gradient changes slowly, and for the exact minimum of a simple function Psi plus a linear and
a quadratic term (the proximal step). `Composite` says which calls those are and which of them cost
a pass over X; forms.py makes one of a regularised risk, over w or over the rows' dual variables,
and a user of the methods may make another.

The letters are the paper's. x is the point that moves, and f(x) = F(K x) with a linear map K, whose
result K x is called the *image* of x (images.py). The gradient of f is K' of a point alpha(x) of
the dual problem, called *the other problem* since x itself may be dual. d is the prox-function that
distances are measured with, sigma-strongly convex; L bounds how fast the gradient of f changes;
lambda_1 and lambda_2 are how strongly convex f and Psi are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from fenchel.risks.base import Array
from fenchel.risks.views.images import Imaged, Linearisation, X, Y


class Composite(ABC, Generic[X, Y]):
    """f + Psi, where f is smooth and Psi simple, with a prox-function d, <x, x>/2 if no other.

    f(x) is a function of the image K x in Y of a point x in X, and its gradient is K' of a point of
    the other problem, alpha(x) in [Zhang11].
    """

    sigma = 1.0  # d is sigma-strongly convex
    lambda_1 = 0.0  # f is lambda_1-strongly convex with respect to d
    lambda_2: float  # Psi is
    L: float  # an upper bound of the Lipschitz constant of f's gradient

    @abstractmethod
    def imaged(self, x: X) -> Imaged[X, Y]:
        """x with its image: a pass."""

    @abstractmethod
    def unpacked(self, packed: Array) -> X:
        """The vector x whose packed array this is."""

    @abstractmethod
    def unpacked_dual(self, packed: Array) -> Imaged[Y, X]:
        """The point of the other problem whose packed array this is, with its image: a pass."""

    @abstractmethod
    def f(self, at: Imaged[X, Y]) -> float:
        """The smooth part at a point whose image is known: no pass."""

    @abstractmethod
    def tangent(self, at: Imaged[X, Y]) -> Linearisation[X, Y]:
        """f(x) and its gradient: a pass."""

    def foresee(self, at: Imaged[X, Y]) -> None:
        """The next tangent may be that at this very point: where it saves a round, with f's."""
        return None

    @abstractmethod
    def Psi(self, x: X) -> float:
        """The simple part: no pass, and no image is needed."""

    @abstractmethod
    def ground(self, s: X, c: float, A: float) -> X:
        """Argmin over x of A Psi(x) + c d(x) + <s, x>."""

    def terms(self, x: X, s: X) -> tuple[float, float, float]:
        """(Psi(x), d(x), <s, x>) of an x that `ground` gave; its image is asked for next."""
        return self.Psi(x), self.d(x), float(s @ x)

    def along(self, at: Linearisation[X, Y], x: Imaged[X, Y]) -> float:
        """<g, x> of a tangent's gradient g."""
        return float(at.gradient @ x.x)

    def d_terms(self, x: X) -> tuple[float, float]:
        """(<d'(x), x>, d(x)) with the gradient d'."""
        return float(self.d_gradient(x) @ x), self.d(x)

    def value(self, at: Imaged[X, Y]) -> float:
        """J(x) = f(x) + Psi(x): no pass."""
        return self.f(at) + self.Psi(at.x)

    def d(self, x: X) -> float:
        """The prox-function d(x), which distances are measured with."""
        return float(x @ x) / 2

    def d_gradient(self, x: X) -> X:
        """The gradient of d."""
        return x
