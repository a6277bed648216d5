"""Paths as lines to draw: the coefficients that matter, gaps and scores against strength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fenchel.errors import InvalidData
from fenchel.report.scene import Axis, Entry, Panel, Scene, Trace, linear, logarithmic, span
from fenchel.report.style import BLACK, DAY, GREY, Ink
from fenchel.result import Array, Path, Result

_DRAWN = 150  # of the coefficients, the largest; more would be a grey field


class Stop(NamedTuple):
    """What is known at one strength, of one result or of one for each class."""

    strength: float
    lower_bound: float  # of one against the rest, sums
    objective: float
    gap: float  # the largest
    nonzeros: int
    coefficients: int
    passes: int
    seconds: float
    status: str  # the worst

    @classmethod
    def of(cls, strength: float, results: Sequence[Result]) -> Stop:
        """From the results at a strength."""
        worst = max(results, key=lambda result: (not result.converged, result.gap))
        return cls(
            strength,
            sum(result.lower_bound for result in results),
            sum(result.objective for result in results),
            max(result.gap for result in results),
            sum(int(np.count_nonzero(result.w)) for result in results),
            sum(result.w.size for result in results),
            sum(result.passes for result in results),
            sum(result.seconds for result in results),
            worst.status.name.lower(),
        )


class Scores(NamedTuple):
    """How well the model of each strength did on rows that it has not seen."""

    name: str
    means: Array
    spreads: Array  # standard deviations over folds, 0 where there is one set of rows


class Line(NamedTuple):
    """One coefficient over all strengths."""

    name: str
    values: Array
    ink: Ink

    @property
    def crowd(self) -> bool:
        """Whether it is one of too many to be told apart."""
        return self.ink.crowd


@dataclass(frozen=True)
class Lines:
    """All that is drawn of a path, or of one for each class."""

    stops: Sequence[Stop]
    lines: Sequence[Line]  # the largest first
    scores: Scores | None

    @property
    def strengths(self) -> Array:
        """From the largest to the smallest; nan for 0, which a log scale has not."""
        strengths = np.array([stop.strength for stop in self.stops])
        return np.where(strengths > 0, strengths, np.nan)

    @property
    def best(self) -> float | None:
        """The strength with the largest mean score."""
        if self.scores is None or np.isnan(self.scores.means).all():
            return None
        return self.stops[int(np.nanargmax(self.scores.means))].strength

    @property
    def summary(self) -> str:
        """What was proved and what it cost, in a line."""
        short = sum(stop.status != "converged" for stop in self.stops)
        return (
            f"{len(self.stops)} strengths, {f'{short} not' if short else 'all'} converged, "
            f"gap at most {max(stop.gap for stop in self.stops):.1e}, "
            f"{sum(stop.passes for stop in self.stops):,} passes, "
            f"{sum(stop.seconds for stop in self.stops):.2g} s"
        )


def lines(
    paths: Path | Mapping[str, Path],
    *,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    scores: Scores | None = None,
) -> Lines:
    """Of one path, or of one for each class; `classes` are those of a path with a w for each."""
    paths = {"": paths} if isinstance(paths, Path) else paths
    first = next(iter(paths.values()))
    if not len(first):
        raise InvalidData("the path is empty: there is nothing to plot")
    steps = zip(first.strengths, *paths.values(), strict=True)
    stops = [Stop.of(float(strength), results) for strength, *results in steps]
    return Lines(stops, list(_largest(paths, features, classes)), scores)


def _largest(
    paths: Mapping[str, Path], features: Sequence[str] | None, classes: Sequence[str] | None
) -> Iterator[Line]:
    """The coefficients whose size comes highest anywhere on the path; an ink for the first."""
    labels, blocks = [], []
    for name, path in paths.items():
        w = path.coefficients
        each = [w] if w.ndim == 2 else list(w)
        labels += [name] if w.ndim == 2 else [str(k) for k in classes or range(len(each))]
        blocks += each
    peaks = np.concatenate([np.max(np.abs(block), axis=1) for block in blocks])
    order = np.argsort(-peaks, kind="stable")[:_DRAWN]
    inks = _inks(int(np.count_nonzero(peaks[order])))
    for index, ink in zip(order[: len(inks)].tolist(), inks, strict=True):
        k, j = divmod(index, len(blocks[0]))
        feature = f"x{j}" if features is None else str(features[j])
        yield Line(f"{labels[k]}: {feature}" if labels[k] else feature, blocks[k][j], ink)


def _inks(n: int) -> list[Ink]:
    """Whole lines for the largest; dashes would not be seen in so many."""
    return [*map(Ink, range(min(n, len(DAY)))), *[GREY] * (n - len(DAY))]


def scene(drawn: Lines, title: str) -> Scene:
    """Coefficients, scores if there are any, and gaps; strengths fall: coefficients grow."""
    x = _strengths(drawn)
    marks = [drawn.best] if drawn.best else []
    panels = [_coefficients(drawn, x, marks), _gaps(drawn, x, marks)]
    if drawn.scores is not None:
        panels.insert(1, _scores(drawn, drawn.scores, x, marks))
    best = f"; best {drawn.scores.name} at {drawn.best:.3g}" if drawn.scores and drawn.best else ""
    head = "\n".join(filter(None, (title, drawn.summary + best)))
    return Scene(head, [[panel] for panel in panels], _entries(drawn))


def _entries(drawn: Lines) -> list[Entry]:
    named = [Entry(line.name, line.ink, line.name) for line in drawn.lines if not line.crowd]
    crowd = sum(line.crowd for line in drawn.lines)
    return [*named, Entry("", GREY, f"{crowd} others")] if crowd else named


def _strengths(drawn: Lines) -> Axis:
    low, high = span([drawn.strengths])
    if np.isnan(low):
        return Axis("strength", (0.0, 1.0))
    room = max((high / low) ** 0.02, 1.05)
    return Axis("strength", (low / room, high * room), log=True, falling=True)


def _coefficients(drawn: Lines, x: Axis, marks: Sequence[float]) -> Panel:
    traces = [
        Trace(line.name, drawn.strengths, line.values, line.ink, dots="") for line in drawn.lines
    ]
    low, high = span([line.values for line in drawn.lines])
    return Panel(x, linear("coefficient", low, high), traces, marks=marks, height=1.8)


def _scores(drawn: Lines, scores: Scores, x: Axis, marks: Sequence[float]) -> Panel:
    band = scores.means - scores.spreads, scores.means + scores.spreads
    trace = Trace(scores.name, drawn.strengths, scores.means, BLACK, band, dots="all")
    return Panel(x, linear(scores.name, *span(band)), [trace], marks=marks, height=0.8)


def _gaps(drawn: Lines, x: Axis, marks: Sequence[float]) -> Panel:
    gaps = np.array([stop.gap for stop in drawn.stops])
    gaps = np.where((gaps > 0) & np.isfinite(gaps), gaps, np.nan)
    short = np.array([stop.status != "converged" for stop in drawn.stops])
    trace = Trace("certified gap", drawn.strengths, gaps, BLACK, dots="all", hollow=short)
    return Panel(x, logarithmic("certified gap", [gaps]), [trace], marks=marks, height=0.7)
