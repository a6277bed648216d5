"""Compressed files, by the last suffix of their names."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from fenchel._system.files import replacing
from fenchel.errors import InvalidData

_TOOLS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


def suffixes(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The suffix of the format and that of the compression, in lower case; "" where none is."""
    stem, last = os.path.splitext(os.fspath(path).lower())
    return (os.path.splitext(stem)[1], last) if last in _TOOLS else (last, "")


@contextlib.contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The content of a file, decompressed; damage is an error that names the file."""
    with open(path, "rb") as file, _sound(path), _unpacking(file, suffixes(path)[1]) as content:
        yield cast(BinaryIO, content)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that is compressed as its name says and takes the place of `path` when complete."""
    with replacing(path) as file, _packing(file, suffixes(path)[1]) as content:
        yield cast(BinaryIO, content)


def _unpacking(file: BinaryIO, compression: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if compression == ".gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if compression == ".bz2":
        return bz2.BZ2File(file)
    return lzma.LZMAFile(file) if compression == ".xz" else contextlib.nullcontext(file)


def _packing(file: BinaryIO, compression: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    if compression == ".gz":
        return cast(IO[bytes], gzip.GzipFile("", "wb", 6, file, mtime=0))  # equal data, equal bytes
    if compression == ".bz2":
        return bz2.BZ2File(file, "w")
    return lzma.LZMAFile(file, "w") if compression == ".xz" else contextlib.nullcontext(file)


@contextlib.contextmanager
def _sound(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the data's
        what = "ends too early" if isinstance(error, EOFError) else "is damaged"
        raise InvalidData(
            f"{os.fspath(path)}: the compressed data {what} ({error}); get the file again, and "
            f"check it with `{_TOOLS.get(suffixes(path)[1], 'file')} -t`"
        ) from error
