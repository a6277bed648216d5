"""Shards on the ranks of an MPI job: rank 0 solves, all ranks hold shards.

`MPI()` on another rank serves until rank 0 is done and then ends the process, so that one script
does for all. MPI has no answer to a lost rank: the whole job ends, and goes on from its checkpoint.
"""

from __future__ import annotations

import atexit
import functools
import itertools
from collections.abc import Callable
from typing import Any

from fenchel.engines.host import Host, Reply, Request
from fenchel.engines.remote import Placed, Remote
from fenchel.naming import whole

_serials = itertools.count(1)  # of hosts, over all problems
_NEWS = 0  # the tag of what ranks are told; a host's answers have its serial


class MPI(Remote):
    """Runs shards on the ranks of `communicator`, the world unless given, `n_threads` each."""

    def __init__(self, n_threads: int = 1, communicator: Any = None):
        super().__init__()
        self.n_threads = whole("n_threads", n_threads, least=1)
        self.communicator = _world() if communicator is None else communicator
        if self.communicator.rank > 0:
            _serve(self.communicator)
            raise SystemExit(0)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"n_threads": self.n_threads, "communicator": self.communicator}

    def _n_hosts(self) -> int:
        return int(self.communicator.size)

    def _start(self, placed: Placed, avoided: str) -> tuple[Any, str, list[bytes]]:
        rank, serial = self.hosts.index(placed), next(_serials)
        shards = self.shards[placed.first : placed.last]
        settings = shards, placed.first, self.n_shards, self.n_threads, placed.snapshot
        if rank == 0:
            host = Host(*settings)
            return (0, serial, host), "rank 0", host.fingerprints()
        self.communicator.send(("start", serial, settings), rank, _NEWS)
        found: list[bytes] = self.communicator.recv(source=rank, tag=_tag(serial))
        return (rank, serial, None), f"rank {rank}", found

    def _send(self, placed: Placed, request: Request) -> Callable[[float], Reply]:
        rank, serial, host = placed.host
        if rank == 0:
            return lambda seconds: host.run(request)  # while the others work
        self.communicator.send(("run", serial, request), rank, _NEWS)

        def wait(seconds: float) -> Reply:
            reply: Reply = self.communicator.recv(source=rank, tag=_tag(serial))
            return reply

        return wait

    def _stop(self, placed: Placed) -> None:
        rank, serial, _ = placed.host
        if rank > 0 and not _dismissed:
            self.communicator.send(("stop", serial, None), rank, _NEWS)


@functools.cache
def _world() -> Any:
    """All ranks; the others are told when this process is done, before MPI itself is."""
    try:
        import mpi4py.MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"MPI needs fenchel[mpi] and an MPI library: {error}") from error
    world = mpi4py.MPI.COMM_WORLD
    if world.rank == 0:
        atexit.register(_dismiss, world)
    return world


_dismissed: list[int] = []  # ranks that were told


def _dismiss(world: Any) -> None:
    for rank in range(1, world.size):
        world.send(("quit", 0, None), rank, _NEWS)
        _dismissed.append(rank)


def _serve(communicator: Any) -> None:
    """The life of a rank that holds shards."""
    hosts: dict[int, Host] = {}
    while True:
        what, serial, content = communicator.recv(source=0, tag=_NEWS)
        if what == "quit":
            return
        if what == "start":
            hosts[serial] = Host(*content)
            communicator.send(hosts[serial].fingerprints(), 0, _tag(serial))
        elif what == "run":
            communicator.send(hosts[serial].run(content), 0, _tag(serial))
        else:
            del hosts[serial]


def _tag(serial: int) -> int:
    return 1 + serial % 30_000  # MPI promises 32,767
