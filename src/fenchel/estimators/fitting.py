"""One fit: one minimisation, or one for each class on the same rows."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.checkpoint import Checkpoint
from fenchel.data.blocks import Blocks
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.driver import minimize
from fenchel.engines import Engine
from fenchel.engines.owners import Owners
from fenchel.estimators.settings import in_these_words
from fenchel.following import at_once, followed
from fenchel.kernel_posing import posed_by_kernel
from fenchel.losses import Loss
from fenchel.posing import across, for_loss, posed
from fenchel.proving import proved_together
from fenchel.regularizers import Boxed, Regularizer
from fenchel.result import Record, Result, Status
from fenchel.risks.base import Array, Problem
from fenchel.risks.gram_rows import GramMatrix
from fenchel.risks.views.moments import part
from fenchel.solvers import Solver

Start = Array | Result | None
Groups = npt.NDArray[np.int64]

_INSTANT = 1e-9  # seconds: what is left of a limit that has passed, enough for one iteration


@dataclass(frozen=True)
class RowPairs:
    """Rows that are known by their products with each other."""

    gram: GramMatrix

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.gram.n

    @property
    def n_columns(self) -> int:
        """As many: w has a weight for each row."""
        return self.gram.n


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
    atol: float
    max_iter: int
    max_seconds: float  # for all problems together
    callback: Callable[[Record], Any] | None
    checkpoint: Checkpoint | None

    @in_these_words()
    def resolved(self, names: Sequence[str] | None) -> Fit:
        """The same for columns of these names."""
        found = self.regularizer.resolved(names)
        return self if found is self.regularizer else dataclasses.replace(self, regularizer=found)

    def problems(
        self,
        rows: SparseRows | DenseRows | Blocks | RowPairs,
        targets: Iterable[Targets],
        s: Array | None,
        groups: Groups | None = None,
        offset: Array | None = None,
    ) -> Iterator[Problem]:
        """A problem for each of the targets, which share the rows and all else that rows have."""
        rows = rows if isinstance(rows, RowPairs) else for_loss(self.loss, rows, self.engine)
        for each in targets:
            yield self._problem(rows, each, s, groups, offset)

    @in_these_words()
    def _problem(
        self,
        rows: SparseRows | DenseRows | Blocks | RowPairs,
        targets: Targets,
        s: Array | None,
        groups: Groups | None,
        offset: Array | None,
    ) -> Problem:
        if isinstance(rows, RowPairs):
            return posed_by_kernel(
                rows.gram,
                targets,
                s,
                loss=self.loss,
                regularizer=self.regularizer,
                strength=self.strength,
                intercept=self.intercept,
                engine=self.engine,
                offset=offset,
            )
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
            offset=offset,
        )

    @in_these_words()
    def across(self, owners: Owners) -> Problem:
        """The problem of rows that stay with their owners."""
        return across(owners, self.loss, self.regularizer, self.strength, self.intercept)

    @in_these_words()
    def run(
        self,
        problems: Iterable[Problem],
        starts: Sequence[Start],
        *,
        interrupted: bool = False,
        verify: bool = True,
    ) -> list[Result]:
        """A result for each of the problems, proved by other code than the solver's if asked.

        An interrupt ends them all: those that come after it make a single step, the best that can
        be said without a solver (without a start w = 0, with the intercept that suits it).
        """
        end = time.perf_counter() + self.max_seconds
        results: list[Result] = []
        cold = verify and not interrupted and all(start is None for start in starts)
        pairs = (
            at_once(problems, self.solver, self.tol)
            if cold and self._unwatched
            else ((problem, None) for problem in problems)
        )
        for k, ((problem, known), start) in enumerate(zip(pairs, starts, strict=True)):
            if known is not None:
                results.append(known)
                continue
            w0 = _inside(problem, start)
            if interrupted:
                first = minimize(problem, self.solver, gap=self.tol, max_iterations=1, w0=w0)
                results.append(dataclasses.replace(first, status=Status.INTERRUPTED))
                continue
            file = self.checkpoint
            if file is not None and len(starts) > 1:
                file = file.part(str(k))
            seconds = end - time.perf_counter()
            results.append(self._minimized(problem, w0, seconds, file, verify))
            interrupted = results[-1].status is Status.INTERRUPTED
        return results

    @property
    def _unwatched(self) -> bool:
        """Whether nobody looks at single steps, by a callback, the clock or a checkpoint."""
        return self.callback is None and self.max_seconds == math.inf and self.checkpoint is None

    def _minimized(
        self,
        problem: Problem,
        w0: Start,
        seconds: float,
        checkpoint: Checkpoint | None,
        verify: bool,
    ) -> Result:
        return minimize(
            problem,
            self.solver,
            gap=self.tol,
            atol=self.atol,
            max_iterations=self.max_iter,
            max_seconds=max(seconds, _INSTANT) if seconds < math.inf else None,
            w0=w0,
            callback=self.callback,
            checkpoint=checkpoint,
            verify=verify,
        )


def _inside(problem: Problem, start: Start) -> Start:
    """The start, unless it is outside bounds that an earlier fit did not have."""
    if not isinstance(start, np.ndarray) or not isinstance(problem.regularizer, Boxed):
        return start
    w = problem.risk.flattened(start, 0.0)
    return start if problem.regularizer.value(w) < math.inf else None


@dataclass(frozen=True)
class Posed:
    """Data in the form in which they are fitted, checked, at one alpha or at several."""

    fit: Fit
    problems: Iterable[Problem]  # one, or one for each class; they share the rows
    starts: Sequence[Start]
    adopt: Callable[[list[Result]], None]  # makes an estimator's model of the results
    given: tuple[Any, Any] = (None, None)  # X and y as the user has them

    def run(self) -> list[Result]:
        """The results at the strength of the fit."""
        return self.fit.run(self.problems, self.starts)

    def kept(self) -> Posed:
        """The same with all problems at hand, which `run` needs one at a time."""
        return dataclasses.replace(self, problems=tuple(self.problems))

    def part_of(self, whole: Posed, inside: npt.NDArray[np.intp]) -> None:
        """Says that these are some of the rows of other problems, of which much is known."""
        for problem, every in zip(self.problems, whole.problems, strict=False):
            part(problem.risk, every.risk, inside)

    def along(
        self, strengths: Sequence[float], proved: Collection[float] | None = None
    ) -> Iterator[list[Result]]:
        """The results at one strength after the other, each started from the last.

        An interrupt is the end of it. Those at the strengths in `proved`, by default all, are
        proved by other code than the solver's; of the others its word is taken.
        """
        proved = strengths if proved is None else proved
        starts, paths = self.starts, self._followed(strengths, proved)
        for strength in strengths:
            results, verify = [next(path) for path in paths], strength in proved
            if not results or not all(result.converged for result in results):
                results = self.fit.run(self._at(strength), results or starts, verify=verify)
            elif verify:
                results = self._proved(strength, results)
            yield results
            if any(result.status is Status.INTERRUPTED for result in results):
                return
            starts = results

    def _proved(self, strength: float, claims: list[Result]) -> list[Result]:
        """What a solver found by itself, proved together; else what is proved by going on."""
        known = proved_together(claims, list(self._at(strength)), self.fit.tol)
        found = [result for result in known if result is not None]
        return found if len(found) == len(claims) else self.fit.run(self._at(strength), claims)

    @in_these_words()
    def _followed(
        self, strengths: Sequence[float], proved: Collection[float]
    ) -> list[Iterator[Result]]:
        """The path of each problem as its solver follows it by itself; none if one of them cannot.

        Nor where each fit is watched, by a callback or by the clock.
        """
        paths, fit = [], self.fit
        for problem in self.problems if fit._unwatched else ():
            path = followed(problem, strengths, fit.solver, fit.tol, evidence=proved)
            if path is None:
                return []
            paths.append(path)
        return paths

    def glimpsed(self, strength: float) -> list[Result]:
        """What can be said at a strength after an interrupt."""
        return self.fit.run(self._at(strength), self.starts, interrupted=True)

    def _at(self, strength: float) -> Iterator[Problem]:
        return (dataclasses.replace(problem, strength=strength) for problem in self.problems)
