"""Supposed: smoothing has to be fine to be as near, and that is what accelerated methods lose by.
So all levels from fine to coarse are tried on both losses. And the ROC loss, which is the hinge
loss of all pairs of a positive and a negative row, is written out as such for 400 rows, so that
those who know the hinge alone can be compared as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.announced import AGM, RIVALS, certify

TITLE = "The experiment: levels of smoothing; the ROC loss as a hinge loss of pairs"
LOSSES = ("roc", "fbeta")
LEVELS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3)
GAP = 1e-2


def runs(quick: bool) -> dict[tuple[str, str], Run]:
    """At 1e-2, to a gap of 1e-2; 4,000 rows, but 400 for the pairs."""
    by_level = {f"AGM-inf, mu = {mu:g}": ("agm-inf", {"mu": mu}) for mu in LEVELS}
    levels = {"ls-BMRM": RIVALS["ls-BMRM"], **by_level}
    pairs = {name: each for name, each in {**AGM, **RIVALS}.items() if name != "BCFW"}
    wanted = [(loss, name, each, 4000) for loss in LOSSES for name, each in levels.items()]
    wanted += [("pairs", name, each, 400) for name, each in pairs.items()]
    return {
        (loss, name): run(
            certify,
            data="a9a, pairs" if loss == "pairs" else "a9a",
            loss="hinge" if loss == "pairs" else loss,
            strength=1e-2,
            solver=solver,
            options=options,
            rows=60 if quick else rows,
            gap=GAP,
            seconds=0.5 if quick else 60.0,
            iterations=30 if quick else 3000,
        )
        for loss, name, (solver, options), rows in (wanted[:2] + wanted[-4:] if quick else wanted)
    }


def cost(found: Results, loss: str, name: str, field: str = "passes") -> float:
    """Until a hundredth is certified."""
    return found[loss, name].first(field, gap=GAP) if (loss, name) in found else float("nan")


def draw(found: Results) -> Sequence[Table]:
    """Passes and iterations of all."""
    rows = [[*key, cost(found, *key), cost(found, *key, "iteration")] for key in found]
    return [Table("to a certified gap of 1e-2", ["loss", "solver", "passes", "iterations"], rows)]


def verdict(found: Results) -> list[Check]:
    """Whether a level, or the form of the loss, is the reason."""
    checks = []
    for loss in LOSSES:
        by_level = [cost(found, loss, f"AGM-inf, mu = {mu:g}") for mu in LEVELS]
        bundle = cost(found, loss, "ls-BMRM")
        checks += [
            Check(
                f"{loss}: AGM-inf needs more passes, the finer its smoothing",
                by_level[-1] > 1.2 * by_level[0],
                f"{by_level}",
            ),
            Check(
                f"{loss}: but none of its levels brings it to the passes of ls-BMRM",
                min(by_level) > bundle,
                f"{min(by_level):g} at best, and {bundle:g}",
            ),
        ]
    best = min(cost(found, "pairs", name) for name in AGM)
    bundle, rows = (cost(found, "pairs", name) for name in ("ls-BMRM", "SDCA"))
    return [
        *checks,
        Check(
            "on the pairs, too, the best accelerated method needs more passes than ls-BMRM",
            best > bundle,
            f"{best:g} and {bundle:g}",
        ),
        Check("and one that takes a step per pair fewer", rows < bundle, f"{rows:g}"),
    ]
