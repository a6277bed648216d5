"""Files to be written: refused before the work, not after it."""

from __future__ import annotations

from pathlib import Path

from fenchel.cli.exits import UsageError
from fenchel.errors import InvalidData


def check_writable(path: Path) -> None:
    """Raises UsageError if a file could not be written there."""
    from fenchel._system.files import destination

    if str(path) == "-":
        raise UsageError("give the name of a file to write; - stands for stdin only")
    try:
        destination(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    except InvalidData as error:
        raise UsageError(str(error)) from error
