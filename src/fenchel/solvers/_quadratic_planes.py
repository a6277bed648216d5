"""Cutting planes under a strongly convex regulariser: a quadratic programme over the simplex.

For L2 the dual is [Smola07] eq. 7,  max <b, alpha> - 1/(2 lambda) alpha'A C^-1 A'alpha,  with C the
coordinate weights: the Gram matrix grows by a row a cut and the active set stays warm. For any
other Omega* (elastic net, entropy, p-norm) the same programme with Q = A H(u) A' / lambda, H the
Hessian of Omega* at u = -A'alpha / lambda, is the Newton step of a damped Newton method on the
dual. Of a user's regulariser that has no more than `conjugate_argmax`, the gradient of Omega*, the
differences along the cuts give Q. How good it is decides on the number of steps alone: they end by
the Frank-Wolfe gap max_i D_i - <D', alpha> of the dual itself.

Unpenalised coordinates F must satisfy A_F'alpha = 0. They are handled by the method of
multipliers: the term rho/2 ||A_F'alpha - v/rho||^2 joins the programme, which gives these
coordinates the curvature rho, and v <- v - rho A_F'alpha. That is a proximal point
iteration on w_F = v, which ends after finitely many steps because the model is polyhedral in w_F.
"""

from __future__ import annotations

import numpy as np

from fenchel import _kernels
from fenchel.risks.base import Array, Problem
from fenchel.solvers._cutting_planes import CuttingPlanes, Indices, ModelMinimum
from fenchel.solvers._orthogonal_programme import solved
from fenchel.solvers.base import State
from fenchel.tolerances import EPSILON, ZERO_SUM

_STIFFNESS = 1e3  # rho, relative to the curvature 1/lambda of a penalised coordinate
_MULTIPLIER_STEPS = 30
_STRAIGHT = 1e-3  # of a step's slope: another that differs by less has the same direction
_NEARLY = 1e-6  # a sum of free slopes that is this small has the right support
_NEWTON_STEPS = 100
_NEWTON_GAP = 1e-4  # of the dual, relative to what the newest cut opened: the outer gap's size
_DIFFERENCE = 1e-7  # of u, for the derivative of w along a cut
_INNER_GAP = 1e-13  # of the dual, relative to the terms it is the difference of
_STEPS = 100_000  # of a programme; warm as it is, most take a few
_AT_ONCE, _AT_ONCE_PER_CUT = 2000, 10  # of them in one call: a second or so of work at most
_WORTHWHILE = 0.5  # of its gap may be left by one more call; where round-off rules, all of it is
_HIDDEN = 1e-6  # of <|b|, alpha>: a gradient that is off by more hides what is wanted
_STIFFEST = 1e16  # rho of orthogonal factors, for cuts of length 1 with <|b|, alpha> = 1
_SMALL = 3_000_000  # columns times squared cuts, up to which orthogonal factors take milliseconds


