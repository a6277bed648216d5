"""A path from start to end: reads, fits, scores, saves, draws and reports."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec

from fenchel.cli import label_files, measures, path_summary, places, reading, streams
from fenchel.cli.building import estimator_of
from fenchel.cli.choices import CLASSIFICATION, DEVIANCES, LEAVES, OF_ALL_ROWS, SETS
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fitting import introduce, n_runs, rehearse
from fenchel.cli.inputs import FileRows
from fenchel.cli.metrics import comparable
from fenchel.cli.path_job import PathJob, Walked
from fenchel.cli.progress import progress
from fenchel.cli.saving import save
from fenchel.cli.signals import Interrupts
from fenchel.cli.sources import Files
from fenchel.cli.summary import label
from fenchel.cli.terminal import Terminal, short, size
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset
    from fenchel.estimators.fitting import Posed


def run(job: PathJob, terminal: Terminal, interrupts: Interrupts) -> Code:
    """Reads, fits, saves and reports; an interrupt leaves the strengths that are done."""
    settings = job.settings
    if settings.loss in OF_ALL_ROWS:
        raise UsageError(
            f"path takes losses of single rows; --loss {settings.loss} is one of all rows at once: "
            "train it at the strengths of your choice"
        )
    with terminal.warnings(), places.in_use(settings, terminal):
        with terminal.busy("starting"):
            smallest = 1e-6 if isinstance(job.strengths, int) else min(job.strengths)
            plot = None if job.plot is None else str(job.plot)
            rehearse(msgspec.structs.replace(job.each, strength=smallest), plot)
        dataset, seconds_to_read = reading.read_rows(job.data, terminal, settings, held=job.held)
        unseen = None if job.validation is None else _unseen(job, job.validation, dataset, terminal)
        introduce(job.data, settings, _range(job), dataset, terminal)
        started = time.perf_counter()
        with interrupts.patient():
            walked = _walked(job, dataset, unseen, terminal, interrupts)
        seconds = {"read": seconds_to_read, "fit": time.perf_counter() - started}
        if terminal.silent:
            return Code.OK  # the process that leads says and saves the rest
        if job.output is not None and walked.best is not None:
            seconds["save"] = save(walked.estimator, str(job.output), dataset, settings, terminal)
        elif job.output is not None:
            terminal.warn("no strength has a score yet, so no model was saved")
        if plot is not None:
            _draw(job, plot, walked, dataset, terminal)
    report = path_summary.walked(job, walked, dataset, seconds)
    path_summary.show(report, terminal)
    return interrupts.code or (Code.OK if report.converged else Code.NOT_CONVERGED)


def _range(job: PathJob) -> str:
    if isinstance(job.strengths, int):
        return f"{job.strengths} strengths"
    if job.n_strengths == 1:
        return f"strength {job.strengths[0]:g}"
    return f"{job.n_strengths} strengths from {max(job.strengths):g} to {min(job.strengths):g}"


def _unseen(job: PathJob, unseen: Files, dataset: Dataset, terminal: Terminal) -> FileRows:
    """The rows to score on, in the columns of the data, with their targets."""
    settings = job.settings
    columns = SimpleNamespace(
        index_base_=dataset.index_base,
        feature_names_in_=dataset.feature_names,
        n_features_in_=dataset.X.shape[1],
        offset_column_=settings.offset,
        exposure_column_=settings.exposure,
        table_=dataset.facts,
        encoder_=dataset.encoder,
    )
    rows = reading.read_for(
        columns,
        settings.loss,
        unseen,
        terminal,
        target=settings.target,
        index_base=settings.index_base,
        stream=bool(settings.stream) and streams.able(unseen),
    )
    if rows.y is None:
        raise UsageError(f"{unseen} has no targets to score with; name them with --target")
    if settings.loss in CLASSIFICATION and dataset.y is not None:
        comparable(rows.y, dataset.y)
    return rows


def _walked(
    job: PathJob,
    dataset: Dataset,
    unseen: FileRows | None,
    terminal: Terminal,
    interrupts: Interrupts,
) -> Walked:
    import numpy as np

    from fenchel.estimators.validation import validated
    from fenchel.paths import decreasing
    from fenchel.report.lines import Scores

    n_rows = dataset.X.shape[0]
    walked = Walked(estimator_of(job.each, n_rows))
    walked.estimator.set_params(**label_files.parameters(job.settings, dataset))
    estimator, means = walked.estimator, []
    name, scorer = _scoring(job, estimator)
    folds = [] if job.cv is None else _folds(job, job.cv, dataset)
    runs = n_runs(job.settings.loss, dataset) * job.n_strengths * (1 + len(folds))
    with progress(terminal, interrupts, job.settings.gap, n_rows, runs) as callback:
        estimator.set_params(callback=callback)
        with job.data.placed(dataset.counts):
            posed = estimator._posed(
                dataset.X, dataset.y, offset=dataset.offset, sample_weight=dataset.weight
            ).kept()
        wanted = decreasing("strengths", job.strengths, tuple(posed.problems))
        for strength, results in zip(wanted, estimator._along(posed, wanted), strict=False):
            walked.strengths.append(strength)
            walked.results.append(results)
            if unseen is not None:
                means.append(scorer(estimator, unseen.X, unseen.y, **unseen.added))
        if unseen is not None:
            walked.scores = Scores(name, np.array(means), np.zeros(len(means)))
        if folds and interrupts.code is None:
            callback.pace.n_rows = len(folds[0][0])
            found = validated(
                estimator,
                dataset.X,
                dataset.y,
                alphas=wanted,
                cv=folds,
                scoring=scorer,
                offset=dataset.offset,
                sample_weight=dataset.weight,
            )
            walked.scores = Scores(name, found.means, np.std(found.scores, axis=1))
            if found.interrupted:
                terminal.warn("interrupted: the scores are means over the folds that were done")
    _choose(walked, posed)
    return walked


def _choose(walked: Walked, posed: Posed) -> None:
    """Makes the estimator the one at the best strength; of equals, the largest."""
    import numpy as np

    scores = walked.scores
    if scores is not None and np.isfinite(scores.means).any():
        walked.best = int(np.nanargmax(scores.means))
        walked.estimator._take(posed, walked.results[walked.best])
        walked.estimator.set_params(alpha=walked.strengths[walked.best])
    walked.estimator.set_params(callback=None)


def _scoring(job: PathJob, estimator: Any) -> tuple[str, Any]:
    """The score that suits the loss, larger is better, and its name."""
    from sklearn.metrics import check_scoring, d2_pinball_score, make_scorer

    settings = job.settings
    if job.metric is not None:
        (metric,) = measures.asked([job.metric], settings.loss)
        measures.check_able([metric], estimator)
        return measures.scorer(metric)
    if settings.loss == "quantile":
        return "d2 pinball", make_scorer(d2_pinball_score, alpha=estimator.quantile)
    if settings.loss == "novelty":
        return "", None
    name = "d2" if settings.loss in DEVIANCES else "r2"
    of_classes = settings.loss in (*CLASSIFICATION, *SETS, *LEAVES)
    return "accuracy" if of_classes else name, check_scoring(estimator)


def _folds(job: PathJob, n: int, dataset: Dataset) -> list[tuple[Any, Any]]:
    """Drawn at random, because files may be sorted; classes in proportion, groups as a whole."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    kinds = (KFold, StratifiedKFold) if dataset.qid is None else (GroupKFold, StratifiedGroupKFold)
    kind = kinds[job.settings.loss in CLASSIFICATION]
    splitter = kind(n, shuffle=True, random_state=job.settings.seed or 0)
    try:
        return list(splitter.split(dataset.X, dataset.y, dataset.qid))
    except ValueError as error:
        raise InvalidData(f"--cv {n} is too much for {job.data}: {error}") from error


def _draw(job: PathJob, path: str, walked: Walked, dataset: Dataset, terminal: Terminal) -> None:
    import numpy as np

    from fenchel.report.lines import lines
    from fenchel.report.plots import write_lines
    from fenchel.result import Path as ResultPath

    strengths = np.array(walked.strengths)
    each = [ResultPath(strengths, results) for results in zip(*walked.results, strict=True)]
    classes = [label(c) for c in getattr(walked.estimator, "classes_", np.empty(0)).tolist()]
    names = classes if len(each) > 1 else [""]
    base, n_features = dataset.index_base or 0, dataset.X.shape[1]
    features = dataset.feature_names or [str(j) for j in range(base, base + n_features)]
    with terminal.step(f"draw {short(path)}") as step:
        drawn = lines(
            dict(zip(names, each, strict=True)),
            features=features,
            classes=classes,
            scores=walked.scores,
        )
        settings = path_summary.settings_of(job)
        write_lines(drawn, path, title=str(job.data), settings=settings)
        step.found = size(os.path.getsize(path))
