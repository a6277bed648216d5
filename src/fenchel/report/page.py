"""The page of runs: their curves, which answer to the pointer, certificates and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fenchel.milestones import FIRSTS, cells, milestones
from fenchel.report.curves import Curve, bounds_scene, scene, seconds, words
from fenchel.report.shell import BOUNDS, charts, composed, section, settings_section, table

_LAST = 5  # records of the end of each history that are listed
_LISTED = ("iteration", "objective", "lower bound", "gap", "passes", "seconds")


def compose(drawn: Sequence[Curve], title: str, settings: Mapping[str, object]) -> str:
    """The page of all curves."""
    return composed(
        title or f"fenchel: {', '.join(curve.name for curve in drawn[:7])}",
        BOUNDS,
        section("Certificates", certificates(drawn)),
        section("Bounds and gap" if len(drawn) == 1 else "Race", charts(scene(drawn, ""))),
        *(_of_several(drawn) if len(drawn) > 1 else ()),
        settings_section(settings),
        section(
            "Last records", f"<details><summary>Show them</summary>{_records(drawn)}</details>"
        ),
    )


def certificates(drawn: Sequence[Curve]) -> str:
    """What each run proved, and what it cost."""
    head = "run, lower bound, objective, gap, iterations, passes, time, ended, solver".split(", ")
    rows = [
        (
            curve.name,
            f"{curve.result.lower_bound:.8g}",
            f"{curve.result.objective:.8g}",
            f"{curve.result.gap:.1e}",
            f"{curve.result.iterations:,}",
            f"{curve.result.passes:,}",
            seconds(curve.result),
            words(curve.result),
            curve.result.solver,
        )
        for curve in drawn
    ]
    return table(head, rows)


def _of_several(drawn: Sequence[Curve]) -> Iterator[str]:
    """Who of them was the first to certify a gap, and the bounds of each, on one problem."""
    if len({curve.floor for curve in drawn}) > 1:
        return
    found = milestones({curve.name: curve.result for curve in drawn})
    rows = [(f"{each.gap:g}", *cells(each)) for each in found]
    if rows:
        yield section("Who certified what first", table(FIRSTS, rows))
    if not any(curve.crowd for curve in drawn):
        yield section("Objectives and lower bounds", charts(bounds_scene(drawn)))


def _records(drawn: Sequence[Curve]) -> str:
    rows = [
        (
            curve.name,
            f"{record.iteration:,}",
            f"{record.objective:.10g}",
            f"{record.lower_bound:.10g}",
            f"{record.gap:.3e}",
            f"{record.passes:,}",
            f"{record.seconds:.3f}",
        )
        for curve in drawn
        for record in curve.result.history[-_LAST:]
    ]
    return table(("run", *_LISTED), rows)
