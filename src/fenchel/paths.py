"""The same problem at one strength after the other, each fit started from the last."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel._system import blas
from fenchel.driver import minimize
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.following import claimed
from fenchel.proving import proved_together
from fenchel.result import Path, Record, Result, Status
from fenchel.risks.base import Array, Problem
from fenchel.settings import checked_strength, positive, understood, whole
from fenchel.solvers import Solver
from fenchel.witness import Witness

Strengths = int | npt.ArrayLike

_LARGEST, _SMALLEST = 1e-1, 1e-6
_SPAN = 1e-3  # smallest over largest where the largest is known, as scikit-learn's `eps`


@understood
@blas.one_thread()  # as while a solver runs, because some go on without a driver
def path(
    problem: Problem,
    strengths: Strengths = 30,
    solver: str | Solver = "auto",
    *,
    gap: float = 1e-4,
    atol: float = 0.0,
    max_iterations: int = 10_000,
    max_seconds: float | None = None,
    callback: Callable[[Record], Any] | None = None,
    verify: bool = True,
) -> Path:
    """Minimises the problem at each strength, from the largest down, each from the last results.

    `strengths` are taken in place of the problem's own, in whatever order they come. A number asks
    for so many, evenly spaced on a log scale: down to a thousandth of one at which w = 0 is best
    if that is known, as under L1 and the elastic net, else from 1e-1 to 1e-6.

    `gap`, `atol`, the limits and `verify` (see `minimize`) hold for each strength. One that falls
    short of its gap says so in its status, and the path goes on. A callback that returns true, or
    Ctrl-C, ends the path: it then holds the strengths so far.
    """
    if not isinstance(problem, Problem):
        raise Incompatible(
            f"path needs a Problem, made by fenchel.problem(X, y); got {type(problem).__name__}"
        )
    grid = decreasing("strengths", strengths, [problem])
    gap, hurried = positive("gap", gap), max_seconds is not None or callback is not None
    known = None if hurried else claimed(problem, grid, solver, gap)
    problems = [dataclasses.replace(problem, strength=strength) for strength in grid]
    if known is not None:
        problems = problems[: len(known)]  # up to where Ctrl-C ended it
    proofs = [] if known is None or not verify else proved_together(known, problems, gap)
    results: list[Result] = []
    for k, each in enumerate(problems):
        done = proofs[k] if proofs else None
        if done is not None:
            results.append(done)
            continue
        try:
            result = minimize(
                each,
                solver,
                gap=gap,
                atol=atol,
                max_iterations=max_iterations,
                max_seconds=max_seconds,
                w0=_ahead(problem, results, grid) if known is None else known[k],
                callback=callback,
                verify=verify,
            )
        except KeyboardInterrupt:  # before the first iteration at this strength
            if not results:
                raise
            break
        results.append(result)
        if result.status is Status.INTERRUPTED:
            break
    return Path(np.array(grid[: len(results)]), tuple(results))


def _ahead(problem: Problem, results: Sequence[Result], grid: Sequence[float]) -> Result | None:
    """Where the next strength's minimiser is looked for: on the path's secants.

    Slopes of kinked losses are piecewise linear in the strength (Hastie et al. 2004), and those of
    smooth ones nearly so: coordinate ascent saves a quarter to a half of its passes. The w of a
    smooth J changes steadily with log strength: L-BFGS saves a third.
    """
    if len(results) < 2:
        return results[-1] if results else None
    before, last = results[-2:]
    *_, far, near, here = grid[: len(results) + 1]
    if here == 0:
        return last
    # No further than the last change was: beyond that no secant says anything.
    witness = _further(before.witness, last.witness, min((here - near) / (near - far), 1.0))
    if not (problem.risk.facts.differentiable and problem.regularizer.smooth):
        return dataclasses.replace(last, witness=witness)
    step = min(math.log(here / near) / math.log(near / far), 1.0)
    w = last.w + step * (last.w - before.w)
    intercept = last.intercept + step * (last.intercept - before.intercept)
    return dataclasses.replace(last, w=w, intercept=intercept, witness=witness)


def _further(before: Witness | None, last: Witness | None, step: float) -> Witness | None:
    """The last dual variables and `step` times their change, where there are any; no proof."""
    if before is None or last is None or before.alpha is None or last.alpha is None:
        return last
    if before.alpha.shape != last.alpha.shape:
        return last
    return dataclasses.replace(last, alpha=last.alpha + step * (last.alpha - before.alpha))


def decreasing(name: str, strengths: Strengths, problems: Sequence[Problem]) -> list[float]:
    """The strengths that were asked for, the largest first; so many by default for the problems."""
    if isinstance(strengths, numbers.Number):
        return _spaced(whole(name, strengths, least=1), problems)
    try:
        given = np.ravel(strengths).tolist()
    except (TypeError, ValueError) as error:
        raise InvalidData(Setting(name), f" must be numbers >= 0, or how many: {error}") from error
    if not given:
        raise InvalidData(Setting(name), " is empty; give at least one, or how many")
    return sorted({checked_strength(f"each of {name}", each) for each in given}, reverse=True)


def _spaced(n: int, problems: Sequence[Problem]) -> list[float]:
    known = [strength for strength in map(vanishing, problems) if strength is not None]
    if len(known) < len(problems):
        return [float(each) for each in np.geomspace(_LARGEST, _SMALLEST, n)]
    return [float(each) for each in np.geomspace(max(known), _SPAN * max(known), n)]


def vanishing(problem: Problem) -> float | None:
    """A strength from which on w = 0 is best, None if one subgradient of R at 0 shows none.

    0 is best if -a / strength lies in dOmega(0), a box with the half-widths h, for some a in dR(0):
    from max_j |a_j| / h_j on. No smaller strength will do where R has a gradient at 0.
    """
    zero = np.zeros(problem.risk.n_parameters)
    if problem.regularizer.value(zero) > 0 or not problem.regularizer.separable:
        return None
    h: Array = np.abs(problem.regularizer.support(zero, np.ones_like(zero)))
    if not h.any():
        return None
    a = np.abs(problem.risk.at(zero).subgradient)
    if not (a.any() and np.isfinite(a).all() and (h[a > 0] > 0).all()):
        return None
    return float(np.max(a[a > 0] / h[a > 0]))
