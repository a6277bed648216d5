"""The comparison that [Zhang11] announces and did not print: who certifies what, at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.contest import axes, thinned
from reproduction.found import Results
from reproduction.shape import Check, Panel, Run, Series, Table, run

# Whoever is not among fenchel's solvers, or refuses the problem, is left out of the race.
AGM: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "AGM-inf, primal": ("agm-inf", {}),
    "AGM-inf, dual": ("agm-inf", {"form": "dual"}),
    "AGM-inf, homotopy": ("agm-inf", {"form": "homotopy"}),
    "AGM-1, primal": ("agm-1", {}),
    "excessive gap": ("excessive-gap", {}),
    "PDHG": ("pdhg", {}),
}
RIVALS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "BMRM": ("bmrm", {}),
    "ls-BMRM": ("ls-bmrm", {}),
    "SDCA": ("sdca", {}),
    "BCFW": ("bcfw", {}),
}
GAPS = (1e-1, 1e-2, 1e-3)


def certify(
    data: str,
    loss: str,
    strength: float,
    solver: str,
    options: Mapping[str, Any],
    *,
    rows: int | None = None,
    gap: float = 1e-3,
    seconds: float = 10.0,
    iterations: int = 3000,
) -> dict[str, Any]:
    """A run until the gap is certified; `refused` says why there is none."""
    import fenchel
    from reproduction.data import load
    from reproduction.solving import columns

    X, y, groups = load(data, rows)
    labels = y.astype(int) if loss in ("m3n", "crf") else y
    problem = fenchel.problem(X, labels, groups=groups, loss=loss, strength=strength)
    try:
        method = fenchel.solver(solver, **options)
        result = fenchel.minimize(
            problem, method, gap=gap, max_seconds=seconds, max_iterations=iterations
        )
    except fenchel.FenchelError as error:
        return {"refused": str(error)}
    history = list(result.history)
    index = np.unique(np.geomspace(1, len(history), 120).round().astype(int)) - 1
    return {
        "objective": result.objective,
        "gap": result.gap,
        "iterations": result.iterations,
        "history": columns([history[i] for i in index]),
    }


def race(
    quick: bool, sets: Sequence[tuple[str, str, float]], rows: int | None = None, few: int = 300
) -> dict[tuple[str, str, float, str], Run]:
    """All of them on (data, loss, strength)."""
    limits = {"seconds": 1.0, "iterations": 60, "gap": 1e-2} if quick else {"seconds": 5.0}
    return {
        (data, loss, strength, name): run(
            certify,
            data=data,
            loss=loss,
            strength=strength,
            solver=solver,
            options=options,
            rows=few if quick else rows,
            **limits,
        )
        for data, loss, strength in (sets[:1] if quick else sets)
        for name, (solver, options) in {**AGM, **RIVALS}.items()
    }


def passes(found: Results, case: tuple[str, str, float], name: str, gap: float) -> float:
    """Until that gap is certified; inf where it is not, or where the solver refuses."""
    return found[*case, name].first("passes", gap=gap)


def cases(found: Results) -> list[tuple[str, str, float]]:
    """What was run."""
    return list(dict.fromkeys(key[:3] for key in found))


def shown(found: Results) -> list[Panel | Table]:
    """Certified gaps against passes, and a table of who certified what."""
    (names,) = axes(found, 3)
    panels: list[Panel | Table] = []
    rows = []
    for case in cases(found):
        series = [
            Series(name, thinned(each.column("passes")), thinned(each.column("gap")))
            for name in names
            if len((each := found[*case, name]).column("gap"))
        ]
        data, loss, strength = case
        title = f"{data}, {loss}, strength {strength:g}"
        panels.append(Panel(title, "passes over the data", "certified gap", series, "xy"))
        for name in names:
            each = found[*case, name]
            cells = [passes(found, case, name, gap) for gap in GAPS]
            refused = each.get("refused", "")[:60]
            rows.append([title, name, *cells, refused or f"{each.get('gap', math.nan):.1e}"])
    head = ["problem", "solver", *(f"passes to {gap:g}" for gap in GAPS), "gap in the end"]
    return [*panels, Table("who certified what", head, rows)]


def ahead(found: Results, gap: float) -> Check:
    """The paper's claim: some form of AGM outperforms the specialised solvers."""
    won = []
    for case in cases(found):
        ours = min(passes(found, case, name, gap) for name in AGM if (*case, name) in found)
        theirs = min(passes(found, case, name, gap) for name in RIVALS if (*case, name) in found)
        if ours < theirs:
            won.append(case)
    return Check(
        f"the best accelerated method certifies {gap:g} in fewer passes than all others",
        len(won) == len(cases(found)),
        f"in {len(won)} of {len(cases(found))} cases",
    )
