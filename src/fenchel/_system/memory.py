"""What this process may still allocate, asked before it tries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")


def require(n_bytes: float, what: str, remedy: str = "use a machine with more memory") -> None:
    """Raises MemoryError if `what` needs more bytes than there are.

    Systems hand out memory that they do not have and kill a process when it is used; an exception
    beforehand leaves the caller a choice.
    """
    have = available()
    if have is not None and n_bytes > have:
        raise MemoryError(
            f"{what} needs about {_gigabytes(n_bytes)} more memory and {_gigabytes(have)} are "
            f"available; {remedy}"
        )


def available() -> int | None:
    """Bytes that can be allocated without swapping; None where the system does not tell."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    in_kilobytes = _table(_MEMINFO).get("MemAvailable:")
    if in_kilobytes is not None:
        yield 1024 * in_kilobytes
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        most, now = _number(_CGROUPS / limit), _number(_CGROUPS / used)
        if most is not None and now is not None:
            statistics = _table((_CGROUPS / limit).with_name("memory.stat"))
            yield max(0, most - now + statistics.get(cache, 0))  # the cache makes room


def _number(path: Path) -> int | None:
    """The number in a file; None if there is no such file, or no limit in it."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _table(path: Path) -> dict[str, int]:
    """Lines such as `MemAvailable:  123 kB`; empty if there is no such file."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    return {words[0]: int(words[1]) for line in lines if len(words := line.split()) > 1}


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB"
