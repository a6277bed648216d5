"""Histories as curves to draw: bounds and gap of each run, and the part of the plane to show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import Incompatible, InvalidData
from fenchel.result import Array, Record, Result

_HUGE = 1e250  # beyond it, and below its inverse on log scales, limits would overflow
_ALL = 200  # records that are drawn without asking whether they can be told apart
_CELLS = 400  # along either side of a panel, each narrower than a line
_LOG_FROM = 20  # largest / smallest x from which an axis is logarithmic
_UNEVEN = 5  # how much further one bound may start from the end than the other and be seen there

# Okabe and Ito's colours, which the colour-blind can tell apart; without yellow, pale on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#B0B0B0"

Limits = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """One run under its name; a column for each field of `Record`."""

    name: str
    result: Result
    table: Array
    colour: str

    def column(self, field: str) -> Array:
        """A field over the whole history, nan where it is too large to be drawn."""
        column = self.table[:, Record._fields.index(field)]
        return np.where(np.abs(column) < _HUGE, column, np.nan)

    @property
    def summary(self) -> str:
        """The certificate of the run and what it cost, in a line."""
        result = self.result
        return (
            f"{self.name}: {result.lower_bound:.8g} ≤ min J ≤ {result.objective:.8g}, "
            f"gap {result.gap:.1e}, {result.passes:,} passes, {seconds(result)}, "
            f"{words(result)}"
        )

    @property
    def crowd(self) -> bool:
        """Whether it is one of too many to be told apart."""
        return self.colour == GREY


class Axis(NamedTuple):
    """A direction of a panel: what is drawn, from where to where, on which scale."""

    fields: tuple[str, ...]
    label: str
    limits: Limits
    log: bool

    def cells(self, values: Array) -> Array:
        """Which of the cells between the limits, and beyond, the values fall into."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled, ends = (np.log10(v) if self.log else v for v in (values, np.array(self.limits)))
            cells = np.floor(_CELLS * (scaled - ends[0]) / (ends[1] - ends[0]))
        return np.asarray(np.nan_to_num(np.clip(cells, -1, _CELLS), nan=-2))


def kept(curve: Curve, x: Axis, y: Axis) -> npt.NDArray[np.intp]:
    """Which records to draw: all of a few, else so many that no eye could tell the difference.

    In each cell of x it takes the first and the last record, where monotone curves have their
    extremes, and those of the extremes of y, which a gap may have anywhere. Of these it leaves out
    those that do not move y by a cell.
    """
    if len(curve.table) <= _ALL:
        return np.arange(len(curve.table))
    across = x.cells(curve.column(x.fields[0]))
    heights = np.array([y.cells(curve.column(field)) for field in y.fields])
    by_height = np.lexsort((heights[0], across))
    extremes = np.concatenate([_ends(across), by_height[_ends(across[by_height])]])
    index = np.unique(extremes)
    moves = np.any(np.diff(heights[:, index]) != 0, axis=0)
    return index[np.r_[True, moves[:-1], True]]


def curves(results: Result | Mapping[str, Result]) -> list[Curve]:
    """One for each result; a result on its own goes by the name of its solver."""
    if isinstance(results, Result):
        results = {results.solver: results}
    if not isinstance(results, Mapping):
        raise Incompatible(
            f"plot needs a Result, or a mapping from names to Results such as "
            f'{{"bmrm": result}}; got {type(results).__name__}'
        )
    if not results:
        raise InvalidData("there is no result to plot: the mapping is empty")
    for name, result in results.items():
        _check(name, result)
    return [
        Curve(str(name), result, np.array(result.history, dtype=np.float64), colour)
        for (name, result), colour in zip(results.items(), _colours(results), strict=True)
    ]


def _colours(results: Mapping[str, Result]) -> Sequence[str]:
    """One for each; of more runs than there are colours, only the slowest stands out."""
    if len(results) <= len(PALETTE):
        return PALETTE[: len(results)]
    slowest = max(results, key=lambda name: (not results[name].converged, results[name].seconds))
    return [PALETTE[0] if name == slowest else GREY for name in results]


