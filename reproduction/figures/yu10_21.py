"""The objective of the L2-regularised multilabel hinge loss against CPU seconds on Scene, TMC2007
and RCV1, each at the strength of table 3: subLBFGS, BMRM and ls-BMRM.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run
from reproduction.compare import Tally, descents, each_at
from reproduction.contest import BMRM, OCAS, OF_SEVERAL

TITLE = "Figure 21: the multilabel hinge loss, objective against cost"
CLAIM = """On Scene subLBFGS performs as BMRM does; on TMC2007 and RCV1 it is ahead of both rivals
at first, but slows down and ends no better than BMRM."""
HERE = """Scene is the paper's; TMC2007 has its rows but 500 columns, 8,000 of its rows; yeast and
enron stand for RCV1 with its many labels. Passes. "At first" is 20 % above the minimum: on TMC2007
J(0) itself is within 50 %."""
WHY = """On TMC2007 subLBFGS is ahead by far until 5 % above the minimum, as claimed; BMRM has not
come to 10 % when its time is up, so that nothing is known of the end. On enron none of them comes
to 20 % in its time; but after the same number of passes subLBFGS is below BMRM, with 2 labels, with
53 and in between (the experiment below), so that it is ahead at first there too. Rounds of
algorithm 2, which we had taken for a reason to be behind, are most where labels are fewest."""

SETS = {"scene": 1e-1, "tmc2007": 1e-5, "yeast": 1e-3, "enron": 1e-5}
LARGE = ("tmc2007", "enron")
SOLVERS = {"subLBFGS": OF_SEVERAL, "BMRM": BMRM, "ls-BMRM": OCAS}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To half a per cent above the minimum."""
    return each_at(
        quick,
        SETS,
        SOLVERS,
        loss="multilabel_hinge",
        rows=8000,
        within=5e-3,
        seconds=20.0,
        judge_seconds=20.0,
    )


def draw(found: Results) -> Sequence[Panel]:
    """The excess over the minimum."""
    return descents(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """By passes to 20 % and to 2 %."""
    early, late = Tally(found, 0.2), Tally(found)
    large = [key for key in found if key[0] in LARGE]
    ahead = [key for key in early.wins("subLBFGS", "BMRM") if key in large]
    slows = [key for key in late.wins("BMRM", "subLBFGS") if key in large]
    scene = [key for key in late.alike("subLBFGS", "BMRM") if key[0] == "scene"]
    return [
        Check("on Scene subLBFGS and BMRM need the same passes to 2 %", bool(scene)),
        Check(
            "on the larger sets subLBFGS is ahead of BMRM at 20 % above the minimum",
            len(ahead) == len(large),
            f"on {len(ahead)} of {len(large)}",
        ),
        Check(
            "but not at 2 %",
            len(slows) == len(large),
            f"behind on {len(slows)} of {len(large)}",
        ),
    ]
