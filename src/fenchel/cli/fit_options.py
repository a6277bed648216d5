"""Options of every command that fits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli.choices import LOSSES, REGULARIZERS, SOLVERS, starting
from fenchel.cli.options import OUTPUT

what = partial(typer.Option, rich_help_panel="What is fitted")
when = partial(typer.Option, rich_help_panel="When to stop, and how to get there")
file = partial(typer.Option, rich_help_panel=OUTPUT, metavar="<file>")
_for_owners = partial(typer.Option, rich_help_panel="Owners of data", metavar="<file>")
_of_loss = partial(typer.Option, rich_help_panel="Options of losses")


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
_INTERCEPT_HELP = "An unregularised offset. (default: with; novelty and most measures have none)"
_CONFIG_HELP = (
    "Settings in TOML, named as the flags. FENCHEL_STRENGTH and the like in the environment "
    "override it, flags override both."
)

Loss = Annotated[str | None, what(metavar="<name>", help=_LOSS_HELP, autocompletion=_losses)]
Regularizer = Annotated[
    str | None, what(metavar="<name>", help=_REGULARIZER_HELP, autocompletion=_regularizers)
]
L1Ratio = Annotated[float | None, what(help="The share of l1 in elastic_net. (default 0.5)")]
Intercept = Annotated[
    bool | None, what("--intercept/--no-intercept", metavar="", help=_INTERCEPT_HELP)
]
Balanced = Annotated[
    bool | None, what("--balanced", metavar="", help="Give rare classes as much weight as others.")
]
Quantile = Annotated[float | None, _of_loss(help="quantile: which one, 0 to 1. (default 0.5)")]
Epsilon = Annotated[
    float | None, _of_loss(help="epsilon_insensitive: errors that are free. (default 0.1)")
]
Delta = Annotated[
    float | None, _of_loss(help="huber: the error from which it is linear. (default 1)")
]
Mu = Annotated[float | None, _of_loss(help="smoothed_hinge: the width of its bend. (default 1)")]
Beta = Annotated[
    float | None, _of_loss(help="fbeta: what recall counts against precision. (default 1)")
]
K = Annotated[
    int | None, _of_loss(help="precision_at_k, recall_at_k, ndcg: the first k. (default 10)")
]
HalfLife = Annotated[float | None, _of_loss(help="eru: the place that is worth half. (default 5)")]
Rescaling = Annotated[
    str | None,
    _of_loss(metavar="<name>", help="m3n: costs in the margin, or of slack. (default margin)"),
]
Temperature = Annotated[
    float | None, _of_loss(help="soft_m3n: how soft its margin is. (default 1)")
]
Pairs = Annotated[
    str | None,
    _of_loss(
        metavar="<name>", help="crf, m3n, soft_m3n: weights, observed or all. (default observed)"
    ),
]
Template = Annotated[
    str | None,
    _of_loss(metavar="<name|file>", help="crf, ...: default, words, or a file as for CRF++."),
]
MinCount = Annotated[
    int | None, _of_loss(help="crf, ...: rarer features are left out. (default 1)")
]
Hashed = Annotated[
    int | None, _of_loss(help="crf, ...: hash features to so many columns. (default no hash)")
]
Nu = Annotated[
    float | None, _of_loss(help="nu_...: the share within the margin, or novel. (default 0.5)")
]
Rho = Annotated[
    float | None, _of_loss(help="novelty: the score that rows should reach. (default 1)")
]
Gap = Annotated[float | None, when(help=_GAP_HELP)]
Solver = Annotated[str | None, when(metavar="<name>", help=_SOLVER_HELP, autocompletion=_solvers)]
Threads = Annotated[int | None, when(help="The model does not depend on it. (default: all)")]
Engine = Annotated[
    str | None,
    when(
        metavar="<where>",
        help="threads, serial, dask, tcp://scheduler, mpi, or owners:FILE with their URLs, a line "
        "each. (default threads)",
    ),
]
Certificate = Annotated[str | None, _for_owners(help="Who we are, in PEM.")]
Key = Annotated[str | None, _for_owners(help="Of the certificate.")]
Authority = Annotated[
    str | None, _for_owners(help="Whose owners we believe, in PEM. (default: the system's)")
]
Config = Annotated[Path | None, file(help=_CONFIG_HELP)]
