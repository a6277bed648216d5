"""Bounds that hold in exact arithmetic, for the numbers given as the floats they are.

For any t with t_i / s_i in the domain of l*( . , y_i), and sum_i t_i = 0 where b is minimised over,

    min J >= -1/S sum_i [s_i l*(t_i / s_i, y_i) - t_i o_i] - lambda Omega*(-1/(lambda S) X't),

by Fenchel's inequality, s_i l(z_i + b + o_i) >= t_i (z_i + b + o_i) - s_i l*(t_i / s_i), summed
over the rows, where b sum_i t_i = 0 drops out, and lambda Omega(w) >= -<X't, w>/S - lambda
Omega*(...). Of a vector loss a row has K of each, and the sums are 0 for each score.

Nothing of the witness is believed. Its dual variables (or the slopes at its tangencies) in floating
point are moved inside their domains and to the right sums exactly (grid.py); X't is enclosed
(exact_products.py); under L1 all t are scaled by a theta <= 1 so that |X't| is within its box for
sure, which leaves their sums 0 and, as domains are convex and hold 0, each in its domain; and the
rest is computed in intervals (enclosed_losses.py). min J <= J(w, b) is enclosed the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import CRF, M3N, Conjugable, SoftM3N
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.result import Certificate
from fenchel.risks.base import Problem
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.verification.check import touching
from fenchel.verification.duals import exact_duals
from fenchel.verification.enclosed_chains import ExactChains
from fenchel.verification.enclosed_losses import (
    SCALAR,
    conjugate_above,
    value_above,
)
from fenchel.verification.enclosed_vectors import EnclosedVectors, enclosed_vectors
from fenchel.verification.exact_products import SlicedMatrix
from fenchel.verification.intervals import (
    Array,
    Interval,
    down,
    exact,
    sum_above,
    summed,
)
from fenchel.verification.row_data import RowEvidence
from fenchel.witness import Witness

_POSSIBLE = (
    "rigorous bounds are for the mean of a built-in loss with a conjugate, of one score a row or "
    "of K, or of a built-in loss of sequences, under l2, l1 or elastic_net with a strength > 0 and "
    "every coordinate but intercepts penalised"
)


def proved(
    w: Array, b: float | Array, witness: Witness | None, problem: Problem, data: Any
) -> Certificate:
    """The bounds that the witness and w prove; Incompatible where there are no formulas."""
    _check(problem, data)
    exactly = ExactChains(data) if isinstance(data, ChainEvidence) else ExactRows(data)
    if witness is None:
        source, witness = "tangent at w", Witness([touching(w, b)], [1.0])
    else:
        source = "witness"
    n = len(w) if isinstance(data, ChainEvidence) else data.n_columns * (data.K or 1)
    penalty = ExactPenalty(problem, n, exactly.S)
    upper = float(exact(penalty.value_above(w)).plus(exact(exactly.value_above(w, b))).hi)
    if isinstance(exactly, ExactChains):
        lower = exactly.bound(witness, penalty)
    else:
        lower = exactly.bound(data.duals(witness, problem), penalty)
    if data.nonnegative:
        lower = max(0.0, lower)
    if lower > upper:
        raise InvalidCertificate(
            f"min J >= {lower!r} and J(w) <= {upper!r} are both proved in exact arithmetic, so one "
            "of the formulas in `verification` is wrong: please report it, with the data"
        )
    return Certificate(lower, upper, f"{source}, in exact arithmetic")


def _check(problem: Problem, data: Any) -> None:
    omega = problem.regularizer
    if type(data) is RowEvidence:
        known = data.loss.has_conjugate and (data.K is not None or type(data.loss) in SCALAR)
        n_offsets = (data.K or 1) if data.has_offsets else 0
    elif type(data) is ChainEvidence:
        known, n_offsets = type(data.loss) in (CRF, SoftM3N, M3N), 0
    else:
        raise Incompatible(f"{_POSSIBLE}; this one is no mean over rows")
    if not known:
        raise Incompatible(f"{_POSSIBLE}; the loss is {data.loss!r}")
    if type(omega) not in (L2, L1, ElasticNet):
        raise Incompatible(f"{_POSSIBLE}; the regulariser is {omega!r}")
    n_free = 0 if omega.weights is None else int(np.sum(omega.weights == 0))
    if problem.strength == 0 or n_free > n_offsets:
        free = f"{n_free - n_offsets} other coordinates are free" if n_free else "it is 0"
        raise Incompatible(f"{_POSSIBLE}; {free}")


class ExactRows:
    """The rows that count, with exact dual variables and enclosed scores."""

    def __init__(self, data: RowEvidence):
        self.data, self.counted = data, data.s > 0
        self.s, self.y = data.s[self.counted], data.y[self.counted]
        self.S = summed(exact(self.s))
        offset = np.broadcast_to(data.offset, data.s.shape) if data.K is None else data.offset
        self.offset = offset[self.counted] if data.K is None else offset
        self.vectors: EnclosedVectors | None = None
        if data.K is not None:
            self.vectors = enclosed_vectors(data.loss, data.K, self.y, self.s)

    def value_above(self, w: Array, b: float | Array) -> float:
        """No less than the mean loss at w and b."""
        data, n = self.data, self.data.n_columns
        W = data.columns(w)
        parts = [SlicedMatrix(block).scores(W[:n]) for block in data.blocks()]
        z = Interval(*(np.concatenate(ends)[self.counted] for ends in zip(*parts, strict=True)))
        if self.vectors is not None:
            if data.has_offsets or data.has_intercept:
                z = z.plus(exact(W[n] if data.has_offsets else np.asarray(b)))
            each = self.vectors.value_above(z)
        else:
            assert isinstance(data.loss, Conjugable)
            shift = exact(np.full_like(self.offset, b)).plus(exact(self.offset))
            each = value_above(data.loss, z.plus(shift) if np.any(shift.size) else z, self.y)
        total = sum_above(exact(each).times(exact(self.s)).hi)
        return float(exact(total).over(self.S).hi)

    def bound(self, alpha: Array, penalty: ExactPenalty) -> float:
        """What dual variables near S alpha prove."""
        t = self.duals(alpha)
        at_scores = self.vectors.at_scores(t) if self.vectors else t
        theta, conjugate = penalty.conjugate_above(self._adjoint(at_scores))
        scaled = exact(t) if theta == 1 else exact(t).times(exact(theta))
        if self.vectors is not None:
            terms = self.vectors.conjugate_above(scaled)
        else:
            terms = self._scalar_terms(scaled)
        mean = exact(sum_above(terms)).over(self.S).hi
        return -float(exact(mean).plus(exact(conjugate)).hi)

    def duals(self, alpha: Array) -> Array:
        """Exact dual variables near S alpha, inside their domains and with the sums they need."""
        t = alpha[self.counted] * float(self.S.lo)
        if self.vectors is not None:
            balance = self.data.has_offsets or self.data.has_intercept
            return self.vectors.duals(t, balance=balance)
        loss = self.data.loss
        assert isinstance(loss, Conjugable)
        return exact_duals(loss, t, self.y, self.s, balance=self.data.has_intercept)

    def _scalar_terms(self, t: Interval) -> Array:
        """No less than s_i l*(t_i / s_i) - t_i o_i."""
        loss, s = self.data.loss, exact(self.s)
        assert isinstance(loss, Conjugable)
        terms = exact(conjugate_above(loss, t.over(s), self.y)).times(s)
        if self.offset.any():
            terms = terms.minus(t.times(exact(self.offset)))
        return terms.hi

    def _adjoint(self, t: Array) -> Interval:
        """X't, over all blocks."""
        whole = np.zeros((len(self.counted), *t.shape[1:]))
        whole[self.counted] = t
        total = exact(np.zeros((self.data.n_columns, *t.shape[1:])))
        for block, part in self.data.parts(whole):
            total = total.plus(SlicedMatrix(block).adjoint(part))
        return total


