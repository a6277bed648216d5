"""Supposed: BCFW is ahead on max-margin networks as it takes a step per word, so that its passes
fall where the same words come many times, and BMRM's do not. On the likelihood, where BMRM is
ahead, an accelerated method takes as few iterations, but looks for L with more passes in each.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.announced import certify

TITLE = "The experiment: the same words many times; passes an iteration"
TIMES = (1, 2, 4)
CRF = {"BMRM": "bmrm", "AGM-inf": "agm-inf", "AGM-1": "agm-1"}
GAP = 1e-2


def runs(quick: bool) -> dict[tuple[str, str], Run]:
    """To a gap of 1e-2 at 1e-2."""
    words = [
        (f"ocr_letters, repeated={times}", "m3n", name, name.lower(), 200)
        for times in TIMES
        for name in ("BCFW", "BMRM")
    ]
    likely = [("ocr_letters", "crf", name, solver, 1000) for name, solver in CRF.items()]
    return {
        (data, name): run(
            certify,
            data=data,
            loss=loss,
            strength=1e-2,
            solver=solver,
            options={},
            rows=40 if quick else rows,
            gap=GAP,
            seconds=0.5 if quick else 60.0,
            iterations=20 if quick else 3000,
        )
        for data, loss, name, solver, rows in (words[:1] + likely[:1] if quick else words + likely)
    }


def cost(found: Results, data: str, name: str, field: str = "passes") -> float:
    """Until a hundredth is certified."""
    return found[data, name].first(field, gap=GAP) if (data, name) in found else float("nan")


def draw(found: Results) -> Sequence[Table]:
    """Passes and iterations."""
    rows = [[*key, cost(found, *key), cost(found, *key, "iteration")] for key in found]
    return [Table("to a certified gap of 1e-2", ["set", "solver", "passes", "iterations"], rows)]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    n = {
        name: [cost(found, f"ocr_letters, repeated={times}", name) for times in TIMES]
        for name in ("BCFW", "BMRM")
    }
    falls = all(b < 0.8 * a for a, b in zip(n["BCFW"], n["BCFW"][1:], strict=False))
    steps = {name: cost(found, "ocr_letters", name, "iteration") for name in CRF}
    ratio = {name: cost(found, "ocr_letters", name) / each for name, each in steps.items() if each}
    return [
        Check(
            "twice the same words take BCFW less than 80 % of the passes, and BMRM as many",
            falls and max(n["BMRM"]) <= 1.05 * min(n["BMRM"]),
            "; ".join(f"{name} {each}" for name, each in n.items()),
        ),
        Check(
            "on the likelihood AGM-inf takes no more iterations than BMRM, within a tenth",
            steps["AGM-inf"] <= 1.1 * steps["BMRM"],
            ", ".join(f"{name} {each:g}" for name, each in steps.items()),
        ),
        Check(
            "but more than twice the passes in each",
            ratio.get("AGM-inf", 0.0) > 2 * ratio.get("BMRM", float("inf")),
            ", ".join(f"{name} {each:.1f}" for name, each in ratio.items()),
        ),
    ]
