"""The command line: `fenchel train`, `path`, `predict`, `evaluate`, `verify` and so on."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fenchel import __version__
from fenchel.cli import wording
from fenchel.cli.convert import convert
from fenchel.cli.evaluate import evaluate
from fenchel.cli.exits import fail
from fenchel.cli.export import export
from fenchel.cli.inspect import inspect
from fenchel.cli.owner import owner
from fenchel.cli.path import path
from fenchel.cli.predict import predict
from fenchel.cli.race import race
from fenchel.cli.resume import resume
from fenchel.cli.serve import redirected, serve
from fenchel.cli.signals import Interrupts
from fenchel.cli.train import train
from fenchel.cli.verify import verify
from fenchel.cli.worker import worker

__all__ = ["app", "main"]

app = typer.Typer(
    name="fenchel",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 internal error, 2 usage, 3 bad data, 4 not converged, "
    "5 a worker or owner lost, 130 Ctrl-C, 143 SIGTERM.",
)
for command in (
    train,
    path,
    race,
    predict,
    evaluate,
    inspect,
    verify,
    export,
    convert,
    resume,
    serve,
    owner,
    worker,
):
    app.command()(command)
wording.APPS.append(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fenchel {__version__}")
        raise typer.Exit


@app.callback()
def _fenchel(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            metavar="",
            help="Print the version.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Linear models with a proof: any convex loss, and a certified gap on every fit."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and exits with its code."""
    argv = redirected(sys.argv[1:] if arguments is None else arguments)
    interrupts = Interrupts()
    try:
        with interrupts.watched():
            code = app(argv, prog_name="fenchel", standalone_mode=False, obj=interrupts)
            sys.stdout.flush()
    except BaseException as error:
        code = fail(error, argv)
    sys.exit(int(code or 0))
