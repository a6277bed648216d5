"""Seconds of BMRM, of rivals and of our own choice against the strength ([Teo07] figures 3, 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction import Check, Panel, Results, Run, Series, run, solve
from reproduction.rivals import fitted

STRENGTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
FENCHEL = {
    "BMRM": ("bmrm", {"step": 1.0}),
    "BMRM, ours": ("bmrm", {}),
    "Pegasos": ("pegasos", {"batch": 100}),
    "auto": ("auto", {}),
}
RIVALS = ("LIBSVM", "liblinear")


def timed(
    names: Sequence[str], rows: int, loss: Mapping[str, Any], rivals: Sequence[str], quick: bool
) -> dict[tuple[str, float, str], Run]:
    """Every set at every strength; `rivals`, the classes of `RIVALS`, at three of them."""
    rows = 500 if quick else rows
    names, strengths = (names[:2], (1e-1, 1e-3)) if quick else (names, STRENGTHS)
    ours = {
        (data, strength, name): run(
            solve,
            data=data,
            rows=rows,
            strength=strength,
            solver=solver,
            options=options,
            gap=1e-3,
            max_seconds=0.3 if quick else 3.0 if name == "Pegasos" else 5.0,
            **loss,
        )
        for data in names
        for strength in strengths
        for name, (solver, options) in FENCHEL.items()
    }
    theirs = {
        (data, strength, name): run(
            fitted, data=data, rows=rows, strength=strength, rival=rival, tol=1e-3, limit=25.0
        )
        for data in names
        for strength in (strengths if quick else strengths[1::2])
        for name, rival in zip(RIVALS, rivals, strict=True)
    }
    return ours | theirs


def draw(found: Results) -> Sequence[Panel]:
    """Seconds against the strength."""
    return [Panel(data, "strength", "seconds", lines(found, data), "xy") for data in sets(found)]


def lines(found: Results, data: str) -> list[Series]:
    """One for each solver."""
    series = []
    for name in [*FENCHEL, *RIVALS]:
        at = [strength for each, strength, solver in found if (each, solver) == (data, name)]
        series.append(Series(name, at, [seconds(found, data, each, name) for each in at]))
    return series


def seconds(found: Results, data: str, strength: float, name: str) -> float:
    """Of a fit that ended."""
    each = found[data, strength, name]
    if name in RIVALS:
        return float(each.get("seconds", float("inf")))
    return each.first("seconds", gap=1e-3)


def sets(found: Results) -> list[str]:
    """Those that were run."""
    return list(dict.fromkeys(data for data, _, _ in found))


def verdict(found: Results) -> list[Check]:
    """Where both were run."""
    cases = [(data, strength) for data, strength, name in found if name == "LIBSVM"]
    won = [
        case for case in cases if seconds(found, *case, "BMRM") < seconds(found, *case, "LIBSVM")
    ]
    strengths = sorted({strength for _, strength, _ in found})
    slower = [
        data
        for data in sets(found)
        if found[data, strengths[0], "BMRM"].get("iterations", 9e9)
        >= found[data, strengths[-1], "BMRM"].get("iterations", 0)
    ]
    return [
        Check(
            "BMRM is faster than LIBSVM in most cases",
            len(won) > len(cases) / 2,
            f"in {len(won)} of {len(cases)}",
        ),
        Check(
            "it takes more iterations at the smallest strength than at the largest, on all sets",
            len(slower) == len(sets(found)),
            f"on {len(slower)} of {len(sets(found))}",
        ),
    ]
