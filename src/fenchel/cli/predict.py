"""`fenchel predict`: one prediction per line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from fenchel.cli import models, reading, tagging
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import (
    OUTPUT,
    DataPath,
    Forbid,
    IndexBase,
    ModelPath,
    Quiet,
    Target,
    Verbose,
)
from fenchel.cli.outputs import check_writable
from fenchel.cli.summary import label
from fenchel.cli.terminal import Terminal

_ROWS = 4096  # written at a time


def predict(
    model: ModelPath,
    data: DataPath,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="<file>",
            help="Where to write. (default stdout)",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", metavar="", help="Scores in place of classes.", rich_help_panel=OUTPUT
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            metavar="",
            help="One column per class: logistic and softmax.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    forbid: Forbid = None,
    target: Target = None,
    index_base: IndexBase = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Predict the rows of DATA with MODEL: one line for each, on stdout or in a file.

    Targets in DATA are not looked at. Tags of tokens are in the lines that the tokens have in DATA,
    where other lines are left empty. Of two classes, a score > 0 speaks for the second; of more,
    there is one column per class.
    """
    terminal = Terminal(quiet=quiet, verbose=verbose)
    if scores and probabilities:
        raise UsageError("give --scores or --probabilities, not both")
    if output is not None:
        check_writable(output)
    with terminal.warnings():
        fitted = models.load(model)
        tagging.check_forbidden(forbid, fitted)
        if models.is_labeler(fitted):
            _refuse(scores or probabilities)
            _write_lines(tagging.predicted(fitted, data, forbid, index_base, terminal), output)
            return Code.OK
        method = _method(fitted, scores, probabilities)
        rows = reading.read_for(fitted, data, terminal, target=target, index_base=index_base)
        predicted = getattr(fitted, method)(rows.X, **rows.added)
    if predicted.ndim > 1:
        terminal.note(f"columns: {' '.join(map(label, fitted.classes_.tolist()))}")
    _write(predicted, output)
    return Code.OK


def _refuse(asked: bool) -> None:
    if asked:
        raise UsageError(
            "tags have neither --scores nor --probabilities here; in Python, use "
            "predict_best and predict_marginals"
        )


def _method(fitted: Any, scores: bool, probabilities: bool) -> str:
    method = "decision_function" if scores else "predict_proba" if probabilities else "predict"
    if hasattr(fitted, method):
        return method
    if scores and hasattr(fitted, "score_samples"):  # one score for all levels
        return "score_samples"
    flag = "--scores" if scores else "--probabilities"
    remedy = "are the scores" if scores else "need a model of --loss logistic or softmax"
    raise UsageError(
        f"{flag} is not for a {type(fitted).__name__} of loss {models.loss_name(fitted)}: "
        f"{'its predictions' if scores else 'probabilities'} {remedy}"
    )


def _write(predicted: Any, output: Path | None) -> None:
    _write_lines(_lines(predicted), output)


def _write_lines(lines: Iterable[str], output: Path | None) -> None:
    """Lines in blocks, on stdout or in a file."""
    if output is None:
        _write_to(sys.stdout.buffer, lines)
        return
    from fenchel._system.files import replacing

    with replacing(output) as file:
        _write_to(file, lines)


def _write_to(file: BinaryIO, lines: Iterable[str]) -> None:
    for line in lines:
        file.write(f"{line}\n".encode())
    file.flush()


def _lines(predicted: Any) -> Iterator[str]:
    for start in range(0, len(predicted), _ROWS):
        rows = predicted[start : start + _ROWS].tolist()
        lines = (
            (" ".join(map(label, row)) for row in rows) if predicted.ndim > 1 else map(label, rows)
        )
        yield from lines
