"""A panel as a Vega-Lite chart: for the page, where it answers to the pointer, and as SVG."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import vl_convert

from fenchel.report.style import CROWD
from fenchel.report.style import DAY as PALETTE
from reproduction.shape import Panel, Series

_HEIGHT = 230
_MARKS: Mapping[str, dict[str, Any]] = {
    "line": {"type": "line", "point": {"size": 22}, "strokeWidth": 1.6},
    "steps": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6},
    "points": {"type": "point", "filled": True, "size": 30},
    "dashed": {"type": "line", "strokeDash": [5, 3], "strokeWidth": 1.2},
    "faint": {"type": "line", "strokeWidth": 0.6, "opacity": 0.6},
    "bars": {"type": "bar"},
}
# On logarithmic axes, powers of ten: those far from 1 as 1e-6, the others as they are.
_POWER = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6"
_FAR = "datum.value < 0.01 || datum.value >= 1e5"
_LABEL = f"{_POWER} ? format(datum.value, {_FAR} ? '.0e' : '~g') : ''"


@functools.cache
def library() -> str:
    """Vega, as a script for pages that need no network."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")


def colours(panels: Sequence[Panel]) -> dict[str, str]:
    """A colour for each name, the same in all panels; what is faint is grey."""
    names = dict.fromkeys(
        series.name for panel in panels for series in panel.series if series.style != "faint"
    )
    return {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}


def chart(
    panel: Panel, palette: Mapping[str, str], width: int | str = "container"
) -> dict[str, Any]:
    """The Vega-Lite chart of a panel, as wide as its place on the page."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": panel.title, "fontSize": 12, "fontWeight": 600, "anchor": "start"},
        "width": width,
        "height": _HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [_layer(panel, series, palette) for series in panel.series],
        "resolve": {"scale": {"color": "shared"}},
        "config": {
            "view": {"stroke": None},
            "background": "transparent",
            "axis": {"grid": False, "titleFontWeight": "normal", "tickCount": 5},
            "legend": {"orient": "bottom", "columns": 2, "title": None, "labelLimit": 260},
        },
    }


def _layer(panel: Panel, series: Series, palette: Mapping[str, str]) -> dict[str, Any]:
    values = [{"x": x, "y": y, "name": series.name, "i": i} for i, x, y in _points(panel, series)]
    return {
        "data": {"values": values},
        "mark": {
            **_MARKS[series.style],
            "clip": series.style == "faint",
            "tooltip": series.style != "faint",
        },
        "encoding": {
            "x": _axis("x", panel.x, panel, series),
            "y": _axis("y", panel.y, panel, series),
            "order": {"field": "i", "type": "quantitative"},
            **_coloured(series, palette),
        },
    }


def _coloured(series: Series, palette: Mapping[str, str]) -> dict[str, Any]:
    if series.style == "faint":
        return {"color": {"value": CROWD[0]}}
    scale = {"domain": list(palette), "range": list(palette.values())}
    return {"color": {"field": "name", "type": "nominal", "scale": scale}}


def _axis(field: str, label: str, panel: Panel, series: Series) -> dict[str, Any]:
    if field == "x" and any(isinstance(x, str) for each in panel.series for x in each.x):
        return {"field": "x", "type": "nominal", "title": label, "sort": None}
    logarithmic = field in panel.log
    scale = {"type": "log", "nice": True} if logarithmic else {"zero": series.style == "bars"}
    axis = {"labelOverlap": True, "labelExpr": _LABEL if logarithmic else "datum.label"}
    return {"field": field, "type": "quantitative", "title": label, "scale": scale, "axis": axis}


def _points(panel: Panel, series: Series) -> list[tuple[int, Any, float]]:
    """Those that can be drawn, with their places in the order; floats to six digits."""
    pairs = enumerate(zip(series.x, series.y, strict=True))
    return [
        (i, _short(x), _short(y))
        for i, (x, y) in pairs
        if _drawable(x, "x" in panel.log) and _drawable(y, "y" in panel.log)
    ]


def _drawable(value: Any, logarithmic: bool) -> bool:
    return isinstance(value, str) or (math.isfinite(value) and (value > 0 or not logarithmic))


def _short(value: Any) -> Any:
    return value if isinstance(value, str) else float(f"{float(value):.6g}")
