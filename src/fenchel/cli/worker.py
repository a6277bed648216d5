"""`fenchel worker`: lends this machine to a Dask cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import places
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import Json, Quiet
from fenchel.cli.terminal import Terminal, result

_SECONDS = 30  # for the scheduler to answer


class Working(msgspec.Struct):
    """What --json says when the worker has joined."""

    version: str
    scheduler: str
    address: str
    threads: int


def worker(
    scheduler: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="tcp://host:8786", show_default=False)
    ],
    threads: Annotated[int, typer.Option(help="That work on shards.", min=1)] = 1,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    authority: Annotated[Path | None, typer.Option(help="For tls://: whom to believe.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="For tls://: who this is.")] = None,
    key: Annotated[Path | None, typer.Option(help="Of the certificate.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> Code:
    """Join a Dask cluster as a worker, which is started anew if it dies.

    Whoever reaches a scheduler without TLS can run any code on its workers: use tls:// on networks
    that are not your own. A scheduler is started by `dask scheduler`.
    """
    terminal = Terminal(quiet=quiet, json=json)
    try:
        asyncio.run(_work(scheduler, threads, host, (authority, certificate, key), terminal))
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no scheduler answers at {scheduler}: {error}") from error
    return Code.OK


async def _work(
    scheduler: str, threads: int, host: str, files: tuple[Path | None, ...], terminal: Terminal
) -> None:
    security = places.security("worker", scheduler, *files)
    from distributed import Nanny

    nanny = Nanny(scheduler, nthreads=threads, host=host, security=security, death_timeout=_SECONDS)
    async with nanny:
        terminal.note(f"worker of {scheduler}, {threads} threads, at {nanny.worker_address}")
        if terminal.json:
            report = Working(__version__, scheduler, nanny.worker_address, threads)
            result(msgspec.json.encode(report).decode(), flush=True)
        await nanny.finished()
