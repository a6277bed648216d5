"""Figures of many contests: against the strength, or objectives against what they cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reproduction.contest import (
    CLOSE,
    STRENGTHS,
    Rivals,
    axes,
    by_strength,
    certified,
    contest,
    curves,
    took,
)
from reproduction.found import Results, finite
from reproduction.shape import Check, Panel, Run, run

_FEW = 1000  # rows of quick runs
_KINDS = {
    ("a9a", 1e-4): "hinge",
    ("letter", 1e-3): "multiclass_hinge",
    ("scene", 1e-2): "multilabel_hinge",
}


def grid(
    quick: bool, sets: Sequence[str], rivals: Rivals, *, rows: int | None = None, **settings: Any
) -> dict[tuple[str, float], Run]:
    """Every set at every strength; quick: two sets, two strengths and few rows."""
    return {
        (data, strength): _run(quick, data, strength, rivals, rows, settings)
        for data in (sets[:2] if quick else sets)
        for strength in (STRENGTHS[1:4:2] if quick else STRENGTHS)
    }


def each_at(
    quick: bool,
    sets: Mapping[str, float],
    rivals: Rivals,
    *,
    rows: int | None = None,
    **settings: Any,
) -> dict[tuple[str, float], Run]:
    """Every set at its own strength."""
    return {
        (data, strength): _run(quick, data, strength, rivals, rows, settings)
        for data, strength in list(sets.items())[: 2 if quick else None]
    }


def of_three_kinds(
    quick: bool, rivals: Rivals, *, iterations: int, **settings: Any
) -> dict[tuple[str, float], Run]:
    """A set of two classes, one of several and one of labels, at strengths of their own."""
    return {
        (data, strength): run(
            contest,
            data=data,
            rows=300 if quick else 4000 if data == "letter" else None,
            loss=loss,
            strength=strength,
            rivals=rivals,
            seconds=1.0 if quick else 8.0,
            iterations=min(iterations, 40) if quick else iterations,
            **settings,
        )
        for (data, strength), loss in _KINDS.items()
    }


def _run(
    quick: bool,
    data: str,
    strength: float,
    rivals: Rivals,
    rows: int | None,
    settings: Mapping[str, Any],
) -> Run:
    limits = {"seconds": 1.0, "judge_seconds": 1.0, "iterations": 120} if quick else {}
    few = min(_FEW, rows or _FEW) if quick else rows
    given = {**settings, **limits}
    return run(contest, data=data, rows=few, strength=strength, rivals=rivals, **given)


def against_strength(found: Results, names: Iterable[str]) -> list[Panel]:
    """Passes to 2 % above the minimum, then seconds, which the papers have."""
    sets, strengths = axes(found, 0, 1)
    labels = {"passes": "passes over the data", "seconds": "time (seconds)"}
    return [
        Panel(data, "strength", label, by_strength(found, data, strengths, names, field), "xy")
        for field, label in labels.items()
        for data in sets
    ]


def descents(found: Results, names: Iterable[str], x: str = "passes") -> list[Panel]:
    """How far each is above the minimum, against what it cost."""
    label = {"passes": "passes over the data", "seconds": "time (seconds)"}.get(x, x)
    return [
        Panel(
            f"{data} at {strength:g}",
            label,
            "(J - min J) / min J",
            curves(found[data, strength], names, x),
            "xy",
        )
        for data, strength in found
    ]


class Tally:
    """Who needs fewer passes than whom to come within a fraction of the minimum, case by case."""

    def __init__(self, found: Results, within: float = CLOSE, field: str = "passes"):
        self.found, self.within, self.field = found, within, field

    def cost(self, name: str) -> dict[Any, float]:
        """What each case cost it; inf where it did not arrive."""
        return {key: took(one, name, self.field, self.within) for key, one in self.found.items()}

    def wins(self, ours: str, other: str) -> list[Any]:
        """The cases in which ours needs less."""
        a, b = self.cost(ours), self.cost(other)
        return [key for key in a if a[key] < b[key]]

    def alike(self, ours: str, other: str, factor: float = 3.0) -> list[Any]:
        """The cases in which neither needs more than so many times what the other does."""
        a, b = self.cost(ours), self.cost(other)
        near = [key for key in a if b[key] / factor <= a[key] <= factor * b[key]]
        return [key for key in near if math.isfinite(a[key])]

    def lead(self, ours: str, other: str) -> float:
        """The largest factor by which ours is ahead, where both arrive."""
        a, b = self.cost(ours), self.cost(other)
        return max(finite(b[key] / a[key] for key in a), default=0.0)

    def check(
        self, statement: str, ours: str, other: str, *, mostly: bool = False, but: str = ""
    ) -> Check:
        """Ours needs fewer passes in all cases that are not of the set `but`, or in most of those
        that are decided: where neither arrives in its time, nothing is known.
        """
        won, wanted = self.wins(ours, other), [key for key in self.found if key[0] != but]
        costs = self.cost(ours), self.cost(other)
        decided = [key for key in self.found if any(math.isfinite(cost[key]) for cost in costs)]
        holds = 2 * len(won) > len(decided) if mostly else set(wanted) <= set(won)
        lost = ", ".join(f"{key[0]} {key[1]:g}" for key in decided if key not in won)
        open_ = len(self.found) - len(decided)
        among = f"in {len(won)} of {len(decided)}" + (f"; not: {lost}" if lost else "")
        among += f"; neither arrives in {open_} more" if open_ else ""
        return Check(statement, holds, f"{among}; {certified(self.found)}")

    def rising(self, names: Iterable[str]) -> Check:
        """Everyone takes at least as long at the smallest strength as at the largest."""
        sets, strengths = axes(self.found, 0, 1)
        costs = [self.cost(name) for name in names]
        kept = [
            cost[data, strengths[0]] <= cost[data, strengths[-1]] for cost in costs for data in sets
        ]
        return Check(
            "all methods take longer at the smallest strength than at the largest, on all sets",
            all(kept),
            f"{sum(kept)} of {len(kept)} cases",
        )
