"""Files that rows are read from again and again, which must stay as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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
def unchanged(path: str, seen: FileIdentity) -> Iterator[BinaryIO]:
    """The file, open, if it is still the one that was seen."""
    with open(path, "rb") as file:
        if identity(file) != seen:
            raise InvalidData(f"{path} changed while it was in use; start afresh")
        yield file


def prefetch(file: BinaryIO, first: int, last: int) -> None:
    """Has the system read these bytes while something else is done."""
    if last > first and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file.fileno(), first, last - first, os.POSIX_FADV_WILLNEED)
