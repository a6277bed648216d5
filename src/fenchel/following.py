"""Solvers that take all their steps by themselves: on small data, where a driver would only cost.

A solver that knows how to follow a path (`Solver.follow`) hands over a minimiser at each strength,
what it claims of it and the dual variables that prove that. Nothing of this is believed: the claims
of all strengths, and of all classes on the same rows, are proved together (proving.py), and where a
proof falls short of the gap the driver minimises as it always does.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Sequence

from fenchel._system import blas
from fenchel.proving import proved_together
from fenchel.result import Certificate, Record, Result, Status, relative_gap
from fenchel.risks.base import Problem
from fenchel.solvers import Found, Solver, chosen
from fenchel.witness import Witness


def followed(
    problem: Problem,
    strengths: Sequence[float],
    solver: str | Solver,
    gap: float,
    *,
    evidence: Collection[float] = (),
) -> Iterator[Result] | None:
    """The results at strengths that decrease, of a solver that follows paths by itself, or None.

    Nothing but the solver's word is known of them, and the status of those short of the gap says
    so: a minimisation that starts from one proves it, or does what is left. At the strengths in
    `evidence` they have a witness, for which some solvers need a pass more.
    """
    if not strengths or not strengths[-1] > 0:
        return None
    # The smallest strength is the hardest, and what the solver must be good at.
    picked = chosen(solver, dataclasses.replace(problem, strength=strengths[-1]))
    return _by(picked, problem, strengths, gap, evidence)


def _by(
    picked: tuple[Solver, str],
    problem: Problem,
    strengths: Sequence[float],
    gap: float,
    evidence: Collection[float],
) -> Iterator[Result] | None:
    method, reason = picked
    start = time.perf_counter(), problem.risk.passes
    trail = method.aiming(gap).follow(problem, strengths)
    if trail is None:
        return None
    wanted = [strength in evidence for strength in strengths]
    return _results(zip(trail, wanted, strict=False), problem, gap, (method.name, reason), *start)


def _results(
    trail: Iterator[tuple[Found, bool]],
    problem: Problem,
    gap: float,
    solver: tuple[str, str],
    then: float,
    before: int,
) -> Iterator[Result]:
    for (w, b, J, lower, alpha), wanted in trail:
        now, passes = time.perf_counter(), problem.risk.passes
        record = Record(1, J, lower, relative_gap(J, lower), passes - before, now - then)
        status = Status.CONVERGED if record.gap <= gap else Status.MAX_ITERATIONS
        cost = 1, record.passes, record.seconds, [record]
        witness = Witness(alpha=alpha()) if wanted and alpha is not None else None
        yield Result(
            w,
            b,
            Certificate(lower, J),
            status,
            *cost,
            *solver,
            witness,
            feature_names=problem.feature_names,
        )
        then, before = now, passes


def claimed(
    problem: Problem, strengths: Sequence[float], solver: str | Solver, gap: float
) -> list[Result] | None:
    """What `followed` finds, up to where Ctrl-C ends it."""
    trail, found = followed(problem, strengths, solver, gap, evidence=strengths), []
    if trail is None:
        return None
    try:
        for result in trail:
            found.append(result)
    except KeyboardInterrupt:
        if not found:
            raise
    return found


def at_once(
    problems: Iterable[Problem], solver: str | Solver, gap: float
) -> Iterator[tuple[Problem, Result | None]]:
    """Each problem with its result, proved, if its solver follows it by itself; else None.

    The problems differ in their labels only: the solver of the first is that of all. From the
    first on that has no result they are asked for one at a time.
    """
    coming, taken, claims = iter(problems), [], []
    picked: tuple[Solver, str] | None = None
    with blas.one_thread():
        for problem in coming:
            taken.append(problem)
            picked = picked or chosen(solver, problem)
            trail = None
            if problem.strength > 0:
                trail = _by(picked, problem, (problem.strength,), gap, (problem.strength,))
            if trail is None:
                break
            claims.append(next(trail))
        known: list[Result | None] = []
        if claims:
            known += proved_together(claims, taken[: len(claims)], gap)
    yield from itertools.zip_longest(taken, known)
    yield from ((problem, None) for problem in coming)
