"""The accelerated gradient method with one memory, AGM-EF-1 ([Zhang11] algorithms 3 and 4).

Letters are [Zhang11]'s. Where AGM-EF-inf keeps all tangents in its estimate psi, this method keeps
of it the minimum and a Bregman divergence around the minimiser only: q_k(x) = c_k Delta(x, z_k) +
min psi_k. ([Zhang11] starts from a q_0 that still holds Psi and a tangent; we compress q_0 as all
others, which leaves its lemma 11 and 12 as they are.) Two passes for each L tried.

The paper's weights of u, by t1, t2 and t3, have the common factor 1 - a, which is 0 to round-off
where Psi is curved far more than f. Without it they are c_{k+1} for x and a c_k for z.
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
from fenchel.tolerances import EPSILON


class AGMOne(Accelerated):
    """AGM-EF-1 in the primal, the dual, or with ever less smoothing (homotopy)."""

    name = "agm-1"

    def iterates(
        self, J: Composite[X, Y], x: Imaged[X, Y], L: float, state: State | None = None
    ) -> Iterator[Iterate[X, Y]]:
        """[Zhang11] algorithm 4."""
        sigma, lambda_1, lambda_2 = J.sigma, J.lambda_1, J.lambda_2
        if state is None:
            u = x  # 1
            at_u, L = J.tangent(u), lowered(J, L)
            while True:  # 2
                c = L / sigma + lambda_2  # 4
                q = Estimate.around(J, L / sigma - lambda_1, u.x).plus(1.0, at_u, u)  # 5
                q_min = q.minimum()
                x = z = J.imaged(q_min.x)  # 6
                if accepted(J, x, q_min, L):  # 7
                    break
                L *= GAMMA_U  # 3
            q, mean = Estimate.around(J, c, z.x, q_min), at_u.alpha
            yield Iterate(x, mean, (z, mean), 1.0, L, functools.partial(remember, z, q, mean, c))
        else:
            z, q, mean, c = remembered(J, state)

        def start(L: float, x: Imaged[X, Y], z: Imaged[X, Y], c: float) -> Start[X, Y]:
            """Lines 12 and 8."""
            a = _root(L / sigma + lambda_2, c - lambda_1 - lambda_2, c)
            of_z = a * c / ((1 - a) * c + (lambda_1 + lambda_2) * a + a * c)
            return Start(a, (1 - of_z) * x + of_z * z)

        L = lowered(J, L / GAMMA_D)
        trial = start(L, x, z, c)
        while True:  # 8
            while True:  # 10
                a, u = trial
                c_next = (1 - a) * c + (lambda_1 + lambda_2) * a  # 7 of algorithm 3
                at_u = J.tangent(u)
                psi_min = q.times(1 - a).plus(a, at_u, u).minimum()  # 9
                z_next = J.imaged(psi_min.x)  # 10
                x_next = (1 - a) * x + a * z_next  # 11
                L_next = lowered(J, L / GAMMA_D)  # 9, and the first 11 of the next step
                following = start(L_next, x_next, z_next, c_next)
                J.foresee(following.u)
                if accepted(J, x_next, psi_min, L):  # 14
                    break
                L *= GAMMA_U  # 11
                trial = start(L, x, z, c)
            alpha = at_u.alpha
            mean = (1 - a) * mean + a * alpha  # eq. 35
            x, z, c = x_next, z_next, c_next
            q = Estimate.around(J, c, z.x, psi_min)  # 12
            yield Iterate(x, mean, (z, alpha), a, L, functools.partial(remember, z, q, mean, c))
            L, trial = L_next, following


def _root(Q: float, B: float, c: float) -> float:
    """The positive root of Q a^2 + B a - c = 0, and less than 1, which it is but for round-off."""
    return min(1 - EPSILON, 2 * c / (B + math.hypot(B, 2 * math.sqrt(Q) * math.sqrt(c))))
