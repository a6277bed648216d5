"""The page: the same curves with tooltips, certificates and settings. Needs altair, vl-convert."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from fenchel.report.curves import (
    Axis,
    Curve,
    across,
    bounds,
    gaps,
    kept,
    seconds,
    words,
)
from fenchel.report.shell import composed, section, settings_section, table
from fenchel.result import Record

_TOOLTIP = [
    alt.Tooltip("run:N"),
    alt.Tooltip("iteration:Q", format=","),
    alt.Tooltip("objective:Q", format=".8g"),
    alt.Tooltip("lower_bound:Q", title="lower bound", format=".8g"),
    alt.Tooltip("gap:Q", format=".2e"),
    alt.Tooltip("passes:Q", format=","),
    alt.Tooltip("seconds:Q", format=".3f"),
]
_CHOSEN = alt.selection_point(name="chosen", fields=["run"], bind="legend")
_SHOWN = Record._fields[:6]  # of what a record tells: bounds, gap and costs
_LAST = 5  # records of the end of each history that are listed

_HINT = "<p>Click a name to see its run alone; shift-click to add another.</p>"


def compose(drawn: Sequence[Curve], title: str, settings: Mapping[str, object]) -> str:
    """The page of all curves."""
    return composed(
        title or f"fenchel: {', '.join(curve.name for curve in drawn[:7])}",
        section("Certificates", _certificates(drawn))
        + section("Bounds and gap", _HINT if len(drawn) > 1 else ""),
        _chart(drawn),
        settings_section(settings) + section("Last records", _records(drawn)),
    )


def _certificates(drawn: Sequence[Curve]) -> str:
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
    return table(("run", *(field.replace("_", " ") for field in _SHOWN)), rows)


def _chart(drawn: Sequence[Curve]) -> dict[str, Any]:
    """All panels. Selections go in by hand: Altair would give them to every layer of a panel."""
    places = list(itertools.product((bounds(drawn), gaps(drawn)), across(drawn)))
    near = [_near(f"near_{i}") for i in range(len(places))]
    panels = [_panel(drawn, x, y, each) for (y, x), each in zip(places, near, strict=True)]
    chart = alt.concat(*panels, columns=2)
    chart = chart.configure_view(stroke=None).configure_axis(
        grid=False, titleFontWeight="normal", titleFontSize=12, labelFontSize=11
    )
    spec: dict[str, Any] = chart.to_dict()
    for panel, each in zip(spec["concat"], near, strict=True):
        panel["layer"][-1]["params"] = [_definition(each)]
    spec["concat"][0]["layer"][0]["params"] = [_definition(_CHOSEN)]
    return spec


def _definition(selection: alt.Parameter) -> Any:
    parameter: Any = selection.param
    return parameter.to_dict()


def _near(name: str) -> alt.Parameter:
    """The record under the pointer; with `nearest`, Vega-Lite 6.4 loses names in tooltips."""
    return alt.selection_point(
        name=name,
        on="pointerover",
        clear="pointerout",
        fields=["run", "iteration"],
        empty=False,
    )


def _panel(drawn: Sequence[Curve], x: Axis, y: Axis, near: alt.Parameter) -> Any:
    """Curves, the band between two of them, and points that tell what they are when near."""
    values = alt.InlineData(values=[value for curve in drawn for value in _values(curve, x, y)])
    base = alt.Chart(values, width=380, height=220).encode(
        x=alt.X(f"{x.fields[0]}:Q", title=x.label, scale=_scale(x), axis=_ticks(x)),
        color=alt.Color("run:N", title=None, scale=_colours(drawn), legend=_legend(drawn)),
        opacity=_seen(_CHOSEN, 1.0, 0.08),
    )
    heights = [_height(field, y) for field in y.fields]
    ends = [
        base.mark_point(filled=True, size=25).transform_filter("datum.last").encode(y=height)
        for height in heights
    ]
    lines = [
        base.mark_line(interpolate="step-after", strokeWidth=1.5, clip=True).encode(y=height)
        for height in heights
    ]
    points = base.mark_point(filled=True, size=150, clip=True).encode(
        y=heights[0], opacity=_seen(near, 0.6, 0.0), tooltip=_TOOLTIP
    )
    return alt.layer(*_band(base, heights), *lines, *ends, points)


def _seen(selection: alt.Parameter, inside: float, outside: float) -> Any:
    return alt.when(selection).then(alt.value(inside)).otherwise(alt.value(outside))


def _band(base: alt.Chart, heights: Sequence[alt.Y]) -> list[alt.Chart]:
    if len(heights) == 1:
        return []
    area = base.mark_area(interpolate="step-after", clip=True)
    return [area.encode(y=heights[0], y2=alt.Y2("lower_bound"), opacity=_seen(_CHOSEN, 0.15, 0.0))]


def _values(curve: Curve, x: Axis, y: Axis) -> list[dict[str, Any]]:
    """The records to draw; what JSON has no number for is null."""
    index = kept(curve, x, y)
    columns = {field: curve.column(field)[index].tolist() for field in _SHOWN}
    return [
        {"run": curve.name, "last": last}
        | {k: None if math.isnan(v) else v for k, v in zip(columns, row, strict=True)}
        for last, *row in zip((index == index[-1]).tolist(), *columns.values(), strict=True)
    ]


def _height(field: str, y: Axis) -> alt.Y:
    return alt.Y(f"{field}:Q", title=y.label, scale=_scale(y), axis=_ticks(y))


def _scale(axis: Axis) -> alt.Scale:
    domain = list(axis.limits)
    if axis.log:  # a gap of 0 stays at the bottom
        return alt.Scale(type="log", domain=domain, nice=False, clamp=True)
    return alt.Scale(domain=domain, nice=False, zero=False)


def _ticks(axis: Axis) -> alt.Axis:
    return alt.Axis(format="~g", tickCount=5) if axis.log else alt.Axis(tickCount=5)


def _colours(drawn: Sequence[Curve]) -> alt.Scale:
    return alt.Scale(
        domain=[curve.name for curve in drawn], range=[curve.colour for curve in drawn]
    )


def _legend(drawn: Sequence[Curve]) -> alt.Legend | None:
    if len(drawn) == 1:
        return None
    return alt.Legend(orient="top", columns=4, labelLimit=230, labelFontSize=12, symbolOpacity=1)
