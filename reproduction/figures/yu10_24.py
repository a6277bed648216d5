"""max(-100, 2 |x| + 3 y, 5 |x| + 2 y) (Hiriart-Urruty and Lemarechal), from (9, -3) in the figure:
steepest subgradient descent with an exact line search, and subBFGS.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.toys import walked, ways

TITLE = "Figure 24: a counterexample for steepest subgradient descent"
CLAIM = """Steepest subgradient descent zigzags between two kinks towards (0, 0), which is no
minimum. subBFGS moves to y < 0 with its second step and ends where f = -100, its minimum."""
HERE = (
    """From (1, 3), a point between the two kinks y = 3 |x|, as the paper's start cannot be read."""
)
WHY = ""

OURS = "subBFGS"
SOLVERS = {
    "steepest subgradient": ("subgd", {}),
    OURS: ("subbfgs", {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"}),
}


def runs(quick: bool) -> dict[str, Run]:
    """Fifteen steps of each."""
    return walked("bounded", [1.0, 3.0], SOLVERS)


def draw(found: Results) -> Sequence[Panel]:
    """The ways on the plane."""
    return ways(found, "bounded", (-1.2, 1.2), (-1.0, 3.2), (1.0, 4.0, 9.0))


def verdict(found: Results) -> list[Check]:
    """Where each ends."""
    rival, ours = found.values()
    return [
        Check(
            "steepest subgradient descent zigzags to (0, 0), where f = 0",
            not rival["ended"] and 0 < rival["objective"][-1] < 1e-3,
            f"f = {rival['objective'][-1]:.1e} after {len(rival['x']) - 1} steps",
        ),
        Check(
            "subBFGS is at y < 0 after its second step", ours["y"][2] < 0, f"y = {ours['y'][2]:.3g}"
        ),
        Check(
            "where f has its minimum, -100",
            abs(ours["objective"][2] + 100) < 1e-9,
            f"f = {ours['objective'][2]:g}",
        ),
    ]
