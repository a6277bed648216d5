"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fenchel.errors import InvalidData

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends without an error.

    Until then, and after any failure, `path` is as it was. The bytes are on the disk before they
    get their name, so that a crash leaves the old file or the new one. A process that is killed
    may leave a file `.fenchel-*.tmp` beside it, which can be deleted.
    """
    target = destination(path)
    temporary = target.with_name(f".fenchel-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            _keep_mode(target, temporary)
            yield file
        _sync(temporary, os.O_RDWR)  # Windows writes out only what may be written to
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            raise _no_room(error, target) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the file is in place; not every system can sync a folder
        _sync(target.parent, os.O_RDONLY)


def destination(path: str | os.PathLike[str]) -> Path:
    """The file that `replacing(path)` writes, links followed; an error if it could not.

    To be called before long work whose result goes there.
    """
    target = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        kind = stat.S_IFMT(target.stat().st_mode)
        if kind != stat.S_IFREG:
            raise InvalidData(
                f"cannot write to {os.fspath(path)}: it is {_KINDS.get(kind, 'no regular file')}. "
                "Give the name of a regular file"
            )
        _permitted(target, f"the file {target} is write-protected")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder to write to does not exist", str(path))
    _permitted(target.parent, f"the folder {target.parent} is write-protected")
    return target


def _permitted(place: Path, refusal: str) -> None:
    if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, refusal)


def _keep_mode(target: Path, temporary: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _no_room(error: OSError, target: Path) -> OSError:
    was = "what it held before is untouched" if target.exists() else "nothing was written"
    return OSError(error.errno, f"{error.strerror} while writing; {was}", str(target))
