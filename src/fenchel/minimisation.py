"""One minimisation: bounds, limits, history, callbacks and interrupts, for any solver."""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from fenchel import stopping
from fenchel.callers import users_line
from fenchel.checkpoint import Best, CheckpointFile, Snapshot, due
from fenchel.errors import FenchelWarning, InvalidCertificate
from fenchel.proving import Prover, contradiction, contradicts, lower
from fenchel.result import Certificate, Record, Result, Status, Watched, relative_gap
from fenchel.risks.base import Array, Effort, Point, Problem
from fenchel.risks.existence import receding, vanishing
from fenchel.solvers import Solver, State, Step
from fenchel.stopping import Tolerance
from fenchel.watching import log_step
from fenchel.witness import Witness

_FIRST_LOOK = 8  # iterations until a look whether J vanishes far out; then twice as many, and so on


class TimeIsUp(BaseException):
    """Ends a run between two steps; like KeyboardInterrupt, no concern of any code on its way."""


class Minimisation:
    """The best bounds so far and the limits of one minimisation."""

    def __init__(
        self,
        problem: Problem,
        tolerance: Tolerance,
        max_iterations: int,
        max_seconds: float,
        callback: Callable[[Record], Any] | None,
    ):
        self.problem, self.callback = replace(problem, pulse=self._pulse, effort=Effort()), callback
        self.under_way = False  # a step has been taken, and the run has not ended
        self.tolerance, self.max_iterations = tolerance, max_iterations
        self.max_seconds = max_seconds
        self.started, self.passes_before = time.perf_counter(), problem.risk.passes
        self.seconds_before = 0.0  # of a run that this one goes on from
        self.best: Best | None = None
        self.objective = math.inf
        self.claim, self.lower_bound, self.evidence = -math.inf, -math.inf, None
        self.doubted = False  # a bound came without evidence
        self.proved = False  # the bounds are those that the evidence proves
        if problem.risk.facts.nonnegative:
            self.claim, self.lower_bound, self.evidence = 0.0, 0.0, Witness
        self.history: list[Record] = []

    patience: int  # of the solver
    before: int  # records of another solver, from which it goes on
    claim: float  # of the solver, for its evidence
    lower_bound: float  # the claim, less by what an earlier one exceeded its proof; or the proof
    evidence: Callable[[], Witness] | None
    prover: Prover | None = None

    def begin(self, patience: int) -> None:
        """Makes ready for a solver with so much patience."""
        self.patience, self.before = patience, len(self.history)

    def through(self, method: Solver, w: Array, start: State | None) -> Status:
        """Takes the solver's steps until one of them ends the run."""
        steps = method.iterate(self.problem, w, start)
        return next((end for end in map(self.take, steps) if end is not None), Status.STALLED)

    def _pulse(self) -> None:
        """Ends the run between two steps if its time is up, once it has taken one."""
        if self.max_seconds == math.inf or not self.under_way:
            return
        if self.problem.risk.agreed(self._is_late):
            raise TimeIsUp

    def _is_late(self) -> bool:
        return self._seconds() - self.seconds_before >= self.max_seconds

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.started

    def _passes(self) -> int:
        return self.problem.risk.passes - self.passes_before

    def cut_short(self, cause: BaseException) -> Status:
        """Ends the run between two steps: what the unfinished one cost goes to the last."""
        self.history[-1] = self.history[-1]._replace(passes=self._passes(), seconds=self._seconds())
        return Status.TIME_LIMIT if isinstance(cause, TimeIsUp) else Status.INTERRUPTED

    def saving(self, method: Solver, w: Array, file: CheckpointFile) -> Status:
        """The same, the solver starting anew from its own state whenever that is kept."""
        agreed = self.problem.risk.agreed
        state = self._restore(agreed(file.load)) or {"w": w}
        end = self._limit() if self.history else None
        while end is None:
            end, state = self._until_due(method, state)
            if end in (None, Status.CONVERGED) and self.best is not None:
                agreed(functools.partial(file.keep, self._snapshot(state)))
        return end

    def _until_due(self, method: Solver, state: State) -> tuple[Status | None, State]:
        """Steps from a state until the run ends or the next state is to be kept; and that state."""
        begun = bool(self.history)
        steps = method.iterate(self.problem, state["w"], state if begun else None)
        if begun:
            next(steps, None)  # the point the state was taken at
        for step in steps:
            end = self.take(step)
            if step.state is not None and (end is not None or due(len(self.history))):
                return end, step.state()
            if end is not None:
                return end, state
        return Status.STALLED, state

    def _snapshot(self, state: State) -> Snapshot:
        witness = None if self.evidence is None else self.evidence()
        best = cast(Best, self.best)
        history = list(self.history)
        return Snapshot(state, best, self.objective, self.lower_bound, witness, history)

    def _restore(self, snapshot: Snapshot | None) -> State | None:
        if snapshot is None:
            return None
        self.best, self.objective = snapshot.best, snapshot.objective
        self.claim = self.lower_bound = snapshot.lower_bound
        witness = snapshot.witness
        self.evidence = None if witness is None else lambda: witness
        self.history = list(snapshot.history)
        self.passes_before -= self.history[-1].passes
        self.seconds_before = self.history[-1].seconds
        self.problem.effort.resume(self.history[-1].evaluations, self.history[-1].nonzeros)
        return snapshot.state

    def take(self, step: Step) -> Status | None:
        """Records a step; says whether and why the run ends."""
        self.under_way = True
        if not np.isfinite(step.point.w).all():
            step = replace(step, objective=math.nan)  # whatever the loss makes of such scores
        if step.objective < self.objective:
            self.best, self.objective = Best.of(step.point), float(step.objective)
            self.problem.effort.nonzeros = int(np.count_nonzero(step.point.w))
            self.proved = False
        if step.lower_bound > self.lower_bound:
            self._believe(step)
        self.history.append(
            Record(
                iteration=len(self.history) + 1,
                objective=self.objective,
                lower_bound=self.known_bound,
                gap=relative_gap(self.objective, self.known_bound),
                passes=self._passes(),
                seconds=self._seconds(),
                phase=step.phase,
                **self.problem.effort.taken(),
            )
        )
        end, n = self._end(step), len(self.history)
        if end is None and n >= _FIRST_LOOK and n & (n - 1) == 0:
            return self.beyond(step.point)
        return end

    def beyond(self, point: Point) -> Status | None:
        """Whether a J without a penalty vanishes further out: there it is 0, or nowhere least."""
        far = vanishing(self.problem, point)
        if far is None:
            return None if receding(self.problem, point) is None else Status.UNBOUNDED
        J = self.problem.objective(far)
        return Status.UNBOUNDED if J > 0 else self.take(Step(far, J))

    def settled(self) -> Status:
        """What it means that the bounds do not move: nothing, if J is 0 as far as can be told."""
        if self.best is None:
            return Status.STALLED
        point = self.problem.risk.at(self.best.w)
        end = self.beyond(point)
        if end is not None:
            return end
        if self.evidence is not None and not self._is_proved():
            point = self.problem.risk.at(self.best.w)
        zero = stopping.vanishes(self.problem, point, self.known_bound)
        return Status.CONVERGED if zero else Status.STALLED

    def _believe(self, step: Step) -> None:
        """Takes over a bound with its evidence; one without any proves nothing."""
        if step.witness is not None:
            shortfall = 0.0 if self.prover is None else self.prover.shortfall
            if step.lower_bound - shortfall > self.lower_bound:
                self.claim, self.evidence = float(step.lower_bound), step.witness
                self.lower_bound, self.proved = self.claim - shortfall, False
        elif not self.doubted:
            self.doubted = True
            warnings.warn(
                f"a step claims min J >= {step.lower_bound:.9g} without a witness; such bounds are "
                "left out of the certificate, so give the Step what proves it, as witness=",
                FenchelWarning,
                stacklevel=users_line(),
            )

    @property
    def known_bound(self) -> float:
        """The lower bound; where it is above J, by what round-off explains, as far below it.

        Bounds that contradict each other by so much are not known any better.
        """
        return min(self.lower_bound, 2 * self.objective - self.lower_bound)

    def _refute(self) -> None:
        """Looks into bounds that contradict each other; InvalidCertificate beyond round-off."""
        excess = self.lower_bound - self.objective
        if not excess > 0 or self.best is None:
            return
        suspect = None if self.prover is None else self.prover.suspect
        why = contradiction(self.problem, self.lower_bound, self.objective, suspect)
        if self.prover is not None and self.prover.able:
            try:
                self._prove(self.prover)
            except InvalidCertificate as error:
                raise InvalidCertificate(why) from error
            return
        if contradicts(self.problem, self.best.w, self.objective, excess):
            raise InvalidCertificate(why)

    def _end(self, step: Step) -> Status | None:
        last = self.history[-1]
        log_step(last)
        asked = self.callback is not None and bool(
            self.callback(Watched.of(last, lambda: self.problem.risk.presented(*self._iterate)))
        )
        over = last.seconds - self.seconds_before >= self.max_seconds
        stop, late = self.problem.risk.agreed(lambda: (asked, over))
        if self.best is None or math.isnan(step.objective):
            return Status.NONFINITE
        if step.objective == -math.inf:
            return Status.UNBOUNDED
        self._refute()
        if stop and not self._met:
            return Status.INTERRUPTED
        return self._limit(late)

    def _limit(self, late: bool = False) -> Status | None:
        last = self.history[-1]
        if self._met and self._is_proved():
            return Status.CONVERGED
        if last.iteration >= self.max_iterations:
            return Status.MAX_ITERATIONS
        if late:
            return Status.TIME_LIMIT
        tried = len(self.history) - self.before > self.patience
        return Status.STALLED if tried and stopping.stalled(self.history, self.patience) else None

    def _is_proved(self) -> bool:
        """Whether the gap is still small enough once its bounds were proved, if that is asked."""
        if self.prover is None or not self.prover.asked or self.proved:
            return True
        self._prove(self.prover)
        return self._met

    @property
    def _met(self) -> bool:
        return self.tolerance.met(self.history[-1].objective, self.history[-1].lower_bound)

    def _prove(self, prover: Prover) -> None:
        """Replaces what is claimed by what is proved of it, in the records too."""
        with np.errstate(all="ignore"):  # overflow ends in a bound that is not finite
            certificate = prover.proved(self._claimed())
        if prover.refused:  # what does not prove the bound is not handed on with it
            self.claim, self.evidence = certificate.lower_bound, Witness
        self.objective, self.lower_bound = certificate.upper_bound, certificate.lower_bound
        self.proved, known = True, self.known_bound
        self.history[-1] = self.history[-1]._replace(objective=self.objective, lower_bound=known)
        lower(self.history, known)

    def result(self, status: Status, solver: str, reason: str) -> Result:
        """The best iterate with what was proved of it."""
        found = status not in (Status.NONFINITE, Status.UNBOUNDED) and self.evidence is not None
        if found and self.prover is not None and self.prover.asked and not self.proved:
            self._prove(self.prover)
        passes = 0 if self.prover is None else self.prover.passes
        certificate = Certificate(
            self.known_bound, self.objective, "witness" if self.proved else "solver"
        )
        return replace(
            self._claimed(),
            certificate=certificate,
            status=status,
            solver=solver,
            reason=reason,
            seconds=self._seconds(),
            proof_passes=passes,
        )

    @property
    def _iterate(self) -> Best:
        """The best iterate, 0 if J was nowhere finite."""
        return self.best or Best(np.zeros(self.problem.risk.n_parameters), 0.0)

    def _claimed(self) -> Result:
        """The best iterate with what the solver claims of it."""
        risk, last = self.problem.risk, self.history[-1]
        w, intercept = risk.presented(*self._iterate)
        return Result(
            w=w,
            intercept=intercept,
            certificate=Certificate(self.claim, self.objective),
            status=Status.CONVERGED,
            iterations=last.iteration,
            passes=last.passes,
            seconds=last.seconds,
            history=self.history,
            solver="",
            reason="",
            feature_names=self.problem.feature_names,
            witness=None if self.evidence is None else self.evidence(),
        )
