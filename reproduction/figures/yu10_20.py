"""The L2-regularised multiclass hinge loss at strengths from 1e-1 down to 1e-6 on the sets of
figure 19: CPU seconds of subLBFGS, BMRM and ls-BMRM until J is within 2 % of the best value.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.compare import Tally, against_strength, grid
from reproduction.contest import BMRM, OCAS, OF_SEVERAL

TITLE = "Figure 20: passes to 2 % above the minimum of the multiclass hinge loss"
CLAIM = """All are faster at larger strengths. In general subLBFGS is faster than BMRM, but for USPS
at small strengths and INEX at large ones; ls-BMRM is competitive everywhere, and BMRM never
outperforms both."""
HERE = """Letter (scaled to [-1, 1]), USPS, MNIST and 20 newsgroups, 3,000 rows of each. Passes;
minima are certified as far as the checks say."""
WHY = ""

SETS = ("letter", "usps", "mnist", "20news-classes")
SOLVERS = {"subLBFGS": OF_SEVERAL, "BMRM": BMRM, "ls-BMRM": OCAS}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """Every set at every strength."""
    return grid(
        quick,
        SETS,
        SOLVERS,
        loss="multiclass_hinge",
        rows=3000,
        seconds=3.0,
        judge_seconds=8.0,
        judge_gap=2e-3,
    )


def draw(found: Results) -> Sequence[Panel]:
    """Passes, then seconds, which the paper has."""
    return against_strength(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """Cases counted."""
    tally, n = Tally(found), len(found)
    costs = [tally.cost(name) for name in SOLVERS]
    beaten = [key for key in found if costs[1][key] < min(costs[0][key], costs[2][key])]
    return [
        tally.rising(SOLVERS),
        tally.check(
            "subLBFGS needs fewer passes than BMRM in most cases",
            "subLBFGS",
            "BMRM",
            mostly=True,
        ),
        Check("BMRM never outperforms both others", not beaten, f"in {len(beaten)} of {n} cases"),
    ]
