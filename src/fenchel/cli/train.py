"""`fenchel train`: from a data file to a model file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli.choices import LOSSES, REGULARIZERS, SOLVERS, starting
from fenchel.cli.exits import Code
from fenchel.cli.fitting import Job, forget, run
from fenchel.cli.options import OUTPUT, DataPath, IndexBase, Json, Quiet, Target, Verbose
from fenchel.cli.settings import Settings, combined
from fenchel.cli.terminal import Terminal

_fits = partial(typer.Option, rich_help_panel="What is fitted")
_loss = partial(typer.Option, rich_help_panel="Options of losses")
_stop = partial(typer.Option, rich_help_panel="When to stop, and how to get there")
_file = partial(typer.Option, rich_help_panel=OUTPUT, metavar="<file>")


def _losses(incomplete: str) -> list[str]:
    return starting(LOSSES, incomplete)


def _regularizers(incomplete: str) -> list[str]:
    return starting(REGULARIZERS, incomplete)


def _solvers(incomplete: str) -> list[str]:
    return starting(SOLVERS, incomplete)


_LOSS_HELP = f"{', '.join(LOSSES)}. (default hinge)"
_REGULARIZER_HELP = f"{', '.join(REGULARIZERS)}. (default l2)"
_SOLVER_HELP = f"{', '.join(SOLVERS)}. (default auto)"
_GAP_HELP = "Stop at this proved (objective - lower bound) / objective. (default 1e-4)"
_SEED_HELP = "Recorded; for solvers that draw random numbers (none does so far)."
_INTERCEPT_HELP = "An unregularised offset. (default: with; novelty and most measures have none)"
_CONFIG_HELP = (
    "Settings in TOML, named as the flags. FENCHEL_STRENGTH and the like in the environment "
    "override it, flags override both."
)


def train(
    context: typer.Context,
    data: DataPath,
    output: Annotated[Path, _file("--output", "-o", help="Where to save the model.")],
    loss: Annotated[
        str | None, _fits(metavar="<name>", help=_LOSS_HELP, autocompletion=_losses)
    ] = None,
    regularizer: Annotated[
        str | None, _fits(metavar="<name>", help=_REGULARIZER_HELP, autocompletion=_regularizers)
    ] = None,
    strength: Annotated[float | None, _fits(help="Of the regulariser. (default 1e-4)")] = None,
    cost: Annotated[
        float | None, _fits("--cost", "-c", help="liblinear's C, for strength = 1/(C n).")
    ] = None,
    l1_ratio: Annotated[
        float | None, _fits(help="The share of l1 in elastic_net. (default 0.5)")
    ] = None,
    intercept: Annotated[
        bool | None, _fits("--intercept/--no-intercept", metavar="", help=_INTERCEPT_HELP)
    ] = None,
    balanced: Annotated[
        bool | None,
        _fits("--balanced", metavar="", help="Give rare classes as much weight as others."),
    ] = None,
    quantile: Annotated[
        float | None, _loss(help="quantile: which one, 0 to 1. (default 0.5)")
    ] = None,
    epsilon: Annotated[
        float | None, _loss(help="epsilon_insensitive: errors that are free. (default 0.1)")
    ] = None,
    delta: Annotated[
        float | None, _loss(help="huber: the error from which it is linear. (default 1)")
    ] = None,
    mu: Annotated[
        float | None, _loss(help="smoothed_hinge: the width of its bend. (default 1)")
    ] = None,
    rho: Annotated[
        float | None, _loss(help="novelty: the score that rows should reach. (default 1)")
    ] = None,
    beta: Annotated[
        float | None, _loss(help="fbeta: what recall counts against precision. (default 1)")
    ] = None,
    k: Annotated[
        int | None, _loss(help="precision_at_k, recall_at_k, ndcg: the first k. (default 10)")
    ] = None,
    half_life: Annotated[
        float | None, _loss(help="eru: the place that is worth half. (default 5)")
    ] = None,
    gap: Annotated[float | None, _stop(help=_GAP_HELP)] = None,
    max_iterations: Annotated[int | None, _stop(help="(default 10000)")] = None,
    max_seconds: Annotated[float | None, _stop(help="Of fitting. (default no limit)")] = None,
    solver: Annotated[
        str | None, _stop(metavar="<name>", help=_SOLVER_HELP, autocompletion=_solvers)
    ] = None,
    threads: Annotated[
        int | None, _stop(help="The model does not depend on it. (default: all)")
    ] = None,
    seed: Annotated[int | None, _stop(help=_SEED_HELP)] = None,
    target: Target = None,
    index_base: IndexBase = None,
    config: Annotated[Path | None, _file(help=_CONFIG_HELP)] = None,
    plot: Annotated[Path | None, _file(help="Draw the run: .png, .svg, .pdf or .html.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Fit a linear model to DATA, to a proved accuracy, and save it.

    The loss decides what is fitted: classes, a regression, a quantile, counts, novelty; a measure
    of two classes (roc, f1, ...), ordered levels, or the ranking of the documents of queries.
    Ctrl-C saves the best model so far; `fenchel resume` goes on from there.
    """
    given = {name: context.params[name] for name in Settings.__struct_fields__}
    job = Job.of(data, output, combined(given, config), plot)
    forget(f"{job.output}.checkpoint")  # of an earlier run, whose model is replaced too
    return run(job, Terminal(quiet=quiet, json=json, verbose=verbose), context.obj)
