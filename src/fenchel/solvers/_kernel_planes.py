"""Cutting planes in the space of a kernel's features ([Teo07] section 6): cuts as row weights.

A cut's slope is sum_j d_j phi(x_j), with d the rows' dual variables at its point. All that the
model needs are inner products: of two slopes d'K d', for which the point has computed K d already,
so that a new row of the Gram matrix costs no pass; and the model's minimiser, which is again a sum
of rows, beta = -D'alpha / lambda. See risks/kernel.py for the dual bound.
"""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.kernel import KernelNorm
from fenchel.solvers._cutting_planes import Evidence
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Witness


class KernelPlanes(QuadraticPlanes):
    """The model's dual by quadratic programmes, in the metric of a kernel."""

    def __init__(self, problem: Problem, max_cuts: int):
        assert isinstance(problem.regularizer, KernelNorm)
        self._norm = problem.regularizer
        super().__init__(problem, max_cuts)

    def add(self, point: Point) -> None:
        """The cut at a point, by its dual variables; its gradient is their product with K."""
        if point.constant == -np.inf:
            return
        if self._norm.risk is not None:
            self._norm.risk.products.remember(point.duals, point.subgradient)
        self.append(point.duals, point.constant, point.witness, sizes=point.sizes)

    def extend(self, a: Array, b: float) -> None:
        """The inner products of the new cut with all, over lambda."""
        if not a.any():
            self.joined(np.zeros(len(self.b)), b)
            return
        self.joined(self.A @ self._norm.subgradient(a) / self.strength, b)

    def minimizer(self, a: Array) -> Array:
        """w = -D'alpha / lambda, in row weights."""
        return -a / self.strength

    def metric(self) -> None:
        """No diagonal one."""
        return None

    def _bound(self, a: Array) -> tuple[float, float]:
        """What alpha proves: <b, alpha> - |D'alpha|^2 / (2 lambda), by the Gram matrix at hand."""
        Q, alpha = self.qp.gram, self.alpha
        square = max(float(alpha @ Q @ alpha), 0.0)  # of the slope's length, over lambda
        size_a, size_b = (alpha @ self._sizes).tolist()
        reach = np.sqrt(square / self.strength)  # how long w is
        error = ROUND_OFF * size_a
        doubt = ROUND_OFF * size_b + error * reach + error * error / (2 * self.strength)
        return float(alpha @ self.b) - square / 2 - doubt, 1.0

    def evidence(self, scale: float) -> Evidence:
        """The mean of the cuts' dual variables, where the loss has any; else their tangencies."""
        if not self.problem.risk.facts.has_duals:
            return super().evidence(scale)
        mixed = scale * (self.alpha @ self.A)
        return lambda: Witness(alpha=mixed)
