"""Newton's steps for a linear risk: systems over those rows that have curvature.

Newton's method wants the step p that solves

    (diagonal + sum_i h_i x_i x_i') p = g

where the sum is the Hessian of the risk, h_i >= 0 being the curvature of row i's loss at its score
times the row's weight, and `diagonal` the regulariser's Hessian. Rows with h_i = 0, such as those
beyond the margin of a squared hinge, take no part; the others are called *bent*. A profiled
intercept is one more coordinate, the last, whose column is of ones. The system has as many unknowns
as there are columns or bent rows, whichever is less; where both are many it is solved roughly, by
conjugate gradients. Only bent rows are read, and a step counts as their share of a pass.

Where all rows are one shard and columns are few, a kernel takes whole runs of steps by itself
(kernels/newton.hpp); what it hands back is a point like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from fenchel import _kernels
from fenchel.data.blocks import KeptRows
from fenchel.data.rows import DenseRows, Rows, SparseRows
from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Point, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.dual_ascent import has_dual_steps

_RIDGES = (0.0, *(10.0**power for power in range(-14, 1, 2)))
MOST_UNKNOWNS = 3000  # unknowns of a system that is factored
_FEW_COLUMNS = 300  # up to which steps are a kernel's
_STEPS = 50  # of a run at most
_WORK = 2e8  # products of two numbers that a run of steps may take: some ten milliseconds
MOST_SLOPES = 1 << 22  # that the slopes of all strengths of a path may be: 32 MB


class AtStrength(NamedTuple):
    """What is claimed at a strength: w, b, J there, a bound and what makes its proof."""

    w: Array
    b: float
    J: float
    lower: float
    alpha: Callable[[], Array]


class Hessian:
    """The Hessian of a linear risk, whose loss is a built-in one whose slope does not jump."""

    def __init__(self, risk: Risk):
        assert isinstance(risk, LinearRisk)
        self.risk = risk

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """The loss's curvature must be known."""
        if not (risk.facts.differentiable and has_dual_steps(risk)):
            return "it knows the Hessian of the built-in smooth losses of one score a row only"
        return None

    def newton_step(self, point: Point, diagonal: Array, g: Array) -> Array:
        """The p with (diagonal + Hessian of R at the point) p = -g: about a pass.

        The offset's slope at a point is 0, so that it takes no part in g.
        """
        return -self._solved(point, diagonal, g)[0]

    def whole_step(self, point: Point) -> tuple[Array, float]:
        """Newton's step of R alone, and what it says of the offset."""
        p, b = self._solved(point, np.zeros(self.risk.n_parameters), point.subgradient)
        return -p, -b

    def _solved(self, point: Point, diagonal: Array, g: Array) -> tuple[Array, float]:
        assert isinstance(point, LinearPoint)
        risk = self.risk
        settings = risk.loss, point.z, point.intercept, risk.weight
        h, bent = risk.engine.map(shardwork.curvatures, *settings).split(2)
        return NewtonSystem(risk, bent, h).solved(diagonal, g, 0.0)

    @property
    def takes_runs(self) -> bool:
        """Whether `run` can be called: rows in one place, more than columns, which are few."""
        shards, d = self.risk.engine.shards, self.risk.n_parameters
        kernel = isinstance(shards[0].rows, SparseRows | DenseRows)
        return kernel and len(shards) == 1 and d <= _FEW_COLUMNS and d < self.risk.n_rows

    @property
    def at_once(self) -> int:
        """The most steps of a run, so that a clock can be looked at between runs."""
        return max(1, min(_STEPS, self._affordable))

    @property
    def _affordable(self) -> int:
        """Steps that take some ten milliseconds."""
        return round(_WORK / max(self.risk.n_numbers * self.risk.n_parameters, 1))

    def at(self, w: Array) -> Point:
        """The risk at w; where runs of steps follow, its gradient is their business."""
        return self.risk.lazy_at(w) if self.takes_runs else self.risk.at(w)

    def run(self, point: Point, diagonal: Array, gap: float) -> tuple[Point, int]:
        """Newton's steps until the relative gap is likely to be reached, and how many they were.

        The intercept moves with w.
        """
        risk = self.risk
        settings = diagonal, risk.weight, risk.facts.has_intercept, point.w, point.intercept
        w, b, taken = risk.engine.map(_run, risk.loss, *settings, gap, self.at_once)[0]
        risk.passes += 3 * taken + 2
        return LinearPoint(risk, w, risk.engine.map(shardwork.scores, w), b), taken

    def takes_paths(self, n_strengths: int) -> bool:
        """Whether `path` can be called: as `run`, if all slopes fit into memory."""
        return self.takes_runs and self.risk.n_rows * n_strengths <= MOST_SLOPES

    def path(
        self, unit: Array, strengths: Sequence[float], gap: float, pulse: Callable[[], None]
    ) -> Iterator[AtStrength]:
        """Newton's steps at one strength after the other, from w = 0, then from the last.

        `unit` is the regulariser's Hessian at strength 1.
        """
        risk, shard = self.risk, self.risk.engine.shards[0]
        n, d, m = risk.n_rows, risk.n_parameters, len(strengths)
        W, alpha, bounds, b = np.empty((m, d)), np.empty((m, n)), np.empty((m, 2)), np.empty(m)
        terms = built_in(shard.bound(risk.loss)).newton_terms(
            unit, risk.weight, risk.facts.has_intercept
        )
        found = _kernels.NewtonStrengths(np.array(strengths), W, alpha, bounds, b)
        done, w, offset = 0, np.zeros(d), 0.0
        for k in range(m):
            if done <= k:
                pulse()
                steps = gap, _STEPS, max(1, self._affordable), found, done
                more, taken = _path(shard.rows, terms, w, offset, *steps)
                risk.passes += 3 * taken
                done, offset = done + more, float(b[done + more - 1])
            J, lower = bounds[k].tolist()
            yield AtStrength(W[k], float(b[k]), J, lower, partial(alpha.__getitem__, k))


