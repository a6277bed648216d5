"""Where a command works: the engine that --engine names, in use, and what TLS needs for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fenchel.cli import owners
from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings
from fenchel.cli.terminal import Terminal

if TYPE_CHECKING:
    from fenchel.engines import Engine


def on_dask(settings: Settings) -> bool:
    """Whether the workers of a Dask cluster do the work."""
    engine = settings.engine or ""
    return engine == "dask" or "://" in engine


def elsewhere(settings: Settings) -> bool:
    """Whether other processes than this one work on the rows, and may read them."""
    return on_dask(settings) or settings.engine == "mpi"


@contextmanager
def in_use(settings: Settings, terminal: Terminal) -> Iterator[None]:
    """The engine that the settings ask for, in use."""
    if settings.engine is None or owners.named(settings):
        yield
        return
    from fenchel import engines

    with terminal.busy(f"starting {settings.engine}"):
        engine = _engine(settings.engine, settings)
    if not engine.leads:
        terminal.silence()
    with engines.using(engine):
        yield


def _engine(name: str, settings: Settings) -> Engine:
    from fenchel import engines

    if "://" not in name:
        return engines.named(name)
    files = settings.authority, settings.certificate, settings.key
    return engines.Dask(name, security=security("client", name, *files))


def security(
    role: str,
    address: str,
    authority: str | os.PathLike[str] | None,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
) -> Any:
    """What Dask's clients and workers need for TLS; None leaves it to Dask's own configuration."""
    try:
        from distributed import Security
    except ImportError as error:
        raise ImportError("Dask is missing: pip install 'fenchel[dask]'") from error
    if authority is None:
        known = Security().get_tls_config_for_role(role)
        if address.startswith("tls://") and not (known["ca_file"] and known["cert"]):
            raise UsageError(
                f"{address} speaks TLS: give --authority, --certificate and --key, or name the "
                "files in Dask's configuration"
            )
        return None
    files = {"cert": certificate, "key": key}
    given = {f"tls_{role}_{what}": os.fspath(path) for what, path in files.items() if path}
    return Security(tls_ca_file=os.fspath(authority), require_encryption=True, **given)
