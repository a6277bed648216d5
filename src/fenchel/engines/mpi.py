"""Shards on the ranks of an MPI job: every rank runs the same program on its own shards.

All ranks are given the same problem, hold some of its shards and know all sums, so each of them
takes the same steps. Sums go up a tree of ranks and down again, added in the order of the shards:
the bits are those of one process. What one process alone can tell, such as the time, is told by the
first (`agreed`). MPI has no answer to a lost rank: the job ends, and goes on from its checkpoint.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from fenchel.data.shards import Shard
from fenchel.engines.base import Away, Elsewhere, PerShard, shares
from fenchel.engines.sums import Span, combined, merged, subtotals
from fenchel.engines.threads import Threads
from fenchel.errors import InvalidData
from fenchel.settings import whole

T = TypeVar("T")
Sums = Sequence[Mapping[Span, Any]]  # of several values, over the subtrees that are known

_PATIENCE = 60.0  # seconds that a rank which is done waits for the others


class Spread(Away[T]):
    """A value for each shard; every rank has those of its own."""

    def __init__(self, engine: MPI, own: Iterable[Any]):
        super().__init__(engine)
        self.own = list(own)


class MPI(Elsewhere):
    """Runs each rank's shards on `n_threads` threads of it; all ranks must do the same calls.

    `communicator` is mpi4py's, that of all ranks unless given.
    """

    def __init__(self, n_threads: int = 1, communicator: Any = None):
        super().__init__()
        self.n_threads = whole("n_threads", n_threads, least=1)
        self.communicator = _world() if communicator is None else communicator
        self.first = 0  # of this rank's own shards
        self._own: Threads = Threads(self.n_threads)
        self._error: Exception | None = None  # of a task, until all ranks know of it

    def settings(self) -> dict[str, Any]:
        return {"n_threads": self.n_threads, "communicator": self.communicator}

    @property
    def rank(self) -> int:
        """This process's number among the ranks."""
        return int(self.communicator.rank)

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def place(self, shards: Sequence[Shard]) -> MPI:
        """An engine with the same settings that holds these shards, the same on all ranks."""
        placed = super().place(shards)
        placed._compare()
        edges = shares(shards, int(self.communicator.size))
        edges += [len(shards)] * (self.communicator.size + 1 - len(edges))
        placed.first, last = edges[self.rank], edges[self.rank + 1]
        placed._own = Threads(self.n_threads).place(shards[placed.first : last])
        return placed

    def _compare(self) -> None:
        """An error, on all ranks, where one was given other labels, weights, offsets or sizes."""
        digest = hashlib.blake2b(digest_size=16)
        for shard in self.shards:
            digest.update(f"{shard.rows.n_rows} {shard.rows.n_numbers}".encode())
            for array in (shard.y, shard.s, shard.offset):
                digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
        found = self.communicator.allgather(digest.digest())
        for rank, other in enumerate(found):
            if other != found[0]:
                raise InvalidData(
                    f"rank {rank} was given other rows than rank 0: all ranks must pose the same "
                    "problem, from the same data"
                )

    def map(self, task: Callable[..., T], *args: Any) -> Spread[T]:
        """task(shard, *args) for the shards of this rank."""
        if self._error is None:
            try:
                return Spread(self, self._own.map(task, *map(self._mine, args)))
            except Exception as error:
                self._error = error  # the other ranks wait for this one: see `_raise`
        return Spread(self, [None] * self._own.n_shards)

    def totals(self, *values: PerShard[Any]) -> tuple[Any, ...]:
        """The sums, by one message up the tree of ranks and one down."""
        known: Sums = [] if self._error else [self._subtotals(each) for each in values]
        parts, error = self._upwards(known, self._error)
        if self.leads and error is None:
            parts = [combined(each, self.n_shards) for each in parts]
        sums, error = self.communicator.bcast((parts, error))
        self._raise(error)
        return tuple(sums)

    def total(self, values: PerShard[T]) -> T:
        total: T = self.totals(values)[0]
        return total

    def _subtotals(self, values: PerShard[Any]) -> Mapping[Span, Any]:
        return subtotals(list(self._mine(values)), self.first, self.n_shards)

    def _upwards(self, parts: Sums, error: Exception | None) -> tuple[Sums, Exception | None]:
        """What this rank and those below it in the tree know; rank 0 then knows all."""
        rank, size, step = self.rank, int(self.communicator.size), 1
        while step < size and rank % (2 * step) == 0:
            if rank + step < size:
                others, their_error = self.communicator.recv(source=rank + step)
                error = error or their_error
                pairs = [] if error else zip(parts, others, strict=True)
                parts = [merged({**mine, **theirs}, self.n_shards) for mine, theirs in pairs]
            step *= 2
        if rank:
            self.communicator.send((parts, error), rank - step)
        return parts, error

    def collect(self, values: Spread[Any]) -> list[Any]:
        """The values of all shards."""
        found = self.communicator.allgather((values.own, self._error))
        self._raise(next((error for _, error in found if error is not None), None))
        return [value for own, _ in found for value in own]

    def agreed(self, compute: Callable[[], T]) -> T:
        """What rank 0 computes."""
        value, error = None, None
        if self.leads:
            try:
                value = compute()
            except Exception as raised:
                error = raised
        value, error = self.communicator.bcast((value, error))
        if error is not None:  # that of a task waits for its sum
            raise error
        return value  # type: ignore[no-any-return]  # of rank 0

    def _mine(self, arg: Any) -> Any:
        """An argument for the shards of this rank."""
        if isinstance(arg, Spread):
            return PerShard(arg.own)
        if isinstance(arg, PerShard):
            return PerShard(list(arg)[self.first : self.first + self._own.n_shards])
        return arg

    def _raise(self, error: Exception | None) -> None:
        """An error of one rank, on all of them."""
        self._error = None
        if error is not None:
            raise error


@functools.cache
def _world() -> Any:
    """All ranks; arrays are sent as they are, beside what is pickled."""
    try:
        import mpi4py.MPI
        from mpi4py.util import pkl5
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"MPI needs fenchel[mpi] and an MPI library: {error}") from error
    world = mpi4py.MPI.COMM_WORLD
    atexit.register(_leave, world.Dup())
    return pkl5.Intracomm(world)


def _leave(world: Any) -> None:
    """Waits for the other ranks; if they do not come, they wait for this one and always would."""
    done, end = world.Ibarrier(), time.monotonic() + _PATIENCE
    while not done.Test():
        if time.monotonic() > end:
            sys.stderr.write(
                f"fenchel: rank {world.rank} ended {_PATIENCE:g} s before others, which may wait "
                "for it; the job ends\n"
            )
            sys.stderr.flush()
            world.Abort(1)
        time.sleep(0.01)
