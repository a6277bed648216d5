"""Connections that do not stay for nothing.

uvicorn waits for ever for the head of a request. Here a connection is dropped that has not sent a
whole head `head` seconds after it was made, or after the first byte that follows an answer; bytes
that trickle in win no time. (Bodies have a limit of their own, in app.py.) Each client, known by
its certificate or else by its address, has at most `each` connections. When all are taken, that
one is dropped which has been silent longest, so that silent ones lock nobody out; if none is, the
newcomer is.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from fenchel.settings import positive, whole


@dataclass(frozen=True)
class Patience:
    """How long a service waits, in seconds, and for how many at once."""

    handshake: float = 10.0
    head: float = 10.0
    body: float = 60.0
    idle: int = 30  # between two requests
    connections: int = 64
    each: int = 16

    def __post_init__(self) -> None:
        for name in ("handshake", "head", "body"):
            positive(name, getattr(self, name))
        for name in ("idle", "connections", "each"):
            whole(name, getattr(self, name), least=1)


_FLUSH = 5.0  # seconds that a client has to take what was sent to it before it was left


def protocol(patience: Patience) -> type[H11Protocol]:
    """The protocol of a service that is as patient as this."""

    class Impatient(_Connection):
        settings = patience

    return Impatient


class _Connection(H11Protocol):
    settings: Patience

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.who, self.since = "", self.loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.who = _who(transport, self.client)
        self.app_state = {**self.app_state, "client": self.who}
        everyone = [each for each in self.connections if isinstance(each, _Connection)]
        others = [each for each in everyone if each is not self]
        if sum(each.who == self.who for each in others) >= self.settings.each:
            self._drop()
        elif len(others) >= self.settings.connections:
            silent = [each for each in others if each.silent]
            (min(silent, key=lambda each: each.since) if silent else self)._drop()
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.silent and self._timer is None:
            self._wait_for_head()
        super().data_received(data)
        if not self.silent:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(_FLUSH, self.transport.abort)

    @property
    def silent(self) -> bool:
        """No request is being answered: all that may come is a head, or what nobody reads."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait_for_head(self) -> None:
        self._timer = self.loop.call_later(self.settings.head, self._drop)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self) -> None:
        self._wait_no_more()
        self.transport.abort()
        self.connections.discard(self)


def _who(transport: Any, address: tuple[str, int] | None) -> str:
    """A digest of the client's certificate, or its address."""
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    if certificate:
        return hashlib.sha256(certificate).hexdigest()[:32]
    return "unknown" if address is None else str(address[0])
