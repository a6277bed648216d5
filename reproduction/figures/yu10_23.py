"""Wolfe's function, 5 sqrt(9 x^2 + 16 y^2) where x >= |y| and 9 x + 16 |y| elsewhere, which has no
minimum, from (2, 1): steepest descent with an exact line search, and subBFGS.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.toys import walked, ways

TITLE = "Figure 23: a counterexample for steepest descent"
CLAIM = """Steepest descent goes from one gradient to an orthogonal one, towards (0, 0), which is no
minimum. subBFGS is where x < 0 after its second step, and goes down for ever."""
HERE = "The line search is by golden section, as the function is not piecewise linear."
WHY = ""

OURS = "subBFGS"
SOLVERS = {
    "steepest descent": ("gd", {}),
    OURS: ("subbfgs", {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"}),
}


def runs(quick: bool) -> dict[str, Run]:
    """Fifteen steps of each."""
    return walked("wolfe", [2.0, 1.0], SOLVERS, exactly=True)


def draw(found: Results) -> Sequence[Panel]:
    """The ways on the plane."""
    return ways(found, "wolfe", (-1.0, 2.2), (-1.2, 1.2), (2.0, 8.0, 20.0))


def verdict(found: Results) -> list[Check]:
    """Where each ends."""
    rival, ours = found.values()
    return [
        Check(
            "steepest descent converges to (0, 0), where f = 0",
            not rival["ended"] and 0 <= rival["objective"][-1] < 1e-3,
            f"f = {rival['objective'][-1]:.1e} after {len(rival['x']) - 1} steps",
        ),
        Check(
            "subBFGS is at x < 0 after its second step, or falls for ever along it",
            ours["unbounded"] if len(ours["x"]) < 3 else ours["x"][2] < 0,
            f"after {len(ours['x']) - 1} steps",
        ),
        Check("and falls for ever", bool(ours["unbounded"])),
    ]
