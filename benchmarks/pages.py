"""Writes the tables of the benchmark pages, with machine, date and commit.

    FENCHEL_DATA=... python benchmarks/pages.py docs/benchmarks/small-fits.md ...
    FENCHEL_DATA=... python benchmarks/pages.py docs/benchmarks/solvers.md --only nonsmooth

A page holds `<!-- figures: benchmarks/small.py --repeats 9 -->` and `<!-- /figures -->`; what the
script prints goes between the two. Figures are for a machine that does nothing else: where others
have kept it from idling during the last minute, nothing is measured.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUSY = 0.3  # load average above which others work here, too
FIGURES = r"<!-- figures: ([^>]*?) -->\n.*?<!-- /figures -->"


def machine() -> str:
    """The processor as the system calls it, its cores, and the memory."""
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    named = re.search(r"model name\s*: (.*)", facts)
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = named[1] if named else platform.machine()
    return f"{name}, {os.cpu_count()} cores, {gigabytes:.0f} GB, {platform.system()}"


def commit() -> str:
    """The last one, and whether what is measured has been changed since."""
    head, changed = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        for words in (["describe", "--always"], ["status", "--porcelain", "src", "benchmarks"])
    )
    return (head or "unknown") + ("-dirty" if changed else "")


def stamp(command: str, seconds: float) -> str:
    """Where and when figures come from, and how to make them again."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return (
        f"*{machine()}; Python {platform.python_version()}, {libraries}; "
        f"{datetime.date.today()}, commit {commit()}; the machine did nothing else. "
        f"`python {command}`, {seconds / 60:.1f} minutes.*"
    )


def printed(command: str) -> str:
    script, *arguments = shlex.split(command)
    return subprocess.run(
        [sys.executable, str(ROOT / script), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def shown(text: str) -> str:
    """Tables as they are, anything else as it was printed."""
    return text.strip() if "|---" in text else f"```\n{text.strip()}\n```"


def measured(command: str, output: Callable[[str], str] = printed) -> str:
    started = time.monotonic()
    text = shown(output(command))
    seconds = time.monotonic() - started
    begin = f"<!-- figures: {command} -->"
    return f"{begin}\n{text}\n\n{stamp(command, seconds)}\n<!-- /figures -->"


def wait_until_idle(seconds: float) -> None:
    """The load average of a minute falls slowly after work of one's own."""
    ended = time.monotonic() + seconds
    while os.getloadavg()[0] > BUSY:
        if time.monotonic() > ended:
            sys.exit(f"the load average is {os.getloadavg()[0]:.2f}: figures need an idle machine")
        time.sleep(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--wait", type=float, default=180.0, help="seconds to wait for idleness")
    parser.add_argument("--only", default="", help="tables whose command has this in it")
    given = parser.parse_args()
    for page in given.pages:
        for command in re.findall(FIGURES, page.read_text(), flags=re.DOTALL):
            if given.only not in command:
                continue
            wait_until_idle(given.wait)
            print(f"{page}: {command}", flush=True)
            block = measured(command)
            old = re.escape(f"<!-- figures: {command} -->") + r"\n.*?<!-- /figures -->"
            text = page.read_text()
            page.write_text(re.sub(old, lambda _, new=block: new, text, count=1, flags=re.DOTALL))


if __name__ == "__main__":
    main()
