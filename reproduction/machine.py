"""Where and by what runs are made: the line that the page shows under each figure."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path

import fenchel
from fenchel._system import memory

_ROOT = Path(__file__).parents[1]


def made() -> dict[str, str]:
    """Date, commit, machine and versions."""
    return {"date": time.strftime("%Y-%m-%d"), **_surroundings()}


def bound(jobs: int) -> int | None:
    """The bytes that each of so many processes may take, so that all of them have room."""
    have = memory.available()
    return None if have is None else int(0.9 * have / jobs)


@functools.cache
def _surroundings() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "commit": _commit(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {_gigabytes()} GB",
        "versions": f"fenchel {fenchel.__version__}, Python {platform.python_version()}, "
        + ", ".join(f"{name} {metadata.version(name)}" for name in packages),
    }


def _commit() -> str:
    """The commit, with a plus sign if the files differ from it; unknown outside a repository."""
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "reproduction")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + "+" * bool(changed)


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _gigabytes() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
