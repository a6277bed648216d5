"""How far J of subLBFGS is above its "optimum", the value after 10,000 seconds, against iterations,
in typical runs with the hinge losses of two and of many classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.contest import OF_SEVERAL, contest, excess, rival, thinned

TITLE = "Figure 9: the rate of convergence of subLBFGS"
CLAIM = """After a transient, subLBFGS converges linearly, and superlinearly near the optimum; which
may be an artefact of the optimum's own inaccuracy, as Lewis and Overton caution."""
HERE = """a9a at 1e-4 and letter (scaled to [-1, 1], 4,000 rows) at 1e-2, from minima that fenchel
certifies; and beside them the same runs measured as the paper does, from the best value of the run
itself."""
WHY = """Measured from the certified minimum the decrease per iteration falls off: the excess goes
down like a power of the iteration number. Measured from the run's own best value, the same numbers
bend down at the end, as in the paper: the superlinear phase is the artefact that Lewis and Overton
warn of (the two panels are of the same runs)."""

SETS = {("a9a", 1e-4): "hinge", ("letter", 1e-2): "multiclass_hinge"}
SOLVERS = {"subLBFGS": OF_SEVERAL}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """Long runs of one solver."""
    return {
        (data, strength): run(
            contest,
            data=data,
            rows=500 if quick else 4000 if data == "letter" else None,
            loss=loss,
            strength=strength,
            rivals=SOLVERS,
            within=0.0,
            judge_gap=1e-4 if quick else 1e-7,
            judge_seconds=1.0 if quick else 40.0,
            seconds=1.0 if quick else 20.0,
            iterations=100 if quick else 1000,
        )
        for (data, strength), loss in SETS.items()
    }


def draw(found: Results) -> Sequence[Panel | Table]:
    """From the certified minimum, and from the last value as the paper has it."""
    true, own = [], []
    for (data, _), each in found.items():
        steps, J = (rival(each, "subLBFGS").column(field) for field in ("iteration", "objective"))
        true.append(Series(data, thinned(steps), thinned(excess(each, "subLBFGS"))))
        own.append(Series(data, thinned(steps), thinned(J / J[-1] - 1) if len(J) else []))
    axes = ("iteration", "(J - optimum) / optimum")
    return [
        Panel("above the certified minimum", *axes, true, "y"),
        Panel("above the last value, as in the paper", *axes, own, "y"),
    ]


def verdict(found: Results) -> list[Check]:
    """Whether the decrease in the last third is as fast as in the middle third, in logarithms."""
    certain, seeming = [], []
    for each in found.values():
        steps, J = (rival(each, "subLBFGS").column(field) for field in ("iteration", "objective"))
        if len(J) > 9:
            certain.append(_bend(steps, excess(each, "subLBFGS")))
            seeming.append(_bend(steps[:-1], J[:-1] / J[-1] - 1))
    return [
        Check(
            "the excess over the minimum falls faster and faster at the end (superlinearly)",
            bool(certain) and min(certain) > 1,
            "decades per iteration in the last third over those in the middle: "
            + ", ".join(f"{bend:.2f}" for bend in certain),
        ),
        Check(
            "at least linearly",
            bool(certain) and min(certain) > 0.8,
            "; from the run's own last value: " + ", ".join(f"{bend:.2f}" for bend in seeming),
        ),
    ]


def _bend(steps: np.ndarray, above: np.ndarray) -> float:
    """How much steeper log(above) is over the last third of the steps than over the middle one."""
    logs = np.log10(np.maximum(above, 1e-16))
    marks = np.interp(steps[-1] * np.array([1, 2, 3]) / 3, steps, logs)
    return float((marks[2] - marks[1]) / min(marks[1] - marks[0], -1e-12))
