"""A training job from start to end, as `train` starts it and `resume` goes on with it."""

from __future__ import annotations

import glob
import os
import shlex
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import fenchel
from fenchel.cli import (
    inputs,
    label_files,
    owners,
    places,
    raw,
    reading,
    streams,
    summary,
    tagging,
)
from fenchel.cli.building import estimator_of, penalty_of, solver_of
from fenchel.cli.choices import (
    CLASSIFICATION,
    METRICS,
    NOVELTY,
    OF_ALL_ROWS,
    POSITIVE,
    RANKING,
    SEQUENCES,
    SETS,
    TOGETHER,
    VECTORS,
)
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.outputs import check_writable
from fenchel.cli.progress import progress
from fenchel.cli.saving import save
from fenchel.cli.settings import Settings
from fenchel.cli.signals import Interrupts
from fenchel.cli.sources import STDIN, Files, check_readable
from fenchel.cli.terminal import Terminal, short, size
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset

# How a run ended that could go on, and what it needs for that.
_MORE = {
    "interrupted": "",
    "max_iterations": " --max-iterations ...",
    "time_limit": " --max-seconds ...",
}


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked for; its JSON is the note in the checkpoint."""

    data: str  # the first file, or - for stdin, or owners
    output: str
    settings: Settings
    plot: str | None = None
    proof: str | None = None
    more: list[str] = []  # the other files
    held: bool = False  # workers read the rows once, and keep them in memory

    @property
    def source(self) -> Files:
        """The files of the rows."""
        paths = tuple(Path(name) for name in (self.data, *self.more))
        return Files(paths, self.settings.format)

    @classmethod
    def of(
        cls,
        data: Files | None,
        output: Path,
        settings: Settings,
        plot: Path | None,
        proof: Path | None,
    ) -> Job:
        """With paths that hold wherever the job goes on; refused if it could not end well."""
        settings = label_files.settled(tagging.settled(owners.settled(settings), data))
        source, *rest = owners.source(data, settings)
        check_files(data, output, plot, proof)
        settings, held = streams.settled(settings, data)
        raw.check_options(settings, data)
        if settings.group is not None and settings.loss not in RANKING:
            raise UsageError(
                f"--group is for the queries of --loss {', '.join(RANKING)}; leave a column out "
                "with --ignore"
            )
        drawn, proved = (None if path is None else str(path.absolute()) for path in (plot, proof))
        return cls(source, str(output.absolute()), settings, drawn, proved, rest, held)


def check_files(data: Files | None, *outputs: Path | None) -> None:
    """Refuses data that are not there, and outputs that cannot be written or are the data."""
    given = [] if data is None else [path for path in data.paths if path != STDIN]
    for path in filter(None, outputs):
        check_writable(path)
        if path.resolve() in (each.resolve() for each in given):
            raise UsageError(f"{path} is the data: give the output another name")
    for path in given:
        check_readable(path)


def run(
    job: Job, terminal: Terminal, interrupts: Interrupts, *, checkpoint: str | None = None
) -> Code:
    """Reads, fits, saves and reports; the model is saved however the fit ended."""
    settings, state = job.settings, checkpoint or f"{job.output}.checkpoint"
    with terminal.warnings(), places.in_use(settings, terminal):
        with terminal.busy("starting"):
            rehearse(settings, job.plot)
        dataset, seconds_to_read = _read(job, terminal)
        if settings.loss in RANKING:
            inputs.check_queries(dataset.qid, Path(job.data))
        how = f"cost {settings.cost:g}" if settings.cost else f"strength {settings.strength:g}"
        introduce(job.source, settings, how, dataset, terminal)
        started = time.perf_counter()
        with interrupts.patient():
            estimator = _fitted(job, dataset, state, terminal, interrupts)
        fitting = time.perf_counter() - started
        if not terminal.silent:
            saving = save(estimator, job.output, dataset, settings, terminal)
        if job.proof is not None:
            _save_proof(job, job.proof, estimator, dataset, terminal)
        if terminal.silent:
            return Code.OK  # the process that leads says the rest
        if job.plot is not None:
            _draw(job, job.plot, estimator, terminal)
    seconds = {"read": seconds_to_read, "fit": fitting, "save": saving}
    report = summary.trained(
        estimator,
        dataset,
        seconds,
        files=[job.data, *job.more],
        output=job.output,
        settings=settings,
    )
    terminal.detail(f"why {report.runs[0].solver}: {report.runs[0].reason}")
    summary.show(report, terminal)
    code = interrupts.code or (Code.OK if report.converged else Code.NOT_CONVERGED)
    _conclude(report, state, terminal)
    return code


def _read(job: Job, terminal: Terminal) -> tuple[Dataset, float]:
    settings = job.settings
    if owners.named(settings):
        return owners.read(settings, terminal, loss=settings.loss)
    if settings.loss in SEQUENCES:
        return tagging.read(job.source.path, terminal, settings)
    return reading.read_rows(job.source, terminal, settings, held=job.held)


def rehearse(settings: Settings, plot: str | None) -> None:
    """Refuses what could not end well, on two rows, before the data are read."""
    from fenchel.solvers import chosen

    if settings.threads is not None:
        os.environ["FENCHEL_NUM_THREADS"] = str(settings.threads)  # holds for the reader too
    options, loss = settings.loss_options(), settings.loss
    if loss in ("precision_at_k", "recall_at_k"):
        options["k"] = 1  # of two rows
    problem = fenchel.problem(
        [[0.0], [1.0]],
        _two(loss),
        loss="fbeta" if loss == "f1" else loss,
        regularizer="entropy" if settings.cap else penalty_of(settings),  # one weight has no cap
        strength=settings.strength,
        intercept=settings.intercept is not False
        and loss not in (*NOVELTY, *OF_ALL_ROWS, *SEQUENCES),
        lower=settings.lower,
        upper=settings.upper,
        engine="serial",
        groups=[0, 0] if loss in (*RANKING, *SEQUENCES) else None,
        **options,
    )
    chosen(solver_of(settings), problem)
    tagging.check(settings)
    estimator_of(settings, n_rows=2)  # imports scikit-learn, which takes a second
    if plot is not None:
        _check_plot(plot)


def _two(loss: str) -> list[Any]:
    """Targets of two rows."""
    if loss in SETS:
        return [[0.0], [1.0]]
    if loss in VECTORS:
        return [[0.0, 1.0], [1.0, 0.0]]
    return [1.0, 2.0] if loss in POSITIVE else [0.0, 1.0]


def _check_plot(path: str) -> None:
    from fenchel.report.plots import check_path

    try:
        check_path(path)
    except InvalidData as error:
        raise UsageError(str(error)) from error


def introduce(
    source: Files, settings: Settings, strength: str, dataset: Dataset, terminal: Terminal
) -> None:
    """Says what is fitted, and which class is which unless they are called -1 and 1."""
    if settings.loss in NOVELTY and settings.target is None and source.is_table:
        terminal.warn(
            "novelty has no target, but one column counts as such and is left out: y, target or "
            "label, else the last. Name another with --target"
        )
    if settings.loss in (*CLASSIFICATION, *METRICS):
        labels = [summary.label(value) for value in _classes(dataset)]
        if len(labels) > 2:
            how = "together" if settings.loss in TOGETHER else "each against the rest"
            shown = labels if len(labels) <= 12 else [*labels[:10], "...", labels[-1]]
            terminal.note(f"{len(labels)} classes, {how}: {', '.join(shown)}")
        elif len(labels) == 2 and labels != ["-1", "1"]:
            terminal.note(f"classes: {labels[0]} is -1, {labels[1]} is +1")
    terminal.note(
        f"fit {settings.loss} + {settings.regularizer}, {strength}, to a gap of {settings.gap:.1e}"
    )


def _classes(dataset: Dataset) -> list[Any]:
    import numpy as np

    if isinstance(dataset, owners.Owned):
        return list(dataset.classes or ())
    classes: list[Any] = [] if dataset.y is None else np.unique(dataset.y).tolist()
    return classes


def _fitted(
    job: Job, dataset: Dataset, state: str, terminal: Terminal, interrupts: Interrupts
) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it
    n_rows = inputs.shape(dataset.X)[0]
    estimator = estimator_of(job.settings, n_rows)
    estimator.set_params(**label_files.parameters(job.settings, dataset))
    runs = n_runs(job.settings.loss, dataset)
    with progress(terminal, interrupts, job.settings.gap, n_rows, runs) as callback:
        estimator.set_params(callback=callback, checkpoint=_checkpoint(job, state))
        with job.source.placed(getattr(dataset, "counts", ())):
            estimator.fit(dataset.X, dataset.y, **rows_added(job.settings, dataset))
    return estimator.set_params(callback=None, checkpoint=None)


def rows_added(settings: Settings, dataset: Dataset) -> dict[str, Any]:
    """What else the rows of some losses have."""
    rows: dict[str, Any] = {"groups": dataset.qid} if settings.loss in RANKING else {}
    if settings.offset or settings.exposure:
        rows["offset"] = dataset.offset
    if settings.weight is not None:
        rows["sample_weight"] = dataset.weight
    return rows


def n_runs(loss: str, dataset: Dataset) -> int:
    """One, or one for each of three or more classes that are fitted one against the rest."""
    if loss not in CLASSIFICATION or loss in TOGETHER:
        return 1
    n_classes = len(_classes(dataset))
    return n_classes if n_classes > 2 else 1


def _checkpoint(job: Job, path: str) -> Any:
    """A file for the state, with the job in it; data from stdin would not come a second time."""
    from fenchel.checkpoint import Checkpoint

    if job.source.is_stdin:
        return None
    return Checkpoint(path, msgspec.json.encode(job).decode())


def _save_proof(job: Job, path: str, estimator: Any, dataset: Dataset, terminal: Terminal) -> None:
    """Writes the proof, to which all processes of an engine contribute."""
    from fenchel.model.proof import proof_of

    found = estimator.result_
    results = found if isinstance(found, list) else [found]
    with terminal.step(f"save {short(path)}") as step:
        problems = []
        if not owners.named(job.settings):  # whose rows nobody else has
            rows = rows_added(job.settings, dataset)
            problems = list(estimator._posed(dataset.X, dataset.y, **rows).problems)
        classes = getattr(estimator, "classes_", None)
        proof = proof_of(results, problems, classes, dataset.index_base)
        if not terminal.silent:
            proof.write(path)
            step.found = size(os.path.getsize(path))


def _draw(job: Job, path: str, estimator: Any, terminal: Terminal) -> None:
    from fenchel.report.curves import curves
    from fenchel.report.plots import write_curves

    results = estimator.result_
    if isinstance(results, list):
        labels = map(summary.label, estimator.classes_.tolist())
        results = dict(zip(labels, results, strict=True))
    with terminal.step(f"draw {short(path)}") as step:
        settings = msgspec.structs.asdict(job.settings)
        drawn = curves(results, one_problem=False)
        write_curves(drawn, path, title=os.path.basename(str(job.source)), settings=settings)
        step.found = size(os.path.getsize(path))


def _conclude(report: summary.Trained, state: str, terminal: Terminal) -> None:
    """Removes the state of a run that is over, or says how to go on."""
    unfinished = {run.status for run in report.runs} - {"converged"}
    if not unfinished & set(_MORE):
        forget(state)
    elif checkpoints(state):
        more = next(flag for status, flag in _MORE.items() if status in unfinished)
        terminal.note(f"to go on: fenchel resume {shlex.quote(short(state))}{more}")


def checkpoints(path: str) -> list[str]:
    """The files of a checkpoint: itself, or one for each class, numbered."""
    parts = glob.glob(f"{glob.escape(path)}.[0-9]*")
    return [name for name in (path, *sorted(parts)) if os.path.isfile(name)]


def forget(path: str) -> None:
    """Removes the files of a checkpoint."""
    for name in checkpoints(path):
        os.unlink(name)
