"""`fenchel predict`: one prediction per line, or a table, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import models, prediction_files, reading, streams, tagging
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.inputs import FileRows
from fenchel.cli.options import (
    OUTPUT,
    DataPaths,
    Forbid,
    Format,
    IndexBase,
    Json,
    ModelPath,
    Quiet,
    StreamOnce,
    Target,
    Verbose,
)
from fenchel.cli.outputs import check_writable
from fenchel.cli.prediction_files import Predicted
from fenchel.cli.sources import Files, source
from fenchel.cli.summary import label
from fenchel.cli.terminal import Terminal, result

_ROWS = 4096  # written at a time


_out = partial(typer.Option, rich_help_panel=OUTPUT)
_OUTPUT_HELP = "Where to write: a table if .csv, .tsv or .parquet, else lines. (default stdout)"
_ID_HELP = "The column of DATA that a table has for ids. (default: row, numbers from 0)"
_SCORES_HELP = "Scores in place of classes; in a table and in JSON beside them."
_CHANCES_HELP = "One column per class: logistic and softmax. Tables have them anyway."
Output = Annotated[Path | None, _out("--output", "-o", metavar="<file>", help=_OUTPUT_HELP)]
Id = Annotated[str | None, _out(metavar="<name>", help=_ID_HELP)]
Scores = Annotated[bool, _out("--scores", metavar="", help=_SCORES_HELP)]
Probabilities = Annotated[bool, _out("--probabilities", metavar="", help=_CHANCES_HELP)]


def predict(
    model: ModelPath,
    data: DataPaths,
    output: Output = None,
    id: Id = None,
    scores: Scores = False,
    probabilities: Probabilities = False,
    forbid: Forbid = None,
    stream: StreamOnce = False,
    target: Target = None,
    index_base: IndexBase = None,
    format: Format = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Predict the rows of DATA with MODEL: one line for each, on stdout or in a file.

    Targets in DATA are not looked at. Tags of tokens are in the lines that the tokens have in DATA,
    where other lines are left empty. Of two classes, a score > 0 speaks for the second; of more,
    there is one column per class. A .csv, .tsv or .parquet has a column of ids, the predictions,
    and the probabilities of models that give them; so has --json, on stdout.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    rows = source(data, format)
    assert rows is not None
    table = json or prediction_files.is_table(output)
    _check(rows, output, id, scores and probabilities, table=table)
    with terminal.warnings():
        fitted = models.load(model)
        report = _report(model, fitted, rows)
        if stream:
            streams.check(rows, report.loss)
        tagging.check_forbidden(forbid, fitted)
        if models.is_labeler(fitted):
            _refuse(scores or probabilities or id is not None)
            path = rows.only("a file of tokens")
            tags = tagging.predicted(fitted, path, forbid, index_base, terminal)
            _finish_tags(tags, output, report, terminal)
            return Code.OK
        method = _method(fitted, scores and not table, probabilities)
        found = reading.read_for(
            fitted,
            report.loss,
            rows,
            terminal,
            target=target,
            index_base=index_base,
            stream=stream,
        )
        if table:
            _finish_table(fitted, found, (rows, id), scores, output, report, terminal)
            return Code.OK
        predicted = getattr(fitted, method)(found.X, **found.added)
    names = getattr(fitted, "classes_", getattr(fitted, "target_names_", None))
    if predicted.ndim > 1 and names is not None:
        terminal.note(f"columns: {' '.join(map(label, names.tolist()))}")
    _write(predicted, output)
    return Code.OK


def _check(rows: Files, output: Path | None, id: str | None, both: bool, *, table: bool) -> None:
    """Refuses what could not be written."""
    if both and not table:
        raise UsageError("give --scores or --probabilities, not both")
    if id is not None and not table:
        raise UsageError(
            "--id is for tables and JSON: give -o FILE.csv, .tsv or .parquet, or --json"
        )
    prediction_files.check_ids(rows, id)
    if output is not None:
        check_writable(output)


def _report(model: Path, fitted: Any, rows: Files) -> Predicted:
    """A report that has no predictions yet."""
    loss, nothing = models.loss_name(fitted), (None,) * 7
    return Predicted(__version__, str(model), rows.names[0], rows.names, 0, loss, *nothing)


def _finish_tags(
    tags: Iterator[str], output: Path | None, report: Predicted, terminal: Terminal
) -> None:
    """Lines to a file or stdout, or all of them in JSON."""
    if not terminal.json:
        _write_lines(tags, output)
        return
    lines = list(tags)
    report.rows = len(lines)
    if output is None:
        report.predictions = lines
    else:
        report.output = str(output)
        _write_lines(lines, output)
    result(msgspec.json.encode(report).decode())


def _finish_table(
    fitted: Any,
    found: FileRows,
    asked: tuple[Files, str | None],
    scores: bool,
    output: Path | None,
    report: Predicted,
    terminal: Terminal,
) -> None:
    """A table in a file, of which JSON tells; or all of it in JSON."""
    from fenchel.model.answers import answer, plain

    said = answer(fitted, found.X, scores=scores, probabilities=True, **found.added)
    report.rows = len(said.predictions)
    name, ids = prediction_files.ids(*asked, report.rows)
    report.classes = None if said.classes is None else [plain(each) for each in said.classes]
    if output is None:
        report.ids, report.predictions = ids.tolist(), said.listed()
        report.scores = None if said.scores is None else said.scores.tolist()
        report.probabilities = None if said.probabilities is None else said.probabilities.tolist()
    else:
        _write_output(said, (name, ids), output, report)
    if terminal.json:
        result(msgspec.json.encode(report).decode())


def _write_output(said: Any, named: tuple[str, Any], output: Path, report: Predicted) -> None:
    report.output = str(output)
    if not prediction_files.is_table(output):
        _write(said.predictions, output)
        return
    table = prediction_files.columns(said, named)
    report.columns = list(table)
    prediction_files.write(table, output)


def _refuse(asked: bool) -> None:
    if asked:
        raise UsageError(
            "tags have neither --scores, --probabilities nor --id here; in Python, use "
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
