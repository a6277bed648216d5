"""`fenchel owner`: answers a solver with sums over rows that stay here."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import inputs
from fenchel.cli.choices import BY_ROW, NOVELTY
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fit_options import Intercept, Loss, what, with_loss_options
from fenchel.cli.options import DATA, DataPaths, Format, IndexBase, Json, Quiet, Target, Verbose
from fenchel.cli.settings import Settings, combined
from fenchel.cli.sources import source
from fenchel.cli.terminal import Terminal, result

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset

_where = partial(typer.Option, rich_help_panel="Who may ask")
_guard = partial(typer.Option, rich_help_panel="What is answered")
_privacy = partial(typer.Option, rich_help_panel="Differential privacy, by noise")
_masks = partial(typer.Option, rich_help_panel="Under masks, in sums of all owners")
_N_FEATURES_HELP = "How many there are, if svmlight lacks the last."
NFeatures = Annotated[int | None, typer.Option(min=1, help=_N_FEATURES_HELP, rich_help_panel=DATA)]


class Owning(msgspec.Struct):
    """What --json says when the service is there."""

    version: str
    files: list[str]
    loss: str
    url: str
    host: str
    port: int


@with_loss_options(BY_ROW, before="host")
def owner(
    context: typer.Context,
    data: DataPaths,
    loss: Loss = None,
    strength: Annotated[float | None, what(help="Of the objective that is watched.")] = None,
    intercept: Intercept = None,
    host: Annotated[str, _where(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, _where(min=0, max=65535)] = 8765,
    certificate: Annotated[Path | None, _where(help="Who this is, in PEM.")] = None,
    key: Annotated[Path | None, _where(help="Of the certificate.")] = None,
    authority: Annotated[Path | None, _where(help="Whose clients may ask.")] = None,
    max_queries: Annotated[int, _guard(help="Then no more are answered.")] = 10_000,
    client_queries: Annotated[int, _guard(help="The same for one client.")] = 10_000,
    min_rows: Annotated[int, _guard(help="Fewer are not summed.")] = 100,
    crowd: Annotated[int, _guard(help="No combination of answers tells of fewer rows.")] = 3,
    rise: Annotated[float, _guard(help="How far above that at w = 0 J may be.")] = 1000.0,
    climbs: Annotated[int, _guard(help="Gradients that a client has where J rose.")] = 1000,
    probes: Annotated[int, _guard(help="Refused or idle queries before all end.")] = 32,
    privacy: Annotated[float | None, _privacy(help="Epsilon of all answers together.")] = None,
    privacy_delta: Annotated[float, _privacy(help="How likely it may fail.")] = 1e-6,
    clip: Annotated[float, _privacy(help="What a row counts for at most.")] = 1.0,
    noise: Annotated[float, _privacy(help="The noise on a sum, as a multiple of clip.")] = 100.0,
    mask_key: Annotated[Path | None, _masks(help="Our X25519 key, in PEM.")] = None,
    mask_peers: Annotated[Path | None, _masks(help="The public keys of all owners.")] = None,
    target: Target = None,
    index_base: IndexBase = None,
    n_features: NFeatures = None,
    format: Format = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Serve value and subgradient of a loss over DATA, whose rows never leave this process.

    Without --privacy this is no privacy: sums tell something of rows. Every query is logged.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    flags = {name: context.params[name] for name in ("loss", "strength", "intercept", *BY_ROW)}
    settings, given = combined(flags, None), source(data, format)
    assert given is not None
    owned, server = _service()
    address, guards = _address(context.params), _guards(context.params)
    with terminal.warnings():
        dataset, _ = inputs.read(
            given, terminal, target=target, index_base=index_base, n_features=n_features
        )
        rows = owned(**_served(dataset, settings), **guards, **settings.loss_options())
    logging.basicConfig(level=logging.WARNING if quiet else logging.INFO, format="%(message)s")
    most = "" if rows.privacy is None else f", epsilon for {rows.privacy.answers} answers"
    terminal.note(f"serve {settings.loss} at {host}:{port}, {rows.risk.n_rows:,} rows{most}")

    def started(url: str, found: int) -> None:
        if json:
            report = Owning(__version__, given.names, settings.loss, url, host, found)
            result(msgspec.json.encode(report).decode(), flush=True)

    server(rows, address, started=started).run()
    return Code.OK


def _served(dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """The rows, and what is asked of them."""
    return {
        "X": dataset.X,
        "y": dataset.y,
        "loss": settings.loss,
        "strength": settings.strength,
        "intercept": settings.intercept is not False and settings.loss not in NOVELTY,
        "feature_names": dataset.feature_names,
        "index_base": dataset.index_base,
    }


def _service() -> tuple[Any, Any]:
    """What makes an owner and a server, if all that they need is there."""
    try:
        from fenchel.serve.owner import owned
        from fenchel.serve.server import server
    except ImportError as error:
        raise ImportError("serving needs starlette: pip install 'fenchel[serve]'") from error
    return owned, server


def _address(flags: dict[str, Any]) -> Any:
    from fenchel.serve.server import Address

    names = ("certificate", "key", "authority")
    ours, key, theirs = (None if flags[name] is None else str(flags[name]) for name in names)
    return Address(flags["host"], flags["port"], ours, key, theirs)


def _guards(flags: dict[str, Any]) -> dict[str, Any]:
    """What the owner allows, its noise and its masks."""
    from fenchel.serve.guard import Limits
    from fenchel.serve.keys import roster
    from fenchel.serve.privacy import Privacy

    key, peers = flags["mask_key"], flags["mask_peers"]
    if (key is None) is not (peers is None):
        raise UsageError("--mask-key and --mask-peers belong together: give both, or neither")
    limits = ("max_queries", "client_queries", "min_rows", "crowd", "rise", "climbs", "probes")
    epsilon, delta = flags["privacy"], flags["privacy_delta"]
    return {
        "limits": Limits(**{name: flags[name] for name in limits}),
        "privacy": None
        if epsilon is None
        else Privacy(epsilon, delta, flags["clip"], flags["noise"]),
        "roster": None if key is None else roster(str(key), str(peers)),
    }
