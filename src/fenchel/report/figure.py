"""Scenes as matplotlib's figures: for notebooks, .png and .pdf."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from fenchel.report.scene import Axis, Panel, Scene, Trace, kept
from fenchel.report.style import FAINT, GROUND, RULE, TEXT, Ink

_DRAWN_WITH: Any = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE[0],
    "grid.linewidth": 0.5,
    "axes.labelcolor": TEXT[0],
    "axes.edgecolor": FAINT[0],
    "xtick.color": FAINT[0],
    "ytick.color": FAINT[0],
    "xtick.major.width": 0.6,
    "ytick.major.size": 0,
    "text.color": TEXT[0],
}
_SAVED_WITH: Any = {"pdf.fonttype": 42, "path.simplify": True}  # TrueType, as journals ask
_UNDATED: Any = {"png": {}, "pdf": {"CreationDate": None}}
_DPI = 200
_ROW, _HEAD, _ENTRY = 2.1, 0.35, 0.15  # inches


class Drawing(Figure):
    """A figure that notebooks show, although pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        save(self, file, "png")
        return file.getvalue()


def draw(scene: Scene) -> Drawing:
    """The figure of a scene."""
    with mpl.rc_context(_DRAWN_WITH):
        heights = [max(panel.height for panel in row) for row in scene.rows]
        lines = len(scene.entries) if scene.in_lines else -(-len(scene.entries) // 4)
        size = (7.2, _HEAD + _ENTRY * lines + sum(0.6 + (_ROW - 0.6) * h for h in heights))
        figure = Drawing(figsize=size, layout="constrained")
        axes = figure.subplots(
            len(heights), len(scene.rows[0]), squeeze=False, sharex="col", height_ratios=heights
        )
        for panel, place in zip(scene.panels, axes.flat, strict=True):
            _panel(place, panel)
        for place, panel in zip(axes[-1], scene.rows[-1], strict=True):
            place.set_xlabel(panel.x.label)
        _head(figure, scene)
    return figure


def save(figure: Figure, file: BinaryIO, kind: str) -> None:
    """Writes the figure as png or pdf."""
    whole = io.BytesIO()
    with mpl.rc_context(_SAVED_WITH):
        figure.savefig(whole, format=kind, dpi=_DPI, metadata=_UNDATED[kind])
    file.write(whole.getvalue())


def _panel(place: Axes, panel: Panel) -> None:
    if panel.x.log:
        place.set_xscale("log", nonpositive="clip")
    if panel.y.log:
        place.set_yscale("log", nonpositive="clip")  # a gap of 0 falls out of the picture
    _ticks(place.xaxis, panel.x)
    _ticks(place.yaxis, panel.y)
    left, right = panel.x.limits
    place.set(xlim=(right, left) if panel.x.falling else (left, right), ylim=panel.y.limits)
    place.set_ylabel(panel.y.label, rotation=0, ha="left", va="bottom")
    place.yaxis.set_label_coords(0.0, 1.02)
    for order, trace in enumerate(panel.traces):
        _trace(place, panel, trace, order)
    for x in panel.marks:
        place.axvline(x, color=FAINT[0], lw=0.8, ls=(0, (4, 3)), zorder=1)
    for word in panel.words:
        shift, side = (3, "bottom") if word.above else (-3, "top")
        place.annotate(word.text, (word.x, word.y), (2, shift), textcoords="offset points", va=side)
    if panel.note:
        place.text(0.5, 0.5, panel.note, transform=place.transAxes, ha="center")


def _ticks(side: MatplotlibAxis, axis: Axis) -> None:
    """Powers of ten, or 1, 2 and 5 of each where there are few."""
    if not axis.log:
        side.set_major_locator(MaxNLocator(5, integer=axis.whole))
        return
    few = axis.limits[1] < 50 * axis.limits[0]
    side.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=7))
    side.set_minor_locator(NullLocator())
    side.set_minor_formatter(NullFormatter())
    if few or axis.limits[0] > 1e-4:
        side.set_major_formatter("{x:g}")


def _trace(place: Axes, panel: Panel, trace: Trace, order: int) -> None:
    index, ink = kept(panel, trace), trace.ink
    x, y, kind = trace.x[index], trace.y[index], "steps-post" if trace.step else "default"
    zorder = (2 if ink.crowd else 3) - order / 1e4
    if trace.band is not None and not ink.crowd:
        low, high = (edge[index] for edge in trace.band)
        place.fill_between(
            x, low, high, step="post" if trace.step else None, color=ink.hex, alpha=0.14, lw=0
        )
    (line,) = place.plot(x, y, label=trace.name, drawstyle=kind, zorder=zorder, **_stroke(ink))
    if trace.dots:
        last = np.flatnonzero(np.isfinite(x) & np.isfinite(y))[-1:].tolist()
        line.set(marker="o", markersize=1.5 if ink.crowd else 3)
        line.set_markevery(last if trace.dots == "end" else None)
    if trace.hollow is not None and trace.hollow.any():
        short = trace.hollow[index]
        place.plot(
            x[short], y[short], "o", color=ink.hex, markersize=3, mfc=GROUND[0], zorder=zorder
        )


def _stroke(ink: Ink) -> dict[str, Any]:
    width = 0.5 if ink.crowd else 1.1
    return {"color": ink.hex, "lw": width, "ls": (0, ink.dashes) if ink.dashes else "-"}


def _head(figure: Figure, scene: Scene) -> None:
    handles: Sequence[Line2D] = [Line2D([], [], **_stroke(entry.ink)) for entry in scene.entries]
    figure.legend(
        handles,
        [entry.text for entry in scene.entries],
        title=scene.title or None,
        title_fontsize=9,
        alignment="left",
        loc="outside upper left",
        ncols=1 if scene.in_lines else 4,
        frameon=False,
        handlelength=2.2,
        borderaxespad=0.2,
    )
