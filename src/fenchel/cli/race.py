"""`fenchel race`: several solvers on the same rows, and who certified what first."""

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
    Intercept,
    L1Ratio,
    LabelCosts,
    Loss,
    Lower,
    P,
    Radius,
    Regularizer,
    Taxonomy,
    Threads,
    Upper,
    file,
    what,
    when,
    with_loss_options,
    with_table_options,
)
from fenchel.cli.options import (
    DataPaths,
    Exposure,
    Format,
    IndexBase,
    Json,
    Offset,
    Quiet,
    Target,
    Verbose,
)
from fenchel.cli.racing import RaceJob, run
from fenchel.cli.settings import Settings, combined
from fenchel.cli.sources import source
from fenchel.cli.terminal import Terminal

_SOLVERS_HELP = (
    "With commas between them; an option follows a colon: bmrm,bmrm:step=1,sublbfgs:memory=5,auto. "
    "(default: all that can)"
)
_SECONDS_HELP = "Of each solver. (default 60)"


@with_table_options(before="index_base")
@with_loss_options(OPTIONS, before="gap")
def race(
    context: typer.Context,
    data: DataPaths,
    loss: Loss = None,
    regularizer: Regularizer = None,
    strength: Annotated[float | None, what(help="Of the regulariser. (default 1e-4)")] = None,
    solvers: Annotated[str | None, what(metavar="<list>", help=_SOLVERS_HELP)] = None,
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
    gap: Gap = None,
    atol: Atol = None,
    max_iterations: Annotated[int | None, when(help="Of each solver. (default 10000)")] = None,
    max_seconds: Annotated[float | None, when(help=_SECONDS_HELP)] = None,
    threads: Threads = None,
    target: Target = None,
    offset: Offset = None,
    exposure: Exposure = None,
    index_base: IndexBase = None,
    format: Format = None,
    config: Config = None,
    plot: Annotated[Path | None, file(help="Draw the race: .png, .svg, .pdf or .html.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Run several solvers on DATA, one after the other, each until it proves the gap.

    A table says what each of them proved and what it took, and who was the first to certify 0.1,
    0.01 and so on, in passes and in seconds. Ctrl-C ends the race with what is known by then.
    """
    given = {name: context.params.get(name) for name in Settings.__struct_fields__}
    settings = combined(given, config)
    rows = source(data, settings.format)
    assert rows is not None
    job = RaceJob.of(rows, settings, solvers, plot)
    return run(job, Terminal(quiet=quiet, json=json, verbose=verbose), context.obj)
