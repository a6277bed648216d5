"""A remote engine whose hosts live in this process and fail when told to."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from fenchel.engines.host import Gone, Host, Reply, Request
from fenchel.engines.placement import Placed
from fenchel.engines.relays import Branch, Wait, relayed
from fenchel.engines.remote import Remote
from fenchel.risks.shardwork import Shard


class Frail(Host):
    """A host that may be lost, and knows to whom it passes requests on."""

    gone = False
    below: Sequence[Branch] = ()


class Fragile(Remote):
    """Hosts lose all they have in the rounds `lost`, and answer nan in the rounds `lying`.

    With `relays` they pass requests on; those that are said to be lost are counted all the same.
    """

    def __init__(
        self,
        n_hosts: int = 2,
        lost: Container[int] = (),
        lying: Container[int] = (),
        source: Callable[[Shard], Shard] = lambda shard: shard,
        deadline: float = 60.0,
        relays: bool = False,
    ):
        super().__init__(deadline)
        self.relays = relays
        self.n_hosts, self.lost, self.lying, self.source = n_hosts, lost, lying, source
        self.started, self.answers = 0, 0
        self.traffic: list[tuple[int, int]] = []  # bytes of each request and of its reply

    def settings(self) -> dict[str, Any]:
        names = ("n_hosts", "lost", "lying", "source", "deadline", "relays")
        return {name: getattr(self, name) for name in names}

    def _n_hosts(self) -> int:
        return self.n_hosts

    def _start(self, placed: Placed, avoided: str) -> tuple[Any, str, list[bytes]]:
        shards = [self.source(shard) for shard in self.shards[placed.first : placed.last]]
        kept = pickle.dumps((shards, placed.snapshot))
        shards, snapshot = pickle.loads(kept)
        host = Frail(shards, placed.first, self.n_shards, 1, snapshot)
        self.started += 1
        return host, f"host {self.started}", host.fingerprints()

    def _send(self, placed: Placed, request: Request) -> Wait:
        return self._asked(placed.host, request, lambda asked, seconds: placed.host.run(asked))

    def _hosts_reach_each_other(self) -> bool:
        return self.relays

    def _plant(self, planned: Sequence[tuple[Any, list[Branch]]]) -> None:
        for host, below in planned:
            host.below = below

    def _relay(self, branch: Branch, request: Request, seconds: float) -> Wait:
        return self._passed_on(branch, request, seconds, by_driver=True)

    def _passed_on(
        self, branch: Branch, request: Request, seconds: float, by_driver: bool = False
    ) -> Wait:
        host = branch.host
        return self._asked(
            host,
            request,
            lambda asked, seconds: relayed(host, asked, host.below, self._passed_on, seconds),
            by_driver,
        )

    def _asked(
        self,
        host: Any,
        request: Request,
        answer: Callable[[Request, float], Reply],
        by_driver: bool = True,
    ) -> Wait:
        """A request by message, which may be the one at which the host is lost, or lies."""
        self.answers += 1
        if self.answers in self.lost:
            host.gone = True
        sent, lies = pickle.dumps(request), self.answers in self.lying

        def wait(seconds: float) -> Reply:
            if host.gone:
                raise Gone("it was lost")
            content = pickle.dumps(answer(pickle.loads(sent), seconds))
            if by_driver:
                self.traffic.append((len(sent), len(content)))
            reply: Reply = pickle.loads(content)
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