def _path(rows: Rows, *settings: Any) -> tuple[int, int]:
    """Some strengths of a path: how many, and the steps that they took."""
    if isinstance(rows, SparseRows):
        return _kernels.csr_newton_path(rows.row_start, rows.column, rows.value, *settings)
    assert isinstance(rows, DenseRows)
    return _kernels.dense_newton_path(rows.values, *settings)


def _run(
    shard: Shard,
    loss: Loss,
    diagonal: Array,
    total: float,
    intercept: bool,
    w: Array,
    b: float,
    gap: float,
    most: int,
) -> tuple[Array, float, int]:
    """At most so many steps from (w, b): where they led, and how many they were."""
    terms = built_in(shard.bound(loss)).newton_terms(diagonal, total, intercept)
    rows, w = shard.rows, np.array(w)
    if isinstance(rows, SparseRows):
        X = rows.row_start, rows.column, rows.value
        return w, *_kernels.csr_newton(*X, terms, w, b, gap, most)
    assert isinstance(rows, DenseRows)
    return w, *_kernels.dense_newton(rows.values, terms, w, b, gap, most)


class NewtonSystem:
    """The rows `bent` of each shard, with the curvatures `h` of all its rows."""

    def __init__(self, risk: LinearRisk, bent: PerShard[npt.NDArray[np.int32]], h: PerShard[Array]):
        self.risk, self.bent, self.h = risk, bent, h
        n_bent, self.h_total = risk.engine.totals(*risk.engine.map(_sums, bent, h).split(2))
        self.n_bent = int(n_bent)

    def solved(self, diagonal: Array, g: Array, offset_slope: float) -> tuple[Array, float]:
        """p, and what it says of the offset, whose slope is given."""
        risk = self.risk
        risk.passes += round(self.n_bent / risk.n_rows)
        # Without an intercept b stays where it is; with one, it has a little inertia of its own,
        # unless nothing is penalised: then that of `_solve` is all that keeps steps finite.
        penalised = bool(diagonal.any())
        inertia = (1e-6 * self.h_total or 1.0) if penalised else 0.0
        g = np.append(g, offset_slope if risk.facts.has_intercept else 0.0)
        diagonal = np.append(diagonal, inertia if risk.facts.has_intercept else 1.0)
        if not penalised:
            p = self._in_columns(diagonal, g, _RIDGES[2:])
        elif min(self.n_bent, len(g)) > MOST_UNKNOWNS:
            p = self._by_gradients(diagonal, g)
        elif self.n_bent >= len(g):
            p = self._in_columns(diagonal, g)
        else:
            p = self._in_rows(diagonal, g)
        return p[:-1], float(p[-1]) if risk.facts.has_intercept else 0.0

    def _in_columns(self, diagonal: Array, g: Array, ridges: Sequence[float] = _RIDGES) -> Array:
        H: Array = self.risk.engine.total(self.risk.engine.map(_gram, self.bent, self.h))
        if not self.risk.facts.has_intercept:
            H[-1] = 0.0  # the row of the column of ones; its column is in the upper triangle
        H.flat[:: len(H) + 1] += diagonal
        return _solve(H, g, ridges)

    def _in_rows(self, diagonal: Array, g: Array) -> Array:
        """As many unknowns as bent rows: the inverse of diagonal + X'X by Woodbury's formula."""
        X = self._chosen()
        inverse = 1 / diagonal
        H = X @ (X * inverse[np.newaxis]).T
        H = H.toarray() if sparse.issparse(H) else H
        H.flat[:: len(H) + 1] += 1.0
        inner = _solve(H, X @ (inverse * g)) if len(H) else np.zeros(0)
        step: Array = inverse * (g - X.T @ inner)
        return step

    def _by_gradients(self, diagonal: Array, g: Array) -> Array:
        X, d = self._chosen(), len(g)
        squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=0)).ravel()
        H = LinearOperator((d, d), matvec=lambda p: diagonal * p + X.T @ (X @ p), dtype=float)
        shape = LinearOperator((d, d), matvec=lambda p: p / (diagonal + squares), dtype=float)
        p: Array = cg(H, g, rtol=0.1, maxiter=50, M=shape)[0]
        return p

    def _chosen(self) -> Any:
        """The bent rows with the roots of their curvatures, and their column of ones."""
        engine = self.risk.engine
        parts = list(engine.map(_bent_rows, self.bent, self.h, self.risk.facts.has_intercept))
        stacked = sparse.vstack if sparse.issparse(parts[0]) else np.vstack
        return stacked(parts).astype(np.float64)


