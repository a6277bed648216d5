"""The excessive gap technique on max-margin networks (Zhang, Saha and Vishwanathan, ALT 2011).

The general method of excessive_gap.py takes a Euclidean step in the dual from u_hat, a mean of
points. With the entropy as prox-function the step of Nesterov's second scheme goes from the soft
maximum p = p_mu(w) instead, whose gradient of d is known (risks/views/chain_dual.py):

    u_hat = (1 - tau) u + tau p
    w     = (1 - tau) w + tau w(u_hat)
    mu    = (1 - tau) mu
    p     = argmin of <grad, .> tau / ((1 - tau) mu) + Delta(., p)
    u     = (1 - tau) u + tau p

The potentials of the new p are (w, 1) / mu + tau / ((1 - tau) mu) (w(u_hat), 1), which is
((1 - tau) w + tau w(u_hat), 1) / ((1 - tau) mu): the new p is the soft maximum at the new w and the
new mu, and so the very p that the next step needs. An iteration is one evaluation, two passes.

What is to be kept, J_mu(w) <= D(u), is known once p is, so that tau needs no bound of curvatures:
it is tried as if L were less than before, and L is doubled while the inequality fails. D(u) is what
all p so far prove with their weights in u; bounds are those of the best mean of the last of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.chain_dual import ChainDual, as_array
from fenchel.risks.views.soft_chains import SoftPoint
from fenchel.solvers._accelerated import GAMMA_D, GAMMA_U
from fenchel.solvers._soft_cuts import SoftCuts
from fenchel.solvers.base import State, Step
from fenchel.tolerances import ROUND_OFF

LOOK, REST = 3, 0.05  # iterations from one lower bound to the next, and relative to those so far
_HOPELESS = 1e200  # of L: round-off is all that is left


class _Pair(NamedTuple):
    """A primal and a dual point, the soft maximum p at w and mu, and the estimate L."""

    u: Array
    p: SoftPoint
    L: float


def chain_steps(problem: Problem, w: Array, state: State | None) -> Iterator[Step]:
    """w and u with an excessive gap, and ever less of it."""
    D, cuts = ChainDual(problem), SoftCuts(problem)
    if state is not None and "mu" in state:
        p = D.soft.at(state["w"], float(state["mu"]))
        pair = _Pair(state["u"], p, float(state["L"]))
    else:
        start = problem.risk.at(w)
        yield Step(start, problem.objective(start))
        pair = _first(problem, D)
    n = due = 0
    while True:
        cuts.add(pair.p)
        memory = functools.partial(_state, pair)
        if n >= due:
            problem.pulse()
            point = problem.risk.at(pair.p.w)
            objective, due = problem.objective(point), n + max(LOOK, int(REST * n))
            yield Step(point, objective, *cuts.bound(pair.p.mu), memory)
        else:
            yield Step(point, objective, state=memory)
        pair, n = _next(problem, D, pair), n + 1


def _first(problem: Problem, D: ChainDual) -> _Pair:
    """w = w(p_hat), p_hat the soft maximum at 0, and u = p_mu(w), with mu doubled until it is kept.

    p - p_hat falls like 1 / mu, what Omega* bends between them like its square, and mu times the
    entropy that p lacks like 1 / mu: so that J_mu(w) <= D(u) for some mu.
    """
    zero = np.zeros(problem.risk.n_parameters)
    mu = D.softness(problem.objective(problem.risk.at(zero)))
    while True:
        p = D.soft.at(D.parameters(as_array(D.soft.at(zero, mu))), mu)
        u = as_array(p)
        if _is_kept(problem, D, u, p) or mu > _HOPELESS:
            return _Pair(u, p, mu)
        mu *= GAMMA_U


def _next(problem: Problem, D: ChainDual, pair: _Pair) -> _Pair:
    """One step, with L tried out."""
    u, p, L = pair.u, pair.p, pair.L / GAMMA_D
    while True:
        tau = 2 / (1 + math.sqrt(1 + 4 * L / p.mu))  # tau^2 = (1 - tau) mu / L
        w = D.parameters((1 - tau) * u + tau * as_array(p))
        p_next = D.soft.at((1 - tau) * p.w + tau * w, (1 - tau) * p.mu)
        u_next = (1 - tau) * u + tau * as_array(p_next)
        if _is_kept(problem, D, u_next, p_next) or L > _HOPELESS:
            return _Pair(u_next, p_next, L)
        L *= GAMMA_U


def _is_kept(problem: Problem, D: ChainDual, u: Array, p: SoftPoint) -> bool:
    """J_mu(w) <= D(u), up to round-off; also where either is no number, which the driver sees."""
    primal = problem.strength * problem.regularizer.value(p.w) + p.value
    dual = -D.value(D.imaged(u))
    return not primal > dual + ROUND_OFF * (abs(primal) + abs(dual))


def _state(pair: _Pair) -> State:
    return {"w": pair.p.w, "u": pair.u, "mu": np.array(pair.p.mu), "L": np.array(pair.L)}
