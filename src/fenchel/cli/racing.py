"""A race from start to end: reads, poses the problem, runs the solvers, draws and reports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import fenchel
from fenchel.cli import inputs, label_files, raw, reading
from fenchel.cli.building import estimator_of, solver_of
from fenchel.cli.choices import RANKING, SEQUENCES, SOLVERS, nearest
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fitting import check_files, introduce, rehearse, rows_added
from fenchel.cli.progress import progress
from fenchel.cli.settings import Settings
from fenchel.cli.signals import Interrupts
from fenchel.cli.solver_options import parsed
from fenchel.cli.sources import Files
from fenchel.cli.summary import finite
from fenchel.cli.terminal import Terminal, result, short, size

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset
    from fenchel.racing import Race
    from fenchel.result import Record
    from fenchel.risks.base import Problem

_SECONDS = 60.0  # of each solver, unless it is said otherwise


class RaceJob(msgspec.Struct, frozen=True):
    """What `fenchel race` is asked for; `solvers` are None, for all, or settings for each."""

    data: Files
    settings: Settings
    solvers: dict[str, Settings] | None
    plot: Path | None

    @classmethod
    def of(cls, data: Files, settings: Settings, solvers: str | None, plot: Path | None) -> RaceJob:
        """Refused if it could not end well."""
        settings = label_files.settled(settings)
        if settings.loss in SEQUENCES:
            raise UsageError(f"fenchel race does not take --loss {settings.loss}; use train")
        if settings.max_seconds is None:
            settings = msgspec.structs.replace(settings, max_seconds=_SECONDS)
        check_files(data, plot)
        raw.check_options(settings, data)
        return cls(data, settings, None if solvers is None else _entries(solvers, settings), plot)


def _entries(text: str, settings: Settings) -> dict[str, Settings]:
    """Settings for each solver of a list such as bmrm,bmrm:step=1."""
    found: dict[str, Settings] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, *options = entry.split(":")
        if name not in SOLVERS:
            hint, known = nearest(name, SOLVERS) or ";", ", ".join(SOLVERS)
            raise UsageError(f"--solvers: unknown solver {name!r}{hint} available are {known}")
        if entry in found:
            raise UsageError(f"--solvers: {entry} is entered twice")
        found[entry] = msgspec.structs.replace(
            settings, solver=name, solver_option=parsed(options) if options else None
        )
    if not found:
        raise UsageError("--solvers: name one at least, as in bmrm,sublbfgs,auto")
    return found


def run(job: RaceJob, terminal: Terminal, interrupts: Interrupts) -> Code:
    """Reads, runs and reports; an interrupt leaves the solvers that are done."""
    settings = job.settings
    with terminal.warnings():
        with terminal.busy("starting"):
            plot = None if job.plot is None else str(job.plot)
            for each in (job.solvers or {"": settings}).values():
                rehearse(each, plot)
        dataset, _ = reading.read_rows(job.data, terminal, settings)
        if settings.loss in RANKING:
            inputs.check_queries(dataset.qid, job.data.path)
        introduce(job.data, settings, f"strength {settings.strength:g}", dataset, terminal)
        with interrupts.patient():
            race = _raced(job, _posed(job, dataset), terminal, interrupts)
        if plot is not None:
            _draw(job, plot, race, terminal)
    _show(job, race, dataset, terminal)
    proved = all(each.converged for each in race.values())
    return interrupts.code or (Code.OK if proved else Code.NOT_CONVERGED)


def _posed(job: RaceJob, dataset: Dataset) -> Problem:
    settings = job.settings
    estimator = estimator_of(settings, dataset.X.shape[0])
    estimator.set_params(**label_files.parameters(settings, dataset))
    with job.data.placed(dataset.counts):
        posed = estimator._posed(dataset.X, dataset.y, **rows_added(settings, dataset))
        first, *others = posed.problems
    if others:
        raise UsageError(
            f"--loss {settings.loss} makes {1 + len(others)} problems of as many classes, each "
            "against the rest, and a race has one: use a loss of all classes, such as "
            "multiclass_hinge or softmax, or data of two classes"
        )
    problem: Problem = first
    return problem


def _raced(job: RaceJob, problem: Problem, terminal: Terminal, interrupts: Interrupts) -> Race:
    from fenchel.racing import entered

    settings = job.settings
    chosen: Any = entered("all", problem)
    if job.solvers is not None:
        chosen = {name: solver_of(each) for name, each in job.solvers.items()}
    n_rows = problem.risk.n_rows
    with progress(terminal, interrupts, settings.gap, n_rows, len(chosen)) as callback:

        def watched(name: str, record: Record) -> bool:
            if record.iteration == 1:
                terminal.detail(f"{name} starts")
            return callback(record)

        return fenchel.race(
            problem,
            chosen,
            gap=settings.gap,
            atol=settings.atol,
            max_iterations=settings.max_iterations,
            max_seconds=settings.max_seconds,
            callback=watched,
        )


def _draw(job: RaceJob, path: str, race: Race, terminal: Terminal) -> None:
    from fenchel.report.curves import curves
    from fenchel.report.plots import write_curves

    with terminal.step(f"draw {short(path)}") as step:
        settings = msgspec.structs.asdict(job.settings)
        del settings["solver"], settings["solver_option"]
        write_curves(curves(race), path, title=os.path.basename(str(job.data)), settings=settings)
        step.found = size(os.path.getsize(path))


class Runner(msgspec.Struct):
    """What one solver proved, and what it took."""

    solver: str
    status: str
    objective: float | None
    lower_bound: float | None
    gap: float | None
    excess: float | None  # of the objective over the best bound of all, relatively
    iterations: int
    passes: int
    seconds: float


class First(msgspec.Struct):
    """Who certified a gap first."""

    gap: float
    fewest_passes: str
    passes: int
    least_time: str
    seconds: float


class RaceReport(msgspec.Struct):
    """The report of a race. Fields may be added; none will change its meaning."""

    version: str
    data: str
    rows: int
    features: int
    settings: dict[str, Any]
    lower_bound: float | None
    objective: float | None
    solvers: list[Runner]
    first: list[First]


def _show(job: RaceJob, race: Race, dataset: Dataset, terminal: Terminal) -> None:
    if terminal.json:
        result(msgspec.json.encode(_report(job, race, dataset)).decode())
        return
    from fenchel.milestones import FIRSTS, cells
    from fenchel.racing import STANDINGS

    for line in _aligned([STANDINGS, *race.standings()]):
        result(line)
    result("")
    for line in _aligned([FIRSTS, *((f"{m.gap:g}", *cells(m)) for m in race.milestones)]):
        result(line)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns in line, the first to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _report(job: RaceJob, race: Race, dataset: Dataset) -> RaceReport:
    rows, features, _ = inputs.shape(dataset.X)
    return RaceReport(
        version=fenchel.__version__,
        data=str(job.data.path),
        rows=rows,
        features=features,
        settings=msgspec.structs.asdict(job.settings),
        lower_bound=finite(race.lower_bound),
        objective=finite(race.objective),
        solvers=[
            Runner(
                solver=name,
                status=each.status.name.lower(),
                objective=finite(each.objective),
                lower_bound=finite(each.lower_bound),
                gap=finite(each.gap),
                excess=finite(race.excess(name)),
                iterations=each.iterations,
                passes=each.passes,
                seconds=each.seconds,
            )
            for name, each in race.items()
        ],
        first=[First(m.gap, *m.by_passes, *m.by_seconds) for m in race.milestones],
    )
