"""Rounds that are answered once.

A session's name is drawn by the service, and only names in its table are accepted. Within a session
the numbers of rounds rise. A name that has left the table, because others came or its time was up,
is never drawn again but by a chance of 2^-128: so no round is answered twice for as long as the
service runs, and the table stays bounded.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

from fenchel.serve.guard import Refused

_SESSIONS = 1024
_OF_ONE = 16  # of one client


@dataclass
class Session:
    """Whose it is, who answers together, and the last round."""

    client: str
    together: tuple[str, ...]
    used: float
    round: int = 0


class Sessions:
    """The table of sessions; one that was not used for `idle` seconds is over."""

    def __init__(self, idle: float = 3600.0):
        self.idle = idle
        self._table: OrderedDict[str, Session] = OrderedDict()  # the least recently used first

    def open(self, client: str, together: tuple[str, ...]) -> str:
        """The name of a new session; the client's oldest ends if it has too many."""
        self._expire()
        mine = [name for name, each in self._table.items() if each.client == client]
        if len(mine) >= _OF_ONE:
            del self._table[mine[0]]
        elif len(self._table) >= _SESSIONS:
            self._table.popitem(last=False)
        name = secrets.token_hex(16)
        self._table[name] = Session(client, together, time.monotonic())
        return name

    def enter(self, name: str, client: str, number: int) -> Session:
        """The session, in which the round of this number begins; or Refused."""
        self._expire()
        session = self._table.get(name)
        if session is None or session.client != client:
            raise Refused(410, "there is no such session, or none any more: open another")
        if number <= session.round:
            raise Refused(409, f"round {number} was asked before")
        session.round, session.used = number, time.monotonic()
        self._table.move_to_end(name)
        return session

    def _expire(self) -> None:
        oldest = time.monotonic() - self.idle
        while self._table and next(iter(self._table.values())).used < oldest:
            self._table.popitem(last=False)
