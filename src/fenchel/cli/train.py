"""`fenchel train`: from a data file to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli.choices import OPTIONS
from fenchel.cli.exits import Code
from fenchel.cli.fit_options import (
    Atol,
    Balanced,
    Cap,
    Config,
    Gap,
    Hashed,
    Intercept,
    L1Ratio,
    LabelCosts,
    Loss,
    Lower,
    MinCount,
    P,
    Radius,
    Regularizer,
    Solver,
    SolverOption,
    Taxonomy,
    Template,
    Threads,
    Upper,
    file,
    what,
    when,
    with_engine_options,
    with_loss_options,
    with_table_options,
)
from fenchel.cli.fitting import Job, forget, run
from fenchel.cli.options import (
    DataPathsOrOwners,
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
from fenchel.cli.settings import Settings, combined
from fenchel.cli.sources import source
from fenchel.cli.terminal import Terminal

Cost = Annotated[float | None, what("--cost", "-c", help="liblinear's C, for strength = 1/(C n).")]
Proof = Annotated[Path | None, file(help="Save what proves the bounds, for all to check.")]
_SEED_HELP = "sdca, and pegasos with --batch: of the order of the rows. (default 0)"


@with_table_options(before="index_base")
@with_loss_options(OPTIONS, before="template")
@with_engine_options(before="seed")
def train(
    context: typer.Context,
    output: Annotated[Path, file("--output", "-o", help="Where to save the model.")],
    data: DataPathsOrOwners = None,
    loss: Loss = None,
    regularizer: Regularizer = None,
    strength: Annotated[float | None, what(help="Of the regulariser. (default 1e-4)")] = None,
    cost: Cost = None,
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
    template: Template = None,
    min_count: MinCount = None,
    hashed: Hashed = None,
    gap: Gap = None,
    atol: Atol = None,
    max_iterations: Annotated[int | None, when(help="(default 10000)")] = None,
    max_seconds: Annotated[float | None, when(help="Of fitting. (default no limit)")] = None,
    solver: Solver = None,
    solver_option: SolverOption = None,
    threads: Threads = None,
    seed: Annotated[int | None, when(help=_SEED_HELP)] = None,
    batch: Annotated[int | None, when(help="pegasos: rows of a step. (default all)")] = None,
    stream: Stream = None,
    target: Target = None,
    offset: Offset = None,
    exposure: Exposure = None,
    index_base: IndexBase = None,
    format: Format = None,
    config: Config = None,
    plot: Annotated[Path | None, file(help="Draw the run: .png, .svg, .pdf or .html.")] = None,
    proof: Proof = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Fit a linear model to DATA, or to the rows of owners, to a proved accuracy, and save it.

    The loss decides what is fitted: classes, a regression, a quantile, counts, novelty; a measure
    of two classes (roc, f1, ...), ordered levels, the ranking of the documents of queries, or tags
    of tokens (crf, m3n, soft_m3n): CoNLL files, or svmlight with a qid for each sequence.
    Ctrl-C saves the best model so far; `fenchel resume` goes on from there.
    """
    given = {name: context.params[name] for name in Settings.__struct_fields__}
    settings = combined(given, config)
    job = Job.of(source(data, settings.format), output, settings, plot, proof)
    forget(f"{job.output}.checkpoint")  # of an earlier run, whose model is replaced too
    return run(job, Terminal(quiet=quiet, json=json, verbose=verbose), context.obj)
