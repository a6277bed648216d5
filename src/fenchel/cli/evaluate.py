"""`fenchel evaluate`: how well a model does on data it has not seen."""

from __future__ import annotations

from typing import Any

import msgspec

from fenchel import __version__
from fenchel.cli import inputs, metrics, models, reading, tagging
from fenchel.cli.choices import NOVELTY, RANKING
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import (
    DataPath,
    Forbid,
    IndexBase,
    Json,
    ModelPath,
    Quiet,
    Target,
    Verbose,
)
from fenchel.cli.terminal import Terminal, result


class Evaluated(msgspec.Struct):
    """The report; a metric that cannot be computed on these rows is null."""

    version: str
    model: str
    data: str
    rows: int
    loss: str
    metrics: dict[str, float | None]


def evaluate(
    model: ModelPath,
    data: DataPath,
    forbid: Forbid = None,
    target: Target = None,
    index_base: IndexBase = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Measure MODEL on DATA, by what suits its loss.

    Classes: accuracy, balanced accuracy, F1, area under the ROC curve, and for probabilities the
    log loss. Numbers: mean absolute error, root mean squared error, R2; the pinball loss of a
    quantile, the Poisson deviance of counts. Novelty: the share of rows that are novel. Levels:
    accuracy, the mean error in levels. Rankings: NDCG@10 and the mean reciprocal rank. Tags: the
    accuracy of tokens and sequences, and for CoNLL the F1 of chunks as conlleval has it.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    with terminal.warnings():
        fitted = models.load(model)
        _check_measurable(fitted)
        tagging.check_forbidden(forbid, fitted)
        if models.is_labeler(fitted):
            n_rows, found = tagging.measured(fitted, data, forbid, index_base, terminal)
            _show(
                Evaluated(__version__, str(model), str(data), n_rows, fitted.loss, found), terminal
            )
            return Code.OK
        rows = reading.read_for(fitted, data, terminal, target=target, index_base=index_base)
        loss = models.loss_name(fitted)
        if loss in RANKING:
            inputs.check_queries(rows.qid, data)
        _check_targets(rows.y, loss)
        found = metrics.measured(fitted, loss, rows, terminal)
    report = Evaluated(__version__, str(model), str(data), rows.X.shape[0], loss, found)
    _show(report, terminal)
    return Code.OK


def _check_measurable(fitted: Any) -> None:
    if type(fitted).__name__ == "MultilabelClassifier":
        raise UsageError(
            "the model predicts sets of labels, which files cannot give yet; in Python, use its "
            "method score"
        )


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