class ExactPenalty:
    """lambda Omega, of coordinates that are all penalised but for intercepts."""

    def __init__(self, problem: Problem, n: int, S: Interval):
        self.omega: Any = problem.regularizer
        self.strength, self.S = exact(problem.strength), S
        weights = self.omega.weights
        self.c = exact(np.ones(1) if weights is None else weights[:n])
        self.rho = exact(getattr(self.omega, "l1_ratio", float(type(self.omega) is L1)))
        self.n = n

    def value_above(self, w: Array) -> float:
        """No less than lambda sum_j c_j (rho |w_j| + (1 - rho)/2 w_j^2)."""
        w = w[: self.n]
        straight, curved = exact(np.abs(w)), exact(w).squared().times(exact(0.5))
        if type(self.omega) is ElasticNet:
            straight = straight.times(self.rho)
            curved = curved.times(exact(1.0).minus(self.rho))
            each = straight.plus(curved)
        else:
            each = straight if type(self.omega) is L1 else curved
        total = sum_above(each.times(self.c).hi)
        return float(exact(total).times(self.strength).hi)

    def conjugate_above(self, a: Interval) -> tuple[float, float]:
        """(theta, no less than lambda Omega*(-theta a / (lambda S))), theta = 1 but for L1."""
        size, scale = exact(a.size.ravel()), self.strength.times(self.S)
        if type(self.omega) is L1:
            edge = self.c.times(scale).lo
            with np.errstate(all="ignore"):
                ratio = np.where(size.hi > edge, down(edge / size.hi), 1.0)
            return float(np.min(ratio, initial=1.0)), 0.0
        if type(self.omega) is L2:
            total = sum_above(size.squared().over(self.c).hi)
            return 1.0, float(exact(total).over(scale.times(self.S).times(exact(2.0))).hi)
        u = size.over(scale)
        excess = np.maximum(u.minus(self.c.times(self.rho)).hi, 0.0)
        curvature = self.c.times(exact(1.0).minus(self.rho)).times(exact(2.0))
        total = sum_above(np.where(excess > 0, exact(excess).squared().over(curvature).hi, 0.0))
        return 1.0, float(exact(total).times(self.strength).hi)
