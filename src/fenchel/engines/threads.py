"""Shards in a pool of threads; the kernels release the GIL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fenchel._system.threads import checked_threads, shared
from fenchel.data.shards import NUMBERS_PER_SHARD, Shard
from fenchel.engines.base import Engine, PerShard

T = TypeVar("T")

# Seconds of work that are worth a second thread: to call it takes 20 microseconds, if it is awake,
# and NumPy's tasks wait for each other's use of Python's lock.
_WORTH_SHARING = 150e-6

# The processor's time, as tasks that were shared have waited for the lock. Some systems count it in
# steps that are too long.
_FINE = time.get_clock_info("thread_time").resolution < 1e-5
_clock = time.thread_time if _FINE else time.perf_counter


class Threads(Engine):
    """Runs shards in `n_threads` threads; by default one per core this process may use.

    FENCHEL_NUM_THREADS and OMP_NUM_THREADS are honoured, in that order.
    """

    def __init__(self, n_threads: int | None = None):
        super().__init__()
        self.n_threads = checked_threads(n_threads)
        self._seconds: dict[tuple[Any, Any], float] = {}  # of each task when it was done last

    def settings(self) -> dict[str, Any]:
        return {"n_threads": self.n_threads}

    def map(self, task: Callable[..., T], *args: Any) -> PerShard[T]:
        """task(shard, *args) for every shard; the calling thread works too.

        It works alone where the task took less time than calling others: of a few thousand rows
        most do that do not go through X. Results do not depend on who computes them.
        """
        calls = list(self.calls(args))
        if self.n_threads == 1 or len(calls) <= 1:
            return PerShard([task(*call) for call in calls])
        name = getattr(task, "__module__", None), getattr(task, "__qualname__", None)
        seconds: list[float] = []

        def timed(shard: Shard, *rest: Any) -> T:
            started = _clock()
            result = task(shard, *rest)
            if shard is self.shards[0]:
                seconds.append(_clock() - started)
            return result

        expected = self._seconds.get(name)
        alone = expected < _WORTH_SHARING if expected is not None else _are_few(self.shards)
        results = shared(1 if alone else self.n_threads, timed, calls)
        self._seconds[name] = seconds[0] * len(calls)
        return PerShard(results)


def _are_few(shards: Sequence[Shard]) -> bool:
    """Whether the shards have so few numbers that a task not seen before is done alone."""
    return sum(shard.rows.n_numbers for shard in shards) < NUMBERS_PER_SHARD // 8
