"""Shards in a pool of threads; the kernels release the GIL."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from fenchel._system.threads import checked_threads, shared
from fenchel.data.shards import NUMBERS_PER_SHARD, Shard
from fenchel.engines.base import Engine, PerShard

T = TypeVar("T")

# Seconds of work that are worth a second thread: to call it takes 20 microseconds, if it is awake.
_WORTH_SHARING = 100e-6

# Less work than this is shared as long as it pays: of small arrays, NumPy's tasks wait more for
# Python's lock than they gain. It did not pay where that took longer than most of the CPU's time.
# Two trials in vain end that, and one of so many next times is a trial again.
_SURELY_WORTH_SHARING = 2e-3
_TRIALS, _NEXT_TRIAL, _MOST = 2, 32, 0.9


class Account(NamedTuple):
    """How long a task took."""

    seconds: float  # for all shards, when it was done last
    vain: int = 0  # how often in a row it was shared in vain, and done alone because of that

    @property
    def is_shared(self) -> bool:
        """Whether more threads than one should do it."""
        if self.vain < _TRIALS or self.vain % _NEXT_TRIAL == 0:
            return self.seconds >= _WORTH_SHARING
        return self.seconds >= _SURELY_WORTH_SHARING

    def after(self, seconds: float, took: float, cpu: float, shared: bool) -> Account:
        """The account once more."""
        in_vain = took > _MOST * cpu if shared else self.vain >= _TRIALS
        return Account(seconds, self.vain + 1 if in_vain else 0)


class Threads(Engine):
    """Runs shards in `n_threads` threads; by default one per core this process may use.

    FENCHEL_NUM_THREADS and OMP_NUM_THREADS are honoured, in that order.
    """

    def __init__(self, n_threads: int | None = None):
        super().__init__()
        self.n_threads = checked_threads(n_threads)
        self._accounts: dict[tuple[Any, Any], Account] = {}  # of each task

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
        account = self._accounts.get(name, Account(0.0 if _are_few(self.shards) else math.inf))
        taken: list[tuple[float, float]] = []  # seconds and CPU time of each call

        def timed(*call: Any) -> T:
            started, cpu = time.perf_counter(), time.thread_time()
            result = task(*call)
            taken.append((time.perf_counter() - started, time.thread_time() - cpu))
            return result

        started = time.perf_counter()
        results = shared(self.n_threads if account.is_shared else 1, timed, calls)
        took = time.perf_counter() - started
        seconds, cpu = map(sum, zip(*taken, strict=True))
        self._accounts[name] = account.after(seconds, took, cpu, account.is_shared)
        return PerShard(results)


def _are_few(shards: Sequence[Shard]) -> bool:
    """Whether the shards have so few numbers that a task not seen before is done alone."""
    return sum(shard.rows.n_numbers for shard in shards) < NUMBERS_PER_SHARD // 8
