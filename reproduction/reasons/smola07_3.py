"""Supposed: cuts are as many as theorems 4 and 5 have them, growing with the length of rows, and
not with the number of columns. Rows of text have the length 1, those of a9a and w8a 3.7 and 3.4. So
rows are made as long as others' are, and the columns of 20 newsgroups are thrown together. And w8a,
of which one row in 33 is positive, is cut down to as many rows of either class.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.contest import contest
from reproduction.figures.smola07_3 import SOLVERS, steps

TITLE = "The experiment: rows of other lengths, fewer columns, equal classes"
CASES = {
    "20news": 2e-4,
    "20news, lengths=4": 2e-4,
    "20news, columns=1024": 2e-4,
    "20news, columns=256": 2e-4,
    "a9a": 1e-4,
    "a9a, lengths=1": 1e-4,
    "w8a": 1e-4,
    "w8a, lengths=1": 1e-4,
    "w8a, balanced": 1e-4,
}
NAMES = ("BMRM", "without QP", "Pegasos")
ABOVE = 1e-3  # of the minimum


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To 0.001 above the minimum."""
    cases = ("a9a, lengths=1", "w8a, balanced") if quick else CASES
    return {
        (data, CASES[data]): run(
            contest,
            data=data,
            rows=500 if quick else None,
            loss="hinge",
            strength=CASES[data],
            rivals={name: SOLVERS[name] for name in NAMES},
            within=1e-3,
            judge_gap=1e-5,
            seconds=0.5 if quick else 30.0,
            iterations=50 if quick else 2000,
        )
        for data in cases
    }


def counts(found: Results, data: str) -> dict[str, float]:
    """Iterations of each; none where it was not run."""
    key = data, CASES[data]
    return {name: steps(found, key, name, ABOVE) for name in NAMES} if key in found else {}


def draw(found: Results) -> Sequence[Table]:
    """All iterations."""
    rows = [[data, f"{strength:g}", *counts(found, data).values()] for data, strength in found]
    return [Table("iterations to the minimum + 0.001", ["set", "strength", *NAMES], rows)]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    n = {data: counts(found, data) for data in CASES}
    nothing = dict.fromkeys(NAMES, float("nan"))
    text, long, few = (
        n[data] or nothing for data in ("20news", "20news, lengths=4", "20news, columns=256")
    )
    a9a, short = (n[data] or nothing for data in ("a9a", "a9a, lengths=1"))
    w8a, even = (n[data] or nothing for data in ("w8a", "w8a, balanced"))
    return [
        Check(
            "a9a with rows of length 1 has the paper's order: BMRM, without a programme, Pegasos",
            short["BMRM"] < short["without QP"] < short["Pegasos"] < float("inf"),
            f"{[*short.values()]}; as it is {[*a9a.values()]}",
        ),
        Check(
            "text with rows of length 4 takes both bundle methods more than three times as long",
            all(long[name] > 3 * text[name] for name in NAMES[:2]),
            f"{[*long.values()]}; as it is {[*text.values()]}",
        ),
        Check(
            "with 256 of 130,107 columns BMRM needs no more cuts",
            few["BMRM"] <= text["BMRM"],
            f"{few['BMRM']:g} and {text['BMRM']:g}",
        ),
        Check(
            "w8a with as many rows of either class has the variant ahead of Pegasos",
            even["without QP"] < even["Pegasos"] and w8a["without QP"] > w8a["Pegasos"],
            f"{[*even.values()]}; as it is {[*w8a.values()]}",
        ),
    ]
