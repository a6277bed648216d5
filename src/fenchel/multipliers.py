"""The augmented Lagrangian of a linear risk with kinks, on its shards.

With a slope a_i of the loss for each row as multiplier of t_i = z_i,

    M(w, b) = (1/S) sum_i s_i min over t of l(t, y_i) + a_i (z_i - t) + (z_i - t)^2 / (2 kappa)

is smooth, and its slopes u_i in z_i are slopes of l at the best t_i: dual variables as good as any.
Only rows whose t_i is a kink of the loss are bent; the others, however many, add nothing to the
Hessian X_K' X_K / kappa.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from fenchel import _kernels, tasks
from fenchel.bends import Slope
from fenchel.data.rows import SparseRows
from fenchel.data.shards import Shard
from fenchel.duals import cut_of, unweighted
from fenchel.engines import PerShard
from fenchel.losses import ScalarLoss, twins
from fenchel.points import LinearPoint
from fenchel.protocols import Array, Cut, State

if TYPE_CHECKING:
    from fenchel.risk import LinearRisk

_DENSE = 3000  # unknowns of a Newton system that is factored; larger ones are solved by gradients


class AugmentedRisk:
    """M at (w, b), with its multipliers a and kappa."""

    def __init__(self, risk: LinearRisk, point: LinearPoint):
        """Multipliers 0, and a kappa for which most rows are bent at w = 0."""
        self.risk, self.w, self.b, self.z = risk, point.w, point.intercept, point.z
        engine, loss = risk.engine, risk.loss
        self.a = engine.map(tasks.zeros)
        squares = engine.total(engine.map(_squared_distances, loss, self.b))
        self.kappa = 2 * float(np.sqrt(squares / risk.weight)) or 1.0

    def look(self) -> None:
        """The slopes u and the bent rows at (w, b), and the gradient: a pass."""
        engine, risk = self.risk.engine, self.risk
        settings = risk.loss, self.z, self.a, self.kappa, self.b
        self.u, self.bent = engine.map(_augmented_slopes, *settings).split(2)
        risk.passes += 1
        weighted = engine.map(tasks.weighted, self.u)
        self.gradient: Array = engine.total(engine.map(tasks.adjoint, weighted)) / risk.weight
        self.offset_slope = float(engine.total(engine.map(tasks.total, weighted))) / risk.weight

    def start(self, alpha: Array, kappa: float) -> None:
        """Takes over multipliers alpha_i = s_i/S a_i."""
        slopes = self.risk.engine.scatter(alpha)
        self.a = self.risk.engine.map(unweighted, slopes, self.risk.weight, self.risk.loss)
        self.kappa = kappa

    def state(self) -> State:
        """All that the next step depends on."""
        a = self.risk.engine.gather(self.a)
        return {"w": self.w, "a": a, "b": np.array(self.b), "kappa": np.array(self.kappa)}

    def restore(self, state: State) -> None:
        """Takes over multipliers, b and kappa."""
        self.a = self.risk.engine.scatter(state["a"])
        self.b, self.kappa = float(state["b"]), float(state["kappa"])

    @property
    def distance(self) -> float:
        """(1/S) sum_i s_i (z_i - t_i)^2 / (2 kappa): what the multipliers have yet to pay for."""
        squares = self.risk.engine.map(_squared_change, self.a, self.u)
        return float(self.risk.engine.total(squares)) * self.kappa / (2 * self.risk.weight)

    def update(self, kappa: float) -> None:
        """Takes the slopes for multipliers, and the round-off of many steps out of the scores."""
        self.risk.passes += 1
        self.z = self.risk.engine.map(tasks.scores, self.w)
        self.a, self.kappa = self.u, kappa
        self.look()

    def point(self) -> LinearPoint:
        """The risk itself at w."""
        return LinearPoint(self.risk, self.w, self.z, self.b)

    def cut(self) -> Cut:
        """The cut that the slopes u make."""
        return cut_of(self.risk, self.u, self.gradient)

    def newton(self, diagonal: Array, g: Array) -> tuple[Array, float]:
        """(p, rate of b) that solve (diagonal + Hessian of M) p = -g and the same for b."""
        risk, n_bent = self.risk, sum(len(rows) for rows in self.bent)
        risk.passes += round(n_bent / risk.n_rows)
        scale = 1 / (risk.weight * self.kappa)
        g = np.append(g, self.offset_slope if risk.has_intercept else 0.0)
        # Without an intercept b stays where it is; with one, it has a little inertia of its own,
        # and where no row is bent as much as if all were.
        inertia = scale * (1e-6 * n_bent or risk.n_rows) if risk.has_intercept else 1.0
        diagonal = np.append(diagonal, inertia)
        if min(n_bent, len(g)) > _DENSE:
            p = self._by_gradients(diagonal, scale, g)
        elif n_bent >= len(g):
            p = self._in_columns(diagonal, scale, g)
        else:
            p = self._in_rows(diagonal, scale, g)
        return -p[:-1], -float(p[-1]) if risk.has_intercept else 0.0

    def _in_columns(self, diagonal: Array, scale: float, g: Array) -> Array:
        H: Array = scale * self.risk.engine.total(self.risk.engine.map(_gram, self.bent))
        if not self.risk.has_intercept:
            H[-1] = 0.0
        H[np.diag_indices_from(H)] += diagonal
        return _solved(H, g)

    def _in_rows(self, diagonal: Array, scale: float, g: Array) -> Array:
        """By Woodbury's formula, with as many unknowns as rows are bent."""
        X = self._chosen(scale)
        inverse = 1 / diagonal
        H = X @ (X * inverse[np.newaxis]).T
        H = H.toarray() if sparse.issparse(H) else H
        H[np.diag_indices_from(H)] += 1.0
        inner = _solved(H, X @ (inverse * g)) if len(H) else np.zeros(0)
        step: Array = inverse * (g - X.T @ inner)
        return step

    def _by_gradients(self, diagonal: Array, scale: float, g: Array) -> Array:
        X, d = self._chosen(scale), len(g)
        squares = np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=0)).ravel()
        H = LinearOperator((d, d), matvec=lambda p: diagonal * p + X.T @ (X @ p), dtype=float)
        shape = LinearOperator((d, d), matvec=lambda p: p / (diagonal + squares), dtype=float)
        p: Array = cg(H, g, rtol=0.1, maxiter=50, M=shape)[0]
        return p

    def _chosen(self, scale: float) -> Any:
        """The bent rows with the roots of their weights, and their column of ones."""
        parts = list(self.risk.engine.map(_bent_rows, self.bent, self.risk.has_intercept))
        stacked = sparse.vstack if sparse.issparse(parts[0]) else np.vstack
        return np.sqrt(scale) * stacked(parts).astype(np.float64)

    def towards(self, p: Array, rate: float) -> AugmentedRay:
        """The ray (w + eta p, b + eta rate): a pass."""
        self.risk.passes += 1
        return AugmentedRay(self, p, rate, self.risk.engine.map(tasks.scores, p))


