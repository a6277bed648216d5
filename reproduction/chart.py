"""The panels of a figure as a scene of fenchel's own plots, which draws them as all others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fenchel.report import scene
from fenchel.report.style import GREY, Ink, inks
from reproduction.shape import Panel, Series

_DOTTED = 40  # points of a line up to which each has a dot


def scene_of(panels: Sequence[Panel]) -> scene.Scene:
    """All panels, two or three in a row; a name has the same ink in all of them."""
    names = list(
        dict.fromkeys(each.name for p in panels for each in p.series if each.style != "faint")
    )
    palette = dict(zip(names, inks(len(names)), strict=True))
    drawn = [_panel(panel, palette) for panel in panels]
    n = 2 if len(drawn) in (2, 4) else 3
    rows = [drawn[i : i + n] for i in range(0, len(drawn), n)]
    entries = [scene.Entry(name, _ink(name, panels, palette), name) for name in names]
    return scene.Scene("", rows, entries)


def _panel(panel: Panel, palette: Mapping[str, Ink]) -> scene.Panel:
    places = list(dict.fromkeys(x for each in panel.series for x in each.x if isinstance(x, str)))
    traces = [_trace(panel, each, places, palette) for each in panel.series]
    shown = [trace for trace in traces if np.isfinite(trace.y).any()]
    across = _axis(panel.x, [trace.x for trace in shown], "x" in panel.log)
    if places:
        across = across._replace(limits=(-0.5, len(places) - 0.5), names=tuple(places))
    label = f"{panel.title}: {panel.y}" if panel.title else panel.y
    up = _axis(label, [trace.y for trace in shown], "y" in panel.log)
    return scene.Panel(across, up, traces, note="" if shown else "nothing to show", height=1.25)


def _axis(label: str, columns: Sequence[Any], log: bool) -> scene.Axis:
    return scene.logarithmic(label, columns) if log else scene.linear(label, *scene.span(columns))


def _trace(
    panel: Panel, series: Series, places: Sequence[str], palette: Mapping[str, Ink]
) -> scene.Trace:
    """What can be drawn; points stand alone, because there is nothing between them."""
    x = np.array([float(places.index(x) if isinstance(x, str) else x) for x in series.x])
    y = np.array([float(y) for y in series.y])
    for values, axis in ((x, "x"), (y, "y")):
        values[~np.isfinite(values) | ((values <= 0) & (axis in panel.log))] = math.nan
    if series.style == "points":
        x, y = (np.stack([v, np.full_like(v, np.nan)], axis=1).ravel() for v in (x, y))
    return scene.Trace(
        series.name,
        x,
        y,
        GREY if series.style == "faint" else _ink(series.name, [panel], palette),
        step=series.style == "steps",
        dots=_dots(series),
    )


def _dots(series: Series) -> str:
    if series.style in ("faint", "dashed"):
        return ""
    few = series.style == "line" and len(series.x) <= _DOTTED
    return "all" if few or series.style == "points" else "end"


def _ink(name: str, panels: Sequence[Panel], palette: Mapping[str, Ink]) -> Ink:
    """The name's own; dashed if that is its style."""
    styles = {each.style for panel in panels for each in panel.series if each.name == name}
    return palette[name]._replace(dash=1) if styles == {"dashed"} else palette[name]