def _check(name: object, result: object) -> None:
    if not isinstance(result, Result):
        raise Incompatible(f"{name!r} must be a Result; got {type(result).__name__}")
    if not len(result.history):
        raise InvalidData(f"the history of {name!r} is empty: there is nothing to plot")


def labelled(drawn: Sequence[Curve]) -> list[tuple[Curve, str]]:
    """The curves to name in a legend, with what to say of them."""
    greys = [curve for curve in drawn if curve.crowd]
    named = [(curve, curve.summary) for curve in drawn if not curve.crowd]
    return [*named, (greys[0], f"{len(greys)} other runs")] if greys else named


def across(drawn: Sequence[Curve]) -> list[Axis]:
    """Time and passes: linear within a decade or so, logarithmic beyond."""
    return [
        _across("seconds", "time (seconds)", drawn),
        _across("passes", "passes over the data", drawn),
    ]


def _across(field: str, label: str, drawn: Sequence[Curve]) -> Axis:
    low, high = _range([curve.column(field) for curve in drawn])
    if low > 1 / _HUGE and high >= _LOG_FROM * low:
        room = (high / low) ** 0.02
        return Axis((field,), label, (low / room, high * room), log=True)
    if low == high:
        return Axis((field,), label, (0.0, 2 * high or 1.0), log=False)
    room = 0.02 * (high - low)
    return Axis((field,), label, (low - room, high + room), log=False)


def bounds(drawn: Sequence[Curve]) -> Axis:
    """From the first lower bound to the first objective, unless one of them starts far off.

    A bound that starts at -1e6 would flatten everything else; it enters the picture later.
    """
    upper = [finite(curve.column("objective")) for curve in drawn]
    lower = [finite(curve.column("lower_bound")) for curve in drawn]
    top = max((u[-1] for u in upper if len(u)), default=math.nan)
    bottom = min((b[-1] for b in [*lower, *upper] if len(b)), default=math.nan)
    up = max((u[0] - top for u in upper if len(u)), default=0.0)
    down = max((bottom - b[0] for b in lower if len(b)), default=0.0)
    if up > 0 and down > 0:
        up, down = min(up, _UNEVEN * down), min(down, _UNEVEN * up)
    limits = _padded(bottom - max(down, 0.0), top + max(up, 0.0))
    return Axis(("objective", "lower_bound"), "bounds of min J", limits, log=False)


def gaps(drawn: Sequence[Curve]) -> Axis:
    """The gaps > 0, over a power of ten at least."""
    columns = [curve.column("gap") for curve in drawn]
    low, high = _range([gap[gap > 1 / _HUGE] for gap in columns])
    if math.isnan(low):
        low = high = 1.0
    room = max((high / low) ** 0.04, math.sqrt(10 * low / high))
    return Axis(("gap",), "certified relative gap", (low / room, high * room), log=True)


def finite(values: Array) -> Array:
    """Those that can be drawn."""
    return values[np.isfinite(values)]


def seconds(result: Result) -> str:
    """How long the run took, with the digits that matter."""
    taken = result.seconds
    return f"{taken:,.0f} s" if taken >= 100 else f"{taken:.2g} s"


def words(result: Result) -> str:
    """How the run ended, in words."""
    return result.status.name.lower().replace("_", " ")


def _padded(low: float, high: float) -> Limits:
    if math.isnan(low) or math.isnan(high):
        return 0.0, 1.0
    room = 0.11 * (high - low)  # for the labels of the curves
    if not room > 1e-9 * max(abs(low), abs(high)):
        room = 0.05 * max(abs(low), abs(high)) or 1.0
    return low - room, high + room


def _range(columns: Sequence[Array]) -> Limits:
    values = finite(np.concatenate(columns))
    return (float(values.min()), float(values.max())) if len(values) else (math.nan, math.nan)


def _ends(bins: Array) -> npt.NDArray[np.intp]:
    """First and last of each run of equal bins."""
    starts = np.flatnonzero(np.diff(bins, prepend=np.nan) != 0)
    return np.concatenate([starts, np.append(starts[1:], len(bins)) - 1])
