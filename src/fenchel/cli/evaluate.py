"""`fenchel evaluate`: how well a model does on data it has not seen."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import inputs, measures, metrics, models, reading, streams, tagging
from fenchel.cli.choices import NOVELTY, RANKING, SEQUENCES, starting
from fenchel.cli.exits import Code, UsageError
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
from fenchel.cli.sources import Files, source
from fenchel.cli.terminal import Terminal, result


class Evaluated(msgspec.Struct):
    """The report; a metric that cannot be computed on these rows is null."""

    version: str
    model: str
    data: str
    files: list[str]
    rows: int
    loss: str
    metrics: dict[str, float | None]


def _names(incomplete: str) -> list[str]:
    return starting(measures.METRICS, incomplete)


_METRIC_HELP = (
    f"One of {', '.join(measures.METRICS)}; may be given again. (default: what suits the loss)"
)


def evaluate(
    model: ModelPath,
    data: DataPaths,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<name>", help=_METRIC_HELP, autocompletion=_names, rich_help_panel=OUTPUT
        ),
    ] = None,
    forbid: Forbid = None,
    stream: StreamOnce = False,
    target: Target = None,
    index_base: IndexBase = None,
    format: Format = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Measure MODEL on DATA, by what suits its loss or by the metrics of your choice.

    Classes: accuracy, balanced accuracy, F1, area under the ROC curve, and for probabilities the
    log loss. Numbers: mean absolute error, root mean squared error, R2; the pinball loss of a
    quantile, the Poisson deviance of counts. Novelty: the share of rows that are novel. Levels:
    accuracy, the mean error in levels. Rankings: NDCG@10 and the mean reciprocal rank. Tags: the
    accuracy of tokens and sequences, and for CoNLL the F1 of chunks as conlleval has it.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    rows = source(data, format)
    assert rows is not None
    with terminal.warnings():
        fitted = models.load(model)
        loss = models.loss_name(fitted)
        asked = measures.asked(metric or (), loss)
        measures.check_able(asked, fitted)
        if stream:
            streams.check(rows, loss)
        tagging.check_forbidden(forbid, fitted)
        if loss in SEQUENCES:
            path = rows.only("a file of tokens")
            n_rows, found = tagging.measured(fitted, path, forbid, index_base, terminal)
        else:
            read = reading.read_for(
                fitted,
                loss,
                rows,
                terminal,
                target=target,
                index_base=index_base,
                stream=stream,
            )
            n_rows, found = _measured(fitted, loss, read, rows, asked, terminal)
    report = Evaluated(__version__, str(model), rows.names[0], rows.names, n_rows, loss, found)
    _show(report, terminal)
    return Code.OK


def _measured(
    fitted: Any,
    loss: str,
    rows: inputs.FileRows,
    data: Files,
    asked: list[measures.Wished],
    terminal: Terminal,
) -> tuple[int, metrics.Metrics]:
    """How many rows there are, and the metrics: those asked for, else those that suit the loss."""
    if loss in RANKING:
        inputs.check_queries(rows.qid, data.path)
    _check_targets(rows.y, loss)
    if asked:
        found = measures.measured(asked, measures.Judged(fitted, metrics.judgeable(fitted, rows)))
    else:
        found = metrics.measured(fitted, loss, rows, terminal)
    return rows.X.shape[0], found


def _check_targets(y: Any, loss: str) -> None:
    if y is None and loss not in NOVELTY:
        raise UsageError("DATA has no targets to compare with; name their column with --target")


def _show(report: Evaluated, terminal: Terminal) -> None:
    if terminal.json:
        result(msgspec.json.encode(report).decode())
        return
    width = max(map(len, report.metrics))
    for name, value in report.metrics.items():
        result(f"{name.replace('_', ' '):{width}}  {'-' if value is None else f'{value:.6g}'}")
