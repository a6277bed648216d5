"""`fenchel serve`: answers a solver with sums over rows that stay here."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli import inputs
from fenchel.cli.choices import BY_ROW, NOVELTY
from fenchel.cli.exits import Code
from fenchel.cli.fit_options import Intercept, Loss, what, with_loss_options
from fenchel.cli.options import DATA, DataPath, IndexBase, Quiet, Target, Verbose
from fenchel.cli.settings import combined
from fenchel.cli.terminal import Terminal

_where = partial(typer.Option, rich_help_panel="Who may ask")
_guard = partial(typer.Option, rich_help_panel="What is answered")
_N_FEATURES_HELP = "How many there are, if svmlight lacks the last."
NFeatures = Annotated[int | None, typer.Option(min=1, help=_N_FEATURES_HELP, rich_help_panel=DATA)]


@with_loss_options(BY_ROW, before="host")
def serve(
    context: typer.Context,
    data: DataPath,
    loss: Loss = None,
    strength: Annotated[float | None, what(help="Of the objective that is watched.")] = None,
    intercept: Intercept = None,
    host: Annotated[str, _where(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, _where(min=0, max=65535)] = 8765,
    certificate: Annotated[Path | None, _where(help="Who this is, in PEM.")] = None,
    key: Annotated[Path | None, _where(help="Of the certificate.")] = None,
    authority: Annotated[Path | None, _where(help="Whose clients may ask.")] = None,
    max_queries: Annotated[int, _guard(help="Then no more are answered.")] = 10_000,
    min_rows: Annotated[int, _guard(help="Fewer are not summed.")] = 100,
    rise: Annotated[float, _guard(help="How far above that at w = 0 J may be.")] = 1000.0,
    clip: Annotated[float | None, _guard(help="The largest length of a subgradient.")] = None,
    noise: Annotated[float, _guard(help="The deviation of noise on every number.")] = 0.0,
    target: Target = None,
    index_base: IndexBase = None,
    n_features: NFeatures = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Serve value and subgradient of a loss over DATA, whose rows never leave this process.

    This is data locality, not privacy: subgradients tell something of rows. Every query is logged.
    """
    terminal = Terminal(quiet=quiet, verbose=verbose)
    flags = {name: context.params[name] for name in ("loss", "strength", "intercept", *BY_ROW)}
    settings = combined(flags, None)
    try:
        from fenchel.serve.owner import Limits, owned
        from fenchel.serve.server import Address, server
    except ImportError as error:
        raise ImportError("serving needs starlette: pip install 'fenchel[serve]'") from error
    files = (None if file is None else str(file) for file in (certificate, key, authority))
    address = Address(host, port, *files)
    limits = Limits(max_queries, min_rows, rise, clip, noise)
    with terminal.warnings():
        dataset, _ = inputs.read(
            data, terminal, target=target, index_base=index_base, n_features=n_features
        )
    owner = owned(
        dataset.X,
        dataset.y,
        loss=settings.loss,
        strength=settings.strength,
        intercept=settings.intercept is not False and settings.loss not in NOVELTY,
        limits=limits,
        feature_names=dataset.feature_names,
        index_base=dataset.index_base,
        **settings.loss_options(),
    )
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, format="%(message)s")
    terminal.note(f"serve {settings.loss} at {host}:{port}, {owner.risk.n_rows:,} rows")
    server(owner, address).run()
    return Code.OK
