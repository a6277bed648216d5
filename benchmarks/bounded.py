"""CPU seconds of work that may never end, which runs in a child process until they are over."""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np

_SHORT = 1.0  # seconds below which a child's are not taken: its first writes copy pages of memory

Work = Callable[[], np.ndarray]


def seconds_within(limit: float, work: Work) -> tuple[float, np.ndarray | None]:
    """The CPU seconds of some work and what came of it; None if that took more than the limit."""
    found = _in_child(limit, work)
    if found is None:
        return limit, None
    return found if found[0] > _SHORT else _timed(work)


def _timed(work: Work) -> tuple[float, np.ndarray]:
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def _in_child(limit: float, work: Work) -> tuple[float, np.ndarray] | None:
    """The same in a fork, which the system ends at the limit, rounded up to whole seconds."""
    ours, its = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_bounded, args=(limit, work, its))
    child.start()
    its.close()
    try:
        found: tuple[float, np.ndarray] = ours.recv()
    except EOFError:  # ended before it sent anything
        return None
    finally:
        child.join()
    return found if found[0] <= limit else None


def _bounded(limit: float, work: Work, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
    connection.send(_timed(work))
