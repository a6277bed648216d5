"""max(2 |x| + y, 3 y) (Lewis and Overton), which has no minimum: BFGS with an exact line search,
and subBFGS.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.toys import walked, ways

TITLE = "Figure 25: a counterexample for BFGS"
CLAIM = """After its first step BFGS is at a kink, where it finds no direction of descent. subBFGS
goes to minus infinity in three iterations."""
HERE = "From (3, 1); B_0 = I for both."
WHY = ""

OURS = "subBFGS"
SOLVERS = {
    "BFGS": ("subbfgs", {"finding": "none", "b0": "identity"}),
    OURS: ("subbfgs", {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"}),
}


def runs(quick: bool) -> dict[str, Run]:
    """Fifteen steps of each."""
    return walked("unbounded", [3.0, 1.0], SOLVERS)


def draw(found: Results) -> Sequence[Panel]:
    """The ways on the plane."""
    return ways(found, "unbounded", (-3.2, 3.2), (-3.2, 2.0), (-1.0, 1.0, 4.0))


def verdict(found: Results) -> list[Check]:
    """Where each ends."""
    rival, ours = found.values()
    return [
        Check(
            "BFGS fails after its first step",
            bool(rival["ended"]) and not rival["unbounded"] and len(rival["x"]) == 2,
            f"f = {rival['objective'][-1]:g} after {len(rival['x']) - 1} step",
        ),
        Check(
            "subBFGS falls for ever after at most three iterations",
            bool(ours["unbounded"]) and len(ours["x"]) <= 4,
            f"{len(ours['x']) - 1} steps",
        ),
    ]