def _solve(H: Array, g: Array, ridges: Sequence[float] = _RIDGES) -> Array:
    """The x with H x = g for a symmetric positive definite H, which is overwritten.

    Of H the lower triangle is read.

    H is brought to a diagonal of ones, as columns may be of any size. Where they are so alike that
    round-off leaves it no factor, a little is added to that: the first of the ridges that will do.
    """
    size = 1 / np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1.0))
    H *= size
    H *= size[:, np.newaxis]
    for ridge in ridges:
        H.flat[:: len(H) + 1] = 1.0 + ridge
        try:
            factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        x: Array = size * scipy.linalg.cho_solve(factor, size * g, check_finite=False)
        return x
    return g  # H is not finite


def _sums(shard: Shard, bent: npt.NDArray[np.int32], h: Array) -> tuple[int, float]:
    """How many rows are bent, and their curvatures' sum."""
    return len(bent), float(np.sum(h[bent]))


def _gram(shard: Shard, bent: npt.NDArray[np.int32], h: Array) -> Array:
    """The lower triangle of sum h_i x_i x_i' over some rows, with a last column of ones."""
    rows, d = shard.rows, shard.rows.n_columns
    if isinstance(rows, KeptRows):
        with rows.opened() as found:
            return _gram(replace(shard, rows=found), bent, h)
    G = np.zeros((d + 1, d + 1))
    if isinstance(rows, SparseRows):
        _kernels.csr_gram(rows.row_start, rows.column, rows.value, h, bent, len(bent), G)
    else:
        _kernels.dense_gram(rows.matrix(), h, bent, len(bent), G)
    return G


def _bent_rows(shard: Shard, bent: npt.NDArray[np.int32], h: Array, ones: bool) -> Any:
    """Some rows times the roots of their curvatures, with a last column of ones or zeros."""
    X = shard.rows.take(bent.astype(np.intp)).matrix()
    root = np.sqrt(h[bent])
    last = (root if ones else np.zeros(len(bent)))[:, np.newaxis]
    if sparse.issparse(X):
        return sparse.hstack([sparse.diags_array(root) @ X, sparse.csr_array(last)], format="csr")
    return np.hstack([root[:, np.newaxis] * X, last])
