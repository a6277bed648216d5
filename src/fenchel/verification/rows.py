"""What a witness proves of a risk of rows: of a mean over rows, or of a loss of all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate
from fenchel.losses import FBeta, NuLoss, NuNovelty, Sample
from fenchel.losses.ordinal import PairwiseHinge, pair_weights
from fenchel.losses.ranking import Ranking
from fenchel.risks.base import Risk
from fenchel.risks.kernel import KernelRisk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.multivariate import MultivariateRisk
from fenchel.risks.nu import NuRisk
from fenchel.tolerances import AGREEMENT, EPSILON, ROUND_OFF, SCORES, VERIFIED_ZERO
from fenchel.verification.duals import RowCut
from fenchel.verification.evidence import Evidence
from fenchel.verification.kernel_rows import KernelEvidence
from fenchel.verification.row_data import RowEvidence
from fenchel.witness import Tangency

Array = npt.NDArray[np.float64]


def rows_of(risk: Risk) -> Evidence | None:
    """A risk's rows; None where it is not made of rows that are here."""
    if isinstance(risk, MultivariateRisk):
        return _JointData(risk)
    if isinstance(risk, NuRisk):
        return _NuData(risk)
    if isinstance(risk, KernelRisk):
        return KernelEvidence(risk)
    return RowEvidence(risk) if isinstance(risk, LinearRisk) else None


class _JointData(RowEvidence):
    """The same for a loss of all scores at once."""

    def __init__(self, risk: MultivariateRisk):
        super().__init__(risk)
        weighted = any(shard.s is not None for shard in risk.engine.shards)
        s = np.concatenate([shard.s for shard in risk.engine.shards]) if weighted else None
        self.joint, self.sample = risk.loss, Sample(self.y, s, risk.starts)
        self.has_ties = risk.has_ties
        self.takes_levels = risk.loss.soft

    def value(self, w: Array, b: float | Array) -> float:
        z = self.scores(w) + b
        c, g = self.joint.tangent(z, self.sample)
        return c + float(np.sum(g * z))

    def tangent(self, touch: Tangency, z: Array, *, blurred: bool = False) -> RowCut:
        """The tangent at rounded scores, as the solver had them: any tangent is below R.

        Its slopes are sums over the rows of what pairs of them, or their ranks, weigh.
        """
        if touch.offsets is not None:
            return self._soft_tangent(touch, z, float(touch.offsets.mu), blurred)
        off = self.score_error(touch.w) if blurred else np.zeros_like(z)
        line = RowCut(np.zeros_like(z), 0.0, np.zeros_like(z), 0.0)
        below, above, *weights = touch.bracket
        for offset, weight in zip((below, above), weights, strict=True):
            at = _rounded(z + offset) if self.has_ties else z + offset
            c, g = self.joint.tangent(at, self.sample)
            error = self._sum_error(g)
            doubt = ROUND_OFF * (abs(c) + float(np.sum(np.abs(g)))) + float(np.sum(np.abs(g) * off))
            line = line.plus(RowCut(g, c, error, doubt), weight)
        return line

    def _soft_tangent(self, touch: Tangency, z: Array, mu: float, blurred: bool) -> RowCut:
        """A mean of tangents, where maxima are soft: of any shares of rows, pairs or rankings.

        A share is a difference of scores over a width of mu / 4 or more, some units off; the
        heights of F_beta are those of sums of shares, a part of 2 / positives for each.
        """
        off = self.score_error(touch.w) if blurred else np.zeros_like(z)
        line = RowCut(np.zeros_like(z), 0.0, np.zeros_like(z), 0.0)
        below, above, *weights = touch.bracket
        largest = 1.0 + float(np.max(np.abs(z))) + max(abs(below), abs(above))
        unit = (16 * EPSILON * largest + off + np.max(off)) * (4 / mu)
        for offset, weight in zip((below, above), weights, strict=True):
            if weight == 0:
                continue
            c, g, _ = self.joint.soft_tangent(z + offset, self.sample, mu)
            error = self._sum_error(g) + np.minimum(unit, 1.0) * self._steepest()
            doubt = ROUND_OFF * (abs(c) + float(np.sum(np.abs(g))))
            doubt += float(np.max(unit)) * self._heights()
            line = line.plus(RowCut(g, c, error, doubt), weight)
        return line

    def _steepest(self) -> Array:
        """The largest slope that each row can have, or more."""
        sample, n = self.sample, len(self.y)
        if not isinstance(self.joint, PairwiseHinge):
            return np.full(n, 2.0 / (sample.n_groups if self.joint.grouped else n))
        return self._of_pairs() / sample.n_groups

    def _heights(self) -> float:
        """How fast the cut's height changes with the shares of rows, all of them together."""
        if isinstance(self.joint, FBeta):
            return 2.0 * len(self.y) / float(np.sum(self.y > 0))
        return (
            float(np.max(np.diff(self.sample.starts))) if isinstance(self.joint, Ranking) else 1.0
        )

    def _of_pairs(self) -> Array:
        """The weight of all pairs that a row may be in, over that of all pairs of its group."""
        assert isinstance(self.joint, PairwiseHinge)
        sample, s = self.sample, self.sample.weights
        pairs, total = pair_weights(sample), np.bincount(sample.groups, s, sample.n_groups)
        each = np.divide(total, pairs, out=np.zeros_like(pairs), where=pairs > 0)
        cost = 1.0 if self.joint.cost is None else float(np.max(self.joint.cost))
        return np.asarray(cost * s * each[sample.groups])

    def _sum_error(self, g: Array) -> Array:
        """Of slopes that are sums of up to n terms, relative to the largest for a row's weight.

        Those of pairs are differences of running sums over all weights of a group, in units of its
        pairs' weight.
        """
        counted, n = self.share > 0, len(g)
        steepest = float(np.max(np.abs(g[counted]) / self.share[counted], initial=0.0))
        error = EPSILON * n * steepest * self.share
        if isinstance(self.joint, PairwiseHinge):
            error += 4 * EPSILON * n * self._of_pairs() / self.sample.n_groups
        return error

    def blur(self, w: Array, b: float | Array) -> float:
        """What errors of the scores do to R, by its slopes; and those of slopes and constant.

        The constant is made of the same sums over rows as the slopes, of margins of order 1.
        """
        z = self.scores(w) + b
        c, g = self.joint.tangent(z, self.sample)
        off = self.score_error(w) + SCORES * np.abs(b)
        moved = float(np.sum((np.abs(g) + self.share) * off))
        return moved + float(np.sum(self._sum_error(g) * (1 + np.abs(z)))) + AGREEMENT * abs(c)


