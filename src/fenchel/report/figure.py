"""The picture: bounds above, gap below; time on the left, passes on the right. Needs matplotlib."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as MatplotlibAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from fenchel.report.curves import Axis, Curve, across, bounds, gaps, kept, labelled

DRAWN_WITH: Any = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelcolor": "#333333",
    "axes.edgecolor": "#666666",
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "xtick.labelcolor": "#333333",
    "ytick.labelcolor": "#333333",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.solid_joinstyle": "miter",  # corners of steps
    "text.color": "#333333",
}
_SAVED_WITH: Any = {
    "svg.fonttype": "none",  # letters stay letters, and the file small
    "svg.hashsalt": "fenchel",  # the same run, the same file
    "pdf.fonttype": 42,  # TrueType, as journals ask
    "path.simplify": True,
}
_UNDATED = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_DPI = 200
_PATH = re.compile(r'<path (id="\w+" )?d="[^"]*"')
_LINES = re.compile(r"M \S+ \S+\s+(L \S+ \S+\s+)+")
_POINT = re.compile(r"[ML] (\S+) (\S+)")


class Drawing(Figure):
    """A figure that notebooks show, although pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        save(self, file, "png")
        return file.getvalue()


def draw(drawn: Sequence[Curve], title: str) -> Drawing:
    """The figure of all curves."""
    with mpl.rc_context(DRAWN_WITH):
        figure = Drawing(figsize=(7.2, 4.7), layout="constrained")
        panels = figure.subplots(2, 2, sharex="col", sharey="row")
        columns, rows = across(drawn), [bounds(drawn), gaps(drawn)]
        for i, j in itertools.product(range(2), range(2)):
            _panel(panels[i, j], drawn, columns[j], rows[i])
        for j in range(2):
            panels[1, j].set_xlabel(columns[j].label)
            panels[j, 0].set_ylabel(rows[j].label)
            panels[0, j].tick_params(axis="x", which="both", bottom=False)
        _name_bounds(panels[0], drawn)
        _name_absence(panels[1], drawn)
        _head(figure, drawn, title)
    return figure


def save(figure: Figure, file: BinaryIO, kind: str) -> None:
    """Writes the figure as png, svg or pdf."""
    whole = io.BytesIO()
    with mpl.rc_context(_SAVED_WITH):
        figure.savefig(whole, format=kind, dpi=_DPI, metadata=_UNDATED[kind])
    content = whole.getvalue()
    file.write(_compact(content.decode()).encode() if kind == "svg" else content)


def _compact(svg: str) -> str:
    """Lines to a hundredth of a point, those of steps as H and V: about half the file."""
    return _PATH.sub(lambda path: _LINES.sub(_steps, path[0]), svg)


def _steps(lines: re.Match[str]) -> str:
    rounded = ((round(float(x), 2), round(float(y), 2)) for x, y in _POINT.findall(lines[0]))
    points = [point for point, _ in itertools.groupby(rounded)]
    moves = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for (x0, y0), (x, y) in itertools.pairwise(points):
        moves.append(f"H{x:g}" if y == y0 else f"V{y:g}" if x == x0 else f"L{x:g} {y:g}")
    return "".join(moves)


def _panel(panel: Axes, drawn: Sequence[Curve], x: Axis, y: Axis) -> None:
    panel.set(xlim=x.limits, ylim=y.limits)
    if x.log:
        panel.set_xscale("log")
        ticks(panel.xaxis, x)
    elif x.fields == ("passes",):
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    if y.log:
        panel.set_yscale("log", nonpositive="clip")  # a gap of 0 falls out of the picture
        ticks(panel.yaxis, y)
        panel.yaxis.set_minor_locator(NullLocator())
    for curve in drawn:
        _draw(panel, curve, x, y)


def ticks(side: MatplotlibAxis, axis: Axis) -> None:
    """Powers of ten, or 1, 2 and 5 of each where there are few."""
    few = axis.limits[1] < 50 * axis.limits[0]
    side.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=7))
    side.set_minor_formatter(NullFormatter())
    if few or axis.limits[0] > 1e-4:
        side.set_major_formatter("{x:g}")


def _draw(panel: Axes, curve: Curve, x: Axis, y: Axis) -> None:
    """Steps, because between two records no more is proved than at the first of them."""
    index = kept(curve, x, y)
    places = curve.column(x.fields[0])[index]
    heights = [curve.column(field)[index] for field in y.fields]
    if len(heights) == 2 and not curve.crowd:
        upper, lower = heights
        panel.fill_between(places, upper, lower, step="post", color=curve.colour, alpha=0.15, lw=0)
    for values in heights:
        panel.plot(
            places,
            values,
            color=curve.colour,
            lw=0.5 if curve.crowd else 1.0,
            zorder=2 if curve.crowd else 3,
            drawstyle="steps-post",
            marker="o",
            markersize=1.5 if curve.crowd else 3,
            markevery=[len(index) - 1],
            label=curve.name,
        )


def _name_bounds(panels: Sequence[Axes], drawn: Sequence[Curve]) -> None:
    """Of one curve beside it, on the sides to which it never goes; else where no curve ends."""
    if len(drawn) > 1:
        text = "of each run: objective above,\nproved lower bound below"
        panels[0].text(0.99, 0.97, text, transform=panels[0].transAxes, ha="right", va="top")
        return
    _name(panels[0], drawn[0], "objective", "objective", 3, "bottom")
    _name(panels[0], drawn[0], "lower_bound", "proved lower bound", -3, "top")


def _name(panel: Axes, curve: Curve, field: str, text: str, shift: int, side: str) -> None:
    low, high = panel.get_ylim()
    x, y = curve.column("seconds"), curve.column(field)
    seen = np.flatnonzero((y >= low) & (y <= high))[:1]
    for i in seen:
        panel.annotate(text, (x[i], y[i]), (2, shift), textcoords="offset points", va=side)


def _name_absence(panels: Sequence[Axes], drawn: Sequence[Curve]) -> None:
    if any((curve.column("gap") > 0).any() for curve in drawn):
        return
    for panel in panels:
        panel.text(0.5, 0.5, "no gap between 0 and ∞", transform=panel.transAxes, ha="center")


def _head(figure: Figure, drawn: Sequence[Curve], title: str) -> None:
    entries = labelled(drawn)
    figure.legend(
        [Line2D([], [], color=curve.colour, lw=1.6) for curve, _ in entries],
        [text for _, text in entries],
        title=title or None,
        title_fontsize=9,
        alignment="left",
        loc="outside upper left",
        frameon=False,
        handlelength=1.2,
        borderaxespad=0.2,
    )
