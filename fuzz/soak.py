"""Fits for minutes on end: memory, open files and threads must not grow.

    python fuzz/soak.py --seconds 1200

One cycle fits the same problems by every solver that takes them: in this thread, in a pool of four,
and from a store on disk that is opened anew. After it memory (RSS), file descriptors and threads
are counted. The first quarter of the cycles warms up caches and pools; the rest is cut into four.

Memory leaks if the least RSS of each quarter is above that of the one before, and the last above
the first by more than `allowed`. That is

- 64 bytes for each fit between them, as much as the least array object that could be forgotten is
  larger than (an ndarray of one number takes 112 + 32), so that a leak of one object a fit is seen;
- but at least 128 KiB for each of the 8 arenas a core that glibc's malloc makes for threads: so
  much it may keep at the end of each (M_TRIM_THRESHOLD) before it gives any back.

The least, because what is free at times is no leak. Descriptors and threads are whole numbers: the
most of the last quarter must not be above the most of the first.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import fenchel
from fenchel._system.threads import crew
from fenchel.data import shards
from fenchel.data.dataset import Dataset
from fenchel.data.store import read_store, write_store
from fenchel.engines import Threads
from fenchel.errors import Incompatible
from fenchel.solvers import SOLVERS

BYTES_PER_FIT = 64
ARENAS = 8 * (os.cpu_count() or 1)
TRIM = 128 * 1024  # M_TRIM_THRESHOLD
POOL = 4  # threads
_LOSSES = ("hinge", "logistic", "squared_error", "softmax", "roc", "ndcg", "crf", "nu_hinge")


class Sample(NamedTuple):
    """What the process holds after some fits."""

    fits: int
    memory: int  # bytes
    files: int
    threads: int


def sample(fits: int) -> Sample:
    """Counts of this process, as Linux tells them."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files, threads = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
    return Sample(fits, pages * os.sysconf("SC_PAGE_SIZE"), files, threads)


def growth(samples: list[Sample]) -> list[str]:
    """What grows, in words; nothing where all is flat."""
    kept = samples[len(samples) // 4 :]
    if len(kept) < 8:
        return [f"{len(samples)} cycles are too few to tell: give it more seconds"]
    quarters = [list(part) for part in np.array_split(np.arange(len(kept)), 4)]
    least = [min(kept[i].memory for i in part) for part in quarters]
    fits = kept[quarters[3][0]].fits - kept[quarters[0][0]].fits
    allowed = max(BYTES_PER_FIT * fits, ARENAS * TRIM)
    grown = []
    if least == sorted(set(least)) and least[3] - least[0] > allowed:
        grown.append(
            f"memory: {least[3] - least[0]} bytes in {fits} fits, where {allowed} are allowed"
        )
    for name in ("files", "threads"):
        first, last = (max(getattr(kept[i], name) for i in quarters[k]) for k in (0, 3))
        if last > first:
            grown.append(f"{name}: from {first} to {last}")
    return grown


def _problems(folder: Path) -> list[Callable[[], fenchel.Problem]]:
    """Ways to pose problems, each of several shards."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    z = X @ rng.normal(size=4)
    write_store(Dataset(sparse.csr_array(X), np.sign(z), None), folder / "rows.store")
    labels: dict[str, Any] = {"softmax": np.digitize(z, [-1, 1]), "crf": np.digitize(z, [-1, 1])}
    labels |= {"squared_error": z, "ndcg": np.digitize(z, [-1, 1]).astype(float)}
    groups = {name: np.repeat(np.arange(8), 5) for name in ("ndcg", "crf")}

    def posed(loss: str, where: str) -> fenchel.Problem:
        engine = "serial" if where == "serial" else Threads(POOL)
        rows: Any = X
        y = labels.get(loss, np.sign(z))
        if where == "store":
            stored = read_store(folder / "rows.store")
            rows, y = stored.X, stored.y
        return fenchel.problem(
            rows, y, loss=loss, strength=1e-2, groups=groups.get(loss), engine=engine
        )

    made = [(loss, where) for where in ("serial", "threads") for loss in _LOSSES]
    made += [(loss, "store") for loss in ("hinge", "logistic")]
    return [functools.partial(posed, loss, where) for loss, where in made]


def cycle(problems: list[Callable[[], fenchel.Problem]]) -> int:
    """Fits each problem by every solver, and verifies one of them; how many fits that were."""
    fits = 0
    for pose in problems:
        problem = pose()
        for name in SOLVERS:
            try:
                result = fenchel.minimize(problem, name, gap=1e-2, max_iterations=5)
            except Incompatible:
                continue
            fits += 1
        fenchel.verify(result, problem)
    return fits


def main() -> int:
    """Runs cycles until the time is up; 1 if anything grew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    warnings.simplefilter("ignore")
    shards.NUMBERS_PER_SHARD = 40
    crew(POOL)  # starts all its threads
    samples, fits, started = [], 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problems = _problems(Path(folder))
        while time.monotonic() - started < seconds:
            fits += cycle(problems)
            samples.append(sample(fits))
            if len(samples) & (len(samples) - 1) == 0:
                print(f"{time.monotonic() - started:6.0f} s  {samples[-1]}", flush=True)
    print(f"{time.monotonic() - started:6.0f} s  {samples[-1]}")
    grown = growth(samples)
    for line in grown:
        print(f"GROWS {line}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
