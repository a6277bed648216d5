"""The service on a port: HTTPS with certificates on both sides, loopback unless told otherwise."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fenchel.errors import Incompatible
from fenchel.serve.app import application
from fenchel.serve.connections import Patience, protocol
from fenchel.serve.owner import Owner

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_GRACE = 2  # seconds that open connections have when it is stopped


@dataclass(frozen=True)
class Address:
    """Where to listen, and the files of the certificates: ours, and whose clients may ask."""

    host: str = "127.0.0.1"
    port: int = 8765
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    open: bool = False  # to clients without a certificate, on hosts that others can reach

    def __post_init__(self) -> None:
        files = (self.certificate, self.key, self.authority)
        if self.open:
            if (self.certificate is None) is not (self.key is None):
                raise Incompatible("certificate and key belong together: give both, or neither")
            if self.authority is not None and self.certificate is None:
                raise Incompatible("an authority of clients needs our certificate and key too")
            return
        if any(files) and not all(files):
            raise Incompatible("certificate, key and authority belong together: give all three")
        if self.host not in _LOOPBACK and not all(files):
            raise Incompatible(
                f"{self.host} can be reached from elsewhere: give certificate, key and authority, "
                "so that only clients with a certificate of that authority may ask"
            )

    def url(self, port: int) -> str:
        """Where clients find it, on that port."""
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{port}"

    def tls(self) -> dict[str, Any]:
        """The settings of TLS."""
        if self.certificate is None:
            return {}
        ours = {"ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        if self.authority is None:
            return ours
        return {**ours, "ssl_ca_certs": self.authority, "ssl_cert_reqs": ssl.CERT_REQUIRED}


def server(
    owner: Owner,
    address: Address,
    patience: Patience | None = None,
    started: Callable[[str, int], None] | None = None,
) -> Any:
    """A uvicorn server of an owner's rows, ready to `run()`."""
    waits = patience or Patience()
    return hurried(application(owner, waits.body), address, waits, started)


def hurried(
    application: Any,
    address: Address,
    waits: Patience,
    started: Callable[[str, int], None] | None = None,
) -> Any:
    """A uvicorn server that waits for nobody for ever, ready to `run()`.

    `started` is told the URL and the port once it listens; a port of 0 stands for one that is free.
    """
    import uvicorn

    class Hurried(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            """With a limit on handshakes, which uvicorn has no setting for."""
            loop = asyncio.get_running_loop()
            if address.certificate is not None:
                limited = functools.partial(
                    loop.create_server, ssl_handshake_timeout=waits.handshake
                )
                setattr(loop, "create_server", limited)  # noqa: B010  # a method, to mypy
            await super().startup(sockets=sockets)
            if started is not None and self.started:
                port = self.servers[0].sockets[0].getsockname()[1]
                started(address.url(port), port)

    return Hurried(
        uvicorn.Config(
            application,
            host=address.host,
            port=address.port,
            http=protocol(waits),
            timeout_keep_alive=waits.idle,
            timeout_graceful_shutdown=_GRACE,
            log_config=None,
            access_log=False,
            server_header=False,
            **address.tls(),
        )
    )
