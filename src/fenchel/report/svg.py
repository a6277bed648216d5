"""Scenes as SVG, written by hand: no library, a few kilobytes, readable by day and by night."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from fenchel.report.scene import Axis, Entry, Panel, Scene, Trace, kept, ticks
from fenchel.report.style import sheet
from fenchel.result import Array

WIDTH = 760
_HEIGHT = 215  # of a panel of height 1
_TOP, _BOTTOM, _RIGHT = 26, 38, 12
_LETTER = 6.1  # the mean width of one, at 11 pixels
_LINE = 17


class Box(NamedTuple):
    """The part of a drawing in which lines are drawn."""

    left: float
    top: float
    width: float
    height: float

    def across(self, shares: Array) -> Array:
        """From shares of the way to the right to places."""
        return np.asarray(self.left + self.width * shares)

    def up(self, shares: Array) -> Array:
        """From shares of the way up to places."""
        return np.asarray(self.top + self.height * (1 - shares))


def drawn(scene: Scene) -> str:
    """The picture, a file of its own."""
    head, top = _head(scene)
    left = margin(scene)
    parts: list[str] = []
    for row in scene.rows:
        width = WIDTH / len(row)
        for j, panel in enumerate(row):
            place = panel_box(panel, width - 14 * (j < len(row) - 1), left)
            content = panel_content(panel, place, f"p{len(parts)}")
            parts.append(f'<g transform="translate({j * width:g} {top:g})">{content}</g>')
        top += height_of(row)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" '
        f'width="{WIDTH}" height="{top:g}" role="img">\n'
        f"<title>{escape(scene.title or 'fenchel')}</title>\n<style>\n{sheet()}\n</style>\n"
        f'<rect class="ground" width="{WIDTH}" height="{top:g}"/>\n'
        + "\n".join([*head, *parts])
        + "\n</svg>\n"
    )


def height_of(row: Sequence[Panel]) -> float:
    """The height that a row of panels takes."""
    return _TOP + _BOTTOM + (_HEIGHT - _TOP - _BOTTOM) * max(panel.height for panel in row)


def _head(scene: Scene) -> tuple[list[str], float]:
    """Title and legend, and where they end."""
    lines, top = [], 8.0
    for k, words in enumerate(filter(None, scene.title.split("\n"))):
        lines.append(_text(words, 6, top + 11, "word head" if k == 0 else "word"))
        top += 20
    columns = 1 if scene.in_lines else 4
    for k, entry in enumerate(scene.entries):
        i, j = divmod(k, columns)
        lines.append(_entry(entry, 6 + j * WIDTH / columns, top + _LINE * i + 11))
    return lines, top + _LINE * math.ceil(len(scene.entries) / columns) + 8


def _entry(entry: Entry, x: float, y: float) -> str:
    return (
        f'<path class="line k{entry.ink.key}"{_dashes(entry.ink.dashes)} '
        f'd="M{x:g} {y - 4:g}h22"/>' + _text(entry.text, x + 28, y, "word")
    )


def margin(scene: Scene) -> float:
    """The room for the labels of y that all panels of a scene have, so that they are in line."""
    letters = [len(label) for panel in scene.panels for _, label in ticks(panel.y)]
    return 12 + _LETTER * max(letters, default=1)


def panel_box(panel: Panel, width: float, left: float) -> Box:
    """Where a panel of that width draws, beside a margin on the left."""
    return Box(left, _TOP, width - left - _RIGHT, height_of([panel]) - _TOP - _BOTTOM)


def panel_content(panel: Panel, box: Box, key: str) -> str:
    """All of a panel; the key is unlike those of all others in the same document."""
    clip = f'<clipPath id="{key}"><rect x="{box.left:g}" y="{box.top - 2:g}" '
    clip += f'width="{box.width + 4:g}" height="{box.height + 4:g}"/></clipPath>'
    inside = "".join(_trace(panel, trace, box) for trace in _crowd_first(panel.traces))
    return (
        f'{clip}{_frame(panel, box)}<g clip-path="url(#{key})">{_marks(panel, box)}{inside}</g>'
        f"{''.join(_words(panel, box))}"
    )


def _crowd_first(traces: Sequence[Trace]) -> list[Trace]:
    """From the last to the first, so that the first is on top, and the crowd below."""
    return sorted(reversed(traces), key=lambda trace: not trace.ink.crowd)


def _frame(panel: Panel, box: Box) -> str:
    right, bottom = box.left + box.width, box.top + box.height
    parts = [
        _text(panel.y.label, 4, 14, "word"),
        _text(panel.x.label, right, bottom + 32, "word end"),
    ]
    for value, label in ticks(panel.y):
        y = _place(box.up, panel.y, value)
        parts.append(f'<path class="rule" d="M{box.left:g} {y:.1f}H{right:g}"/>')
        parts.append(_text(label, box.left - 6, y + 3.8, "faint end"))
    for value, label in ticks(panel.x):
        x = _place(box.across, panel.x, value)
        parts.append(f'<path class="axis" d="M{x:.1f} {bottom:g}v4"/>')
        parts.append(_text(label, x, bottom + 16, "faint middle"))
    parts.append(f'<path class="axis" d="M{box.left:g} {bottom:g}H{right:g}"/>')
    return "".join(parts)


def _place(along: Callable[[Array], Array], axis: Axis, value: float) -> float:
    return float(along(axis.shares(np.array([value])))[0])


def _marks(panel: Panel, box: Box) -> str:
    places = box.across(panel.x.shares(np.array(panel.marks, dtype=np.float64)))
    return "".join(f'<path class="mark" d="M{x:.1f} {box.top:g}v{box.height:g}"/>' for x in places)


def _trace(panel: Panel, trace: Trace, box: Box) -> str:
    index = kept(panel, trace)

    def placed(column: Array) -> Array:
        return np.round(box.up(panel.y.shares(column[index])), 1)

    x = np.round(box.across(panel.x.shares(trace.x[index])), 1)
    y, key, lines = placed(trace.y), trace.ink.key, []
    if trace.band is not None and not trace.ink.crowd:
        band = _band(x, placed(trace.band[0]), placed(trace.band[1]), trace.step)
        lines.append(f'<path class="band f{key}" d="{band}"/>')
    dashes = _dashes(trace.ink.dashes)
    lines.append(f'<path class="line k{key}"{dashes} d="{_path(x, y, trace.step)}"/>')
    return f'<g data-run="{escape(trace.name)}">{"".join([*lines, *_dots(trace, x, y)])}</g>'


def _dots(trace: Trace, x: Array, y: Array) -> Iterator[str]:
    drawn = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    key, size = trace.ink.key, 1.4 if trace.ink.crowd else 2.4
    for i in drawn if trace.dots == "all" else drawn[-1:] if trace.dots else ():
        hollow = trace.hollow is not None and trace.hollow[i]
        kind = f"hollow k{key}" if hollow else f"f{key}"
        yield f'<circle class="{kind}" cx="{x[i]:g}" cy="{y[i]:g}" r="{size}"/>'


def _path(x: Array, y: Array, step: bool) -> str:
    """Pieces of a line between numbers that are none; steps go right first, then up or down."""
    seen, moves = np.isfinite(x) & np.isfinite(y), []
    for whole, piece in itertools.groupby(range(len(x)), key=lambda i: bool(seen[i])):
        if whole:
            points = [(float(x[i]), float(y[i])) for i in piece]
            moves.append(f"M{points[0][0]:g} {points[0][1]:g}")
            moves.extend(_move(a, b, step) for a, b in itertools.pairwise(points))
    return "".join(moves)


def _move(a: tuple[float, float], b: tuple[float, float], step: bool) -> str:
    if a == b:
        return ""
    if step or a[0] == b[0] or a[1] == b[1]:
        return f"H{b[0]:g}" * (a[0] != b[0]) + f"V{b[1]:g}" * (a[1] != b[1])
    return f"L{b[0]:g} {b[1]:g}"


def _band(x: Array, lower: Array, upper: Array, step: bool) -> str:
    """There along the upper line and back along the lower one, from where both are there."""
    seen = np.flatnonzero(np.isfinite(x) & np.isfinite(upper) & np.isfinite(lower))
    if not len(seen):
        return ""
    x, upper, lower = x[seen], upper[seen], lower[seen]
    back = [f"V{lower[-1]:g}"]
    for i in range(len(x) - 1, 0, -1):
        edge = f"V{lower[i - 1]:g}H{x[i - 1]:g}"
        back.append(edge if step else f"L{x[i - 1]:g} {lower[i - 1]:g}")
    return f"{_path(x, upper, step)}{''.join(back)}Z"


def _words(panel: Panel, box: Box) -> Iterator[str]:
    for word in panel.words:
        x = _place(box.across, panel.x, word.x)
        y = _place(box.up, panel.y, word.y)
        yield _text(word.text, x + 4, y - 6 if word.above else y + 14, "word")
    if panel.note:
        yield _text(panel.note, box.left + box.width / 2, box.top + box.height / 2, "faint middle")


def _text(words: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:.4g}">{escape(words)}</text>'


def _dashes(lengths: Sequence[float]) -> str:
    dashes = " ".join(f"{length:g}" for length in lengths)
    return f' stroke-dasharray="{dashes}"' if dashes else ""
