"""subLBFGS with buffers of 5, 15 and 25 pairs, objective against seconds, on hinge losses of two
and of many classes and of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, run
from reproduction.compare import Tally, descents
from reproduction.contest import SUBLBFGS, contest

TITLE = "Figure 14: the size of subLBFGS's buffer"
CLAIM = "subLBFGS is not sensitive to the size of its buffer between 5 and 25."
HERE = """a9a at 1e-4, letter (scaled to [-1, 1], 4,000 rows) at 1e-3, scene at 1e-2. Passes, from
certified minima."""
WHY = ""

SOLVERS = {f"memory {m}": (SUBLBFGS[0], SUBLBFGS[1] | {"memory": m}) for m in (5, 15, 25)}
SETS = {
    ("a9a", 1e-4): "hinge",
    ("letter", 1e-3): "multiclass_hinge",
    ("scene", 1e-2): "multilabel_hinge",
}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To 2 % above the minimum."""
    return {
        (data, strength): run(
            contest,
            data=data,
            rows=300 if quick else 4000 if data == "letter" else None,
            loss=loss,
            strength=strength,
            rivals=SOLVERS,
            seconds=1.0 if quick else 8.0,
            iterations=40 if quick else 400,
        )
        for (data, strength), loss in SETS.items()
    }


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
