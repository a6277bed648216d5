"""A process that makes runs, one after the other, within a limit of memory.

Data are read once and kept between runs. A run that takes too long costs its process, and the next
one gets a new one; so does a run that the system ends because memory is short.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from reproduction.found import Found
from reproduction.machine import made
from reproduction.shape import Run

# Value, why there is none, whether that is final, seconds.
Answer = tuple[dict[str, Any], str, bool, float]
_SPAWN = multiprocessing.get_context("spawn")


class Worker:
    """Makes runs in another process, which may allocate `memory` bytes."""

    def __init__(self, memory: int | None):
        self.memory = memory
        self._process: Any = None
        self._line: Connection | None = None

    def make(self, run: Run) -> Found:
        """What the run gives; `failed` says why it gives nothing."""
        value, failed, final, seconds = self._answer(run)
        found = Found(value)
        found.failed, found.final, found.made = failed, final, made()
        found.seconds_taken = seconds
        return found

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = None

    def _answer(self, run: Run) -> Answer:
        line = self._started()
        try:
            line.send((run.function, dict(run.arguments)))
            if not line.poll(run.limit):
                self.close()
                return {}, f"given up after {run.limit:g} s", True, run.limit
            answer: Answer = line.recv()
        except (EOFError, OSError):
            self.close()
            return {}, "its process died, as one that the system ends for want of memory", True, 0.0
        return answer

    def _started(self) -> Connection:
        if self._process is None or self._line is None:
            self._line, theirs = _SPAWN.Pipe()
            self._process = _SPAWN.Process(target=_serve, args=(theirs, self.memory), daemon=True)
            self._process.start()
            theirs.close()
        return self._line


def _serve(line: Connection, memory: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends it
    if memory is not None:
        with contextlib.suppress(ValueError, OSError):  # systems without such a limit
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(EOFError):
        while True:
            function, arguments = line.recv()
            line.send(_called(function, arguments))


def _called(function: Any, arguments: dict[str, Any]) -> Answer:
    started, value, failed, final = time.perf_counter(), {}, "", True
    try:
        value = dict(function(**arguments))
    except MemoryError as error:
        failed = f"does not fit into the memory of this machine: {error}"
    except Exception as error:
        failed, final = f"{type(error).__name__}: {error}", False
    return value, failed, final, time.perf_counter() - started
