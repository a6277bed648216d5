"""What there is to draw, before anyone draws it: panels of lines over axes, and who is who.

`svg.drawn` makes a picture of a scene and `shell.charts` a part of a page, without any library;
`figure.draw` makes matplotlib's figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.report.style import Ink
from fenchel.result import Array

HUGE = 1e250  # beyond it, and below its inverse on log scales, limits would overflow
_ALL = 200  # points that are drawn without asking whether they can be told apart
_CELLS = 400  # along either side of a panel, each narrower than a line
_LOG_FROM = 20  # largest / smallest x from which an axis is logarithmic
_TICKS = 5

Limits = tuple[float, float]


class Axis(NamedTuple):
    """A direction of a panel: what is shown, from where to where, on which scale."""

    label: str
    limits: Limits
    log: bool = False
    falling: bool = False  # the largest on the left
    whole: bool = False  # counts
    names: tuple[str, ...] = ()  # of the places 0, 1 and so on, if these are no numbers

    def shares(self, values: Array) -> Array:
        """How far on the way from the first limit to the last; on log scales -1 for 0 or less."""
        ends = np.array(self.limits)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled, ends = (np.log10(v) if self.log else v for v in (values, ends))
            found = (scaled - ends[0]) / (ends[1] - ends[0])
        found = np.clip(np.where(np.isneginf(scaled), -1.0, found), -1.0, 2.0)
        return np.asarray(1 - found if self.falling else found)


@dataclass(frozen=True)
class Trace:
    """A line of a panel, with a band about it, and dots at its end or at every point."""

    name: str
    x: Array
    y: Array
    ink: Ink
    band: tuple[Array, Array] | None = None  # from below to above
    step: bool = False
    dots: str = "end"  # or "all", or ""
    hollow: npt.NDArray[np.bool_] | None = None  # which of all dots are not filled


class Caption(NamedTuple):
    """A name beside a point of a curve, on the side to which the curve never goes."""

    text: str
    x: float
    y: float
    above: bool


@dataclass(frozen=True)
class Panel:
    """Traces over two axes; `note` stands in the middle of a panel that has nothing to show."""

    x: Axis
    y: Axis
    traces: Sequence[Trace]
    words: Sequence[Caption] = ()
    marks: Sequence[float] = ()  # x of dashed lines from top to bottom
    note: str = ""
    height: float = 1.0  # as a multiple of the usual one


class Entry(NamedTuple):
    """A line of the legend: the traces of this name, and what is to be said of them."""

    name: str
    ink: Ink
    text: str


@dataclass(frozen=True)
class Scene:
    """Rows of panels under a title and a legend."""

    title: str
    rows: Sequence[Sequence[Panel]]
    entries: Sequence[Entry] = field(default=())

    @property
    def panels(self) -> list[Panel]:
        """All of them, row by row."""
        return [panel for row in self.rows for panel in row]

    @property
    def in_lines(self) -> bool:
        """Whether each entry of the legend has a line to itself."""
        return any(len(entry.text) > 40 for entry in self.entries)


def across(label: str, columns: Sequence[Array], *, whole: bool = False) -> Axis:
    """An axis for what grows along a run: linear within a decade or so, logarithmic beyond.

    What is there at 0 comes in from the left edge of a logarithmic one.
    """
    low, high = span(columns)
    least, _ = span([column[column > 1 / HUGE] for column in columns])
    if low >= 0 and high >= _LOG_FROM * least:
        room = (high / least) ** 0.02
        return Axis(label, (least / room, high * room), log=True, whole=whole)
    if not low < high:
        return Axis(label, (0.0, 2 * high if high > 0 else 1.0), whole=whole)
    room = 0.02 * (high - low)
    return Axis(label, (low - room, high + room), whole=whole)


def logarithmic(label: str, columns: Sequence[Array]) -> Axis:
    """An axis for what is > 0 of the columns, over a power of ten at least."""
    low, high = span([column[column > 1 / HUGE] for column in columns])
    if math.isnan(low):
        low = high = 1.0
    room = max((high / low) ** 0.04, math.sqrt(10 * low / high))
    return Axis(label, (low / room, high * room), log=True)


def linear(label: str, low: float, high: float, room: float = 0.06) -> Axis:
    """An axis from low to high with some room beyond them, whatever they are."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return Axis(label, (0.0, 1.0))
    extra = room * (high - low)
    if not extra > 1e-9 * max(abs(low), abs(high)):
        extra = 0.05 * max(abs(low), abs(high)) or 1.0
    return Axis(label, (low - extra, high + extra))


def span(columns: Sequence[Array]) -> Limits:
    """The least and the largest number; nan where there is none."""
    values = finite(np.concatenate(columns)) if columns else np.empty(0)
    return (float(values.min()), float(values.max())) if len(values) else (math.nan, math.nan)


def finite(values: Array) -> Array:
    """Those that can be drawn."""
    return values[np.isfinite(values)]


def kept(panel: Panel, trace: Trace, most: int = _ALL) -> npt.NDArray[np.intp]:
    """Which points to draw: all of a few, else so many that no eye could tell the difference.

    In each cell of x it takes the first and the last point, where monotone curves have their
    extremes, and those of the extremes of y, which a gap may have anywhere. Of these it leaves out
    those that do not move y by a cell.
    """
    if len(trace.x) <= most:
        return np.arange(len(trace.x))
    columns = [trace.y, *(trace.band or ())]
    across = _cells(panel.x, trace.x)
    heights = np.array([_cells(panel.y, column) for column in columns])
    by_height = np.lexsort((heights[0], across))
    index = np.unique(np.concatenate([_ends(across), by_height[_ends(across[by_height])]]))
    moves = np.any(np.diff(heights[:, index]) != 0, axis=0)
    return index[np.r_[True, moves[:-1], True]]


def _cells(axis: Axis, values: Array) -> Array:
    shares = np.floor(_CELLS * axis.shares(values))
    return np.asarray(np.nan_to_num(np.clip(shares, -1, _CELLS), nan=-2))


def _ends(bins: Array) -> npt.NDArray[np.intp]:
    """First and last of each run of equal bins."""
    starts = np.flatnonzero(np.diff(bins, prepend=np.nan) != 0)
    return np.concatenate([starts, np.append(starts[1:], len(bins)) - 1])


def ticks(axis: Axis) -> list[tuple[float, str]]:
    """Where an axis is labelled, and with what."""
    if axis.names:
        return [(float(k), name) for k, name in enumerate(axis.names)]
    return _log_ticks(*axis.limits) if axis.log else _linear_ticks(*axis.limits, axis.whole)


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten, or 1, 2 and 5 of each where there are few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / (_TICKS + 1)))
    if last - first >= 2:
        plain = first > -4 and last < 5
        powers = range(first, last + 1, stride)
        return [(10.0**k, f"{10.0**k:g}" if plain else _power(k)) for k in powers]
    some = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [(v, f"{v:.4g}") for v in some if low <= v <= high]


def _power(k: int) -> str:
    return "10" + str(k).translate(_SUPERSCRIPTS)


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _linear_ticks(low: float, high: float, whole: bool) -> list[tuple[float, str]]:
    """Steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / _TICKS
    power = math.floor(math.log10(rough))
    step = next(m for m in (1, 2, 5, 10) if m * 10.0**power >= 0.9 * rough) * 10.0**power
    step = max(step, 1.0) if whole else step
    values = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
    return [(float(v), _written(float(v), step)) for v in values]


def _written(value: float, step: float) -> str:
    largest = max(abs(value), step)
    if largest >= 1e7 or largest < 1e-4:
        return f"{value:.3g}"
    return f"{value + 0.0:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