class AugmentedRay:
    """eta -> M(w + eta p, b + eta rate)."""

    def __init__(self, origin: AugmentedRisk, p: Array, rate: float, q: PerShard):
        self.origin, self.p, self.rate, self.q = origin, p, rate, q

    def slope(self, eta: float) -> Slope:
        """Its slope at eta: no pass."""
        at, engine = self.origin, self.origin.risk.engine
        settings = at.risk.loss, at.z, at.a, at.kappa, at.b, self.q, self.rate, eta
        parts = engine.map(_augmented_slope_along, *settings).split(2)
        slope, curvature = engine.totals(*parts)
        return Slope(float(slope) / at.risk.weight, float(curvature) / at.risk.weight)

    def move(self, eta: float) -> None:
        """Takes the step: a pass for the gradient."""
        at = self.origin
        at.z = at.risk.engine.map(tasks.moved, at.z, self.q, eta)
        at.w, at.b = at.w + eta * self.p, at.b + eta * self.rate
        at.look()


def _solved(H: Array, g: Array) -> Array:
    """H x = g for a symmetric positive definite H, of which the lower triangle is read."""
    factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    x: Array = scipy.linalg.cho_solve(factor, g, check_finite=False)
    return x


def _squared_distances(shard: Shard, loss: ScalarLoss, b: float) -> float:
    """sum_i s_i (b - its nearest kink)^2."""
    nearest = np.min(np.abs(loss.kinks(shard.y) - b), axis=0)
    return float(tasks.weights(shard) @ nearest**2)


def _augmented_slopes(
    shard: Shard, loss: ScalarLoss, z: Array, a: Array, kappa: float, b: float
) -> tuple[Array, npt.NDArray[np.int32]]:
    u, bent = np.empty_like(z), np.empty(len(z), dtype=np.int32)
    n = _kernels.augmented_slopes(twins.built_in(loss), z, shard.y, a, kappa, b, u, bent)
    return u, bent[:n]


def _augmented_slope_along(
    shard: Shard,
    loss: ScalarLoss,
    z: Array,
    a: Array,
    kappa: float,
    b: float,
    q: Array,
    rate: float,
    eta: float,
) -> tuple[float, float]:
    return _kernels.augmented_slope_along(
        twins.built_in(loss), z, shard.y, shard.s, a, kappa, b, q, rate, eta
    )


def _squared_change(shard: Shard, a: Array, u: Array) -> float:
    return float(tasks.weights(shard) @ (u - a) ** 2)


def _gram(shard: Shard, bent: npt.NDArray[np.int32]) -> Array:
    """The lower triangle of sum s_i x_i x_i' over some rows, with a last column of ones."""
    rows, d = shard.rows, shard.rows.n_columns
    if isinstance(rows, SparseRows):
        G = np.zeros((d + 1, d + 1))
        _kernels.csr_gram(rows.row_start, rows.column, rows.value, shard.s, bent, len(bent), G)
        return G
    X = cast(Array, _bent_rows(shard, bent, True))
    return X.T @ X


def _bent_rows(shard: Shard, bent: npt.NDArray[np.int32], ones: bool) -> Any:
    """Some rows times the roots of their weights, with a last column of ones or zeros."""
    X = shard.rows.take(bent.astype(np.intp)).matrix()
    root = np.ones(len(bent)) if shard.s is None else np.sqrt(shard.s[bent])
    last = (root if ones else np.zeros(len(bent)))[:, np.newaxis]
    if sparse.issparse(X):
        return sparse.hstack([sparse.diags_array(root) @ X, sparse.csr_array(last)], format="csr")
    return np.hstack([root[:, np.newaxis] * X, last])
