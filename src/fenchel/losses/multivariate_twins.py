"""From a loss of all scores at once and its rows to its twin, the same formula in C++.

What depends on the labels alone, such as grades and where queries begin, is worked out once. A loss
that a user has written, or changed by a subclass, has no twin and answers by its own formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses.base import Array
from fenchel.losses.labeling import (
    PRBEP,
    FBeta,
    PrecisionAtK,
    RecallAtK,
    SmoothedFBeta,
    TopK,
)
from fenchel.losses.multivariate import MultivariateLoss, Sample, Tangent, both_classes
from fenchel.losses.ordinal import ROC, Ordinal, PairwiseHinge, levels
from fenchel.losses.ranking import ERU, MRR, NDCG, DiscountedGain, RankHinge, Ranking
from fenchel.losses.soft_counts import SoftTangent


class Twin(Protocol):
    """A loss with all that depends on the labels worked out: plain arrays."""

    def tangent(self, z: Array) -> Tangent:
        """The tangent at z."""

    def soft_tangent(self, z: Array, mu: float) -> SoftTangent:
        """That of L_mu."""

    def least(self, z: Array, guess: float) -> tuple[float, float, Array] | None:
        """(b, L(z + b), g): the best shift b, near the guess, and g in dL at it that adds up to 0.

        None where that is not known better than by trying.
        """


def twin(loss: MultivariateLoss, sample: Sample) -> Twin:
    """The native loss, by exact type: a subclass may have changed the formula."""
    arguments = _NATIVE.get(type(loss))
    formula = _Formula(loss, sample)
    return formula if arguments is None else _Native(formula, *arguments(loss, sample))


def _pairs(loss: PairwiseHinge, sample: Sample) -> tuple[str, tuple[Any, ...]]:
    level = levels(sample).astype(np.int32)
    return "pairwise_hinge", (level, sample.s, sample.starts, loss.cost)


def _fbeta(loss: FBeta, sample: Sample) -> tuple[str, tuple[Any, ...], str]:
    return "fbeta", (_numbers(sample), loss.beta), "least_fbeta"


def _smoothed_fbeta(loss: SmoothedFBeta, sample: Sample) -> tuple[str, tuple[Any, ...]]:
    return "smoothed_fbeta", (_numbers(sample), loss.beta, loss.mu)


def _top_k(loss: TopK, sample: Sample) -> tuple[str, tuple[Any, ...]]:
    return "top_k", (_numbers(sample), *loss.taken(len(both_classes(sample)[0])))


def _discounted_gain(loss: DiscountedGain, sample: Sample) -> tuple[str, tuple[Any, ...]]:
    sums = loss.sums(int(np.max(np.diff(sample.starts))))
    return "discounted_gain", (*_graded(loss, sample), sums)


def _reciprocal_rank(loss: MRR, sample: Sample) -> tuple[str, tuple[Any, ...]]:
    return "reciprocal_rank", _graded(loss, sample)


def _graded(loss: Ranking, sample: Sample) -> tuple[Any, ...]:
    level, gain = loss.graded(sample)
    return level.astype(np.int32), np.ascontiguousarray(gain, dtype=np.float64), sample.starts


def _numbers(sample: Sample) -> Array:
    return np.ascontiguousarray(sample.y, dtype=np.float64)


_NATIVE: dict[type[MultivariateLoss], Callable[[Any, Sample], tuple[Any, ...]]] = {
    ROC: _pairs,
    Ordinal: _pairs,
    RankHinge: _pairs,
    FBeta: _fbeta,
    SmoothedFBeta: _smoothed_fbeta,
    PrecisionAtK: _top_k,
    RecallAtK: _top_k,
    PRBEP: _top_k,
    NDCG: _discounted_gain,
    ERU: _discounted_gain,
    MRR: _reciprocal_rank,
}


class _Formula(NamedTuple):
    """A loss without a twin in C++, by its own formula."""

    loss: MultivariateLoss
    sample: Sample

    def tangent(self, z: Array) -> Tangent:
        c, g = self.loss.tangent(z, self.sample)
        g = np.ascontiguousarray(g, dtype=np.float64)
        if g.shape != z.shape or np.ndim(c) != 0:
            raise InvalidData(
                f"{self.loss!r} must give a number and a slope for each score; for {len(z)} scores "
                f"it gave shapes {np.shape(c)} and {g.shape}"
            )
        return Tangent(float(c), g)

    def soft_tangent(self, z: Array, mu: float) -> SoftTangent:
        return self.loss.soft_tangent(z, self.sample, mu)

    def least(self, z: Array, guess: float) -> None:
        return None


class _Native(NamedTuple):
    """A kernel by its name, with the arguments between scores and slopes; and one for shifts.

    The soft version of a kernel is named so, and takes mu after these arguments.
    """

    formula: _Formula
    kernel: str
    arguments: tuple[Any, ...]
    shifting: str | None = None

    def tangent(self, z: Array) -> Tangent:
        g = np.empty_like(z)
        return Tangent(getattr(_kernels, self.kernel)(z, *self.arguments, g), g)

    def soft_tangent(self, z: Array, mu: float) -> SoftTangent:
        loss, sample = self.formula
        if isinstance(loss, TopK):
            if not np.isfinite(z).all():
                return self.formula.soft_tangent(z, mu)
            return _soft_top_k(loss, sample, z, mu)
        g = np.empty_like(z)
        c, lack = getattr(_kernels, f"soft_{self.kernel}")(z, *self.arguments, mu, g)
        return SoftTangent(c, g, lack)

    def least(self, z: Array, guess: float) -> tuple[float, float, Array] | None:
        if self.shifting is None:
            return None
        g = np.empty_like(z)
        return *getattr(_kernels, self.shifting)(z, *self.arguments, guess, g), g


def _soft_top_k(loss: TopK, sample: Sample, z: Array, mu: float) -> SoftTangent:
    """Its shares are a quadratic over a box and a plane: linear time ([Zhang11] section 5.5.1)."""
    q, nu, k = loss.soft_scores(z, sample, mu)
    lower, upper, u = np.zeros_like(q), np.ones_like(q), np.empty_like(q)
    _kernels.box_plane_qp(nu, q / nu, lower, upper, upper, float(k), u)
    return loss.soft_cut(u, sample, nu)
