"""The bundle method without a quadratic programme ([Smola07] section 5).

One dual step towards the newest cut, in closed form for Omega(w) = 1/2 w'Qw: with u = A'alpha,
r = <b, alpha> and w = -Q^-1 u / lambda, the dual along ((1 - eta) alpha, eta) is the parabola

    D(eta) = (1 - eta) r + eta b - ||(1 - eta) u + eta a||^2 / (2 lambda)     (norm of Q^-1)

whose slope at 0 is gamma = <a - u, w> + b - r and whose curvature is -||a - u||^2 / lambda. That is
[Smola07] eq. 15, because u = -lambda Q w. Past cuts are not stored.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.witness import Witness, mixture, packed, unpacked


class BMRMWithoutQP(Solver):
    """Bundle method with a closed-form dual step: O(n + d) memory, more iterations.

    For a loss without a conjugate, the evidence for its bounds is every point it has met.
    """

    name = "bmrm-noqp"
    needs = Needs(regularizer=("quadratic", "conjugate", "conjugate_argmax"), strongly_convex=True)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """[Smola07] section 5: the model's dual is raised along one line, which has a formula."""
        risk, strength = problem.risk, problem.strength
        scaled = problem.regularizer.conjugate_argmax  # Q^-1 u
        point = risk.at(w)
        # All weight on the zero cut, or else on the first.
        u, r, evidence, sizes = point.subgradient, point.constant, point.witness, _sizes(point)
        if risk.facts.nonnegative:
            u, r, evidence, sizes = np.zeros_like(w), 0.0, Witness(), np.zeros(2)
        if state is not None:
            (evidence,) = unpacked("evidence", state)
            u, r, sizes = state["u"], float(state["r"]), state["sizes"]
        yield Step(point, problem.objective(point))
        while True:
            w = scaled(-u / strength)
            a, b = point.subgradient, point.constant
            gamma = float((a - u) @ w) + b - r
            curvature = float((a - u) @ scaled(a - u)) / strength
            eta = float(np.clip(gamma / curvature, 0.0, 1.0)) if curvature > 0 else 0.0  # eq. 15
            problem.effort.step = eta
            u, r = (1 - eta) * u + eta * a, (1 - eta) * r + eta * b
            sizes = (1 - eta) * sizes + eta * _sizes(point)
            if eta > 0:
                newest = Witness(alpha=point.duals) if risk.facts.has_duals else point.witness
                evidence = mixture([evidence, newest], [1 - eta, eta])
            witness = functools.partial(mixture, [evidence], [1.0])
            point = risk.at(scaled(-u / strength), near=point)
            yield Step(
                point,
                problem.objective(point),
                problem.bound(u, r, (sizes[0], sizes[1])),
                witness,
                functools.partial(_state, point.w, u, r, sizes, evidence),
            )


def _state(w: Array, u: Array, r: float, sizes: Array, evidence: Witness) -> State:
    return {"w": w, "u": u, "r": np.array(r), "sizes": sizes, **packed("evidence", [evidence])}


def _sizes(point: Point) -> Array:
    """The magnitudes behind a cut's subgradient and constant, for its round-off."""
    return np.array(point.sizes)
