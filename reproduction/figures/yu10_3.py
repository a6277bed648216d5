"""The toy f(x, y) = 10 |x| + |y| from (1, 1): BFGS with an inexact line search (a step that has
lost a fifth of the slope, shortened by tenths until f falls enough), BFGS with an exact one, and
subBFGS.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, run
from reproduction.toys import contours, trajectory

TITLE = "Figure 3: BFGS and subBFGS on 10 |x| + |y|"
CLAIM = """BFGS with an inexact search falls quickly, then oscillates around the minimum; with an
exact one it fails after the first step, on the kink x = 0. subBFGS is at the minimum after the
second step, whatever subgradient it starts from."""
HERE = """The paper's constants (c1 = 1e-3, c2 = 0.8, decay 0.9), B_0 = I, algorithm 2 as printed;
four random choices of the first subgradient."""
WHY = ""

PRINTED = {"finding": "one-step", "tolerance": 1e-5, "b0": "identity"}
PLAIN = {"finding": "none", "b0": "identity"}
INEXACT, EXACT, OURS = "BFGS, inexact search", "BFGS, exact search", "subBFGS"


def runs(quick: bool) -> dict[tuple[str, int], Run]:
    """Thirty steps of each."""
    options = {(INEXACT, 0): PLAIN | {"search": "inexact"}, (EXACT, 0): PLAIN}
    options |= {(OURS, seed): PRINTED | {"seed": seed} for seed in range(4)}
    return {
        key: run(trajectory, toy="valley", solver="subbfgs", options=each, w0=[1.0, 1.0])
        for key, each in options.items()
    }


def draw(found: Results) -> Sequence[Panel]:
    """The way on the plane, and the values."""
    lines = contours("valley", (-0.6, 1.1), (-1.1, 1.1), (0.5, 2.0, 6.0))
    ways = [Series(name, found[name, 0]["x"], found[name, 0]["y"]) for name in (INEXACT, OURS)]
    values = [
        Series(name, range(len(each["objective"])), each["objective"])
        for (name, seed), each in found.items()
        if seed == 0
    ]
    return [
        Panel("ways", "x", "y", [*lines, *ways]),
        Panel("values", "iteration", "f", values, log="y"),
    ]


def verdict(found: Results) -> list[Check]:
    """Numbers of steps."""
    inexact, exact = found[INEXACT, 0]["objective"], found[EXACT, 0]
    second = [found[OURS, seed]["objective"][2] for seed in range(4)]
    crossings = sum(a * b < 0 for a, b in itertools.pairwise(found[INEXACT, 0]["x"]))
    return [
        Check(
            "BFGS with an exact search fails after the first step, at x = 0",
            bool(exact["ended"]) and len(exact["x"]) == 2 and abs(exact["x"][1]) < 1e-12,
            f"f = {exact['objective'][-1]:g} after {len(exact['x']) - 1} step",
        ),
        Check(
            "BFGS with an inexact search oscillates across x = 0 and is not at 0 after 10 steps",
            crossings >= 3 and inexact[min(10, len(inexact) - 1)] > 1e-6,
            f"{crossings} crossings; f = {inexact[min(10, len(inexact) - 1)]:.1e} after 10 steps",
        ),
        Check(
            "subBFGS is at the minimum after two steps, from any subgradient",
            max(second) <= 1e-12,
            f"f <= {max(second):.0e}",
        ),
    ]
