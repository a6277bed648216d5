"""Estimates of a subgradient from some of the rows, for stochastic methods.

A risk that is a mean over rows has the mean of their subgradients for its own. The mean over a
batch of rows drawn at random is right on average and costs the batch's share of a pass: a
stochastic method takes many such cheap, inexact steps. A risk that is not a sum over rows, such as
a loss of all scores at once, has no such estimate.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import Shard
from fenchel.engines import PerShard
from fenchel.errors import Incompatible, Phrase, Setting
from fenchel.losses import Loss
from fenchel.losses.scalar_rows import NativeScalarRows
from fenchel.regularizers import L2
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.owners import OwnersRisk
from fenchel.risks.structured import Rows, StructuredRisk

Indices = npt.NDArray[np.intp]


class Sampling:
    """A risk that is a sum over rows, of which some can be asked for alone."""

    def __init__(self, risk: Risk):
        self.risk = risk

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """A sum over rows is asked for, and one that this file knows how to part."""
        if not risk.facts.separable:
            return Phrase.of(
                "a batch of rows does not estimate a loss of all scores at once: leave out {batch}"
            )
        if not isinstance(risk, LinearRisk | StructuredRisk | OwnersRisk):
            return f"{type(risk).__name__} gives no subgradients of some rows alone"
        return None

    def batches_at_once(self, problem: Problem) -> Callable[..., int] | None:
        """What takes the steps of Pegasos on many batches: see kernels/pegasos.hpp; or None.

        For built-in losses of rows in one memory, under L2.
        """
        risk, regularizer = self.risk, problem.regularizer
        plain = type(regularizer) is L2 and regularizer.weights is None
        if not (plain and isinstance(risk, LinearRisk) and risk.facts.in_one_memory):
            return None
        shard = risk.engine.joined()
        rows, bound = shard.rows, shard.bound(risk.loss)
        if not (isinstance(bound, NativeScalarRows) and isinstance(rows, SparseRows | DenseRows)):
            return None
        parts = bound.native, bound.y, bound.s, bound.offset, risk.n_rows / risk.weight
        return functools.partial(rows.pegasos, _kernels.SampledProblem(*parts))

    def subgradient(self, w: Array, intercept: float | Array, rows: Indices) -> Array:
        """n / len(rows) times the sum over these rows, given in order, over S: right in the mean.

        The intercept is held where it is said to be.
        """
        risk = self.risk
        if isinstance(risk, OwnersRisk):
            if len(rows) < risk.n_rows:
                raise Incompatible("owners answer for all their rows: leave out ", Setting("batch"))
            return risk.at(w).subgradient
        if isinstance(risk, StructuredRisk):
            local = _parted(rows, risk.sizes)
            total: Array = risk.engine.total(risk.evaluated(w, local).split(3)[1])
        else:
            assert isinstance(risk, LinearRisk)
            local = _parted(rows, [shard.rows.n_rows for shard in risk.engine.shards])
            settings = risk.loss, risk.outputs(w), intercept, local
            total = risk.engine.total(risk.engine.map(_gradient, *settings)).ravel()
        return total * (risk.n_rows / (len(rows) * risk.weight))


def _parted(rows: Indices, sizes: list[int]) -> PerShard[Rows]:
    """The rows of each shard, counted from its first."""
    starts = np.cumsum([0, *sizes])
    parts = np.split(rows.astype(np.int64), np.searchsorted(rows, starts[1:-1]))
    return PerShard(part - start for part, start in zip(parts, starts[:-1], strict=True))


def _gradient(shard: Shard, loss: Loss, w: Array, b: Any, rows: Indices) -> Array:
    """The gradient over some of the shard's rows."""
    X = shard.rows.take(rows)
    return X.adjoint(shard.bound(loss).take(rows).slopes(X.scores(w), b)[1])
