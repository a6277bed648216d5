"""Newton's method for smooth losses of rows that are known through a kernel.

At beta with scores z = K beta, dual variables alpha and curvatures h_i = s_i/S l''(z_i + b), the
step (delta, db) that minimises the quadratic model of J meets

    lambda delta + H (K delta + db) = -r,    r = lambda beta + alpha,    sum(beta + delta) = 0,

the last where there is an intercept. With D = H^1/2 and delta = -(r + D y) / lambda these are

    (lambda I + D K D) y = -D (lambda z + K alpha) + lambda db D1,    <D1, y> = 0,

whose matrix is positive definite whatever K is, and of the rows with curvature alone. Up to
`_DIRECT` of them it is factored; beyond, conjugate gradients take two products with K each. K alpha
is the gradient, with which alpha proves a bound: see risks/kernel.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.kernel_curvature import KernelCurvature
from fenchel.solvers._line_search import Along, search
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Witness

_DIRECT = 4000  # rows up to which the system is factored
_INEXACT = 1e-2  # of a system's right side, that conjugate gradients leave
_MOST = 200  # of their steps


class KernelNewton(Solver):
    """Newton's method in the space of a kernel's features: differentiable built-in losses."""

    name = "kernel-newton"
    needs = Needs(differentiable=True, views=(KernelCurvature,))
    takes_kernels = True

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Steps of Newton with a line search, and the bound of each point's dual variables."""
        point = problem.risk.at(w)
        curvature = KernelCurvature(problem)
        while True:
            J, alpha = problem.objective(point), point.duals
            here: State = {"w": point.w}
            witness = functools.partial(Witness, alpha=alpha)
            bound = _bound(problem, point, alpha)
            yield Step(point, J, bound, witness, functools.partial(dict, here))
            problem.pulse()
            along = Along(problem, point, self._direction(problem, curvature, point, alpha))
            eta = search(along, J)
            if not eta > 0:
                return
            point = along.at(eta)

    def _direction(
        self, problem: Problem, curvature: KernelCurvature, point: Point, alpha: Array
    ) -> Array:
        strength, h = problem.strength, curvature.at(point)
        bent = np.flatnonzero(h > 0)
        d = np.sqrt(h[bent])
        image = strength * curvature.scores(point) + point.subgradient  # K r
        right = np.column_stack([-d * image[bent], strength * d])
        Y = self._solved(problem, curvature, bent, d, right)
        y = Y[:, 0]
        if problem.risk.facts.has_intercept and len(bent):
            y = y - (d @ Y[:, 0]) / (d @ Y[:, 1]) * Y[:, 1]
        delta = -(strength * point.w + alpha) / strength
        delta[bent] -= d * y / strength
        return delta

    def _solved(
        self,
        problem: Problem,
        curvature: KernelCurvature,
        bent: npt.NDArray[np.intp],
        d: Array,
        right: Array,
    ) -> Array:
        """(lambda I + D K D)^-1 times each column."""
        if not len(bent):
            return right
        if len(bent) <= _DIRECT:
            M = curvature.block(bent) * np.outer(d, d)
            M[np.diag_indices_from(M)] += problem.strength
            return np.asarray(cho_solve(cho_factor(M, overwrite_a=True), right))

        def product(v: Array) -> Array:
            problem.pulse()
            whole = np.zeros(problem.risk.n_rows)
            whole[bent] = d * v.ravel()
            found: Array = problem.strength * v.ravel() + d * curvature.product(whole)[bent]
            return found

        M = LinearOperator((len(bent), len(bent)), product, dtype=np.float64)
        found = [cg(M, column, rtol=_INEXACT, maxiter=_MOST)[0] for column in right.T]
        return np.column_stack(found)


def _bound(problem: Problem, point: Point, alpha: Array) -> float:
    """What the dual variables of a point prove, less round-off."""
    square = max(float(alpha @ point.subgradient), 0.0) / problem.strength
    size_a, size_b = point.sizes
    doubt = ROUND_OFF * (size_b + size_a * np.sqrt(square / problem.strength))
    return float(point.constant - square / 2 - doubt)
