"""How many threads to use, and work that is shared among them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from fenchel.settings import whole

T = TypeVar("T")

_ENVIRONMENT = ("FENCHEL_NUM_THREADS", "OMP_NUM_THREADS")


def checked_threads(n_threads: int | None) -> int:
    """The number that was asked for, at least 1, or the default."""
    return default_threads() if n_threads is None else whole("n_threads", n_threads, least=1)


def default_threads() -> int:
    """What the environment says, or one for each core this process may use."""
    for name in _ENVIRONMENT:
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared(n_threads: int, work: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
    """work(*call) for each of the calls, in so many threads; the calling thread is one of them."""
    if n_threads == 1 or len(calls) == 1:  # what follows would take longer than little work
        return [work(*call) for call in calls]
    results: list[Any] = [None] * len(calls)
    numbers = iter(range(len(calls)))  # shared: each thread takes the next call to do
    errors = np.geterr()  # NumPy keeps these for each thread

    def help_along() -> None:
        with np.errstate(**errors):
            for i in numbers:
                results[i] = work(*calls[i])

    helpers = [pool(n_threads).submit(help_along) for _ in range(min(n_threads, len(calls)) - 1)]
    try:
        help_along()
    finally:
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()
    return results


def pool(n_threads: int) -> ThreadPoolExecutor:
    """One pool for all problems; a forked child has another pid and gets its own."""
    return _pool(n_threads, os.getpid())


@functools.cache
def _pool(n_threads: int, pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="fenchel")
