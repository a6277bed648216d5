"""The accelerated gradient method with infinite memory, AGM-EF-inf ([Zhang11] algorithms 1 and 2).

Letters are [Zhang11]'s: psi_k estimates J by all tangents of f so far, z_k minimises psi_k, x_k is
the mean of the z with weights a_i, and u_k, between x and z, is where the next tangent is taken. L,
the curvature of f, is tried out, and may fall as well as rise. Two passes for each L tried.

All weights (a, A, and the 1 before Delta(., x_0) in psi_0) may be multiplied by one number; we take
L for that 1, so that they are of the size of 1 whatever that of the data. The paper's t1, t2
and t3 have a common factor in the weights of u, which we leave out with lambda = lambda_1 +
lambda_2: it is 0 to round-off where Psi is curved far more than f.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from fenchel.risks.views.composite import Composite
from fenchel.risks.views.images import Imaged, X, Y
from fenchel.solvers._accelerated import (
    GAMMA_D,
    GAMMA_U,
    Accelerated,
    Iterate,
    Start,
    accepted,
    lowered,
    remember,
    remembered,
)
from fenchel.solvers._estimates import Estimate
from fenchel.solvers.base import State

_LARGE = 1e20  # of A, which grows exponentially under strong convexity


class AGMInf(Accelerated):
    """AGM-EF-inf in the primal, the dual, or with ever less smoothing (homotopy)."""

    name = "agm-inf"

    def iterates(
        self, J: Composite[X, Y], x: Imaged[X, Y], L: float, state: State | None = None
    ) -> Iterator[Iterate[X, Y]]:
        """[Zhang11] algorithm 2."""
        sigma, lambda_1, lambda_2 = J.sigma, J.lambda_1, J.lambda_2
        lambda_ = lambda_1 + lambda_2
        z, A, L = x, 0.0, lowered(J, L)  # lines 1, 2
        one = L / sigma  # the weight of Delta(., x_0) in psi, until A is too large for it
        psi, mean = Estimate.around(J, one, x.x), None  # 3
        if state is not None:
            z, psi, mean, one = remembered(J, state)
            A = psi.A

        def start(L: float, x: Imaged[X, Y], z: Imaged[X, Y], A: float) -> Start[X, Y]:
            """Line 9, and u."""
            a = _root(L / sigma - lambda_1, one + 2 * lambda_ * A, A * (one + lambda_ * A))
            of_z, of_x = a * (one + lambda_ * A), A * (one + lambda_ * (A + a))
            return Start(a, (of_z / (of_z + of_x)) * z + (of_x / (of_z + of_x)) * x)

        L = lowered(J, L / GAMMA_D)
        trial = start(L, x, z, A)
        while True:  # 5
            while True:  # 7
                a, u = trial
                A_next = A + a
                at_u = J.tangent(u)
                psi_next = psi.plus(a, at_u, u)
                psi_min = psi_next.minimum()
                z_next = J.imaged(psi_min.x)
                x_next = (A / A_next) * x + (a / A_next) * z_next
                L_next = lowered(J, L / GAMMA_D)  # 6, and the first 8 of the next step
                following = start(L_next, x_next, z_next, A_next)
                J.foresee(following.u)
                if accepted(J, x_next, psi_min.over(A_next), L):  # 11
                    break
                L *= GAMMA_U  # 8
                trial = start(L, x, z, A)
            alpha = at_u.alpha
            share = a / A_next
            mean = alpha if mean is None else (1 - share) * mean + share * alpha  # eq. 22
            x, z, psi, A = x_next, z_next, psi_next, A_next
            if A > _LARGE:
                psi, one, A = psi.times(1 / A), one / A, 1.0
                following = start(L_next, x, z, A)
            memory = functools.partial(remember, z, psi, mean, one)
            yield Iterate(x, mean, (z, alpha), share, L, memory)
            L, trial = L_next, following


def _root(Q: float, B: float, C: float) -> float:
    """The positive root of Q a^2 - B a - C = 0."""
    return (B + math.hypot(B, 2 * math.sqrt(Q) * math.sqrt(C))) / (2 * Q)