def _rounded(z: Array) -> Array:
    """Scores to 38 bits of their mantissas, as the library rounds them."""
    mantissa, exponent = np.frexp(z)
    whole = np.floor(np.abs(mantissa) * 2.0**38 + 0.5)
    return np.asarray(np.ldexp(np.copysign(whole, z), exponent - 38))


class _NuData(RowEvidence):
    """The same for a loss of all margins, u = y z: see losses/nu.py for R and its alpha."""

    def __init__(self, risk: NuRisk):
        super().__init__(risk)
        self.loss, self.has_intercept = risk.nu_loss, False
        self.nonnegative = False
        self.groups = risk.groups

    def value(self, w: Array, b: float | Array) -> float:
        """The mean of max(0, rho - u) - nu rho at this b; of novelty, which has no b, at rho = -b.

        Rho need not be looked for between margins: the mean bends nowhere else.
        """
        loss, z = self.loss, self.scores(w)
        assert isinstance(loss, NuLoss)
        if isinstance(loss, NuNovelty):
            u, rho = z, -float(b)
        else:
            u = self.y * (z + b)
            order = np.argsort(u)
            reached = np.searchsorted(np.cumsum(self.share[order]), loss.nu)
            rho = float(u[order[min(int(reached), len(u) - 1)]])
        return float(np.sum(self.share * np.maximum(0.0, rho - u))) - loss.nu * rho

    def blur(self, w: Array, b: float | Array) -> float:
        """R is a mean of margins below a threshold: off by no more than they are."""
        off = self.score_error(w) + SCORES * np.abs(b) + ROUND_OFF * np.abs(self.scores(w))
        return 2 * float(np.sum(self.share * off))

    def tangent(self, touch: Tangency, z: Array, *, blurred: bool = False) -> RowCut:
        """(-y alpha, 0), where alpha is a possible one: within its rows' shares, of the right sum.

        Rows below their threshold have all of their share, others at most that.
        """
        u = self.y * z
        tied = np.zeros(len(u), dtype=bool)
        alpha = np.zeros_like(u)
        if touch.ties is not None:
            tied[touch.ties.rows] = True
            alpha[touch.ties.rows] = -(self.y * self.share)[touch.ties.rows] * touch.ties.slopes
        for rows, mass in self.groups:
            order = np.flatnonzero(rows & ~tied)
            order = order[np.argsort(u[order], kind="stable")]
            share, left = self.share[order], mass - float(np.sum(alpha[rows]))
            alpha[order] = np.clip(left - (np.cumsum(share) - share), 0.0, share)
            missing = abs(mass - float(np.sum(alpha[rows])))
            if (
                missing > VERIFIED_ZERO
                or np.any(alpha < 0)
                or np.any(alpha > self.share * (1 + VERIFIED_ZERO))
            ):
                raise InvalidCertificate("the witness's slopes are none that its loss can have")
        error = EPSILON * len(u) * self.share  # its cumulative sums'
        off = self.score_error(np.asarray(touch.w, dtype=np.float64)) if blurred else 0.0
        return RowCut(-self.y * alpha, 0.0, error, float(np.sum(alpha * off)))
