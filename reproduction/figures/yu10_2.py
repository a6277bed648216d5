"""A sketch: the hinge function, and lines that touch it from below at its kink. Their slopes are
the subgradients there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction import Check, Panel, Results, Run, Series, run

TITLE = "Figure 2: subgradients of the hinge function"
CLAIM = """At the kink every line between the two pieces lies below the function; where it is
smooth, one line does."""
HERE = """Computed: slopes that fenchel's own risk gives at the kink towards either side, and their
means, on one row x = 1, y = 1."""
WHY = ""

KINK, SMOOTH = 1.0, 0.0


def slopes() -> Mapping[str, Any]:
    """The steepest subgradients at w = 1 along 1 and -1, and the one at w = 0."""
    import fenchel

    sides = np.array([1.0, -1.0])  # two rows that are each other's mirror: two classes are needed
    problem = fenchel.problem(sides[:, None], sides, loss="hinge", strength=1.0)
    at_kink, smooth = (problem.risk.at(np.array([w])) for w in (KINK, SMOOTH))
    kink = [at_kink.steepest(np.array([side])).subgradient[0] for side in (-1.0, 1.0)]
    return {"kink": kink, "smooth": float(smooth.subgradient[0])}


def runs(quick: bool) -> dict[str, Run]:
    """The slopes of one row."""
    return {"hinge": run(slopes)}


def draw(found: Results) -> Sequence[Panel]:
    """The function and its tangents at the kink."""
    w = np.linspace(-1, 2, 31)
    low, high = found["hinge"]["kink"]
    lines = [
        Series(f"slope {slope:g}", w, slope * (w - KINK), "dashed")
        for slope in np.linspace(low, high, 5)
    ]
    return [Panel("hinge", "w", "loss", [Series("hinge", w, np.maximum(0, 1 - w)), *lines])]


def verdict(found: Results) -> list[Check]:
    """The subdifferential is the interval between the two slopes."""
    w = np.linspace(-1, 2, 31)
    low, high = found["hinge"]["kink"]
    below = all(
        np.all(slope * (w - KINK) <= np.maximum(0, 1 - w) + 1e-12)
        for slope in np.linspace(low, high, 9)
    )
    return [
        Check("at the kink the subdifferential is [-1, 0]", (low, high) == (-1.0, 0.0)),
        Check("all its elements are slopes of lines below the function", bool(below)),
        Check("where it is smooth there is one slope, -1", found["hinge"]["smooth"] == -1.0),
    ]
