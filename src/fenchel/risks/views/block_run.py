"""Newton's method with products in C++, for losses of K scores a row and rows in one memory.

A kernel takes many steps at a time (kernels/block_newton.hpp): of softmax those of Newton's method,
of hinges those of the method of multipliers as well, as multiplier_run.py does for one score. The K
offsets move with W, as a last row of the parameters. The kernel claims a gap; J and the bound are
then computed once more, as every solver computes them: of softmax at the best offsets, by the
tangent, of hinges by the slopes, balanced. Of small data a run takes less time than looking at it,
and what the kernel claims is handed on as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.losses import MulticlassHinge, MultilabelHinge
from fenchel.losses.vector_rows import NativeVectorRows, has_bends
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem, State
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import has_block_steps, only_offsets_are_free
from fenchel.risks.views.dual_cut import cut_of, has_offsets
from fenchel.risks.views.newton import AtStrength
from fenchel.risks.views.row_duals import swept
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Witness

_LEAST = 1e-12  # of kappa, relative to the first
_AHEAD, _NEAREST = 1.0, 1e-4  # kappa from multipliers of a gap: that many times it, and the least
_WORK = 2e9  # products of two numbers in one call, about: some tenths of a second
_LEAST_STEPS = 3  # where factors are made, which a call makes anew
_PRODUCTS = 10  # that a step takes, about, where they are many
_MOST_STEPS = 200
_FEW = 200_000  # numbers in X times outputs, of problems that are small
_ARRAYS = ("p", "a", "best_p", "best_u")
_NUMBERS = ("kappa", "upper", "lower")


def serves(problem: Problem) -> bool:
    """Whether the kernel takes the problem: a known loss, L2, and rows that are at hand."""
    risk, regularizer = problem.risk, problem.regularizer
    if not (isinstance(risk, LinearRisk) and risk.classes is not None):
        return False
    if not (has_bends(risk.loss) and has_block_steps(risk)):
        return False
    quadratic = regularizer.quadratic and regularizer.separable and regularizer.has("shrinkage")
    penalised = regularizer.strong_convexity > 0 or only_offsets_are_free(problem)
    rows = isinstance(swept(risk.engine.shards[0]), SparseRows | DenseRows)
    return quadratic and penalised and risk.facts.in_one_memory and rows


class BlockSteps:
    """The kernel, and what it changes: parameters, multipliers, kappa; the best J and bound."""

    arrays: tuple[Array, ...]  # those named in _ARRAYS

    def __init__(self, problem: Problem):
        risk = problem.risk
        assert isinstance(risk, LinearRisk)
        self.problem, self.risk, self.shard = problem, risk, risk.engine.joined()
        loss = self.shard.bound(risk.loss)
        assert isinstance(loss, NativeVectorRows)
        self.loss, self.n_free = loss, risk.n_outputs * has_offsets(risk)
        self.d = swept(self.shard).n_columns

    def _from(self, p: Array, a: Array) -> None:
        """From such parameters and multipliers on, with a kappa for which most rows are bent."""
        self.arrays = p, a, p.copy(), a.copy()
        self._at_kappa(2 * self._margin())

    def _at_kappa(self, kappa: float) -> None:
        p, a, best_p, best_u = self.arrays
        self.at = _kernels.BlockNewtonPoint(p, a, best_p, best_u, kappa, math.inf, -math.inf)

    def _margin(self) -> float:
        """The largest cost of a hinge, with which its scores go; 1 for softmax."""
        loss = self.risk.loss
        if isinstance(loss, MulticlassHinge | MultilabelHinge):
            return float(np.max(loss.costs(self.risk.n_outputs))) or 1.0
        return 1.0

    def _parameters(self, p: Array) -> Array:
        """w as solvers know it, of parameters that always end with offsets."""
        return p[: self.risk.n_parameters].copy()

    def _pose(self, growth: float) -> None:
        risk, K = self.risk, self.risk.n_outputs
        curvature = self.problem.regularizer.curvature(risk.n_parameters)
        D = self.problem.strength * np.ascontiguousarray(curvature[: self.d * K])
        up = down = np.zeros(K)
        if self.n_free:
            assert risk.offsets is not None
            up, down = risk.offsets.flows.prices
        self.native = _kernels.BlockNewtonProblem(
            self.loss.native(K), self.loss.y, self.loss.s, D, up, down,
            self.n_free > 0, risk.weight, growth, _LEAST * self.at.kappa,
        )  # fmt: skip
        work = _PRODUCTS * max(risk.n_numbers, 1) * K
        self.steps = int(min(max(_WORK / work, _LEAST_STEPS), _MOST_STEPS))

    def take(self, gap: float) -> tuple[bool, bool]:
        """Some Newton steps; whether they claim the gap, and whether more of them may be taken."""
        rows, settings = swept(self.shard), (self.native, self.at, gap, self.steps)
        if isinstance(rows, SparseRows):
            X = rows.row_start, rows.column, rows.value, rows.n_columns
            taken, passes, reached = _kernels.csr_block_newton(*X, *settings)
        else:
            assert isinstance(rows, DenseRows)
            taken, passes, reached = _kernels.dense_block_newton(rows.values, *settings)
        self.risk.passes += round(passes)
        return reached, reached or taken == self.steps


def follows(problem: Problem, n_strengths: int) -> bool:
    """Whether claims are handed on: of one small problem whose slopes are dual variables."""
    risk = problem.risk
    if n_strengths != 1 or risk.facts.differentiable or not serves(problem):
        return False
    assert isinstance(risk, LinearRisk)
    return risk.n_numbers * risk.n_outputs <= _FEW


def claims(problem: Problem, growth: float, gap: float) -> Iterator[AtStrength]:
    """What the kernel says it found, from W = 0 on; less what round-off may have added."""
    yield _Claim(problem, growth).found(gap)


class _Claim(BlockSteps):
    def __init__(self, problem: Problem, growth: float):
        super().__init__(problem)
        self._from(np.zeros((self.d + 1) * self.risk.n_outputs), np.zeros(self.risk.n_duals))
        self._pose(growth)

    def found(self, gap: float) -> AtStrength:
        """After as many steps as are ever taken at once; offsets are centred, as all others are."""
        self.take(gap)
        (_, _, p, _), risk, J = self.arrays, self.risk, self.at.upper
        offsets = p[self.d * risk.n_outputs :]
        offsets -= offsets.mean()  # a hinge knows differences alone
        b = offsets if risk.facts.has_intercept else 0.0
        w, intercept = risk.presented(self._parameters(p), b)
        return AtStrength(w, intercept, J, self.at.lower - ROUND_OFF * abs(J), self._alpha)

    def _alpha(self) -> Array:
        slopes = self.risk.outputs(self.arrays[3])
        weighted = shardwork.weighted(self.shard, slopes)
        return weighted.ravel() / self.risk.weight


class BlockRun(BlockSteps):
    """Steps that are looked at: the best point so far, with J and a bound as they are computed."""

    point: LinearPoint  # the best so far
    J: float  # there
    bound: float  # the best so far
    witness: Callable[[], Witness] | None  # of it

    def __init__(self, problem: Problem, w: Array, growth: float, state: State | None = None):
        super().__init__(problem)
        if state is not None and "best_p" in state:
            self._restore(state)
        else:
            self._start(w, state)
        self._pose(growth)

    def _start(self, w: Array, state: State | None) -> None:
        """Multipliers 0, and a kappa for which most rows are bent at W = 0; or those of a state.

        As the multipliers of a nearby problem are as far off as the gap says that they leave, kappa
        falls with it.
        """
        K = self.risk.n_outputs
        b = np.zeros(K)
        if state is not None and "b" in state:
            b = np.array(np.broadcast_to(state["b"], K), dtype=np.float64)
        p = np.concatenate([w[: self.d * K], w[self.d * K :] if len(w) > self.d * K else b])
        a = np.zeros(self.risk.n_duals)
        if state is not None and "alpha" in state:
            alpha = self.risk.outputs(state["alpha"])
            a = shardwork.unweighted(self.shard, alpha, self.risk.weight, self.risk.loss).ravel()
        self._from(p, a)
        self.point = self._at(p)
        self.J, self.bound, self.witness = self.problem.objective(self.point), -math.inf, None
        if a.any():
            self._look()
            nearness = _AHEAD * (self.J - self.bound) / abs(self.J) if self.J else 1.0
            self._at_kappa(self.at.kappa * min(max(nearness, _NEAREST), 1.0))

    def _at(self, p: Array) -> LinearPoint:
        """The point of parameters, whose offsets are near the best if those are profiled out."""
        risk, w = self.risk, self._parameters(p)
        risk.passes += 1
        z = risk.engine.map(shardwork.scores, risk.outputs(w))
        b = p[self.d * risk.n_outputs :].copy() if risk.facts.has_intercept else 0.0
        return risk.point(risk, w, z, b)

    def _restore(self, state: State) -> None:
        self.arrays = tuple(np.array(state[name], dtype=np.float64) for name in _ARRAYS)
        kappa, upper, lower = (float(state[name]) for name in _NUMBERS)
        p, a, best_p, best_u = self.arrays
        self.at = _kernels.BlockNewtonPoint(p, a, best_p, best_u, kappa, upper, lower)
        self._look()

    def state(self) -> State:
        """All that the next steps depend on."""
        arrays = {name: each.copy() for name, each in zip(_ARRAYS, self.arrays, strict=True)}
        numbers = {name: np.array(getattr(self.at, name)) for name in _NUMBERS}
        return {**arrays, **numbers, "w": self._parameters(self.arrays[0])}

    def advance(self, gap: float) -> tuple[bool, bool]:
        """The same as `take`, and a look at where it led."""
        answer = self.take(gap)
        self._look()
        return answer

    def _look(self) -> None:
        """J at the best parameters, and what the best slopes prove, or the tangent."""
        risk, (_, _, best, u) = self.risk, self.arrays
        self.point = self._at(best)
        self.J = self.problem.objective(self.point)
        if risk.facts.differentiable:
            point = self.point
            self.bound = self.problem.tangent_bound(point)
            self.witness = lambda: point.witness
            return
        cut = cut_of(risk, risk.engine.scatter(risk.outputs(u)), None)
        self.bound, self.witness = self.problem.bound(cut.a, cut.b, cut.sizes), cut.witness
        self.at.lower = min(self.at.lower, self.bound)  # so that better slopes are not passed over
