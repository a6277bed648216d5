"""subLBFGS with buffers of 5, 15 and 25 pairs, objective against seconds, on hinge losses of two
and of many classes and of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.compare import Tally, descents, of_three_kinds
from reproduction.contest import OF_SEVERAL

TITLE = "Figure 14: the size of subLBFGS's buffer"
CLAIM = "subLBFGS is not sensitive to the size of its buffer between 5 and 25."
HERE = """a9a at 1e-4, letter (scaled to [-1, 1], 4,000 rows) at 1e-3, scene at 1e-2. Passes, from
certified minima."""
WHY = ""

SOLVERS = {f"memory {m}": (OF_SEVERAL[0], OF_SEVERAL[1] | {"memory": m}) for m in (5, 15, 25)}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To 2 % above the minimum."""
    return of_three_kinds(quick, SOLVERS, iterations=400)


def draw(found: Results) -> Sequence[Panel]:
    """The excess over the minimum."""
    return descents(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """Passes to 5 %."""
    tally = Tally(found, 0.05)
    costs = [tally.cost(name) for name in SOLVERS]
    spread = {key: max(c[key] for c in costs) / min(c[key] for c in costs) for key in found}
    return [
        Check(
            f"on {data} the passes to 5 % differ by less than a factor of 1.5",
            spread[data, strength] < 1.5,
            f"{[cost[data, strength] for cost in costs]} passes",
        )
        for data, strength in found
    ]
