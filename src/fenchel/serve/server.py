"""The service on a port: HTTPS with certificates on both sides, loopback unless told otherwise."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any

from fenchel.errors import Incompatible
from fenchel.serve.app import application
from fenchel.serve.owner import Owner

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CONNECTIONS = 16
_IDLE = 30  # seconds
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


def server(owner: Owner, address: Address) -> Any:
    """A uvicorn server, ready to `run()`."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            application(owner),
            host=address.host,
            port=address.port,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=_GRACE,
            log_config=None,
            access_log=False,
            server_header=False,
            **address.tls(),
        )
    )
