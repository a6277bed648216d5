"""Ctrl-C and SIGTERM: leave at once, or first finish the iteration and keep what was found."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from fenchel.cli.exits import Code, Quit

_CODES = {signal.SIGINT: Code.INTERRUPTED, signal.SIGTERM: Code.TERMINATED}

# What a handler raises is lost if it strikes in a destructor or in the midst of some imports; and a
# signal that comes just before a read blocks is not handled until the read returns, which it may
# never do. So an alarm goes off every so many seconds: it ends the read, and raises again what was
# lost, until the program leaves.
_AGAIN = 1.0


class Interrupts:
    """Remembers the first signal while a run is patient; any other raises `Quit`."""

    def __init__(self) -> None:
        self.code: Code | None = None  # what the run was asked to end with
        self._patient = self._leaving = False

    @contextmanager
    def watched(self) -> Iterator[Interrupts]:
        """Handles both signals until the end of the block."""
        before = {number: signal.signal(number, self._handle) for number in _CODES}
        try:
            with self._reminded():
                yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _reminded(self) -> Iterator[None]:
        if sys.platform == "win32":  # has no alarms
            yield
            return
        before = signal.signal(signal.SIGALRM, self._remind)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @contextmanager
    def patient(self) -> Iterator[None]:
        """The first signal in this block is only remembered, in `code`."""
        self._patient = True
        try:
            yield
        finally:
            self._patient = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first = self.code is None
        self.code = _CODES[signal.Signals(number)] if self.code is None else self.code
        if not (first and self._patient):
            self._leaving = True
            raise Quit(self.code)

    def _remind(self, number: int, frame: FrameType | None) -> None:
        if self._leaving:
            raise Quit(self.code or Code.INTERRUPTED)
