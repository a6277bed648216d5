"""One fit: one minimisation, or one for each class on the same rows."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.arrays import posed
from fenchel.checkpoint import Checkpoint
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.driver import minimize
from fenchel.engines import Engine
from fenchel.losses import Loss
from fenchel.protocols import Array, Problem
from fenchel.regularizers import Regularizer
from fenchel.result import Record, Result, Status
from fenchel.solvers import Solver

Groups = npt.NDArray[np.int64]

_INSTANT = 1e-9  # seconds: what is left of a limit that has passed, enough for one iteration


@dataclass(frozen=True)
class Fit:
    """What to minimise, how, and when to stop."""

    loss: Loss
    regularizer: Regularizer
    strength: float
    intercept: bool
    engine: Engine
    solver: str | Solver
    tol: float
    max_iter: int
    max_seconds: float  # for all problems together
    callback: Callable[[Record], Any] | None
    checkpoint: Checkpoint | None

    def run(
        self,
        rows: SparseRows | DenseRows,
        targets: Iterable[Targets],
        s: Array | None,
        starts: Sequence[Array | None],
        groups: Groups | None = None,
    ) -> list[Result]:
        """A result for each of the targets, which share the rows, weights and groups.

        An interrupt ends them all: those that come after it make a single step, the best that can
        be said without a solver (without a start w = 0, with the intercept that suits it).
        """
        end = time.perf_counter() + self.max_seconds
        results: list[Result] = []
        for k, (each, w0) in enumerate(zip(targets, starts, strict=True)):
            problem = self._problem(rows, each, s, groups)
            if results and results[-1].status is Status.INTERRUPTED:
                first = minimize(problem, self.solver, gap=self.tol, max_iterations=1, w0=w0)
                results.append(dataclasses.replace(first, status=Status.INTERRUPTED))
            else:
                file = self.checkpoint
                if file is not None and len(starts) > 1:
                    file = file.part(str(k))
                results.append(self._minimized(problem, w0, end - time.perf_counter(), file))
        return results

    def _problem(
        self, rows: SparseRows | DenseRows, targets: Targets, s: Array | None, groups: Groups | None
    ) -> Problem:
        return posed(
            rows,
            targets,
            s,
            loss=self.loss,
            regularizer=self.regularizer,
            strength=self.strength,
            intercept=self.intercept,
            engine=self.engine,
            groups=groups,
        )

    def _minimized(
        self, problem: Problem, w0: Array | None, seconds: float, checkpoint: Checkpoint | None
    ) -> Result:
        return minimize(
            problem,
            self.solver,
            gap=self.tol,
            max_iterations=self.max_iter,
            max_seconds=max(seconds, _INSTANT) if seconds < math.inf else None,
            w0=w0,
            callback=self.callback,
            checkpoint=checkpoint,
        )
