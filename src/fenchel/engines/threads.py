"""Shards in a pool of threads; the kernels release the GIL."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from fenchel._system.threads import checked_threads
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
        calls = list(self.calls(args))
        if len(calls) == 1:  # small data: what follows would take longer than the task
            return PerShard([task(*calls[0])])
        results: list[Any] = [None] * len(calls)
        next_shard = iter(range(len(calls)))  # shared: each thread takes the next shard to do

        errors = np.geterr()  # NumPy keeps these for each thread

        def work() -> None:
            with np.errstate(**errors):
                for i in next_shard:
                    results[i] = task(*calls[i])

        helpers = [self._pool.submit(work) for _ in range(min(self.n_threads, len(calls)) - 1)]
        try:
            work()
        finally:
            for helper in helpers:
                helper.result()
        return PerShard(results)

    @property
    def _pool(self) -> ThreadPoolExecutor:
        return _pool(self.n_threads, os.getpid())


@functools.cache
def _pool(n_threads: int, pid: int) -> ThreadPoolExecutor:
    """One pool for all problems; a forked child has another pid and gets its own."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="fenchel")
