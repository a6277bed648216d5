"""Shards on the workers of a Dask cluster, one actor a worker."""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import pickle
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel._system.threads import default_threads
from fenchel.data.dask_rows import DaskRows
from fenchel.data.rows import Rows, WithOnes
from fenchel.data.shards import Shard
from fenchel.engines.host import Gone, Host, Reply, Request
from fenchel.engines.placement import Placed
from fenchel.engines.relays import Branch, Wait, relayed
from fenchel.engines.remote import Remote
from fenchel.errors import FenchelError, Incompatible, InvalidData
from fenchel.settings import whole

if TYPE_CHECKING:
    from distributed import Client, Future
    from distributed.security import Security

_CONNECT = 30  # seconds for a cluster to answer for the first time
_PLACING = 120.0  # seconds for a worker to come back, and to read its shards
_INSTANT = 1.0  # seconds for a reply that has come to be had from Dask's own thread
_SLICE = 0.5  # seconds of waiting after which one looks whether there is anything to wait for
_AGAIN = 20.0  # seconds without any worker until a cluster of ours is asked for another


class Dask(Remote):
    """Runs shards on the workers of a Dask cluster.

    `cluster` is a `distributed.Client`, the address of a scheduler, or None for workers of this
    machine, `n_workers` of them (one a core unless given), which listen on loopback alone.
    `security` is Dask's `Security`, for clusters that speak TLS. Whoever reaches a scheduler
    without TLS can run any code on its workers.
    """

    def __init__(
        self,
        cluster: Client | str | None = None,
        *,
        n_workers: int | None = None,
        security: Security | None = None,
        deadline: float = 300.0,
    ):
        super().__init__(deadline)
        try:
            import distributed  # noqa: F401 - to say what is missing before work starts
        except ImportError as error:
            raise ImportError("Dask is missing: pip install 'fenchel[dask]'") from error
        self.n_workers = None if n_workers is None else whole("n_workers", n_workers, least=1)
        self.security = security
        self._suspects: set[str] = set()  # workers that did not take shards the last time
        if cluster is None:
            self.client = _local(self.n_workers or default_threads(), os.getpid())
        elif isinstance(cluster, str):
            self.client = _connected(cluster, security)
        else:
            self.client = cluster

    def settings(self) -> dict[str, Any]:
        return {"cluster": self.client, "deadline": self.deadline}

    def _n_hosts(self) -> int:
        with _gone():
            return len(self.client.nthreads())

    def _start(self, placed: Placed, avoided: str) -> tuple[Any, str, list[bytes]]:
        """On the worker with the fewest of our shards, another than before if there is one."""
        with _gone():
            self._await_workers()
            threads: dict[str, int] = self.client.nthreads()
            others = [each for each in threads if each not in self._suspects | {avoided}]
            load = dict.fromkeys(others or threads, 0)
            for each in self.hosts:
                if each is not placed and each.where in load:
                    load[each.where] += each.last - each.first
            address = min(load, key=lambda name: load[name] / threads[name])
        try:
            with _gone():
                found = self._actor(placed, address, threads[address])
        except Gone as error:
            self._suspects.add(address)  # a dead one may be listed for a while
            raise Gone(f"{address}: {error}") from error
        self._suspects.discard(address)
        return found

    def _await_workers(self) -> None:
        """Dead ones may come back; a cluster of ours without any is asked for one more.

        Dask gives up a worker that its nanny did not bring back in 15 s, or that died once more
        meanwhile.
        """
        from distributed.deploy.spec import SpecCluster

        cluster, end = self.client.cluster, time.monotonic() + _PLACING
        while not self.client.nthreads():
            try:
                self.client.wait_for_workers(1, timeout=_AGAIN)
            except TimeoutError:
                if time.monotonic() > end:
                    raise
                if isinstance(cluster, SpecCluster):
                    cluster.scale(len(cluster.worker_spec) + 1)

    def _actor(self, placed: Placed, address: str, n_threads: int) -> tuple[Any, str, list[bytes]]:
        shards = self.shards[placed.first : placed.last]
        blocks = [_block(shard.rows) for shard in shards]
        # Beside the graph, which is not made for data.
        data = self.client.scatter([list(shards)], workers=[address], hash=False)[0]
        kept = self.client.scatter([placed.snapshot], workers=[address], hash=False)[0]
        future = self.client.submit(
            _host,
            data,
            blocks,
            placed.first,
            self.n_shards,
            n_threads,
            kept,
            actor=True,
            pure=False,
            workers=[address],
            allow_other_workers=True,  # one that died meanwhile would never take it
        )
        with self.client.as_current():
            actor = future.result(timeout=max(self.deadline, _PLACING))
            actor._try_bind_worker_client()
            found = actor.fingerprints().result(timeout=max(self.deadline, _PLACING))
        return actor, actor._address, found

    def _send(self, placed: Placed, request: Request) -> Wait:
        content, buffers = _packed(request)
        with _gone(), self.client.as_current():
            return _reply_to(placed.host.answer(content, buffers), lambda: self._left(placed))

    def _hosts_reach_each_other(self) -> bool:
        """Where each has a worker of its own: an actor that waits would hold up one beside it."""
        return len({each.where for each in self.hosts}) == len(self.hosts)

    def _plant(self, planned: Sequence[tuple[Any, list[Branch]]]) -> None:
        with _gone(), self.client.as_current():
            for done in [host.attach(*_packed(below)) for host, below in planned]:
                done.result(timeout=self.deadline)

    def _relay(self, branch: Branch, request: Request, seconds: float) -> Wait:
        with self.client.as_current():
            return _passed_on(branch, request, seconds, lambda: self._left(*self.hosts))

    def _give_up(self, round_: int) -> None:
        for each in self.hosts:
            with contextlib.suppress(Gone), _gone(), self.client.as_current():
                each.host.give_up(round_)

    def _left(self, *hosts: Placed) -> bool:
        """Whether the worker of one of these has left the cluster, or died.

        Whoever calls its actor is not told: Dask tries for long to reach its address.
        """
        there = self.client.nthreads()
        return any(each.where not in there for each in hosts)

    def _stop(self, placed: Placed) -> None:
        placed.host = None  # Dask lets go of an actor to which nobody refers


