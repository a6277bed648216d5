"""The solvers of fenchel that suit a problem run it from 0, each until it has certified
a gap of 1e-4, and auto with them. "fenchel race" does the same with any data, loss and strength.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run, solve

TITLE = "Race: who certifies what first"
CLAIM = """Nothing is claimed by others. We claim that all certificates agree, and that auto,
which chooses by the data alone, is never far behind the best."""
HERE = """A hinge loss and a logistic one on few columns (a9a) and on many (20 newsgroups, even
against odd), and an L1 penalty. Distances are measured from the best lower bound of all runs."""
WHY = ""

HINGE = ("bmrm", "ls-bmrm", "sublbfgs", "sdca", "auto")
LOGISTIC = ("lbfgs", "newton-cg", "sdca", "agm-1", "auto")
SPARSE = ("owlqn", "kt-split", "column-descent", "fista", "auto")
RACES = {
    "a9a, hinge, 1e-5": ("a9a", "hinge", "l2", 1e-5, HINGE),
    "a9a, logistic, 1e-5": ("a9a", "logistic", "l2", 1e-5, LOGISTIC),
    "a9a, logistic under L1, 1e-4": ("a9a", "logistic", "l1", 1e-4, SPARSE),
    "20news, hinge, 1e-5": ("20news", "hinge", "l2", 1e-5, HINGE),
    "20news, logistic, 1e-5": ("20news", "logistic", "l2", 1e-5, LOGISTIC),
}
GAP = 1e-4


def runs(quick: bool) -> dict[tuple[str, str], Run]:
    return {
        (race, solver): run(
            solve,
            data=data,
            rows=500 if quick else None,
            loss=loss,
            regularizer=regularizer,
            strength=strength,
            solver=solver,
            gap=GAP,
            max_seconds=0.5 if quick else 60.0,
        )
        for race, (data, loss, regularizer, strength, solvers) in RACES.items()
        for solver in solvers
        if not quick or data == "a9a"
    }


def races(found: Results) -> dict[str, list[str]]:
    """The solvers of each race that was run."""
    entered: dict[str, list[str]] = {}
    for race, solver in found:
        entered.setdefault(race, []).append(solver)
    return entered


def draw(found: Results) -> Sequence[Panel | Table]:
    panels: list[Panel | Table] = []
    for race, solvers in races(found).items():
        best = floor(found, race)
        for field, label in (("seconds", "seconds"), ("passes", "passes over the data")):
            distance = [
                Series(
                    solver,
                    found[race, solver].column(field),
                    found[race, solver].column("objective") - best,
                    "steps",
                )
                for solver in solvers
            ]
            panels.append(Panel(race, label, "J - J*, at most", distance, log="xy"))
        gaps = [
            Series(s, found[race, s].column("passes"), found[race, s].column("gap"), "steps")
            for s in solvers
        ]
        panels.append(Panel(race, "passes over the data", "certified gap", gaps, log="xy"))
    return [*panels, firsts(found)]


def firsts(found: Results) -> Table:
    """Who certified a gap first."""
    rows = []
    for race, solvers in races(found).items():
        for gap in (1e-1, 1e-2, 1e-3, GAP):
            cells = [race, f"{gap:g}"]
            for field, form in (("passes", ",.0f"), ("seconds", ".3g")):
                costs = {solver: found[race, solver].first(field, gap=gap) for solver in solvers}
                first = min(costs, key=costs.__getitem__)
                reached = math.isfinite(costs[first])
                cells += [first, format(costs[first], form)] if reached else ["nobody", ""]
            rows.append(cells)
    heads = ["race", "gap", "fewest passes", "passes", "least time", "seconds"]
    return Table("Who certified what first", heads, rows)


def floor(found: Results, race: str) -> float:
    """The best lower bound of all runs."""
    return max(found[race, solver].get("lower_bound", 0.0) for solver in races(found)[race])


def verdict(found: Results) -> list[Check]:
    crossed, behind = [], []
    for race, solvers in races(found).items():
        least = min(found[race, solver].get("objective", math.inf) for solver in solvers)
        if floor(found, race) > least * (1 + 1e-12):
            crossed.append(race)
        seconds = {solver: found[race, solver].first("seconds", gap=GAP) for solver in solvers}
        if not seconds["auto"] <= 2 * min(seconds.values()):
            behind.append(race)
    n = len(races(found))
    return [
        Check(
            "no lower bound of any solver is above the objective of any other",
            not crossed,
            f"in {n - len(crossed)} of {n} races",
        ),
        Check(
            f"auto certifies {GAP:g} in at most twice the time of the fastest",
            not behind,
            f"in {n - len(behind)} of {n} races"
            + (f"; not: {', '.join(behind)}" if behind else ""),
        ),
    ]
