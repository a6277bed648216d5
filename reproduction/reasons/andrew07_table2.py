"""Supposed: (1) K&T falls behind by an order of magnitude only with as many features as the paper
had, 1.2 million; so there are fewer and fewer of them. (2) L-BFGS under L2 is ahead of OWL-QN as it
starts from the columns' scales; so it starts from H = 1, as OWL-QN does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.reranking import reranked

TITLE = "The experiment: fewer features, and L-BFGS from H = 1"
SIZES = ("3,000", "10,000", "30,000")
PLAIN = {"finding": "none", "b0": "identity", "search": "inexact", "memory": 5}
RUNS = {
    "OWL-QN": ("owlqn", "l1", {"form": "printed", "memory": 5}),
    "OWL-QN, ours": ("owlqn", "l1", {"memory": 5}),
    "K&T": ("kt-split", "l1", {"memory": 5, "burst": None}),
    "L-BFGS": ("lbfgs", "l2", {"memory": 5}),
    "L-BFGS from 1": ("sublbfgs", "l2", PLAIN),
}


def runs(quick: bool) -> dict[tuple[str, str], Run]:
    """Each until it certifies 1e-5, or for so many calls."""
    return {
        (size, name): run(
            reranked, size=size, solver=solver, penalty=penalty, options=options, calls=calls
        )
        for size, calls in ([("quick", 30)] if quick else [(size, 400) for size in SIZES])
        for name, (solver, penalty, options) in list(RUNS.items())[: 2 if quick else None]
    }


def calls(found: Results, size: str, name: str) -> float:
    """Evaluations to 1 % above the least under its penalty."""
    own = [each for each in RUNS if RUNS[each][1] == RUNS[name][1] and (size, each) in found]
    least = min((found[size, each].get("objective", math.inf) for each in own), default=math.inf)
    known = (size, name) in found and math.isfinite(least)
    return found[size, name].first("calls", objective=1.01 * least) if known else math.nan


def draw(found: Results) -> Sequence[Table]:
    """Evaluations to 1 %."""
    sizes = list(dict.fromkeys(size for size, _ in found))
    rows = [[size, *(calls(found, size, name) for name in RUNS)] for size in sizes]
    return [Table("evaluations to 1 % above the minimum", ["features", *RUNS], rows)]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    n = {name: [calls(found, size, name) for size in SIZES] for name in RUNS}
    behind = [k / o for k, o in zip(n["K&T"], n["OWL-QN"], strict=True)]
    slower = [b / a for a, b in zip(n["L-BFGS"], n["L-BFGS from 1"], strict=True)]
    return [
        Check(
            "K&T falls further behind OWL-QN with every feature that is added",
            all(a < b for a, b in itertools.pairwise(behind)),
            ", ".join(f"{each:.1f} times" for each in behind),
        ),
        Check(
            "L-BFGS from H = 1 needs more evaluations than from the columns' scales",
            all(each > 1 for each in slower),
            ", ".join(f"{each:.1f} times" for each in slower),
        ),
        Check(
            "and more than OWL-QN does under L1",
            all(a > b for a, b in zip(n["L-BFGS from 1"], n["OWL-QN"], strict=True)),
            f"{n['L-BFGS from 1']} and {n['OWL-QN']}",
        ),
    ]
