"""Supposed: what nobody but a bundle comes near on Leukemia is the minimum of rows that can be
separated, which is some 1e-8 of J(0) and defined by few rows. So its 7,129 columns are thrown
together until they cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.contest import contest, rival, took
from reproduction.figures.yu10_4 import BINARY

TITLE = "The experiment: Leukemia with fewer columns"
COLUMNS = (8, 16, 32, 64, 512)
SEPARABLE = 1e-3  # of J(0) = 1: a minimum below it
WITHIN = 1e-2


def runs(quick: bool) -> dict[int, Run]:
    """160 iterations, or to 1 % above the minimum."""
    return {
        n: run(
            contest,
            data=f"leukemia, columns={n}",
            rows=40 if quick else None,
            loss="hinge",
            strength=1e-5,
            rivals=BINARY,
            within=WITHIN,
            judge=["ls-bmrm"],
            judge_gap=1e-6,
            seconds=0.5 if quick else 60.0,
            iterations=20 if quick else 160,
        )
        for n in (COLUMNS[:1] if quick else COLUMNS)
    }


def draw(found: Results) -> Sequence[Table]:
    """Iterations to 1 %."""
    rows = [
        [n, each.get("objective"), *(took(each, name, "iteration", WITHIN) for name in BINARY)]
        for n, each in found.items()
    ]
    return [Table("iterations to 1 % above the minimum", ["columns", "min J", *BINARY], rows)]


def verdict(found: Results) -> list[Check]:
    """Who arrives where rows can be separated, and where not."""
    arrived = {
        n: [name for name in BINARY if rival(each, name).get("reached", False)]
        for n, each in found.items()
    }
    easy = [n for n, each in found.items() if each.get("objective", 0.0) > SEPARABLE]
    hard = [n for n in found if n not in easy]
    return [
        Check(
            "where rows cannot be separated all of them come to 1 % above the minimum",
            bool(easy) and all(len(arrived[n]) == len(BINARY) for n in easy),
            f"with {', '.join(map(str, easy))} columns",
        ),
        Check(
            "where they can nobody but the bundle does in 160 iterations",
            bool(hard) and all(arrived[n] == ["ls-BMRM"] for n in hard),
            f"with {', '.join(map(str, hard))} columns",
        ),
    ]
