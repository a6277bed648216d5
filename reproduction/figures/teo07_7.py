"""How the gap gamma of BMRM falls with its iterations, at several strengths, on many data sets."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, run, solve
from reproduction.rates import linear_rate, lines, more_iterations

TITLE = "Figure 7: the gap against iterations, at several strengths"
CLAIM = """The smaller the strength, the more iterations. The rate is very fast at first, then slows
down and becomes linear."""
HERE = """a9a, w8a and 20 newsgroups with the hinge, fried with the epsilon-insensitive loss. BMRM
as printed, cuts at the model's minimiser; gamma is J at the best point less the model's minimum, in
units of J."""
WHY = ""

SETS = {"a9a": "hinge", "w8a": "hinge", "20news": "hinge", "fried": "epsilon_insensitive"}
STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4)


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To a gap of 1e-5."""
    return {
        (data, strength): run(
            solve,
            data=data,
            rows=800 if quick else None,
            loss=loss,
            loss_options={"epsilon": 0.1} if loss != "hinge" else None,
            strength=strength,
            solver="bmrm",
            options={"step": 1.0},
            gap=1e-3 if quick else 1e-5,
            max_seconds=0.3 if quick else 6.0,
            max_iterations=200 if quick else 3000,
        )
        for data, loss in list(SETS.items())[: 2 if quick else None]
        for strength in (STRENGTHS[:2] if quick else STRENGTHS)
    }


def draw(found: Results) -> Sequence[Panel]:
    """A panel for each set."""
    return [
        Panel(data, "iteration", "gamma / J", lines(found, data), "y")
        for data in dict.fromkeys(data for data, _ in found)
    ]


def verdict(found: Results) -> list[Check]:
    """Iterations to 1e-2, and the rate."""
    return [more_iterations(found), linear_rate(found)]
