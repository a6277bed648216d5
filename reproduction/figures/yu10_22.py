"""The L2-regularised multilabel hinge loss at strengths from 1e-1 down to 1e-6 on Scene, TMC2007
and RCV1: CPU seconds of subLBFGS, BMRM and ls-BMRM until J is within 2 % of the best value.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.compare import Tally, against_strength, grid
from reproduction.contest import BMRM, OCAS, OF_SEVERAL

TITLE = "Figure 22: passes to 2 % above the minimum of the multilabel hinge loss"
CLAIM = """In many cases subLBFGS takes longer than its rivals, and ls-BMRM is only a little better
than BMRM, as an exact line search over many labels is expensive."""
HERE = """Scene, 2,000 rows of TMC2007 (500 columns) and yeast. Seconds here are fenchel's own line
search, in C++, which costs less than a pass: so the claim about ls-BMRM is judged by seconds."""
WHY = """Our exact line search keeps scores and walks only over the kinks near the minimum; it does
not cost what the paper's did, and ls-BMRM gains what it saves in passes."""

SETS = ("scene", "yeast", "tmc2007")
SOLVERS = {"subLBFGS": OF_SEVERAL, "BMRM": BMRM, "ls-BMRM": OCAS}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """Every set at every strength."""
    return grid(
        quick,
        SETS,
        SOLVERS,
        loss="multilabel_hinge",
        rows=2000,
        seconds=3.0,
        judge_seconds=8.0,
        judge_gap=2e-3,
    )


def draw(found: Results) -> Sequence[Panel]:
    """Passes, then seconds, which the paper has."""
    return against_strength(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """Cases counted."""
    tally, clock, n = Tally(found), Tally(found, field="seconds"), len(found)
    slower = set(tally.wins("BMRM", "subLBFGS")) | set(tally.wins("ls-BMRM", "subLBFGS"))
    alike = clock.alike("BMRM", "ls-BMRM", 2.0)
    return [
        Check(
            "subLBFGS needs more passes than a rival in many cases, a third at least",
            len(slower) >= n / 3,
            f"in {len(slower)} of {n}",
        ),
        Check(
            "ls-BMRM takes the time of BMRM, within a factor of 2, in most cases",
            len(alike) > n / 2,
            f"in {len(alike)} of {n}",
        ),
    ]
