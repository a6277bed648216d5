"""The picture of a path: coefficients, scores if there are any, gaps. Needs matplotlib."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from fenchel.report.curves import PALETTE
from fenchel.report.figure import DRAWN_WITH, Drawing
from fenchel.report.lines import Lines, Scores

_INK = PALETTE[-1]


def draw(drawn: Lines, title: str) -> Drawing:
    """The figure; strengths fall from left to right, so that coefficients grow."""
    with mpl.rc_context(DRAWN_WITH):
        heights = [3.0, 1.0] if drawn.scores is None else [3.0, 1.2, 1.0]
        figure = Drawing(figsize=(7.2, 1.2 + 1.1 * sum(heights)), layout="constrained")
        panels = figure.subplots(len(heights), sharex=True, height_ratios=heights)
        _coefficients(panels[0], drawn)
        if drawn.scores is not None:
            _scores(panels[1], drawn, drawn.scores)
        _gaps(panels[-1], drawn)
        _across(panels, drawn)
        _head(figure, drawn, title)
    return figure


def _coefficients(panel: Axes, drawn: Lines) -> None:
    for line in reversed(drawn.lines):  # the largest on top
        width = 0.5 if line.crowd else 1.2
        panel.plot(drawn.strengths, line.values, color=line.colour, lw=width, label=line.name)
    panel.axhline(0.0, color="#666666", lw=0.6, zorder=1)
    panel.set_ylabel("coefficient")


def _scores(panel: Axes, drawn: Lines, scores: Scores) -> None:
    x, means, spreads = drawn.strengths, scores.means, scores.spreads
    panel.fill_between(x, means - spreads, means + spreads, color=_INK, alpha=0.12, lw=0)
    panel.plot(x, means, color=_INK, lw=1.0, marker="o", markersize=2.5)
    panel.set_ylabel(scores.name)


def _gaps(panel: Axes, drawn: Lines) -> None:
    gaps = np.array([stop.gap for stop in drawn.stops])
    done = np.array([stop.status == "converged" for stop in drawn.stops])
    gaps = np.where((gaps > 0) & np.isfinite(gaps), gaps, np.nan)
    panel.plot(drawn.strengths, gaps, color=_INK, lw=0.6)
    for which, face in ((done, _INK), (~done, "white")):
        panel.plot(
            drawn.strengths[which],
            gaps[which],
            color=_INK,
            lw=0,
            marker="o",
            markersize=3,
            markerfacecolor=face,
        )
    if not np.isnan(gaps).all():
        panel.set_yscale("log")
        panel.yaxis.set_minor_locator(NullLocator())
    panel.set_ylabel("certified gap")


def _across(panels: list[Axes], drawn: Lines) -> None:
    if not np.isnan(drawn.strengths).all():
        panels[-1].set_xscale("log")
        panels[-1].xaxis.set_inverted(True)
    panels[-1].set_xlabel("strength")
    for panel in panels:
        panel.margins(x=0.02)
        if drawn.best:
            panel.axvline(drawn.best, color="#666666", lw=0.8, ls=(0, (4, 3)), zorder=1)


def _head(figure: Drawing, drawn: Lines, title: str) -> None:
    best = f"; best {drawn.scores.name} at {drawn.best:.3g}" if drawn.scores and drawn.best else ""
    named = [line for line in drawn.lines if not line.crowd]
    crowd = [line for line in drawn.lines if line.crowd]
    entries = [(line.colour, line.name) for line in named]
    if crowd:
        entries.append((crowd[0].colour, f"{len(crowd)} others"))
    figure.legend(
        [Line2D([], [], color=colour, lw=1.6) for colour, _ in entries],
        [text for _, text in entries],
        title="\n".join(filter(None, (title, drawn.summary + best))),
        title_fontsize=9,
        alignment="left",
        loc="outside upper left",
        ncols=4,
        frameon=False,
        handlelength=1.2,
        borderaxespad=0.2,
    )
