"""No accelerated method knows these losses here: the figure says nothing of what one would do. But
the ROC loss is the hinge loss of all pairs of a positive and a negative row, which can be written
out where rows are few. So all solvers have these pairs, and the bundles the ROC loss as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.announced import AGM, RIVALS, certify

TITLE = "The experiment: the ROC loss as a hinge loss of pairs, 400 rows of a9a"
STRENGTHS = (1e-2, 1e-3)
BUNDLES = ("BMRM", "ls-BMRM")
GAP = 1e-2


def runs(quick: bool) -> dict[tuple[str, float, str], Run]:
    """Bundles with the loss itself; all that know the hinge with the pairs."""
    solvers = {name: each for name, each in {**AGM, **RIVALS}.items() if name != "BCFW"}
    wanted = [("roc", name) for name in BUNDLES] + [("pairs", name) for name in solvers]
    return {
        (loss, strength, name): run(
            certify,
            data="a9a, pairs" if loss == "pairs" else "a9a",
            loss="hinge" if loss == "pairs" else "roc",
            strength=strength,
            solver=solvers[name][0],
            options=solvers[name][1],
            rows=60 if quick else 400,
            gap=GAP,
            seconds=0.5 if quick else 60.0,
            iterations=30 if quick else 3000,
        )
        for strength in (STRENGTHS[:1] if quick else STRENGTHS)
        for loss, name in (wanted[:4] if quick else wanted)
    }


def passes(found: Results, loss: str, strength: float, name: str) -> float:
    """Until a hundredth is certified."""
    key = loss, strength, name
    return found[key].first("passes", gap=GAP) if key in found else float("nan")


def best(found: Results, strength: float) -> float:
    """Passes of the best accelerated method."""
    known = [passes(found, "pairs", strength, name) for name in AGM]
    return min((each for each in known if each == each), default=float("nan"))


def draw(found: Results) -> Sequence[Table]:
    """Passes of all."""
    rows = [
        [f"{strength:g}", loss, name, passes(found, loss, strength, name), each.get("objective")]
        for (loss, strength, name), each in found.items()
    ]
    head = ["strength", "loss", "solver", "passes to 1e-2", "J"]
    return [Table("the ROC loss, itself and as pairs", head, rows)]


def verdict(found: Results) -> list[Check]:
    """That the pairs are the loss, and who is ahead on them."""
    strengths = list(dict.fromkeys(strength for _, strength, _ in found))
    low = {
        (loss, strength): found[loss, strength, "BMRM"].get("objective", float("nan"))
        for loss in ("roc", "pairs")
        for strength in strengths
        if (loss, strength, "BMRM") in found
    }
    same = [
        abs(low["pairs", each] / low["roc", each] - 1) <= GAP
        for each in strengths
        if ("pairs", each) in low
    ]
    behind = {s: (best(found, s), passes(found, "pairs", s, "ls-BMRM")) for s in strengths}
    ahead = {s: passes(found, "pairs", s, "SDCA") for s in strengths}
    return [
        Check(
            "BMRM ends at the same J on the pairs as on the loss itself", all(same) and bool(same)
        ),
        Check(
            "on the pairs too the best accelerated method needs more passes than ls-BMRM",
            all(ours > theirs for ours, theirs in behind.values()),
            "; ".join(f"{s:g}: {a:g} and {b:g}" for s, (a, b) in behind.items()),
        ),
        Check(
            "and one that takes a step per pair fewer than any",
            all(ahead[s] < min(behind[s]) for s in strengths),
            "; ".join(f"{s:g}: {each:g}" for s, each in ahead.items()),
        ),
    ]
