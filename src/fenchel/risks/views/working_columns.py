"""The method of multipliers under L1 where columns are many and few of them are not 0.

Columns that are 0 at the minimum could be left out from the start. Which they are is found on the
way, as column descent finds it: with v = X'(s u)/S of the slopes u,

    W = columns that were not 0, and those furthest beyond their bound |v_j| = t_j
    w, u = the least of J over the columns in W, and its slopes         (multiplier_run.py)
    v = X'(s u)/S of all columns, a pass

and u, scaled into the box |v_j| <= t_j of all columns, proves a bound of the whole. Each working
set holds the last one and starts from its slopes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.data.rows import DenseRows, SparseRows
from fenchel.engines import Serial
from fenchel.risks.base import Array, Problem, State
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.columns import columns_of
from fenchel.risks.views.multiplier_run import MultiplierRun, column_terms, cut_of, proved
from fenchel.witness import Witness

_FIRST = 100  # columns of the first working set that w does not say, and the fewest to be added
_INSIDE = 0.1  # the gap within a working set, relative to that of the whole


class WorkingRun:
    """The same as a `MultiplierRun`, on a working set of columns that grows."""

    point: LinearPoint
    J: float
    bound: float
    witness: Callable[[], Witness] | None

    def __init__(self, problem: Problem, w: Array, growth: float, state: State | None):
        risk = problem.risk
        assert isinstance(risk, LinearRisk)
        self.problem, self.risk, self.growth = problem, risk, growth
        self.t = column_terms(problem.regularizer, problem.strength, len(w)).t
        self.columns, self.free = columns_of(risk), problem.regularizer.free(len(w))
        if state is not None and "which" in state:
            self.which = np.array(state["which"])
            self._run({**state, "w": state["inside"]}, state["inside"])
        else:
            alpha = state["alpha"] if state is not None and "alpha" in state else None
            self._start(w, alpha)
        self._look()

    def _start(self, w: Array, alpha: Array | None) -> None:
        columns = self.columns
        if alpha is None:
            z = columns.scores(w)
            v = columns.adjoint(columns.loss.slopes(z)[1]) / self.risk.weight
        else:
            v = columns.adjoint(alpha)
        inside = w != 0
        inside[self.free] = True
        self.which = self._grown(np.flatnonzero(inside), v)
        self._run(None if alpha is None else {"alpha": alpha}, w[self.which])

    def _grown(self, which: npt.NDArray[np.intp], v: Array) -> npt.NDArray[np.intp]:
        """The columns `which` and those furthest beyond their bound, at most as many again."""
        excess = np.abs(v) / np.maximum(self.t, 1e-300)
        excess[which] = -math.inf
        n = min(max(_FIRST, len(which)), len(v) - len(which))
        added = np.argpartition(-excess, n - 1)[:n] if n else which[:0]
        if len(which) > _FIRST:
            added = added[excess[added] > 1]
        return np.sort(np.concatenate([which, added]))

    def _run(self, state: State | None, w: Array) -> None:
        """The problem in the columns of the working set alone."""
        shard, which = self.risk.engine.joined(), self.which
        X = shard.rows.matrix()[:, which]
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            start, column = X.indptr.astype(np.int64), X.indices.astype(np.int32)
            shard = replace(shard, rows=SparseRows(start, column, X.data, len(which)))
        else:
            shard = replace(shard, rows=DenseRows(np.ascontiguousarray(X)))
        engine, intercept = Serial().place([shard]), self.risk.facts.has_intercept
        inside = replace(
            self.problem,
            risk=LinearRisk(self.risk.loss, engine, intercept=intercept),
            regularizer=self.problem.regularizer.spread(which, len(self.t)),
        )
        self.run = MultiplierRun(inside, w, self.growth, state)

    def advance(self, gap: float) -> bool:
        """Some Newton steps on the working set, which grows once they have done what it can."""
        left = (self.J - self.bound) / abs(self.J) if self.J else 0.0
        before = self.run.risk.passes
        reached = self.run.advance(max(0.5 * gap, min(_INSIDE * left, 1.0)))
        share = self.run.risk.n_numbers / self.risk.n_numbers
        self.risk.passes += round(share * (self.run.risk.passes - before))
        self._look()
        if reached and self.J - self.bound > gap * abs(self.J):
            self._grow()
        return self.J - self.bound <= gap * abs(self.J)

    def _grow(self) -> None:
        which = self._grown(self.which, self.v)
        if len(which) == len(self.which):
            return
        w = np.zeros(len(self.t))
        w[self.which] = self.run.point.w
        self.which = which
        self._run({"alpha": self.columns.share * self.run.u}, w[which])

    def _look(self) -> None:
        inside = self.run.point
        w = np.zeros(len(self.t))
        w[self.which] = inside.w
        z = self.risk.engine.scatter(self.run.risk.engine.gather(inside.z))
        self.point = LinearPoint(self.risk, w, z, inside.intercept)
        self.point.offset = inside.offset
        self.J = self.problem.objective(self.point)
        self.v = self.columns.adjoint(self.columns.share * self.run.u)
        self.bound, self.witness = proved(
            self.problem, cut_of(self.problem, self.columns, self.run.u)
        )
        self.columns.pay(self.risk)

    def state(self) -> State:
        """All that the next steps depend on."""
        state = self.run.state()
        return {**state, "inside": state["w"], "which": self.which, "w": self.point.w}
