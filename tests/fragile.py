"""A remote engine whose hosts live in this process and fail when told to."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from fenchel.engines.host import Host, Reply, Request
from fenchel.engines.remote import Gone, Placed, Remote
from fenchel.risks.shardwork import Shard


class Fragile(Remote):
    """Hosts lose all they have in the rounds `lost`, and answer nan in the rounds `lying`."""

    def __init__(
        self,
        n_hosts: int = 2,
        lost: Container[int] = (),
        lying: Container[int] = (),
        source: Callable[[Shard], Shard] = lambda shard: shard,
        deadline: float = 60.0,
    ):
        super().__init__(deadline)
        self.n_hosts, self.lost, self.lying, self.source = n_hosts, lost, lying, source
        self.started, self.answers = 0, 0
        self.traffic: list[tuple[int, int]] = []  # bytes of each request and of its reply

    def settings(self) -> dict[str, Any]:
        names = ("n_hosts", "lost", "lying", "source", "deadline")
        return {name: getattr(self, name) for name in names}

    def _n_hosts(self) -> int:
        return self.n_hosts

    def _start(self, placed: Placed, avoided: str) -> tuple[Any, str, list[bytes]]:
        shards = [self.source(shard) for shard in self.shards[placed.first : placed.last]]
        kept = pickle.dumps((shards, placed.snapshot))
        shards, snapshot = pickle.loads(kept)
        host = Host(shards, placed.first, self.n_shards, 1, snapshot)
        self.started += 1
        return host, f"host {self.started}", host.fingerprints()

    def _send(self, placed: Placed, request: Request) -> Callable[[float], Reply]:
        self.answers += 1
        if self.answers in self.lost:
            placed.host = None
        sent, lies = pickle.dumps(request), self.answers in self.lying

        def wait(seconds: float) -> Reply:
            if placed.host is None:
                raise Gone("it was lost")
            answer = pickle.dumps(placed.host.run(pickle.loads(sent)))
            self.traffic.append((len(sent), len(answer)))
            reply = pickle.loads(answer)
            for sums in reply.sums if lies else ():
                sums.update({span: np.nan * value for span, value in sums.items()})
            return reply

        return wait

    def _stop(self, placed: Placed) -> None:
        placed.host = None


class Every:
    """Every k-th number."""

    def __init__(self, k: int):
        self.k = k

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and number % self.k == 0
