"""What may be wrong with a run, and who says so.

The solvers of one problem judge one another: the least J that any of them reached, recomputed in
long double (values.py), is above min J, so that no lower bound may be above it. Kinds of faults:

    raw             an exception that is not a FenchelError
    contradiction   a run that ended in InvalidCertificate, of a loss that is ours and convex
    nonfinite       converged with a w or an objective that is not finite
    crossed         a lower bound above the objective, a negative gap, or one that is not a number
    false           a lower bound above the reference
    off             an objective that is not J at w, by 1e-5 of it and more than float64 explains;
                    or a w outside the regulariser's domain
    rejected        `fenchel.verify` does not confirm the result
    false-verified  `fenchel.verify`, which computes in float64, returns a bound that is above the
                    reference by more than J itself would be off in float64
    false-rigorous  `fenchel.verify(..., rigorous=True)` returns bounds that J refutes by anything
    overclaimed     a lower bound above the one that `fenchel.verify` returns
    slow            more than `SLOW` seconds of processor time for a tiny problem
    lost            the process died, or had to be killed
"""

from __future__ import annotations

import inspect
import math
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from draws import Draw
from values import Reference, Value

import fenchel
from fenchel.errors import FenchelError, Incompatible, InvalidCertificate, InvalidData
from fenchel.result import Certificate, Result, Status
from fenchel.risks.base import Problem

SLOW = 5.0  # seconds of processor time
OFF = 1e-5  # of an objective, relative
OUTSIDE = 1e-9  # of a w, relative: ten times `tolerances.DOMAIN_EDGE`
_HAS_RIGOROUS = "rigorous" in inspect.signature(fenchel.verify).parameters
TIGHTER = 0.1  # a claim that falls short of what verify proves by more than this share is counted


@dataclass
class Fault:
    """Something that must not happen."""

    solver: str
    kind: str
    detail: str


@dataclass
class Run:
    """One solver on one problem."""

    solver: str
    outcome: str  # a status, "refused" or the name of an error
    seconds: float = 0.0
    result: Result | None = None
    value: Value | None = None  # of J at the result's w
    verified: float | None = None
    rigorous: Certificate | None = None  # what verify proves in exact arithmetic, where it does
    faults: list[Fault] = field(default_factory=list)

    def fault(self, kind: str, detail: str) -> None:
        """Adds a fault."""
        self.faults.append(Fault(self.solver, kind, detail))

    @property
    def short(self) -> bool:
        """Whether the claim falls far short of what was proved."""
        if self.verified is None or self.result is None:
            return False
        return self.verified - self.result.lower_bound > TIGHTER * abs(self.verified)


class _Late(BaseException):
    """Raised by the clock; no `except Exception` may hold it up."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Ends what takes longer than that of processor time."""

    def ring(signum: int, frame: Any) -> None:
        raise _Late

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def run(problem: Problem, drawn: Draw, name: str, reference: Reference | None) -> Run:
    """Minimises the problem by one solver, checks the result by itself, and verifies it."""
    solver = drawn.solvers()[name]
    made = Run(name, "refused")
    started = time.process_time()
    try:
        with limited(SLOW):
            if not isinstance(solver, str) and solver.obstacle(problem) is not None:
                return made
            made.result = fenchel.minimize(problem, solver, **drawn.limits_of(name))
        made.outcome = made.result.status.name
    except _Late as late:
        made.outcome = "late"
        made.fault("slow", f"after {SLOW:g} s of processor time at {_where(late)}")
    except InvalidCertificate as error:
        made.outcome = "InvalidCertificate"
        made.fault("contradiction", str(error)[:160])
    except (Incompatible, InvalidData):
        made.outcome = "refused"
    except FenchelError as error:
        made.outcome = type(error).__name__
    except Exception as error:  # what users must never see
        made.outcome = "raw"
        made.fault("raw", f"{type(error).__name__}: {error} at {_where(error)}")
    made.seconds = time.process_time() - started
    if made.result is not None:
        _look(made, made.result, reference)
        _verify(made, made.result, problem)
    return made