class _Actor(Host):
    """A host as Dask's workers call it: requests and replies are pickled here.

    What cannot be pickled is then an error at once; Dask would let us wait for ever.
    """

    below: Sequence[Branch] = ()
    given_up = 0  # the last round for whose replies from below nobody waits any more

    def answer(self, content: bytes, buffers: Sequence[Any]) -> tuple[Any, ...]:
        """`run`, pickled: the content, and the arrays beside it."""
        return _packed(self.run(pickle.loads(content, buffers=buffers)))

    def attach(self, content: bytes, buffers: Sequence[Any]) -> None:
        """Takes note of the actors to which requests are passed on."""
        self.below = pickle.loads(content, buffers=buffers)

    def relay(self, content: bytes, buffers: Sequence[Any]) -> tuple[Any, ...]:
        """The reply of this one and all below, pickled."""
        request, seconds = pickle.loads(content, buffers=buffers)
        pass_on = functools.partial(_passed_on, hopeless=lambda: self.given_up >= request.round)
        return _packed(relayed(self, request, self.below, pass_on, seconds))

    async def give_up(self, round_: int) -> None:
        """Ends the waiting of `relay`, beside which it runs: Dask awaits it in another thread."""
        self.given_up = round_


def _passed_on(
    branch: Branch, request: Request, seconds: float, hopeless: Callable[[], bool]
) -> Wait:
    """To the actor, from the driver or from another actor."""
    content, buffers = _packed((request, seconds))
    with _gone():
        return _reply_to(branch.host.relay(content, buffers), hopeless)


def _reply_to(call: Any, hopeless: Callable[[], bool]) -> Wait:
    """What waits for an actor's reply to a call of it, as long as there is hope."""

    def wait(seconds: float) -> Reply:
        end = time.monotonic() + max(seconds, _INSTANT)
        with _gone():
            while True:
                try:
                    content, buffers = call.result(timeout=_SLICE)
                    break
                except TimeoutError:
                    if time.monotonic() > end or hopeless():
                        raise
            answer: Reply = pickle.loads(content, buffers=buffers)
            return answer

    return wait


def _host(shards: Sequence[Shard], blocks: Sequence[Rows | None], *settings: Any) -> _Actor:
    """The actor; rows that Dask keeps come as blocks."""
    pairs = zip(shards, blocks, strict=True)
    return _Actor(
        [replace(shard, rows=_with(shard.rows, block)) for shard, block in pairs], *settings
    )


def _with(rows: Rows, block: Rows | None) -> Rows:
    if block is None:
        return rows
    return WithOnes(block) if isinstance(rows, WithOnes) else block


def _block(rows: Rows) -> Future | None:
    """What Dask keeps of these rows."""
    inner = rows.rows if isinstance(rows, WithOnes) else rows
    return inner.future if isinstance(inner, DaskRows) else None


def _packed(message: Any) -> tuple[bytes, list[Any]]:
    """A message as bytes, and the arrays in it beside them."""
    from distributed.protocol import pickle as dask_pickle

    buffers: list[Any] = []
    try:
        content = dask_pickle.dumps(message, buffer_callback=buffers.append)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise Incompatible(f"it cannot be sent to the workers of a cluster: {error}") from error
    return content, [np.frombuffer(buffer, np.uint8) for buffer in buffers]


@contextlib.contextmanager
def _gone() -> Iterator[None]:
    """Dask's many ways to say that a worker is lost."""
    from distributed import KilledWorker

    try:
        yield
    except FenchelError:
        raise
    except TimeoutError as error:
        raise Gone("it did not answer in time") from error
    except (OSError, RuntimeError, ValueError, KilledWorker, CancelledError) as error:
        raise Gone(f"{type(error).__name__}: {error}") from error


@functools.cache
def _local(n_workers: int, pid: int) -> Client:
    """Workers of this machine, for all problems of this process."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )
    client = Client(cluster, set_as_default=False, direct_to_workers=True)
    atexit.register(_close, client, cluster)
    return client


def _close(client: Client, cluster: Any) -> None:
    with contextlib.suppress(KeyError):  # Dask's own, of workers that died
        client.close()
        cluster.close()


@functools.cache
def _connected(address: str, security: Security | None) -> Client:
    from distributed import Client

    try:
        return Client(
            address,
            set_as_default=False,
            direct_to_workers=True,
            timeout=_CONNECT,
            security=security,
        )
    except OSError as error:
        raise InvalidData(f"no Dask scheduler answers at {address}: {error}") from error
