"""Supposed at first: subLBFGS is behind BMRM on enron because of its many labels, which make
algorithm 2 correct every direction. So few and many of the labels are kept, and both methods make
200 iterations: what J they have after the same number of passes, and the rounds of algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.contest import BMRM, OF_SEVERAL, contest, rival, thinned
from reproduction.found import Found

TITLE = "The experiment: fewer labels, the same number of passes"
RIVALS = {"subLBFGS": OF_SEVERAL, "BMRM": BMRM}
LABELS = (2, 5, 10, 20, 53)


def runs(quick: bool) -> dict[int, Run]:
    """200 iterations of both at 1e-5."""
    return {
        n: run(
            contest,
            data=f"enron, labels={n}",
            rows=100 if quick else None,
            loss="multilabel_hinge",
            strength=1e-5,
            rivals=RIVALS,
            within=0.0,
            judge=["ls-bmrm"],
            judge_seconds=1.0,
            seconds=1.0 if quick else 120.0,
            iterations=20 if quick else 200,
        )
        for n in (LABELS[1:2] if quick else LABELS)
    }


def after(found: Found, name: str, passes: float) -> float:
    """J after so many passes."""
    one = rival(found, name)
    reached = np.flatnonzero(one.column("passes") <= passes)
    return float(one.column("objective")[reached[-1]]) if len(reached) else float("nan")


def both(found: Found) -> float:
    """The passes that both of them made."""
    ends = [rival(found, name).column("passes") for name in RIVALS]
    return min((float(each[-1]) for each in ends if len(each)), default=0.0)


def rounds(found: Found) -> float:
    """Of algorithm 2 in an iteration."""
    one = rival(found, "subLBFGS")
    return float(one.get("rounds", 0)) / max(1, one.get("iterations", 1))


def draw(found: Results) -> Sequence[Panel | Table]:
    """J against passes, and what it comes to."""
    panels = [
        Panel(
            f"{n} labels",
            "passes over the data",
            "J",
            [
                Series(
                    name,
                    rival(each, name).column("passes").tolist(),
                    thinned(rival(each, name).column("objective")),
                )
                for name in RIVALS
            ],
            "xy",
        )
        for n, each in found.items()
    ]
    rows = [
        [n, both(each), *(after(each, name, both(each)) for name in RIVALS), rounds(each)]
        for n, each in found.items()
    ]
    head = ["labels", "passes", *(f"J of {name}" for name in RIVALS), "rounds an iteration"]
    return [*panels, Table("after the same number of passes", head, rows)]


def verdict(found: Results) -> list[Check]:
    """Whether labels, and rounds, are the reason."""
    ahead = [
        n
        for n, each in found.items()
        if after(each, "subLBFGS", both(each)) < after(each, "BMRM", both(each))
    ]
    by_labels = [rounds(each) for each in found.values()]
    return [
        Check(
            "after the same number of passes subLBFGS is below BMRM, with few labels and with all",
            len(ahead) == len(found),
            f"with {', '.join(map(str, ahead))} labels",
        ),
        Check(
            "rounds of algorithm 2 are no reason: it takes most of them with the fewest labels",
            bool(by_labels) and by_labels[0] == max(by_labels) > min(by_labels),
            ", ".join(f"{each:.2g}" for each in by_labels) + " an iteration",
        ),
    ]
