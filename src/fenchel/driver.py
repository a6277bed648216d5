"""`minimize`: the chosen solver takes its steps (minimisation.py); if it stalls, another does."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import starts, stopping
from fenchel._system import blas
from fenchel.advice import advised
from fenchel.checkpoint import Checkpoint, CheckpointFile, opened
from fenchel.errors import Incompatible
from fenchel.minimisation import Minimisation, TimeIsUp
from fenchel.proving import Prover
from fenchel.result import Record, Result, Status
from fenchel.risks.base import Array, Problem
from fenchel.settings import nonnegative, positive, understood, whole
from fenchel.solvers import Solver, State, chosen
from fenchel.solvers.auto import relief
from fenchel.stopping import Tolerance
from fenchel.watching import LOG


@understood
def minimize(
    problem: Problem,
    solver: str | Solver = "auto",
    *,
    gap: float = 1e-4,
    atol: float = 0.0,
    max_iterations: int = 10_000,
    max_seconds: float | None = None,
    w0: npt.ArrayLike | Result | None = None,
    callback: Callable[[Record], Any] | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    verify: bool = True,
) -> Result:
    """Minimises the problem until objective - lower_bound <= max(gap * |objective|, atol).

    `atol` is for an objective that is 0 at best, or may be, where no relative gap can be had. One
    that is 0 up to round-off needs none (docs/explanation/certificates.md).

    `callback` sees a `Record` after each iteration, which has the best w so far; if it returns true
    the run ends, as by Ctrl-C or at a limit: with the best iterate and its certificate.

    `w0` is where to start, where the regulariser is least unless given: a w, or the `Result` of the
    same problem at another strength.

    `checkpoint` names a file that keeps the state of the run, written twice a minute and at its
    end. If it is there, the run goes on from it and takes the very steps, to the last bit, that it
    would have taken without the interruption. For that a solver starts anew from its state at
    iterations 8, 16, 32, 64 and so on: its steps are not those of a run without a checkpoint.

    With `verify` the lower bound is the one that `fenchel.verify` proves, from the data and the
    evidence alone, for a few passes more (`Result.proof_passes`); a run whose bound is not proved
    goes on. Without it the solver's word is taken, less what round-off may have added.
    """
    if not isinstance(problem, Problem):
        raise Incompatible(
            f"minimize needs a Problem, made by fenchel.problem(X, y); got {type(problem).__name__}"
        )
    tolerance = Tolerance(positive("gap", gap), nonnegative("atol", atol))
    max_iterations = whole("max_iterations", max_iterations, least=1)
    seconds = math.inf if max_seconds is None else positive("max_seconds", max_seconds)
    w = starts.parameters(w0, problem)
    method, reason = chosen(solver, problem)
    method = method.aiming(tolerance.gap)
    run = Minimisation(problem, tolerance, max_iterations, seconds, callback)
    run.prover = Prover(problem, method, bool(verify))
    start = starts.duals(w0, w, problem.risk) if method.takes_duals else None
    file = opened(checkpoint, problem, method)
    LOG.info("minimising %s by %s (%s), to %s", problem, method.name, reason, tolerance)
    status = _executed(run, method, w, start, file)
    if not run.history:
        raise Incompatible(f"{method.name} took no step: its iterate must yield one Step at least")
    tied = solver != "auto" or file is not None  # to what the user named, or to its state
    if status is Status.STALLED and run.best and not tied and (second := relief(problem, method)):
        method, reason = second.aiming(tolerance.gap), f"{method.name} stalled: {reason}"
        LOG.info("%s goes on: %s", method.name, reason)
        status = _executed(run, method, run.best.w, None, None)
    result = run.result(status, method.name, reason)
    result = replace(result, advice=advised(problem, result))
    LOG.info("%s", result)
    return result


def _executed(
    run: Minimisation, method: Solver, w: Array, start: State | None, file: CheckpointFile | None
) -> Status:
    """Runs a solver to its end, which may be an interrupt."""
    run.begin(stopping.patience(method, run.problem))
    try:
        with blas.one_thread(), np.errstate(all="ignore"):  # overflow ends in a status
            status = run.through(method, w, start) if file is None else run.saving(method, w, file)
            return run.settled() if status is Status.STALLED else status
    except (KeyboardInterrupt, TimeIsUp) as cause:
        if run.best is None:
            raise
        return run.cut_short(cause)
    finally:
        run.under_way = False
        if file is not None:
            file.close()
