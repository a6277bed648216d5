"""Shards in a pool of threads; the kernels release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fenchel._system.threads import checked_threads, shared
from fenchel.engines.base import Engine, PerShard

T = TypeVar("T")


class Threads(Engine):
    """Runs shards in `n_threads` threads; by default one per core this process may use.

    FENCHEL_NUM_THREADS and OMP_NUM_THREADS are honoured, in that order.
    """

    def __init__(self, n_threads: int | None = None):
        super().__init__()
        self.n_threads = checked_threads(n_threads)

    def settings(self) -> dict[str, Any]:
        return {"n_threads": self.n_threads}

    def map(self, task: Callable[..., T], *args: Any) -> PerShard[T]:
        """task(shard, *args) for every shard; the calling thread works too."""
        return PerShard(shared(self.n_threads, task, list(self.calls(args))))
