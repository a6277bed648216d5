"""The excessive gap technique ([Zhang11] section 5.2; Nesterov, SIAM J. Optimization 2005).

A primal point x and a dual point u are kept with J_mu(x) <= D(u): as J <= J_mu + mu max d2, their
gap is at most mu max d2, and mu falls like 1/k^2. One step, for a strongly convex Omega:

    u_hat = (1 - tau) u + tau u_mu(x)
    x     = (1 - tau) x + tau w(u_hat)
    u     = V(u_hat), the proximal gradient step of the dual
    mu    = (1 - tau) mu

The inequality lasts if V's step rises as its model says and tau^2 / (1 - tau) <= mu / L, where
L is the curvature of the dual. Nesterov takes a global L and tau_k = 2 / (k + 3); we try out L as
[Zhang11]'s other methods do, and take the largest tau. Where to start is prescribed: from u = 0, so
that a given w is of no use. Three passes an iteration, one more for each L tried. Chains have a
scheme of their own (_chain_gap.py).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.views.dual_form import DualForm
from fenchel.risks.views.forms import DualPoint, PrimalForm, PrimalPoint
from fenchel.risks.views.images import packed
from fenchel.risks.views.soft_chains import is_soft_chain
from fenchel.solvers._accelerated import GAMMA_D, OPTIMISTIC, lowered
from fenchel.solvers._chain_gap import LOOK, REST, chain_steps
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.proximal_gradient import proximal_step


class DualPoints:
    """Dual points with their proximal steps: of rows, or of chains' labellings."""

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """Steps must be known."""
        return None if is_soft_chain(risk) else DualForm.obstacle(risk)


class ExcessiveGap(Solver):
    """Nesterov's excessive gap technique with an adaptive L."""

    name = "excessive-gap"
    needs = Needs(
        regularizer=("conjugate", "conjugate_argmax"), strongly_convex=True, views=(DualPoints,)
    )
    patience = 1000

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """x and u with an excessive gap, and ever less of it."""
        steps = chain_steps if is_soft_chain(problem.risk) else _row_steps
        return steps(problem, w, state)


def _row_steps(problem: Problem, w: Array, state: State | None) -> Iterator[Step]:
    """The same of risks whose rows have dual variables."""
    D = DualForm(problem)
    if state is not None and "mu" in state:
        x, u = D.unpacked_dual(state["w"]), D.imaged(D.unpacked(state["u"]))
        mu, L = float(state["mu"]), float(state["L"])
    else:
        start = problem.risk.at(w)
        yield Step(start, problem.objective(start))
        u = D.imaged(D.unpacked(np.zeros(problem.risk.n_duals)))
        at_u = D.tangent(u)
        x, (u, L) = at_u.alpha, proximal_step(D, at_u, u, lowered(D, OPTIMISTIC * D.L))
        mu = L
    n = due = 0
    while True:
        if n >= due:
            step, due = _step(problem, D, x, u, mu, L), n + max(LOOK, int(REST * n))
            yield step
        else:
            yield Step(step.point, step.objective, state=functools.partial(_state, x, u, mu, L))
        n += 1
        u_mu = PrimalForm(problem, mu).tangent(x).alpha
        L, accepted = lowered(D, L / GAMMA_D), False
        while not accepted:
            tau = _root(mu / L)
            u_hat = (1 - tau) * u + tau * u_mu
            at_hat = D.tangent(u_hat)
            u_next, needed = proximal_step(D, at_hat, u_hat, L)
            accepted, L = needed == L, needed  # a larger L asks for a smaller tau
        x, u = (1 - tau) * x + tau * at_hat.alpha, u_next
        mu *= 1 - tau


def _root(ratio: float) -> float:
    """The positive root of tau^2 = (1 - tau) ratio."""
    return 2 / (1 + math.sqrt(1 + 4 / ratio))


def _step(problem: Problem, D: DualForm, x: PrimalPoint, u: DualPoint, mu: float, L: float) -> Step:
    point, cut = D.point(u, x), D.cut(u)
    bound = problem.bound(cut.a, cut.b, cut.sizes)
    state = functools.partial(_state, x, u, mu, L)
    return Step(point, problem.objective(point), bound, cut.witness, state)


def _state(x: PrimalPoint, u: DualPoint, mu: float, L: float) -> State:
    return {"w": x.x, "u": packed(u.x), "mu": np.array(mu), "L": np.array(L)}
