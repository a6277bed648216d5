"""`fenchel serve`: the predictions of a model over HTTP."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import models
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import Json, ModelPath, Quiet, Verbose
from fenchel.cli.terminal import Terminal, result

_where = partial(typer.Option, rich_help_panel="Where, and for whom")
_limit = partial(typer.Option, rich_help_panel="How much at a time")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Serving(msgspec.Struct):
    """What --json says when the service is there."""

    version: str
    model: str
    url: str
    host: str
    port: int


def serve(
    model: ModelPath,
    host: Annotated[str, _where(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, _where(min=0, max=65535, help="0 for one that is free.")] = 8000,
    certificate: Annotated[Path | None, _where(help="Who this is, in PEM, for https.")] = None,
    key: Annotated[Path | None, _where(help="Of the certificate.")] = None,
    authority: Annotated[
        Path | None, _where(help="Only clients with a certificate of this authority may ask.")
    ] = None,
    max_rows: Annotated[int, _limit(help="Of one request.")] = 10_000,
    max_bytes: Annotated[int, _limit(help="Of the body of a request.")] = 16 << 20,
    timeout: Annotated[
        float, _limit(help="Seconds that a body may take to come, and an answer to be found.")
    ] = 30.0,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Serve the predictions of MODEL over HTTP until Ctrl-C or SIGTERM.

    POST /v1/predict {"rows": [[0.5, 1.0]]} answers {"predictions": [...]}, with probabilities where
    the model has them. GET /health, /v1/model and /openapi.json say that it is there, what the
    model is, and the schema. Requests that are under way are answered before it ends.

    Sums over rows that stay here are served by `fenchel owner`.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    fitted = models.load(model)
    if models.is_labeler(fitted):
        raise UsageError("tags of tokens are not served; use fenchel predict")
    hurried, application = _service()
    address = _address(host, port, certificate, key, authority)
    bounds = _bounds(max_rows, max_bytes, timeout)
    if host not in _LOOPBACK and authority is None:
        terminal.warn(f"{host} can be reached from elsewhere, and whoever reaches it may ask")
    logging.basicConfig(level=logging.WARNING, format="%(message)s")

    def started(url: str, found: int) -> None:
        terminal.note(f"serve {model} at {url}")
        if json:
            report = Serving(__version__, str(model), url, host, found)
            result(msgspec.json.encode(report).decode(), flush=True)

    app = application(fitted, models.loss_name(fitted), bounds)
    hurried(app, address, _patience(timeout), started).run()
    return Code.OK


def _service() -> tuple[Any, Any]:
    """What makes a server and an application, if all that they need is there."""
    try:
        from fenchel.serve.predictions import application
        from fenchel.serve.server import hurried
    except ImportError as error:
        raise ImportError("serving needs starlette: pip install 'fenchel[serve]'") from error
    return hurried, application


def _address(host: str, port: int, *files: Path | None) -> Any:
    from fenchel.serve.server import Address

    for path in filter(None, files):
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
    ours, key, theirs = (None if path is None else str(path) for path in files)
    return Address(host, port, ours, key, theirs, open=True)


def _bounds(max_rows: int, max_bytes: int, timeout: float) -> Any:
    from fenchel.serve.predictions import Bounds

    return Bounds(max_rows, max_bytes, timeout)


def _patience(timeout: float) -> Any:
    from fenchel.serve.connections import Patience

    return Patience(body=timeout, connections=512, each=512)


def redirected(argv: list[str]) -> list[str]:
    """`fenchel serve DATA`, as it was once written, as the `fenchel owner DATA` that it is now."""
    if argv[:1] != ["serve"] or {"-h", "--help"} & set(argv):
        return argv
    files = [Path(word) for word in argv[1:] if word == "-" or Path(word).is_file()]
    if not files or any(_is_model(path) for path in files):
        return argv
    Terminal().warn(
        "fenchel serve is for models now; sums over rows that stay here are served by fenchel "
        "owner, for which this is taken"
    )
    return ["owner", *argv[1:]]


def _is_model(path: Path) -> bool:
    """By its beginning, the length of a header of JSON; text and stores begin otherwise."""
    if str(path) == "-" or path.suffix == ".store":
        return False
    with path.open("rb") as file:
        head = file.read(9)
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32
