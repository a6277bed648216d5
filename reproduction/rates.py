"""How a gap falls with the iterations at several strengths: [Teo07] and [Smola07] draw that."""

from __future__ import annotations

import numpy as np

from reproduction.contest import thinned
from reproduction.found import Results
from reproduction.shape import Check, Series


def lines(found: Results, data: str) -> list[Series]:
    """One for each strength."""
    series = []
    for (name, strength), each in found.items():
        if name == data:
            gaps, steps = each.column("gap"), each.column("iteration")
            kept = _kept(gaps)
            series.append(Series(f"{strength:g}", thinned(steps[kept]), thinned(gaps[kept])))
    return series


def _kept(gaps: np.ndarray) -> np.ndarray:
    """At most 150 of them, spread over the run."""
    return (
        np.unique(np.linspace(0, max(len(gaps) - 1, 0), 150).astype(int))
        if len(gaps)
        else np.array([], int)
    )


def more_iterations(found: Results) -> Check:
    """The smallest strength beside the largest."""
    sets = list(dict.fromkeys(data for data, _ in found))
    strengths = list(dict.fromkeys(strength for _, strength in found))
    steps = {key: each.first("iteration", gap=1e-2) for key, each in found.items()}
    growing = [data for data in sets if steps[data, strengths[0]] <= steps[data, strengths[-1]]]
    return Check(
        "the smallest strength takes more iterations to 1e-2 than the largest, on all sets",
        len(growing) == len(sets),
        "; ".join(f"{data}: {[steps[data, each] for each in strengths]}" for data in sets),
    )


def linear_rate(found: Results) -> Check:
    """Whether log gap against iterations is a line over the last two thirds of the runs."""
    fits = [_straightness(each.column("iteration"), each.column("gap")) for each in found.values()]
    known = [fit for fit in fits if fit is not None]
    straight = [fit for fit in known if fit > 0.95]
    return Check(
        "the logarithm of the gap is linear in the iterations at the end, in most cases",
        len(straight) > len(known) / 2,
        f"R^2 > 0.95 over the last two thirds in {len(straight)} of {len(known)}",
    )


def _straightness(steps: np.ndarray, gaps: np.ndarray) -> float | None:
    """R^2 of log gap against iterations over the last two thirds; None of short runs."""
    use = (gaps > 0) & (steps > steps[-1] / 3) if len(steps) else np.zeros(0, bool)
    if np.count_nonzero(use) < 8:
        return None
    return float(np.corrcoef(steps[use], np.log(gaps[use]))[0, 1] ** 2)
