"""Dual ascent on working sets, for rows known through a kernel (Joachims 1999; inside, SMO).

    W = rows that violate the conditions of optimality most, and some of the last W
    on W: pairs of rows (without an intercept, rows), each moved to the best, the next chosen to
          second order (Fan, Chen and Lin 2005), until W's own conditions are met to a tenth
    all scores follow, by W's columns of the kernel matrix

The columns of a working set are computed together, as one product of matrices, which takes a
fraction of the time that they take one by one. Scores and slopes are known after each set, so the
exact gap costs no pass. Rows at rest, most of them on a kinked loss, never have a column computed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.kernel_dual import Indices, KernelDual
from fenchel.settings import whole
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.tolerances import EPSILON, SCORES

_INNER = 0.1  # of the violation over all rows: how far a working set is solved
_STEPS = 40  # for each row of a working set, at most
_WHOLE = 1000  # rows that are one working set


class SMO(Solver):
    """Working-set dual ascent for kernels: losses of pieces, such as hinges and absolute errors.

    `size` is that of a working set.
    """

    name = "smo"
    needs = Needs(views=(KernelDual,))
    takes_kernels = True
    takes_duals = True
    patience = 200

    def __init__(self, size: int = 512):
        self.size = whole("size", size, least=2)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Working sets, with the exact gap after each."""
        dual, last = KernelDual(problem), np.empty(0, dtype=np.intp)
        if state is not None and "z" in state:
            dual.a, dual.z = state["a"].copy(), state["z"].copy()
            dual.b, last = float(state["b"]), state["last"].astype(np.intp)
        elif state is not None and "alpha" in state:
            dual.assign(state["alpha"])
        elif w.any():
            dual.assign(-problem.strength * w)
        steps, settled = 0, True
        while True:
            point = dual.point(EPSILON * steps * float(np.linalg.norm(dual.alpha)))
            cut, bound = dual.cut()
            here = functools.partial(_state, dual, point.w, last)
            yield Step(point, problem.objective(point), bound, cut.witness, here)
            problem.pulse()
            up, down = dual.intervals()
            violation = _violation(up, down, problem.risk.facts.has_intercept)
            if violation <= SCORES * (1 + float(np.max(np.abs(dual.z)))):
                if settled:
                    return  # nothing more can be told apart
                dual.settle()
                settled = True
                continue
            rows = self._working_set(dual, up, down, last)
            dual.ascend(rows, _INNER * violation, _STEPS * len(rows))
            last, steps, settled = rows, steps + 1, False

    def _working_set(self, dual: KernelDual, up: Array, down: Array, last: Indices) -> Indices:
        """The rows that violate most on either side, and what there is room for of the last set."""
        n = len(up)
        counted = np.flatnonzero(dual.share > 0)
        if n <= max(_WHOLE, self.size) and n <= dual.columns.capacity:
            return counted
        size = min(self.size, dual.columns.capacity)
        if not dual.risk.facts.has_intercept:
            order = np.argsort(-np.maximum(up, -down), kind="stable")
            chosen = order[: size // 2][np.maximum(up, -down)[order[: size // 2]] > 0]
        else:
            falls = np.argsort(-up, kind="stable")[: size // 4 + 1]
            rises = np.argsort(down, kind="stable")[: size // 4 + 1]
            falls, rises = falls[up[falls] > np.min(down)], rises[down[rises] < np.max(up)]
            chosen = np.unique(np.concatenate([falls, rises]))
        rest = last[~np.isin(last, chosen)]
        free = (up[rest] > -np.inf) & (down[rest] < np.inf)  # neither end of their domain
        rest = np.concatenate([rest[free], rest[~free]])
        return np.sort(np.concatenate([chosen, rest])[:size])


def _violation(up: Array, down: Array, intercept: bool) -> float:
    """How far the scores are from what the slopes stand for."""
    if intercept:
        return max(float(np.max(up) - np.min(down)), 0.0)
    return max(float(np.max(up)), float(np.max(-down)), 0.0)


def _state(dual: KernelDual, w: Array, last: Indices) -> State:
    """All that the next working set depends on; columns are computed anew."""
    return {
        "w": w,
        "a": dual.a.copy(),
        "z": dual.z.copy(),
        "b": np.array(dual.b),
        "last": last.astype(np.int64),
    }
