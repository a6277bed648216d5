"""`fenchel resume`: goes on where an interrupted `fenchel train` stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from fenchel.cli import owners
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fitting import Job, checkpoints, run
from fenchel.cli.options import Json, Quiet, Verbose
from fenchel.cli.outputs import check_writable
from fenchel.cli.settings import Settings, changed
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

_FLAGS = ("gap", "atol", "max_iterations", "max_seconds", "threads", "engine")


def resume(
    context: typer.Context,
    checkpoint: Annotated[
        Path,
        typer.Argument(metavar="CHECKPOINT", help="MODEL.checkpoint", show_default=False),
    ],
    gap: Annotated[float | None, typer.Option(help="Another one than before.")] = None,
    atol: Annotated[float | None, typer.Option(help="Another one than before.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Of both runs together.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="From now on.")] = None,
    threads: Annotated[int | None, typer.Option(help="Another number than before.")] = None,
    engine: Annotated[str | None, typer.Option(help="Another one than before.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Go on with a run of `train` that was interrupted or reached a limit.

    Data, model and settings are those of that run. It takes the steps that it would have taken
    without the interruption, to the last bit.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    job = _stored(checkpoint)
    flags = {name: context.params[name] for name in _FLAGS}
    job = _moved(job, changed(job.settings, flags))
    check_writable(Path(job.output))
    return run(job, terminal, context.obj, checkpoint=str(checkpoint))


def _moved(job: Job, settings: Settings) -> Job:
    """The same job with other settings, which may name other places of the same owners."""
    if owners.named(settings) is not owners.named(job.settings):
        raise UsageError("a run on DATA does not go on across owners, nor one of owners on DATA")
    settings = owners.settled(settings)
    rows = None if owners.named(settings) else job.source
    data, *more = owners.source(rows, settings)
    return msgspec.structs.replace(job, settings=settings, data=data, more=more)


def _stored(path: Path) -> Job:
    """The job that a checkpoint belongs to."""
    from fenchel.checkpoint import Checkpoint

    files = checkpoints(str(path))
    if not files:
        beside = f"{path}.checkpoint"
        hint = f"; did you mean {beside}?" if checkpoints(beside) else ""
        raise UsageError(f"there is no checkpoint {path}{hint}")
    note = Checkpoint(files[0]).read_note()
    try:
        return msgspec.json.decode(note, type=Job)
    except msgspec.DecodeError as error:
        raise InvalidData(
            f"{path} is no checkpoint of fenchel train: it goes on with fenchel.minimize"
        ) from error
