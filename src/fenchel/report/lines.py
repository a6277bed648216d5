"""Paths as lines to draw: the coefficients that matter, gaps and scores against strength."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fenchel.errors import InvalidData
from fenchel.report.curves import GREY, PALETTE
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
    colour: str

    @property
    def crowd(self) -> bool:
        """Whether it is one of too many to be told apart."""
        return self.colour == GREY


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
    """The coefficients whose size comes highest anywhere on the path; a colour for the first."""
    labels, blocks = [], []
    for name, path in paths.items():
        w = path.coefficients
        each = [w] if w.ndim == 2 else list(w)
        labels += [name] if w.ndim == 2 else [str(k) for k in classes or range(len(each))]
        blocks += each
    peaks = np.concatenate([np.max(np.abs(block), axis=1) for block in blocks])
    order = np.argsort(-peaks, kind="stable")[:_DRAWN]
    colours = _colours(int(np.count_nonzero(peaks[order])))
    for index, colour in zip(order[: len(colours)].tolist(), colours, strict=True):
        k, j = divmod(index, len(blocks[0]))
        feature = f"x{j}" if features is None else str(features[j])
        yield Line(f"{labels[k]}: {feature}" if labels[k] else feature, blocks[k][j], colour)


def _colours(n: int) -> list[str]:
    return [*PALETTE[:n], *[GREY] * (n - len(PALETTE))]
