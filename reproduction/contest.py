"""Several solvers on one problem, each until it is near its certified minimum: most of [Yu10]."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.found import Found, Results
from reproduction.shape import Series

_KEPT = 120  # records of a history: as many as a figure shows
STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
CLOSE = 0.02  # [Yu10]'s: within 2 % of the minimum
# What [Yu10] ran: algorithm 2 as printed from B_0 = I, and BMRM with cuts at the model's minimiser.
# With several classes or labels the first direction, at w = 0, is found to a tolerance of 1 only.
SUBLBFGS = ("sublbfgs", {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"})
OF_SEVERAL = (SUBLBFGS[0], SUBLBFGS[1] | {"tolerance_at_0": 1.0})
BMRM = ("bmrm", {"step": 1.0})
OCAS = ("ls-bmrm", {"mu": 0.1})

Rivals = Mapping[str, tuple[str, Mapping[str, Any]]]


def contest(
    data: str,
    loss: str,
    strength: float,
    rivals: Rivals,
    *,
    rows: int | None = None,
    regularizer: str = "l2",
    loss_options: Mapping[str, Any] | None = None,
    within: float = CLOSE,
    judge: Sequence[str] | None = None,
    judge_gap: float = 1e-3,
    judge_seconds: float = 20.0,
    seconds: float = 10.0,
    iterations: int = 100_000,
) -> dict[str, Any]:
    """Each rival from 0 until J is within that fraction of the minimum, which `judge` certifies.

    Judges, one after another, prove the minimum to `judge_gap` if they can. What was reached is
    J <= (1 + within) times the best one's J; `within` of 0 lets rivals run until their own gap is
    1e-9, or to their limits.
    """
    import fenchel
    from reproduction.data import load
    from reproduction.solving import columns

    X, y, groups = load(data, rows)
    problem = fenchel.problem(
        X,
        y,
        groups=groups,
        loss=loss,
        regularizer=regularizer,
        strength=strength,
        **(loss_options or {}),
    )
    judges = judge or (("polish", "auto") if loss.startswith("multi") else ("auto",))
    best = _judged(problem, judges, judge_gap, judge_seconds)
    target = (1 + within) * best.objective if within else -math.inf
    told: dict[str, Any] = {}
    for name, (solver, options) in rivals.items():
        rounds: list[int] = []
        result = fenchel.minimize(
            problem,
            _counting(fenchel.solver(solver, **options), rounds),
            gap=1e-9,
            max_seconds=seconds,
            max_iterations=iterations,
            callback=lambda record: record.objective <= target,
        )
        history = list(result.history)
        index = np.unique(np.geomspace(1, len(history), _KEPT).round().astype(int)) - 1
        told[name] = {
            "objective": result.objective,
            "lower_bound": result.lower_bound,
            "status": result.status.name.lower(),
            "iterations": result.iterations,
            "passes": result.passes,
            "rounds": sum(rounds),
            "reached": bool(result.objective <= target),
            "history": columns([history[i] for i in index]),
        }
    return {
        "objective": best.objective,
        "lower_bound": best.lower_bound,
        "gap": best.gap,
        "by": best.solver,
        "n_rows": problem.risk.n_rows,
        "n_parameters": problem.risk.n_parameters,
        "nonzeros": int(np.count_nonzero(best.w)),
        "rivals": told,
    }


def _judged(problem: Any, judges: Sequence[str], gap: float, seconds: float) -> Any:
    """The least J that a judge finds, with the best lower bound that it proves."""
    import fenchel

    found = []
    for judge in judges:
        found.append(fenchel.minimize(problem, judge, gap=gap, max_seconds=seconds / len(judges)))
        if found[-1].gap <= gap:
            return found[-1]
    return min(found, key=lambda result: result.gap)


def _counting(solver: Any, rounds: list[int]) -> Any:
    """The solver, which notes the rounds of every search for a direction of descent."""
    find = getattr(solver, "found", None)
    if find is not None:

        def found(*given: Any) -> Any:
            direction = find(*given)
            rounds.append(0 if direction is None else direction.rounds)
            return direction

        solver.found = found
    return solver


def rival(found: Found, name: str) -> Found:
    """What one of them did; nothing if the contest failed."""
    return Found(found.get("rivals", {}).get(name, {}))


def least(found: Found) -> float:
    """The least J that anyone came to: the judge's, which is proved, or a rival's below it."""
    values = [each["objective"] for each in found.get("rivals", {}).values()]
    return min([found.get("objective", math.inf), *values])


def took(found: Found, name: str, field: str, within: float = CLOSE) -> float:
    """The cost until J was within that fraction of the minimum; inf if it never was."""
    return rival(found, name).first(field, objective=(1 + within) * found.get("objective", 0.0))


def excess(found: Found, name: str) -> np.ndarray:
    """(J - min J) / min J along the run, the minimum being proved from below."""
    best = found.get("objective", math.nan) / (1 + found.get("gap", 0.0))
    return rival(found, name).column("objective") / best - 1


def curves(found: Found, names: Iterable[str], x: str = "passes") -> list[Series]:
    """How far each was above the minimum, against what it had cost."""
    return [
        Series(name, thinned(rival(found, name).column(x)), thinned(excess(found, name)))
        for name in names
    ]


def by_strength(
    found: Results, data: str, strengths: Sequence[float], names: Iterable[str], field: str
) -> list[Series]:
    """What each took to 2 % above the minimum, a line for each."""
    return [
        Series(name, strengths, [took(found[data, each], name, field) for each in strengths])
        for name in names
    ]


def axes(found: Results, *which: int) -> list[list[Any]]:
    """The values that the keys have at these places, in their order."""
    return [list(dict.fromkeys(key[k] for key in found)) for k in which]


def certified(found: Results) -> str:
    """How well the minima are known, for the text beside a check."""
    gaps = [each["gap"] for each in found.values() if "gap" in each]
    return f"minima proved to {max(gaps, default=math.inf):.0e}"


def lead(found: Found, ours: str, other: str, within: float = CLOSE) -> float:
    """How many times the passes of ours the other one needs; nan where neither arrives."""
    mine, theirs = (took(found, name, "passes", within) for name in (ours, other))
    return math.nan if math.isinf(mine) and math.isinf(theirs) else theirs / mine


def thinned(values: Sequence[float]) -> list[float]:
    """Numbers of four digits, which is what a picture shows."""
    return [float(f"{value:.4g}") for value in values]
