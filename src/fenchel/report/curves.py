"""Histories as curves: bounds, gap and distance from the minimum, against time and passes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fenchel.errors import Incompatible, InvalidData
from fenchel.report.scene import (
    HUGE,
    Axis,
    Caption,
    Entry,
    Panel,
    Scene,
    Trace,
    across,
    finite,
    linear,
    logarithmic,
)
from fenchel.report.style import GREY, MOST, Ink, inks
from fenchel.result import Array, Record, Result

_UNEVEN = 5  # how much further one bound may start from the end than the other and be seen there

TIME, PASSES = "time (seconds)", "passes over the data"
BOUNDS, GAP = "bounds of min J", "certified relative gap"
DISTANCE = "J \N{MINUS SIGN} J*, at most"


@dataclass(frozen=True)
class Curve:
    """One run under its name; a column for each field of `Record`, and one of `distance`.

    The distance is that of the objective from `floor`, the best proved lower bound of min J: J - J*
    is at most that.
    """

    name: str
    result: Result
    table: Array
    ink: Ink
    floor: float

    def column(self, field: str) -> Array:
        """A field over the whole history, nan where it is too large to be drawn."""
        if field == "distance":
            with np.errstate(invalid="ignore"):
                return self.column("objective") - self.floor
        column = self.table[:, Record._fields.index(field)]
        return np.where(np.abs(column) < HUGE, column, np.nan)

    @property
    def summary(self) -> str:
        """The certificate of the run and what it cost, in a line."""
        result = self.result
        return (
            f"{self.name}: {result.lower_bound:.8g} ≤ min J ≤ {result.objective:.8g}, "
            f"gap {result.gap:.1e}, {result.passes:,} passes, {seconds(result)}, "
            f"{words(result)}"
        )

    @property
    def crowd(self) -> bool:
        """Whether it is one of too many to be told apart."""
        return self.ink.crowd


def curves(results: Result | Mapping[str, Result], *, one_problem: bool = True) -> list[Curve]:
    """One for each result; a result on its own goes by the name of its solver.

    Of runs on one problem the best lower bound of all is the floor of each. Runs whose bounds
    contradict each other cannot be that, and are measured by their own bounds.
    """
    if isinstance(results, Result):
        results = {results.solver: results}
    if not isinstance(results, Mapping):
        raise Incompatible(
            f"plot needs a Result, or a mapping from names to Results such as "
            f'{{"bmrm": result}}; got {type(results).__name__}'
        )
    if not results:
        raise InvalidData("there is no result to plot: the mapping is empty")
    for name, result in results.items():
        _check(name, result)
    floors = _floors(list(results.values()), one_problem)
    each = zip(results.items(), _inks(results), floors, strict=True)
    return [
        Curve(str(name), result, np.array(result.history, dtype=np.float64), ink, floor)
        for (name, result), ink, floor in each
    ]


def _floors(results: Sequence[Result], one_problem: bool) -> list[float]:
    """The lower bound by which each is measured; nan where there is none."""
    floors = [result.lower_bound for result in results]
    best, least = max(floors), min(result.objective for result in results)
    if one_problem and best <= least + 1e-9 * abs(least):
        floors = [min(best, result.objective) for result in results]
    return [floor if abs(floor) < HUGE else math.nan for floor in floors]


def _inks(results: Mapping[str, Result]) -> Sequence[Ink]:
    """One for each; of more runs than there are inks, only the slowest stands out."""
    if len(results) <= MOST:
        return inks(len(results))
    slowest = max(results, key=lambda name: (not results[name].converged, results[name].seconds))
    return [Ink() if name == slowest else GREY for name in results]


def _check(name: object, result: object) -> None:
    if not isinstance(result, Result):
        raise Incompatible(f"{name!r} must be a Result; got {type(result).__name__}")
    if not len(result.history):
        raise InvalidData(f"the history of {name!r} is empty: there is nothing to plot")


def scene(drawn: Sequence[Curve], title: str) -> Scene:
    """Of one run its bounds above its gap; of several the distances from the minimum above."""
    columns = [("seconds", _time(drawn)), ("passes", _passes(drawn))]
    upper = _bounds if len(drawn) == 1 else _distances
    return Scene(
        title,
        [[upper(drawn, *each) for each in columns], [_gaps(drawn, *each) for each in columns]],
        entries(drawn),
    )


def bounds_scene(drawn: Sequence[Curve]) -> Scene:
    """Objective and lower bound of each of several runs."""
    columns = [("seconds", _time(drawn)), ("passes", _passes(drawn))]
    panels = [_bounds(drawn, *each) for each in columns]
    bare = [
        replace(panel, words=(), traces=[replace(trace, band=None) for trace in panel.traces])
        for panel in panels
    ]
    return Scene("", [bare], entries(drawn))


def entries(drawn: Sequence[Curve]) -> list[Entry]:
    """The legend: a line for each run while there are few, names of many, a count of a crowd."""
    named = [curve for curve in drawn if not curve.crowd]
    greys = [curve for curve in drawn if curve.crowd]
    few = len(drawn) <= 12 or bool(greys)
    found = [Entry(c.name, c.ink, c.summary if few else c.name) for c in named]
    return [*found, Entry("", GREY, f"{len(greys)} other runs")] if greys else found


def _time(drawn: Sequence[Curve]) -> Axis:
    return across(TIME, [curve.column("seconds") for curve in drawn])


def _passes(drawn: Sequence[Curve]) -> Axis:
    return across(PASSES, [curve.column("passes") for curve in drawn], whole=True)


def _bounds(drawn: Sequence[Curve], field: str, x: Axis) -> Panel:
    """Both bounds, and the band between them, in which the minimum lies."""
    y, traces, words = bounds(drawn), [], []
    for curve in drawn:
        upper, lower = curve.column("objective"), curve.column("lower_bound")
        places = curve.column(field)
        traces += [
            Trace(curve.name, places, upper, curve.ink, (lower, upper), step=True),
            Trace(curve.name, places, lower, curve.ink, step=True),
        ]
        words += [
            *_word("objective", places, upper, y, above=True),
            *_word("proved lower bound", places, lower, y, above=False),
        ]
    return Panel(x, y, traces, words)


def _word(text: str, x: Array, values: Array, y: Axis, above: bool) -> list[Caption]:
    """A name at the first point in sight; values that fall leave room above, others below."""
    seen = np.flatnonzero((values >= y.limits[0]) & (values <= y.limits[1]))[:1]
    return [Caption(text, float(x[i]), float(values[i]), above) for i in seen]


def bounds(drawn: Sequence[Curve]) -> Axis:
    """From the first lower bound to the first objective, unless one of them starts far off.

    A bound that starts at -1e6 would flatten everything else; it enters the picture later.
    """
    upper = [finite(curve.column("objective")) for curve in drawn]
    lower = [finite(curve.column("lower_bound")) for curve in drawn]
    top = max((u[-1] for u in upper if len(u)), default=math.nan)
    bottom = min((b[-1] for b in [*lower, *upper] if len(b)), default=math.nan)
    up = max((u[0] - top for u in upper if len(u)), default=0.0)
    down = max((bottom - b[0] for b in lower if len(b)), default=0.0)
    if up > 0 and down > 0:
        up, down = min(up, _UNEVEN * down), min(down, _UNEVEN * up)
    room = 0.17  # for the names of the curves
    return linear(BOUNDS, bottom - max(down, 0.0), top + max(up, 0.0), room)


def _distances(drawn: Sequence[Curve], field: str, x: Axis) -> Panel:
    return panel(drawn, field, x, "distance", DISTANCE, "no lower bound, so no distance from J*")


def _gaps(drawn: Sequence[Curve], field: str, x: Axis) -> Panel:
    return panel(drawn, field, x, "gap", GAP, "no gap between 0 and ∞")


def panel(drawn: Sequence[Curve], field: str, x: Axis, of: str, label: str, nothing: str) -> Panel:
    """A column of the histories on a log scale, in steps.

    Steps, because between two records no more is proved than at the first of them.
    """
    columns = [curve.column(of) for curve in drawn]
    traces = [
        Trace(curve.name, curve.column(field), column, curve.ink, step=True)
        for curve, column in zip(drawn, columns, strict=True)
    ]
    note = "" if any((column > 0).any() for column in columns) else nothing
    return Panel(x, logarithmic(label, columns), traces, note=note)


def seconds(result: Result) -> str:
    """How long the run took, with the digits that matter."""
    taken = result.seconds
    return f"{taken:,.0f} s" if taken >= 100 else f"{taken:.2g} s"


def words(result: Result) -> str:
    """How the run ended, in words."""
    return result.status.name.lower().replace("_", " ")
