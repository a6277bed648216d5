"""The service on a port: HTTPS with certificates on both sides, loopback unless told otherwise."""

from __future__ import annotations

import asyncio
import functools
import ssl
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

    def __post_init__(self) -> None:
        files = (self.certificate, self.key, self.authority)
        if any(files) and not all(files):
            raise Incompatible("certificate, key and authority belong together: give all three")
        if self.host not in _LOOPBACK and not all(files):
            raise Incompatible(
                f"{self.host} can be reached from elsewhere: give certificate, key and authority, "
                "so that only clients with a certificate of that authority may ask"
            )

    def tls(self) -> dict[str, Any]:
        """The settings of TLS."""
        if self.certificate is None:
            return {}
        return {
            "ssl_certfile": self.certificate,
            "ssl_keyfile": self.key,
            "ssl_ca_certs": self.authority,
            "ssl_cert_reqs": ssl.CERT_REQUIRED,
        }


def server(owner: Owner, address: Address, patience: Patience | None = None) -> Any:
    """A uvicorn server, ready to `run()`."""
    import uvicorn

    waits = patience or Patience()

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

    return Hurried(
        uvicorn.Config(
            application(owner, waits.body),
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
