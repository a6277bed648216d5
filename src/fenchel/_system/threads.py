"""How many threads to use."""

from __future__ import annotations

import os

from fenchel.settings import whole

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
