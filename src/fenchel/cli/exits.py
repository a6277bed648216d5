"""Exit codes, and how an exception becomes one of them and a short message."""

from __future__ import annotations

import os
import sys
import traceback
from enum import IntEnum

from rich.text import Text
from typer import TyperException

from fenchel.cli.terminal import stderr
from fenchel.cli.wording import in_flags
from fenchel.settings import meant


class Code(IntEnum):
    """What the shell is told."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    BAD_DATA = 3
    NOT_CONVERGED = 4
    HOST_LOST = 5
    INTERRUPTED = 130  # Ctrl-C
    TERMINATED = 143  # SIGTERM


class UsageError(Exception):
    """Flags, settings or paths that cannot be used; raised before any work."""


class Quit(BaseException):
    """A signal asks to leave at once; nothing catches it but `main`."""

    def __init__(self, code: Code):
        super().__init__(code)
        self.code = code


def fail(error: BaseException, argv: list[str]) -> Code:
    """Says on stderr what went wrong; returns the code to exit with."""
    if isinstance(error, Quit):
        stderr().print(Text("stopped", style="yellow"))
        return error.code
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        return _quietly()
    if isinstance(error, SystemExit):  # typer has said all there is to say
        return Code(int(error.code or 0))
    code = _code(error)
    if os.environ.get("FENCHEL_DEBUG") or {"-v", "--verbose"} & set(argv):
        traceback.print_exception(error)
    message = _message(error, code, next((word for word in argv if word[:1] != "-"), ""))
    if message:  # there is none beside the help that a bare `fenchel` prints
        stderr().print(Text.assemble(("error: ", "bold red"), message))
    return code


def _quietly() -> Code:
    """The reader of our output has seen enough: that is no error (`fenchel predict ... | head`)."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())  # or Python would complain while it flushes at exit
    return Code.OK


def _code(error: BaseException) -> Code:
    from fenchel.errors import FenchelError, HostLost, Incompatible

    if isinstance(error, UsageError | TyperException | Incompatible):
        return Code.USAGE
    if isinstance(error, ImportError) and "fenchel[" in str(error):
        return Code.USAGE  # an extra is not installed, and the message says how to get it
    if isinstance(error, HostLost):
        return Code.HOST_LOST
    return Code.BAD_DATA if isinstance(error, FenchelError) else Code.INTERNAL


def _message(error: BaseException, code: Code, command: str) -> str:
    if isinstance(error, TyperException):
        hint = _meant(error)
        if hint:
            error.possibilities = None  # type: ignore[attr-defined]  # of an option that is none
        said = _sentence(error.format_message()) + hint
        return f"{said}{_help(error)}" if said else ""
    if code is not Code.INTERNAL:
        return in_flags(error, command)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return f"out of memory; {error or 'use fewer rows or features, or sparse input'}"
    return (
        f"{type(error).__name__}: {error}\n"
        "This is a fault of fenchel. Please report it with what FENCHEL_DEBUG=1 prints."
    )


def _sentence(text: str) -> str:
    """'No such option.' as the start of our own sentence."""
    text = text.removesuffix(".")
    return text[:1].lower() + text[1:]


def _meant(error: TyperException) -> str:
    """The flag for what another surface, or program, calls by the name that was typed."""
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if name is None or context is None:
        return ""
    flags = {each.removeprefix("--") for p in context.command.params for each in p.opts}
    found = meant(name.lstrip("-").replace("-", "_"), {flag.replace("-", "_") for flag in flags})
    return "" if found is None else f"; did you mean --{found.replace('_', '-')}?"


def _help(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see '{context.command_path} --help')" if context is not None else ""
