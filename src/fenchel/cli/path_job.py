"""What a path is asked for, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fenchel.cli import label_files, measures, owners, raw, several, streams
from fenchel.cli.choices import SEQUENCES
from fenchel.cli.exits import UsageError
from fenchel.cli.fitting import check_files
from fenchel.cli.settings import Settings
from fenchel.cli.sources import Files

if TYPE_CHECKING:
    from fenchel.report.lines import Scores
    from fenchel.result import Result


class PathJob(msgspec.Struct, frozen=True):
    """What `fenchel path` is asked for."""

    data: Files
    settings: Settings
    strengths: list[float] | int  # or how many
    cv: int | None
    validation: Files | None
    output: Path | None
    plot: Path | None
    metric: str | None = None
    held: bool = False  # workers read the rows once, and keep them in memory

    @classmethod
    def of(cls, data: Files, settings: Settings, **rest: Any) -> PathJob:
        """Refused if it could not end well."""
        if settings.loss in SEQUENCES:
            raise UsageError(f"fenchel path does not take --loss {settings.loss}; use train")
        if owners.named(settings):
            raise UsageError("--engine owners:FILE is for train, at a --strength of your choice")
        check_files(data, rest["output"], rest["plot"])
        settings, held = label_files.settled(owners.settled(settings)), False
        if rest["cv"] is None:
            settings, held = streams.settled(settings, data)
        job = cls(data, settings, held=held, **rest)
        raw.check_options(settings, data)
        job._check_folds()
        if job.validation is not None:
            check_files(job.validation, job.output, job.plot)
        if settings.seed is not None and job.cv is None:
            raise UsageError("--seed is of the folds of --cv: give both, or none")
        if job.scored and settings.loss == "novelty":
            raise UsageError("--loss novelty has no score: leave out --cv and --validation")
        if job.metric is not None:
            measures.asked([job.metric], settings.loss)
            if not job.scored:
                raise UsageError("--metric is the score of rows: add --cv 5 or --validation FILE")
        if job.output is not None and not job.scored:
            raise UsageError(
                "--output saves the model of the best strength: add --cv 5 or --validation FILE to "
                "find it, or use fenchel train with a --strength of your choice"
            )
        return job

    def _check_folds(self) -> None:
        """Refuses folds that there cannot be."""
        if self.cv is None:
            return
        if self.cv < 2:
            raise UsageError(f"--cv: expected a whole number >= 2; got {self.cv}")
        if self.validation is not None:
            raise UsageError("give --cv or --validation, not both: each is a score of its own")
        if streams.stay(self.data, self.settings):
            raise UsageError(
                "--cv cuts rows in memory into folds, but those of a store or of --stream stay in "
                "their file: give --validation FILE"
            )
        if self.settings.loss in several.LOSSES:
            raise UsageError(
                f"--loss {self.settings.loss} has several targets a row, which --cv does not cut "
                "into folds: give --validation FILE"
            )

    @property
    def scored(self) -> bool:
        """Whether each strength gets a score."""
        return self.cv is not None or self.validation is not None

    @property
    def each(self) -> Settings:
        """The settings of the fits; the seed is one of the folds."""
        return msgspec.structs.replace(self.settings, seed=None)

    @property
    def n_strengths(self) -> int:
        """How many there are."""
        return self.strengths if isinstance(self.strengths, int) else len(set(self.strengths))


class Walked:
    """What became of a path: the results at each strength, scores, and the model of the best."""

    def __init__(self, estimator: Any):
        self.estimator = estimator
        self.strengths: list[float] = []
        self.results: list[list[Result]] = []  # one, or one for each class
        self.scores: Scores | None = None
        self.best: int | None = None
