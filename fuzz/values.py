"""J(w) in long double by formulas of the campaign's own, and how far off they can be.

A lower bound is false if it is above J at any point, so a reference is no more than that: a w and
`above(w) >= J(w)` in exact arithmetic. With u = 2^-64, the unit of long double,

- the score of a row is off by at most delta_i = (d + 4) u (<|x_i|, |w|> + |b| + |o_i| + |y_i| + 1),
  which includes the subtraction of y or 1 that losses begin with;
- a convex loss of one score is, on [z - delta, z + delta], largest at one of its ends; all others
  rise by no more than 2 `steepness` times the largest delta, `steepness` being what the costs are;
- sums of terms that are none negative are off by (n + 16) u of themselves, and where terms of both
  signs are added, by as much of their magnitudes.

Where Omega is inf outside a set, w is moved into it first: a solver's w is there up to round-off.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from formulas import Rows, is_log_link, joint_value, penalty, rowwise, steepness

from fenchel.losses import ChainLoss, MultivariateLoss, NuLoss, ScalarLoss
from fenchel.regularizers import Boxed, ElasticNetBall, Entropy, Regularizer
from fenchel.risks.base import Problem

Long = npt.NDArray[np.longdouble]
UNIT, DOUBLE = np.longdouble(2.0) ** -64, np.longdouble(2.0) ** -53  # unit round-offs


class Value(NamedTuple):
    """J at some w: about `at`, and not above `above`."""

    at: np.longdouble
    above: np.longdouble
    in_doubles: np.longdouble  # how far off J is at most when it is computed in float64
    moved: float  # how far w was outside the domain of Omega, relative to its size


class Reference:
    """The objective of a problem as its data say."""

    def __init__(self, X: Any, y: Any, given: dict[str, Any], problem: Problem):
        self.X: Long = (X if isinstance(X, np.ndarray) else X.toarray()).astype(np.longdouble)
        self.risk: Any = problem.risk
        self.omega, self.strength = problem.regularizer, np.longdouble(problem.strength)
        loss = given["loss"]
        self.loss = getattr(self.risk, "loss", loss) if hasattr(loss, "for_classes") else loss
        self.y, self.intercept = y, given["intercept"]
        n, groups = len(self.X), given.get("groups")
        weights = given.get("sample_weight")
        s = np.ones(n) if weights is None else np.asarray(weights)
        groups = np.zeros(n, dtype=np.int64) if groups is None else groups
        starts = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1, [n]])
        self.rows = Rows(self._codes(), s.astype(np.longdouble), starts)
        self.offset = np.asarray(given.get("offset", 0.0)).astype(np.longdouble)

    def _codes(self) -> Any:
        """Labels as numbers: +-1, codes, or what they are."""
        if self.y is None:
            return np.ones(len(self.X))
        y = np.asarray(self.y)
        if y.dtype.kind in "US":
            return np.searchsorted(self.loss.tree.classes, y)
        if self.loss.labels.name in ("CLASSES", "TAGS"):
            return np.searchsorted(np.unique(y), y)
        if self.loss.labels.name == "BINARY":
            return np.where(y == np.max(y), 1.0, -1.0) if len(np.unique(y)) > 1 else np.sign(y)
        return y

    def at(self, w: npt.ArrayLike, b: Any) -> Value:
        """J at the w and b of a result."""
        shown = np.asarray(w, dtype=np.float64)
        flat = self.risk.flattened(shown, b).astype(np.longdouble)
        inside = feasible(self.omega, flat)
        moved = float(
            np.max(np.abs(inside - flat), initial=0.0) / (1 + np.max(np.abs(flat), initial=0.0))
        )
        value, error = self._objective(inside, b, UNIT)
        in_doubles = self._objective(inside, b, DOUBLE)[1]
        if moved:  # by round-off, which is as much as any other
            in_doubles += abs(self._risk(flat, b, DOUBLE)[0] - self._risk(inside, b, DOUBLE)[0])
        return Value(value, value + error, in_doubles, moved)

    def _objective(self, w: Long, b: Any, u: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
        """(J, how far off it is at most when it is computed with the unit round-off u)."""
        risk, error = self._risk(w, b, u)
        omega, doubt = penalty(self.omega, w)
        sums = (len(w) + len(self.X) + 16) * u
        value = self.strength * omega + risk
        return value, error + sums * (self.strength * (omega + doubt) + abs(risk))

    def _risk(self, w: Long, b: Any, u: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
        """(R, how far off it may be)."""
        if isinstance(self.loss, ChainLoss):
            return self._chains(w, u)
        n, d = self.X.shape
        vector = not isinstance(self.loss, ScalarLoss | MultivariateLoss | NuLoss)
        W = w.reshape(-1, self.risk.n_outputs) if vector else w[:, np.newaxis]
        # Intercepts of a vector loss are the last coordinates, unless they are profiled out.
        last = W[d] if len(W) > d else np.asarray(b, dtype=np.longdouble)
        y = self.rows.y
        Z = self.X @ W[:d] + last + self.offset[..., np.newaxis]
        labels = np.abs(y.reshape(n, -1)) if y.dtype.kind == "f" else 0.0
        sizes = np.abs(self.X) @ np.abs(W[:d]) + np.abs(last) + labels + 1
        sizes = np.max(sizes + np.abs(self.offset)[..., np.newaxis], axis=1)
        delta = (d + 4) * u * sizes
        if isinstance(self.loss, MultivariateLoss | NuLoss):
            value = joint_value(self.loss, Z[:, 0], self.rows, self.intercept, b)
            return value, self._steepest() * np.max(delta)
        return self._means(Z, delta, vector, u)

    def _means(
        self, Z: Long, delta: Long, vector: bool, u: np.longdouble
    ) -> tuple[np.longdouble, np.longdouble]:
        share = self.rows.share
        counted = share > 0  # a row of weight 0 is not there, even at inf
        y, share, delta = self.rows.y[counted], share[counted], delta[counted]
        Z = Z[counted] if vector else Z[counted, 0]
        value = share @ rowwise(self.loss, Z, y)
        if vector and self.loss.labels.name == "VECTORS":
            M = np.eye(Z.shape[1]) if self.loss.M is None else np.abs(self.loss.M)
            far = np.sum(np.abs(Z - y) + 1, axis=1)
            rise = share @ (delta * far * float(np.sum(M)) * 4)
            return value, rise
        if vector:
            return value, self._steepest() * np.max(delta, initial=0.0)
        ends = [rowwise(self.loss, Z + side * delta, y) for side in (-1, 1)]
        most = share @ np.maximum(*ends)
        extra = np.longdouble(0.0)
        if is_log_link(self.loss):  # terms of both signs
            sizes = (
                np.abs(y * Z) + np.abs(Z) + np.abs(y) * (1 + np.abs(np.log(np.maximum(y, 1e-300))))
            )
            extra = 64 * u * (share @ (1 + sizes + most))
        return value, abs(most - value) + extra

    def _steepest(self) -> float:
        return 2.0 * steepness(self.loss, self.risk)

    def _chains(self, w: Long, u: np.longdouble) -> tuple[np.longdouble, np.longdouble]:
        pairs = self.risk.pairs
        n, end, d = len(pairs.label), pairs.n_states, pairs.n_features
        W = np.zeros((d + pairs.n_labels, pairs.n_labels), dtype=np.longdouble)
        W[pairs.feature, pairs.label] = w
        Z, T = self.X @ W[:d], W[d:]
        longest = int(np.max(np.diff(self.rows.starts)))
        sizes = np.max(np.abs(self.X) @ np.abs(W[:d])) + np.max(np.abs(T), initial=0.0) + 1
        delta = (d + 4 + longest) * u * sizes * longest
        assert n >= end
        return joint_value(self.loss, Z, self.rows, T), self._steepest() * longest * delta


def feasible(omega: Regularizer, w: Long) -> Long:
    """The w nearby at which Omega is finite."""
    if isinstance(omega, Boxed):
        return np.clip(w, omega.lower, omega.upper)
    if isinstance(omega, ElasticNetBall):
        size = penalty(omega.net, w)[0]
        return w * (omega.radius / size) if size > omega.radius else w
    if not isinstance(omega, Entropy):
        return w
    cap = np.longdouble(1.0 if omega.cap is None else min(omega.cap, 1.0))
    w = np.clip(w, 0.0, cap)
    total = np.sum(w)
    if total > 1:
        return w / total
    room = np.sum(cap - w)
    return w + (1 - total) * (cap - w) / room if room > 0 else w
