"""Who asks owners, without a socket: solvers that mean well, and attackers.

`Together(owners)` stands in for `fenchel.engines.owners.Owners`: a problem of it is solved as over
HTTP. `Attacker(owner)` asks one owner whatever it likes, under any name, in any session:

    attacker = Attacker(owned(X, y, loss="hinge"))
    told = attacker.ask(w)              # None where it was refused
    told.value, told.gradient           # sums over the owner's rows; gradient may be None
    attacker.ask(w, "trial", client="another")
    attacker.queries, attacker.refused  # counts

`nearest_row(guess, X)` is how far a guess is from the row (or its negative) that it is closest to,
relative to that row's length: an attack has succeeded where this is small. An attack belongs into
tests/engines/test_owners_attacks.py, with a check that it succeeds where `crowd=1`.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import numpy as np

from fenchel.engines.messages import Opening, Query, packed
from fenchel.engines.owners import Owners, SessionOver, Spent, Withheld
from fenchel.serve.guard import Refused
from fenchel.serve.server import Address, server


class Together(Owners):
    """Owners in this process, as a solver sees them."""

    def __init__(self, owners, client="us"):
        super().__init__([f"http://{k}" for k in range(len(owners))])
        self.owners, self.client = dict(zip(self.urls, owners, strict=True)), client

    def _get(self, url):
        return self.owners[url].shape

    def _ask(self, url, kind, w):
        owner = self.owners[url]
        number = self._numbers[url] = self._numbers.get(url, 0) + 1
        try:
            if url not in self._sessions:
                together = tuple(shape.nonce for shape in self.shapes)
                self._sessions[url] = owner.open(Opening(together), self.client)
            query = Query(self._sessions[url], number, kind, packed(w))
            return owner.answer(query, self.client)
        except Refused as error:
            kinds = {403: Withheld, 410: SessionOver, 429: Spent}
            raise kinds[error.status](f"{url} refuses: {error}") from error


class Served:
    """A server in a thread, on a free port of loopback."""

    def __init__(self, owner, patience=None, **files):
        self.server = server(owner, Address(port=0, **files), patience)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.05)
        (host, port), *_ = [s.getsockname() for s in self.server.servers[0].sockets]
        assert host == "127.0.0.1"
        self.port = port
        self.url = f"{'https' if files else 'http'}://{host}:{port}"

    def stop(self):
        self.server.should_exit = True
        self.thread.join(10)


class Told(NamedTuple):
    """The sums at w."""

    value: float
    gradient: np.ndarray | None


class Attacker:
    """Asks one owner."""

    def __init__(self, owner):
        self.owner, self.queries, self.refused = owner, 0, 0

    def ask(self, w, kind="gradient", client="attacker"):
        """What is told at w, in a session of its own; None where nothing is."""
        self.queries += 1
        try:
            name = self.owner.open(Opening(()), client)
            w = np.asarray(w, dtype=float)
            answer = self.owner.answer(Query(name, 1, kind, packed(w)), client)
        except Refused:
            self.refused += 1
            return None
        gradient = None if answer.gradient is None else np.frombuffer(answer.gradient)
        return Told(float(np.frombuffer(answer.value)[0]), gradient)


def nearest_row(guess, X):
    """The distance of a guess to the closest row or its negative, relative to the row."""
    if guess is None:
        return np.inf
    lengths = np.linalg.norm(X, axis=1)
    apart = np.minimum(np.linalg.norm(X - guess, axis=1), np.linalg.norm(X + guess, axis=1))
    return float(np.min(apart[lengths > 0] / lengths[lengths > 0]))
