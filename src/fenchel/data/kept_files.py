"""Files that rows are read from again and again, which must stay as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, NamedTuple

from fenchel.errors import InvalidData


class FileIdentity(NamedTuple):
    """What changes when a file does."""

    size: int
    modified: int
    number: int


def identity(file: BinaryIO) -> FileIdentity:
    """What identifies the content of an open file."""
    status = os.fstat(file.fileno())
    return FileIdentity(status.st_size, status.st_mtime_ns, status.st_ino)


@contextmanager
def unchanged(path: str, seen: FileIdentity, part: str) -> Iterator[BufferedReader]:
    """The file, open, if it is still the one that was seen, also after `part` has been read."""
    with open(path, "rb") as file:
        _require_same(file, path, seen, part)
        yield file
        _require_same(file, path, seen, part)


def _require_same(file: BinaryIO, path: str, seen: FileIdentity, part: str) -> None:
    if identity(file) != seen:
        raise InvalidData(f"{path} changed while it was in use, when {part} was read; start afresh")


def prefetch(file: BinaryIO, first: int, last: int) -> None:
    """Has the system read these bytes while something else is done."""
    if last > first and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), first, last - first, os.POSIX_FADV_WILLNEED)
