"""The dual of a kernel problem, as ascent on working sets of rows climbs it.

A dual point is a slope a_i for each row, alpha_i = s_i/S a_i, and the scores z = -K alpha / lambda
that go with it. From these all else is had without a pass: beta = -alpha / lambda is a primal
point whose scores are z, and alpha'K alpha = -lambda <alpha, z>. Steps on few rows W change z on
all rows by their columns of K, of which as many are kept as the memory granted holds.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.shards import Shard
from fenchel.losses.scalar_rows import NativeScalarRows, is_built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Cut, Problem, Risk
from fenchel.risks.gram_rows import KernelRows
from fenchel.risks.kernel import KernelPoint, KernelRisk
from fenchel.risks.views.dual_cut import cut_of
from fenchel.risks.zero_sum import even
from fenchel.tolerances import ROUND_OFF

Indices = npt.NDArray[np.intp]


class KernelColumns:
    """Columns of K, the last used of which are kept."""

    def __init__(self, risk: KernelRisk):
        self.risk = risk
        n = risk.n_rows
        self.whole = 8 * n * n <= risk.gram.memory  # then the shards keep all of K
        self.capacity = min(n, max(risk.gram.memory // (8 * n), 2))
        self._slots: OrderedDict[int, int] = OrderedDict()  # the least recently used first
        self._kept = np.empty((0 if self.whole else self.capacity, n))
        self._unpaid = 0.0

    def take(self, rows: Indices) -> list[Array]:
        """A line for each of the rows, no more than are kept: k with all rows. Not a copy."""
        if self.whole:
            return list(self._computed(rows))
        missing = np.array([i for i in rows.tolist() if i not in self._slots], dtype=np.intp)
        for i in rows.tolist():
            if i in self._slots:
                self._slots.move_to_end(i)
        if len(missing):
            slots = [self._slot(i) for i in missing.tolist()]
            self._kept[slots] = self._computed(missing)
        return [self._kept[self._slots[i]] for i in rows.tolist()]

    def _slot(self, i: int) -> int:
        full = len(self._slots) >= self.capacity
        slot = self._slots.popitem(last=False)[1] if full else len(self._slots)
        self._slots[i] = slot
        return slot

    def _computed(self, rows: Indices) -> Array:
        engine = self.risk.engine
        self._unpaid += len(rows) / self.risk.n_rows
        self.risk.passes += int(self._unpaid)
        self._unpaid -= int(self._unpaid)
        return np.concatenate(list(engine.map(_lines, rows)), axis=1)


def _lines(shard: Shard, rows: Indices) -> Array:
    assert isinstance(shard.rows, KernelRows)
    return shard.rows.lines(rows)


class KernelDual:
    """Slopes of all rows, and their scores."""

    def __init__(self, problem: Problem):
        risk = problem.risk
        assert isinstance(risk, KernelRisk)
        self.risk, self.problem, self.strength = risk, problem, problem.strength
        engine = risk.engine
        bound = engine.shards[0].bound(risk.loss)
        assert isinstance(bound, NativeScalarRows)
        self.loss = bound.native
        self.y = engine.gather(engine.map(shardwork.labels))
        self.share = engine.gather(engine.map(shardwork.weights)) / risk.weight
        self.offset = engine.gather(engine.map(_offsets))
        self.columns = KernelColumns(risk)
        self.a, self.z = np.zeros(risk.n_rows), np.zeros(risk.n_rows)
        self.b = 0.0

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """Rows known through a kernel, with a built-in loss of pieces that are quadratic."""
        if not isinstance(risk, KernelRisk):
            return "it is for rows that are known through a kernel"
        if risk.classes is None and is_built_in(risk.loss) and risk.facts.piecewise:
            return None
        return (
            "it knows the dual steps of built-in losses of one score that are piecewise quadratic"
        )

    @property
    def alpha(self) -> Array:
        """The dual variables, s_i/S a_i."""
        return self.share * self.a

    def assign(self, alpha: Array) -> None:
        """Takes over dual variables, moved to where they are feasible: a pass."""
        risk, engine = self.risk, self.risk.engine
        a = engine.gather(
            engine.map(shardwork.unweighted, engine.scatter(alpha), risk.weight, risk.loss)
        )
        if risk.facts.has_intercept:
            moved = even(self.share * a)
            a = np.divide(moved, self.share, out=np.zeros_like(a), where=self.share > 0)
        self.a = a
        self.settle()

    def settle(self) -> None:
        """Computes the scores anew, without the round-off of many steps: a pass."""
        risk, beta = self.risk, -self.alpha / self.strength
        if beta.any():
            risk.passes += 1
            self.z = risk.engine.gather(risk.engine.map(shardwork.scores, beta))
        else:
            self.z = np.zeros(risk.n_rows)

    def point(self, drift: float) -> KernelPoint:
        """The primal point that goes with the slopes, whose scores are known."""
        z, beta = self.risk.engine.scatter(self.z), -self.alpha / self.strength
        point = self.risk.point(self.risk, beta, z, self.b, drift)
        self.b = float(point.intercept)
        return point

    def cut(self) -> tuple[Cut, float]:
        """The cut that the slopes make, and the bound that it proves, less round-off."""
        adjoint = -self.strength * self.z
        cut = cut_of(self.risk, self.risk.engine.scatter(self.a), adjoint)
        square = max(-float(self.alpha @ self.z), 0.0)  # alpha'K alpha / lambda
        doubt = ROUND_OFF * (cut.sizes[1] + square + cut.sizes[0] * np.sqrt(square / self.strength))
        return cut, cut.b - square / 2 - doubt

    def intervals(self) -> tuple[Array, Array]:
        """By how much each score misses the least and the largest that its slope stands for.

        Where the first is > 0 the slope should fall, where the second is < 0 it should rise; with
        an intercept, where they are so beside those of another row.
        """
        low, high = np.empty_like(self.a), np.empty_like(self.a)
        _kernels.conjugate_scores(self.loss, self.y, self.a, low, high)
        z = self.z + self.offset
        counted = self.share > 0
        return np.where(counted, low - z, -np.inf), np.where(counted, high - z, np.inf)

    def ascend(self, rows: Indices, enough: float, most: int) -> None:
        """Steps on these rows until they meet the conditions among themselves, or `most` of them.

        All scores follow.
        """
        lines = self.columns.take(rows)
        before, z = self.a[rows], (self.z + self.offset)[rows]
        a = before.copy()
        among = np.array([line[rows] for line in lines])
        settings = self.strength, self.risk.facts.has_intercept, enough, most
        _kernels.working_set_ascend(
            self.loss, among, self.y[rows], self.share[rows], *settings, a, z
        )
        change = self.share[rows] * (a - before)
        self.a[rows], self.z = a, self.z.copy()
        for k in np.flatnonzero(change).tolist():  # a product would copy all lines
            self.z -= (change[k] / self.strength) * lines[k]


def _offsets(shard: Shard) -> Array:
    return np.zeros(shard.rows.n_rows) if shard.offset is None else shard.offset