class QuadraticPlanes(CuttingPlanes):
    """The model's dual by quadratic programmes."""

    def __init__(self, problem: Problem, max_cuts: int):
        self.regularizer = problem.regularizer
        self.strength = problem.strength
        self.qp = _kernels.SimplexQP()
        self.v = np.zeros(problem.risk.n_parameters)  # the proximal centre; 0 where penalised
        self.longest = 0.0  # the largest number on Q's diagonal, ever
        self.met: Array | None = None  # w, where round-off leaves nothing of the one of alpha
        super().__init__(problem, max_cuts)

    def state(self, w: Array) -> State:
        """The Gram matrix and the proximal centre as well."""
        return {**super().state(w), "Q": self.qp.gram, "v": self.v.copy()}

    def restore(self, state: State) -> None:
        """Starts from the cuts' weights, with a new factor."""
        super().restore(state)
        self.v = state["v"].copy()
        if self.regularizer.quadratic:
            self.longest = float(np.max(np.diag(state["Q"])))
            self.qp.assign(state["Q"], self.b, self.alpha)

    def maximize(self) -> None:
        """Exact for quadratics, by Newton's method for others; free coordinates by multipliers."""
        maximize = (
            self._maximize_exactly if self.regularizer.quadratic else self._maximize_by_newton
        )
        maximize()
        left, stride, last = _MULTIPLIER_STEPS if len(self.free) else 0, 1, np.full(1, np.inf)
        while left > 0 and self.met is None:
            slope = self.alpha @ self.A[:, self.free]
            terms = self.alpha @ np.abs(self.A[:, self.free])
            if np.all(np.abs(slope) <= _NEARLY * terms) and self._polish():
                break
            # Where the same cuts hold, the same step comes again: several of them are one.
            straight = np.linalg.norm(slope - last) <= _STRAIGHT * np.linalg.norm(slope)
            stride = min(2 * stride, left) if straight else 1
            self.v[self.free] -= stride * self._rho * slope
            left, last = left - stride, slope
            maximize()

    def minimize(self) -> ModelMinimum:
        """With the w at which the cuts meet, where that is known better than the one of alpha."""
        minimum = super().minimize()
        return minimum if self.met is None else minimum._replace(w=self.met)

    def _solve(self, b: Array) -> bool:
        """The programme, from where its weights are; whether its Gram matrix was exact enough."""
        at_once, gap, last = _AT_ONCE + _AT_ONCE_PER_CUT * len(b), np.inf, np.inf
        for _ in range(0, _STEPS, at_once):
            self.problem.pulse()
            last, gap = gap, self.qp.solve(self._tolerance(), at_once)
            if self.qp.finished:
                return gap <= self.enough or self._is_exact(b, gap)
            if not gap < _WORTHWHILE * last:
                break
        return False

    def _tolerance(self) -> float:
        """Of the programme's gap, relative to its value."""
        value = abs(self.qp.objective) if self.enough > 0 else 0.0
        return max(_INNER_GAP, self.enough / value) if value > 0 else _INNER_GAP

    def _is_exact(self, b: Array, gap: float) -> bool:
        """Whether the programme is solved, and alpha'Q alpha, whose terms are rounded, is known."""
        alpha = self.qp.weights
        enough = _HIDDEN * float(np.abs(b) @ alpha)
        if gap > max(enough, _INNER_GAP * float(np.max(np.abs(b)))):
            return False
        if EPSILON * self.longest <= enough:
            return True
        length = float(alpha @ np.sqrt(np.maximum(np.diag(self.qp.gram), 0.0)))
        return EPSILON * length**2 <= enough

    def joined(self, row: Array, b: float) -> None:
        """Extends the Gram matrix by a row."""
        self.longest = max(self.longest, float(row[-1]))
        self.qp.append(row[:-1], row[-1], b)

    def _orthogonally(self, B: Array, b: Array, alpha: Array) -> tuple[Array, Array | None]:
        """The programme's weights from its factor B, and the point -B'alpha, if it was found."""
        n_cuts, d = B.shape
        overflow = not np.isfinite(np.sum(B * B) + np.sum(b) + np.sum(alpha))
        if overflow or not 0 < d * min(n_cuts, d + 1) ** 2 <= _SMALL:
            return alpha, None
        return solved(B, b, alpha, self.problem.pulse)

    def _polish(self) -> bool:
        """Solves the conditions of optimality on the support, where A_F'alpha = 0 holds exactly.

        With Q = A H A' over the penalised coordinates, they read Q alpha' + nu - A_F dv = b + A w +
        A_F v + Q alpha, sum alpha' = 1 and A_F'alpha' = 0; of several dv the least, as v may not
        be determined. False if the support is not yet the right one.
        """
        support, n_free = np.flatnonzero(self.alpha), len(self.free)
        A, alpha = self.A[support], self.alpha[support]
        u = -(alpha @ A) / self.strength
        H = self.regularizer.conjugate_curvature(u) / self.strength
        Q, F = (A * H) @ A.T, A[:, self.free]
        scale, size = float(np.max(np.abs(Q))) or 1.0, float(np.max(np.abs(F))) or 1.0
        E = np.column_stack([np.ones(len(support)), -F / size])
        matrix = np.block([[Q / scale, E], [E.T, np.zeros((1 + n_free, 1 + n_free))]])
        right = self.b[support] + A @ self.regularizer.conjugate_argmax(u) + Q @ alpha
        right += F @ self.v[self.free]
        solution = np.linalg.lstsq(matrix, np.r_[right / scale, 1.0, np.zeros(n_free)], rcond=None)[
            0
        ]
        polished = solution[: len(support)]
        if not np.min(polished) > -ZERO_SUM:
            return False
        self.alpha[support] = np.maximum(polished, 0.0)
        self.alpha /= np.sum(self.alpha)
        self.met = None
        self.v[self.free] += solution[len(support) + 1 :] * scale / size
        return True

    @property
    def _rho(self) -> float:
        return _STIFFNESS / self.strength

    def minimizer(self, a: Array) -> Array:
        """The gradient of Omega* at -a / lambda; the proximal point in free coordinates."""
        w = self.regularizer.conjugate_argmax(-a / self.strength)
        w[self.free] = self.v[self.free] - self._rho * a[self.free]
        return w

    def _curvature(self, a: Array) -> Array:
        """How fast the minimiser w moves against the model's slope a: -dw/da, a diagonal."""
        h = self.regularizer.conjugate_curvature(-a / self.strength) / self.strength
        h[self.free] = self._rho
        return h

    def _moved(self, a: Array) -> Array:
        """-w that a quadratic Omega has for a."""
        if self.regularizer.separable:
            return self._curvature(a) * a
        return self.regularizer.conjugate_argmax(a) / self.strength

    # Quadratics: the Hessian is constant.

    def extend(self, a: Array, b: float) -> None:
        """Extends the Gram matrix by the new cut."""
        if self.regularizer.quadratic:
            self.joined(self.A @ self._moved(a), b)

    def shrink(self, cuts: Indices) -> None:
        """Shrinks the Gram matrix."""
        if self.regularizer.quadratic:
            self.qp.remove(cuts.astype(np.int64))

    def metric(self) -> Array | None:
        """The diagonal H of Q = A H A'; None where that is not one."""
        separable = self.regularizer.separable
        return self._curvature(np.zeros(self.width)) if separable else None

    def _maximize_exactly(self) -> None:
        b = self.b
        if len(self.free):
            b = self.b + self.A @ self.v
            self.qp.set_linear(b)
        exact, h = self._solve(b), self.metric()
        if self.met is None or exact or not self.alpha.any():
            self.alpha = self.qp.weights
        self.met = None
        if not exact and h is not None:
            self._meet(h)

    def _meet(self, h: Array) -> None:
        """The weights by orthogonal factors, and the w at which their cuts meet.

        They bear any stiffness of free coordinates, so that w_F/h_F, which A_F'alpha is off by in
        the first step, is little, and nothing in the second.
        """
        width = np.max(np.abs(self.A[:, self.free]), axis=0)
        stiff = _STIFFEST * np.max(np.abs(self.b)) / np.where(width > 0, width, np.inf) ** 2
        h[self.free] = np.maximum(h[self.free], stiff)
        B = self.A * np.sqrt(h)
        for _ in range(2 if len(self.free) else 1):
            b = self.b + self.A @ self.v
            self.alpha, x = self._orthogonally(B, b, self.alpha / np.sum(self.alpha))
            if x is None:
                return
            self.met = self.v + np.sqrt(h) * x
            self.v[self.free] = self.met[self.free]

    # Any other Omega*: damped Newton.

    def _maximize_by_newton(self) -> None:
        A, alpha = self.A, self.alpha
        if not alpha.any():
            alpha[0] = 1.0
        enough, last = 0.0 if len(self.free) else float(np.inf), float(np.inf)
        for _ in range(_NEWTON_STEPS):
            a = alpha @ A
            g = self.b + A @ self.minimizer(a)  # the gradient of D
            gap = float(np.max(g) - alpha @ g)
            if not len(self.free):  # the multipliers need the exact maximiser
                enough = min(enough, _NEWTON_GAP * gap)
            stiff = self._rho * float(np.sum((alpha @ np.abs(A[:, self.free])) ** 2))
            round_off = _INNER_GAP * float(np.abs(self.b) @ alpha + np.abs(alpha @ g) + stiff)
            if gap <= max(enough, round_off):
                break
            B = self._root(a)  # BB' is the Hessian of -D
            Q = B @ B.T
            self.longest = float(np.max(np.diag(Q)))
            self.qp.assign(Q, g + Q @ alpha, alpha)
            exact = self._solve(g + Q @ alpha)
            best = self.qp.weights
            if not exact:
                best, _ = self._orthogonally(B, g + Q @ alpha, best)
            towards = best - alpha
            step = self._exact_step(a, towards @ A, float(towards @ self.b))
            # Where lambda is tiny, w gains more than shows in the dual: while the gap falls, go on.
            settled = float(towards @ g) <= round_off and gap > 0.5 * last
            if step == 0 or settled:
                break
            alpha, last = alpha + step * towards, gap
        self.alpha = alpha

    def _root_by_differences(self, a: Array) -> Array:
        """A root of A H A' / lambda where H is not written."""
        u, w = -a / self.strength, self.minimizer(a)
        size = max(float(np.linalg.norm(u)), 1.0)
        Q = np.zeros((len(self.b), len(self.b)))
        for i, cut in enumerate(self.A):
            if length := float(np.linalg.norm(cut)):
                h = _DIFFERENCE * size / length
                moved = self.regularizer.conjugate_argmax(u + h * cut)
                Q[i] = self.A @ (moved - w) / (h * self.strength)
        values, vectors = np.linalg.eigh((Q + Q.T) / 2)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _root(self, a: Array) -> Array:
        """A H^1/2, where H is not 0."""
        if not self.regularizer.has("conjugate_curvature"):
            return self._root_by_differences(a)
        h = self._curvature(a)
        moving = h > 0
        root: Array = self.A[:, moving] * np.sqrt(h[moving])
        if self.regularizer.has("conjugate_coupling"):  # I - s s' is the square of I - k s s'
            s = self.regularizer.conjugate_coupling(-a / self.strength)[moving]
            square = float(s @ s)
            k = 1 / (1 + np.sqrt(max(0.0, 1 - square)))
            root -= np.outer(root @ s, k * s)
        return root

    def _exact_step(self, a: Array, da: Array, db: float) -> float:
        """Argmax over t in [0, 1] of D(alpha + t towards), by bisection on its falling slope."""

        def slope(t: float) -> float:
            return db + float(da @ self.minimizer(a + t * da))

        if slope(1.0) >= 0:
            return 1.0
        low, high = 0.0, 1.0
        while high - low > 1e-3 * high and high > EPSILON:  # less moves no weight
            t = 0.5 * (low + high)
            low, high = (t, high) if slope(t) > 0 else (low, t)
        return low
