"""Who certified what first, among several runs on one problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fenchel.result import Record, Result


class Milestone(NamedTuple):
    """A gap, and who certified it first: in passes over the data and in seconds."""

    gap: float
    by_passes: tuple[str, int]
    by_seconds: tuple[str, float]


FIRSTS = ("gap", "fewest passes", "passes", "least time", "seconds")


def cells(milestone: Milestone) -> tuple[str, str, str, str]:
    """A milestone as text, without its gap: as `FIRSTS` heads them."""
    (fewest, passes), (fastest, seconds) = milestone.by_passes, milestone.by_seconds
    return fewest, f"{passes:,}", fastest, f"{seconds:.3g}"


def milestones(results: Mapping[str, Result]) -> list[Milestone]:
    """Who certified 0.1, 0.01 and so on first, down to the smallest gap of any of them."""
    found = []
    for digits in range(1, 17):
        reached = {name: _first(result, 10.0**-digits) for name, result in results.items()}
        there = {name: record for name, record in reached.items() if record is not None}
        if not there:
            break
        fewest = min(there, key=lambda name: there[name].passes)
        fastest = min(there, key=lambda name: there[name].seconds)
        by_passes, by_seconds = there[fewest].passes, there[fastest].seconds
        found.append(Milestone(10.0**-digits, (fewest, by_passes), (fastest, by_seconds)))
    return found


def _first(result: Result, gap: float) -> Record | None:
    return next((record for record in result.history if record.gap <= gap), None)