def _where(error: BaseException) -> str:
    """The innermost line of fenchel's Python that was running."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "fenchel" in frame.filename] or frames
    return f"{ours[-1].filename.rpartition('fenchel/')[2]}:{ours[-1].lineno}"


def _look(made: Run, result: Result, reference: Reference | None) -> None:
    """What can be seen without other runs."""
    finite = bool(np.isfinite(result.w).all() and np.isfinite(result.intercept).all())
    if result.converged and not (finite and math.isfinite(result.objective)):
        made.fault("nonfinite", f"converged at objective {result.objective!r}, w finite: {finite}")
    ordered = result.lower_bound <= result.objective and result.gap >= 0  # False of what is nan
    if not ordered and result.status is not Status.NONFINITE:
        made.fault("crossed", f"{result.lower_bound!r} > {result.objective!r}, gap {result.gap!r}")
    if not finite or reference is None or result.status is Status.NONFINITE:
        return
    with np.errstate(all="ignore"):
        made.value = value = reference.at(result.w, result.intercept)
    off = abs(np.longdouble(result.objective) - value.at)
    room = OFF * abs(value.at) + value.in_doubles + np.finfo(np.float64).tiny
    if math.isfinite(result.objective) and not off <= room:
        made.fault("off", f"objective {result.objective!r}, but J is {value.at!r} at w")
    if value.moved > OUTSIDE:
        made.fault("off", f"w lies outside the regulariser's domain by {value.moved:.1e}")


def _verify(made: Run, result: Result, problem: Problem) -> None:
    if result.status in (Status.NONFINITE, Status.UNBOUNDED):
        return
    try:
        with limited(SLOW), np.errstate(all="ignore"):
            made.verified = fenchel.verify(result, problem).lower_bound
    except _Late as late:
        made.fault("slow", f"verify, at {_where(late)}")
    except FenchelError as error:
        made.fault("rejected", f"{str(error)[:200]} (status {result.status.name})")
    except Exception as error:  # what users must never see
        made.fault("raw", f"verify: {type(error).__name__}: {error} at {_where(error)}")
    if _HAS_RIGOROUS and made.verified is not None:
        _verify_rigorously(made, result, problem)
    if made.verified is not None and result.lower_bound > made.verified:
        excess = result.lower_bound - made.verified
        made.fault("overclaimed", f"{result.lower_bound!r}, {excess:.1e} above what verify proves")


def _verify_rigorously(made: Run, result: Result, problem: Problem) -> None:
    try:
        with limited(SLOW), np.errstate(all="ignore"):
            made.rigorous = fenchel.verify(result, problem, rigorous=True)
    except _Late as late:
        made.fault("slow", f"verify, rigorous, at {_where(late)}")
    except (Incompatible, InvalidData):
        return  # there is no such proof for this problem
    except FenchelError as error:
        made.fault("rejected", f"rigorous: {str(error)[:200]}")
    except Exception as error:  # what users must never see
        made.fault("raw", f"verify, rigorous: {type(error).__name__}: {error} at {_where(error)}")
    if made.rigorous is None or made.value is None:
        return
    below = made.value.at - (made.value.above - made.value.at)
    if made.rigorous.upper_bound < below:
        made.fault(
            "false-rigorous", f"J <= {made.rigorous.upper_bound!r} at w, but it is {below!r}"
        )


def compare(runs: list[Run], conic: Value | None = None) -> np.longdouble:
    """Holds all bounds against the least J that was reached, which is returned."""
    values = [made.value for made in runs if made.value is not None]
    values += [] if conic is None else [conic]
    known = [value for value in values if not np.isnan(value.above)]
    best = min((value.above for value in known), default=np.longdouble(np.inf))
    room = min((value.above + value.in_doubles for value in known), default=best)
    for made in runs:
        if made.result is None:
            continue
        claims = {"false": (made.result.lower_bound, best), "false-verified": (made.verified, room)}
        if made.rigorous is not None:
            claims["false-rigorous"] = (made.rigorous.lower_bound, best)
        for kind, (bound, most) in claims.items():
            if bound is not None and np.longdouble(bound) > most:
                excess = float((bound - best) / abs(best)) if best else float(bound)
                made.fault(kind, f"bound {bound!r} but J reaches {best!r}: {excess:.1e} too high")
    return best


def judged(
    problem: Problem,
    drawn: Draw,
    names: list[str] | None = None,
    conic: Callable[[Draw, Problem, Reference], Value | None] | None = None,
    announce: Callable[[str], None] = lambda name: None,
) -> list[Run]:
    """All solvers (or those named) on one problem, held against each other."""
    reference = Reference(drawn.X, drawn.y, drawn.given, problem)
    runs = []
    for name in names or list(drawn.solvers()):
        announce(name)
        runs.append(run(problem, drawn, name, reference))
    compare(runs, None if conic is None else conic(drawn, problem, reference))
    return runs
