"""How many threads to use, and work that is shared among them."""

from __future__ import annotations

import atexit
import collections
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from fenchel import _kernels
from fenchel.settings import whole

T = TypeVar("T")

# Microseconds for which a thread that waits stays awake: as long as fits take from one pass over a
# small X to the next.
_PATIENCE = 200.0

_ALL = 1 << 30  # who wait for a bell

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

    crew(n_threads).do(help_along, min(n_threads, len(calls)) - 1)
    return results


class SharedWork:
    """Work that several threads do at once, until each has found that nothing is left to do."""

    def __init__(self, work: Callable[[], None]):
        self.work = work
        self.ended: list[BaseException | None] = []  # what came of it in each helping thread

    def help_along(self) -> None:
        """Does what is left, in a helper's thread."""
        try:
            self.work()
        except BaseException as error:
            self.ended.append(error)
        else:
            self.ended.append(None)


class Crew:
    """Threads that help others with their work, and stay awake for the next a moment longer.

    To wake a thread takes 30 to 60 microseconds, and again as long to wake who waits for it: of a
    pass over a few hundred thousand numbers more than a second thread saves. So both wait for a
    bell (kernels/bind_bell.cpp), which they hear at once while they are awake.
    """

    def __init__(self, n_helpers: int):
        self.jobs: collections.deque[SharedWork] = collections.deque()  # once for each helper
        self.begin, self.end = _kernels.Bell(), _kernels.Bell()
        self.pid, self.dismissed = os.getpid(), False
        self.helpers = [threading.Thread(target=self._help, daemon=True) for _ in range(n_helpers)]
        for helper in self.helpers:
            helper.start()
        atexit.register(self.dismiss)

    def dismiss(self) -> None:
        """Ends the threads, before Python itself ends below them."""
        if self.pid == os.getpid():
            self.dismissed = True
            self.begin.ring(_ALL)
            for helper in self.helpers:
                helper.join()

    def do(self, work: Callable[[], None], n_helpers: int) -> None:
        """The work, in this thread and in up to so many others at once."""
        job = SharedWork(work)
        self.jobs.extend([job] * n_helpers)
        self.begin.ring(n_helpers)
        try:
            work()
        finally:
            begun = n_helpers - self._called_off(job)
            while len(job.ended) < begun:
                heard = self.end.rung
                if len(job.ended) < begun:
                    self.end.wait(heard, _PATIENCE)
        for error in job.ended:
            if error is not None:
                raise error

    def _called_off(self, job: SharedWork) -> int:
        """Takes back what no helper has begun, as nothing is left to do: how often."""
        n = 0
        with contextlib.suppress(ValueError):
            while True:
                self.jobs.remove(job)
                n += 1
        return n

    def _help(self) -> None:
        heard, patience = 0, 0.0
        while not self.dismissed:
            heard, patience = self.begin.wait(heard, patience), 0.0
            with contextlib.suppress(IndexError):
                while True:
                    self.jobs.popleft().help_along()
                    self.end.ring(_ALL)
                    patience = _PATIENCE  # who was not needed goes to sleep again


def crew(n_threads: int) -> Crew:
    """One crew for all problems; a forked child has another pid and gets its own."""
    return _crew(n_threads, os.getpid())


@functools.cache
def _crew(n_threads: int, pid: int) -> Crew:
    return Crew(n_threads - 1)
