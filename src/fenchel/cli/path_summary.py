"""What `path` reports on stdout: a table, or one JSON object."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import msgspec

import fenchel
from fenchel.cli import inputs
from fenchel.cli.path_job import PathJob, Walked
from fenchel.cli.summary import Label, finite
from fenchel.cli.terminal import Terminal, duration, result, short

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset


class PathPoint(msgspec.Struct):
    """One strength; of classes one against the rest, sums, the largest gap and the worst status."""

    strength: float
    status: str
    objective: float
    lower_bound: float | None
    gap: float | None
    nonzeros: int
    coefficients: int
    passes: int
    seconds: float
    score: float | None  # the mean over folds
    spread: float | None  # their standard deviation


class Report(msgspec.Struct):
    """The report of a path. Fields may be added; none will change its meaning."""

    version: str
    data: str
    files: list[str]
    rows: int
    features: int
    nonzeros: int | None
    classes: list[Label] | None
    estimator: str
    settings: dict[str, Any]
    converged: bool
    score: str | None  # which one
    best: float | None  # the strength with the largest score
    model: str | None
    points: list[PathPoint]
    seconds: dict[str, float]


def settings_of(job: PathJob) -> dict[str, Any]:
    """The settings that a path has; its strengths stand with the points."""
    settings = msgspec.structs.asdict(job.settings)
    del settings["strength"], settings["cost"]
    names = [] if job.validation is None else job.validation.names
    unseen = names if len(names) > 1 else next(iter(names), None)
    given = {"cv": job.cv, "validation": unseen, "metric": job.metric}
    return {**settings, **given}


def walked(job: PathJob, found: Walked, dataset: Dataset, seconds: dict[str, float]) -> Report:
    """The report of what was found."""
    rows, features, nonzeros = inputs.shape(dataset.X)
    points = _points(found)
    return Report(
        version=fenchel.__version__,
        data=str(job.data.path),
        files=job.data.names,
        rows=rows,
        features=features,
        nonzeros=nonzeros,
        classes=found.estimator.classes_.tolist() if hasattr(found.estimator, "classes_") else None,
        estimator=type(found.estimator).__name__,
        settings=settings_of(job),
        converged=all(point.status == "converged" for point in points),
        score=None if found.scores is None else found.scores.name,
        best=None if found.best is None else found.strengths[found.best],
        model=None if job.output is None or found.best is None else str(job.output),
        points=points,
        seconds=seconds,
    )


def _points(found: Walked) -> list[PathPoint]:
    from fenchel.report.lines import Stop

    nothing = [math.nan] * len(found.strengths)
    means = nothing if found.scores is None else found.scores.means.tolist()
    spreads = nothing if found.scores is None else found.scores.spreads.tolist()
    points = []
    for k, (strength, results) in enumerate(zip(found.strengths, found.results, strict=True)):
        stop = Stop.of(strength, results)
        points.append(
            PathPoint(
                strength=strength,
                status=stop.status,
                objective=stop.objective,
                lower_bound=finite(stop.lower_bound),
                gap=finite(stop.gap),
                nonzeros=stop.nonzeros,
                coefficients=stop.coefficients,
                passes=stop.passes,
                seconds=stop.seconds,
                score=finite(means[k]),
                spread=finite(spreads[k]),
            )
        )
    return points


def show(report: Report, terminal: Terminal) -> None:
    """Prints the report of a path, as text or as JSON."""
    if terminal.json:
        result(msgspec.json.encode(report).decode())
        return
    result(_line("strength", "objective", "gap", "nonzeros", "passes", "seconds", report.score))
    for point in report.points:
        result(_row(point, report))
    result(_total(report))
    if report.best is not None:
        result(_best(report))


def _row(point: PathPoint, report: Report) -> str:
    line = _line(
        f"{point.strength:.4g}",
        f"{point.objective:.7g}",
        "-" if point.gap is None else f"{point.gap:.1e}",
        f"{point.nonzeros:,}",
        f"{point.passes:,}",
        f"{point.seconds:.2f}",
        None if report.score is None else "-" if point.score is None else f"{point.score:.4f}",
    )
    if report.settings["cv"] and point.spread is not None:
        line += f" ±{point.spread:.4f}"
    if point.strength == report.best:
        line += "  best"
    return line if point.status == "converged" else f"{line}  {point.status.replace('_', ' ')}"


def _line(
    strength: str,
    objective: str,
    gap: str,
    nonzeros: str,
    passes: str,
    seconds: str,
    score: str | None,
) -> str:
    cells = f"{strength:>10}  {objective:>11}  {gap:>7}  {nonzeros:>9}  {passes:>6}  {seconds:>7}"
    return cells if score is None else f"{cells}  {score:>10}"


def _total(report: Report) -> str:
    points = report.points
    done = sum(point.status == "converged" for point in points)
    return (
        f"{done} of {len(points)} strengths converged to a gap of {report.settings['gap']:.1e}: "
        f"{sum(point.passes for point in points):,} passes, "
        f"{duration(sum(point.seconds for point in points))}"
    )


def _best(report: Report) -> str:
    score = next(point.score for point in report.points if point.strength == report.best)
    where = "" if report.model is None else f", saved in {short(os.path.abspath(report.model))}"
    return f"best {report.score} {score:.4f} at strength {report.best:.6g}{where}"
