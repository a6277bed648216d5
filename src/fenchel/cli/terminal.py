"""What goes to stderr: announcements, warnings and progress; and what goes to stdout: results."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.text import Text

from fenchel.cli.wording import in_flags
from fenchel.watching import count as count
from fenchel.watching import duration as duration


def stderr() -> Console:
    """A console on stderr that wraps words on a terminal only."""
    console = Console(stderr=True, highlight=False)
    console.soft_wrap = not console.is_terminal
    return console


class Terminal:
    """The two streams of a command, and how much it may say."""

    def __init__(self, *, quiet: bool = False, json: bool = False, verbose: bool = False):
        self.quiet, self.json, self.verbose = quiet, json, verbose
        self.silent = False  # for a process that leaves all writing to another
        self.console = stderr()
        self.live = self.console.is_terminal and not self.console.is_dumb_terminal and not quiet

    def silence(self) -> None:
        """Nothing more is said."""
        self.silent, self.quiet, self.live = True, True, False

    def note(self, text: str, *, style: str = "") -> None:
        """A line on stderr, unless quiet."""
        if not self.quiet:
            self.console.print(Text(text, style=style))

    def detail(self, text: str) -> None:
        """A line on stderr, if verbose."""
        if self.verbose:
            self.note(text)

    def warn(self, text: str) -> None:
        """A warning on stderr, even if quiet."""
        if self.silent:
            return
        self.console.print(Text.assemble(("warning: ", "bold yellow"), text))

    @contextmanager
    def step(self, doing: str) -> Iterator[Stage]:
        """Announces a step while it runs and, with what it found, when it is done."""
        step = Stage()
        with self.busy(doing):
            yield step
        step.seconds = time.perf_counter() - step.started
        self.note(f"{doing}: {step.found} in {duration(step.seconds)}")

    def busy(self, doing: str) -> AbstractContextManager[object]:
        """Shows on a terminal what is going on, for as long as it does."""
        return self.console.status(Text(f"{doing} ...")) if self.live else nullcontext()

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Shows Python's warnings as one line each, every one once."""
        with warnings.catch_warnings():
            warnings.simplefilter("once")
            # The command has put the columns in the model's order itself.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            warnings.showwarning = self._show
            yield

    def _show(self, message: Warning | str, *_: Any, **__: Any) -> None:
        self.warn(in_flags(message))


class Stage:
    """What a step found, and how long it took."""

    def __init__(self) -> None:
        self.started, self.seconds, self.found = time.perf_counter(), 0.0, "done"


def result(text: str, *, flush: bool = False) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{text}\n")
    if flush:
        sys.stdout.flush()


def short(path: str | os.PathLike[str]) -> str:
    """A path as seen from where the user is, if that is shorter."""
    return min(os.fspath(path), os.path.relpath(path), key=len)


def size(n_bytes: int) -> str:
    """'812 bytes', '2.1 kB', '35 MB'."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    kilobytes = n_bytes / 1000
    return f"{kilobytes:.3g} kB" if kilobytes < 1000 else f"{kilobytes / 1000:.3g} MB"
