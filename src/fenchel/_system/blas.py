"""One BLAS thread while a solver runs.

Threads live in the engine. A second pool inside NumPy's products of vectors would compete with it
(a dot product of 130,000 numbers was seen to wait 8 ms for a busy core) and would make the last
bits depend on the number of cores.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_before: list[int] = []  # the threads that each library had


@contextmanager
def one_thread() -> Iterator[None]:
    """Limits BLAS to one thread; with several users at once, the last one restores the limit."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = [library.get_num_threads() for library in _libraries()]
            _set(1 for _ in _before)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(_before)


def _set(threads: Iterable[int]) -> None:
    """Gives so many threads to each library that had more than one to begin with."""
    for library, before, wanted in zip(_libraries(), _before, threads, strict=True):
        if before > 1:
            library.set_num_threads(wanted)


@functools.cache
def _libraries() -> list[Any]:
    """The BLAS libraries that are loaded: looking for them takes long, and once is enough."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
