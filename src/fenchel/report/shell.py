"""What the pages share: one HTML file that holds all it needs, style, drawings and script.

The drawings are SVG that Python has written, so that a page shows everything without its script,
which adds what lies under the pointer and hides the lines that are not asked for. No charting
library has to be carried in every page for that.
"""

from __future__ import annotations

import html
import json
import math
import platform
import zlib
from collections.abc import Iterable, Mapping, Sequence
from string import Template
from typing import Any

import numpy as np

import fenchel
from fenchel.report.scene import Axis, Entry, Panel, Scene, Trace, kept
from fenchel.report.style import file, sheet
from fenchel.report.svg import WIDTH, Box, height_of, margin, panel_box, panel_content
from fenchel.result import Array

_FELT = 6000  # points of a chart that answer to the pointer: some 100 kB

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<main>
<h1>$title</h1>
$body
<footer>$versions</footer>
</main>
<script>
$script
</script>
</body>
</html>
""")

BOUNDS = (
    "<p>The minimum of J lies between lower bound and objective; "
    "gap = (objective &minus; lower bound) / |objective|.</p>"
)


def composed(title: str, *parts: str) -> str:
    """A page; the title is text, the parts are HTML."""
    return _PAGE.substitute(
        title=html.escape(title),
        style=f"{sheet()}\n{file('page.css')}",
        body="\n".join(filter(None, parts)),
        versions=f"fenchel {fenchel.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        script=file("page.js"),
    )


def section(title: str, content: str) -> str:
    """A part of the page under its heading."""
    return f"<section>\n<h2>{html.escape(title)}</h2>\n{content}\n</section>"


def settings_section(settings: Mapping[str, object]) -> str:
    """The settings as a part of the page, if there are any."""
    if not settings:
        return ""
    return section("Settings", table(("setting", "value"), settings.items(), "text"))


def table(head: Iterable[str], rows: Iterable[Iterable[object]], kind: str = "") -> str:
    """A table of text; of the kind "text" where its cells are words and not numbers."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f'<div class="scroll"><table class="{kind}">\n{line(head, "th")}\n{body}\n</table></div>'


def charts(scene: Scene) -> str:
    """The panels of a scene, side by side where there is room, and its legend, which chooses."""
    most = max(20, _FELT // max(1, sum(len(panel.traces) for panel in scene.panels)))
    wide, left = max(len(row) for row in scene.rows), margin(scene)
    drawings = [_drawing(panel, WIDTH / wide, left, most) for panel in scene.panels]
    return (
        f'<div class="charts">\n{_legend(scene.entries)}\n'
        f'<div class="panels of{wide}">\n{"".join(drawings)}</div>\n</div>'
    )


def _legend(entries: Sequence[Entry]) -> str:
    if len(entries) < 2:
        return ""
    names = "".join(_chip(entry) for entry in entries)
    hint = "Click a name to see it alone, shift-click to add another."
    return f'<div class="legend" title="{hint}">{names}</div>'


def _chip(entry: Entry) -> str:
    dashes = " ".join(f"{length:g}" for length in entry.ink.dashes)
    swatch = (
        f'<svg width="24" height="10" aria-hidden="true"><path class="line k{entry.ink.key}" '
        f'stroke-dasharray="{dashes}" d="M1 5H23"/></svg>'
    )
    words = html.escape(entry.name or entry.text)
    if not entry.name:
        return f'<span class="chip">{swatch}{words}</span>'
    return (
        f'<button type="button" class="chip" data-name="{words}" aria-pressed="false" '
        f'title="{html.escape(entry.text)}">{swatch}{words}</button>'
    )


def _drawing(panel: Panel, width: float, left: float, most: int) -> str:
    height, box = height_of([panel]), panel_box(panel, width, left)
    felt = json.dumps(_felt(panel, box, most), allow_nan=False, separators=(",", ":"))
    felt = felt.replace("<", "\\u003c")  # or a name ends the script
    key = f"k{zlib.crc32(felt.encode()):x}"
    label = html.escape(f"{panel.y.label} against {panel.x.label}")
    return (
        f'<figure class="panel"><svg viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{label}">{panel_content(panel, box, key)}'
        f'<circle class="near" r="4" visibility="hidden"/></svg>'
        f'<script type="application/json">{felt}</script></figure>\n'
    )


def _felt(panel: Panel, box: Box, most: int) -> dict[str, Any]:
    """What the script needs to tell what lies under the pointer."""
    return {
        "box": [round(each, 1) for each in box],
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "traces": [_points(panel, trace, most) for trace in panel.traces],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {"label": axis.label, "limits": axis.limits, "log": axis.log, "falling": axis.falling}


def _points(panel: Panel, trace: Trace, most: int) -> dict[str, Any]:
    index = kept(panel, trace, most)
    if len(index) > most:
        index = index[np.unique(np.linspace(0, len(index) - 1, most).astype(np.intp))]
    return {"name": trace.name, "x": _numbers(trace.x[index]), "y": _numbers(trace.y[index])}


def _numbers(values: Array) -> list[float | int | None]:
    """To eight digits; what JSON has no number for is null."""
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.8g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
