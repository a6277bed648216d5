"""The objective against the calls of the function on the parse re-ranking task: OWL-QN (figure 1)
and K&T (2) under L1, two implementations of L-BFGS under L2 (3 and 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Series
from reproduction.contest import thinned
from reproduction.figures import andrew07_table2 as table

TITLE = "Figures 1 to 4: the objective against function calls"
CLAIM = """OWL-QN falls to near its minimum within some 50 calls; K&T creeps, and is 5.7 % above
OWL-QN's best value after 946."""
HERE = "The runs of table 2, all on the same axes: a generated task of the same shape."
WHY = """See table 2 and its experiment: K&T needs 3 to 5 times the evaluations of OWL-QN, with few
features or many, and ends at the minimum."""

runs = table.runs


def draw(found: Results) -> Sequence[Panel]:
    """Under L1, then under L2."""
    panels = []
    for penalty, title in (("l1", "Figures 1 and 2: L1"), ("l2", "Figures 3 and 4: L2")):
        series = [
            Series(name, thinned(each.column("calls")), thinned(each.column("objective")))
            for name, each in found.items()
            if table.RUNS[name][1] == penalty
        ]
        panels.append(Panel(title, "function calls", "J", series, "x"))
    return panels


def verdict(found: Results) -> list[Check]:
    """Where they are after so many calls."""
    best = min(found[name].get("objective", 1.0) for name in ("OWL-QN", "OWL-QN, ours", "K&T"))
    near = table.calls(found, "OWL-QN", 0.01)
    end = found["K&T"].get("objective", float("inf")) / best - 1
    return [
        Check("OWL-QN is within 1 % after 100 calls", near <= 100, f"after {near:g}"),
        Check("K&T ends more than 5 % above its best value", end > 0.05, f"{end:.1e} above"),
    ]
