"""One BLAS thread while a solver runs.

Threads live in the engine. A second pool inside NumPy's products of vectors would compete with it
(a dot product of 130,000 numbers was seen to wait 8 ms for a busy core) and would make the last
bits depend on the number of cores.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limits BLAS to one thread; with several users at once, the last one restores the limit."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.__exit__(None, None, None)


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough
