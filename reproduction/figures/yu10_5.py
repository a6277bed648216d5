"""subLBFGS beside gradient descent along random subgradients after a unit step (GD) and along the
directions of algorithm 2 with B = I (subGD), all with exact line searches: hinge losses of two and
of many classes and of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.compare import Tally, descents, of_three_kinds
from reproduction.contest import OF_SEVERAL

TITLE = "Figure 5: what the inverse Hessian is worth where there is none"
CLAIM = "subLBFGS converges significantly faster than GD and subGD on all three."
HERE = """a9a, letter (scaled to [-1, 1], 4,000 rows) and scene at strengths of 1e-4, 1e-3 and 1e-2.
Passes, from certified minima."""
WHY = ""

SOLVERS = {
    "subLBFGS": OF_SEVERAL,
    "GD": ("gd", {"first": "unit", "seed": 0}),
    "subGD": ("subgd", {"finding": "one-step", "tolerance": 1e-5}),
}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To 1 % above the minimum, within 300 iterations."""
    return of_three_kinds(quick, SOLVERS, iterations=300, within=0.01)


def draw(found: Results) -> Sequence[Panel]:
    """The excess over the minimum."""
    return descents(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """By passes to 5 %."""
    tally = Tally(found, 0.05)
    return [
        tally.check(f"subLBFGS comes to 5 % in fewer passes than {name}", "subLBFGS", name)
        for name in ("GD", "subGD")
    ]
