"""`fenchel path`: the same model at one strength after the other, and which of them is best."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli.choices import BY_ROW
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fit_options import (
    Atol,
    Balanced,
    Cap,
    Config,
    Gap,
    Intercept,
    L1Ratio,
    LabelCosts,
    Loss,
    Lower,
    P,
    Radius,
    Regularizer,
    Solver,
    SolverOption,
    Taxonomy,
    Threads,
    Upper,
    file,
    what,
    when,
    with_engine_options,
    with_loss_options,
    with_table_options,
)
from fenchel.cli.measures import METRICS
from fenchel.cli.options import (
    DataPaths,
    Exposure,
    Format,
    IndexBase,
    Json,
    Offset,
    Quiet,
    Stream,
    Target,
    Verbose,
)
from fenchel.cli.path_fitting import run
from fenchel.cli.path_job import PathJob
from fenchel.cli.settings import LARGEST, Settings, combined
from fenchel.cli.sources import source
from fenchel.cli.terminal import Terminal

_MOST = 10_000  # strengths of a range
_STRENGTHS_HELP = (
    "1e-1:1e-6:30 (from, to, how many) or 0.1,0.01,0.001. (default: 30, from 1e-1 to 1e-6; "
    "for l1 and elastic_net down from where all coefficients are 0)"
)


Folds = Annotated[int | None, what(help="Score each strength on rows left out, in so many folds.")]
_VALIDATION_HELP = "Score each strength on these rows; may be given again."
Validation = Annotated[list[Path] | None, what(metavar="<file>", help=_VALIDATION_HELP)]
_METRIC_HELP = f"Score by one of: {', '.join(METRICS)}."
Metric = Annotated[str | None, what(metavar="<name>", help=_METRIC_HELP)]
_OUTPUT_HELP = "Save the model with the best score."
Output = Annotated[Path | None, file("--output", "-o", help=_OUTPUT_HELP)]


@with_table_options(before="index_base")
@with_loss_options(BY_ROW, before="gap")
@with_engine_options(before="seed")
def path(
    context: typer.Context,
    data: DataPaths,
    strengths: Annotated[str | None, what(metavar="<range>", help=_STRENGTHS_HELP)] = None,
    loss: Loss = None,
    regularizer: Regularizer = None,
    l1_ratio: L1Ratio = None,
    radius: Radius = None,
    p: P = None,
    cap: Cap = None,
    lower: Lower = None,
    upper: Upper = None,
    intercept: Intercept = None,
    balanced: Balanced = None,
    label_costs: LabelCosts = None,
    taxonomy: Taxonomy = None,
    cv: Folds = None,
    validation: Validation = None,
    metric: Metric = None,
    gap: Gap = None,
    atol: Atol = None,
    max_iterations: Annotated[int | None, when(help="At each strength. (default 10000)")] = None,
    max_seconds: Annotated[float | None, when(help="At each strength. (default no limit)")] = None,
    solver: Solver = None,
    solver_option: SolverOption = None,
    threads: Threads = None,
    seed: Annotated[int | None, when(help="Of the folds. (default 0)")] = None,
    stream: Stream = None,
    target: Target = None,
    offset: Offset = None,
    exposure: Exposure = None,
    index_base: IndexBase = None,
    format: Format = None,
    output: Output = None,
    config: Config = None,
    plot: Annotated[Path | None, file(help="Draw the path: .png, .svg, .pdf or .html.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Fit DATA at many strengths, each from the last, every one to a proved accuracy.

    With --cv or --validation each strength has a score (accuracy, R2, or what suits the loss, or
    --metric), and --output saves the model with the best. Ctrl-C keeps the strengths that are done.
    """
    given = {name: context.params.get(name) for name in Settings.__struct_fields__}
    settings = combined(given, config)
    rows = source(data, settings.format)
    assert rows is not None
    job = PathJob.of(
        rows,
        settings,
        strengths=30 if strengths is None else parsed(strengths),
        cv=cv,
        validation=source(validation, settings.format),
        output=output,
        plot=plot,
        metric=metric,
    )
    return run(job, Terminal(quiet=quiet, json=json, verbose=verbose), context.obj)


def parsed(text: str) -> list[float]:
    """from:to:number, evenly spaced on a log scale; or numbers with commas between them."""
    if ":" not in text:
        return [_strength(part, least=0.0) for part in text.split(",")]
    first, last, count, *rest = [*text.split(":"), "", ""]
    if rest != ["", ""] or not (count.isascii() and count.isdigit() and 0 < int(count) <= _MOST):
        raise UsageError(
            f"--strengths: a range is from:to:number, as in 1e-1:1e-6:30, with a number of 1 to "
            f"{_MOST:,}; got {text!r}"
        )
    start, end = (_strength(text, least=1e-100) for text in (first, last))
    return [start * (end / start) ** (i / max(int(count) - 1, 1)) for i in range(int(count))]


def _strength(text: str, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= LARGEST:
        raise UsageError(f"--strengths: expected a number >= {least:g}; got {text!r}")
    return value
