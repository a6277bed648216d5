"""What a round costs on each engine: value and gradient of the logistic loss, a million columns.

200,000 rows of 75 numbers in 2 shards, or (`small`) 20,000. For each engine the seconds of a whole
round (w out, value and gradient back); of one that only echoes w, which is what communication and
dispatch take; and of T(n) = s + t/n, fitted to 1 and 2 workers. `mpiexec -n 2 python
benchmarks/engines.py mpi` measures MPI; restrict it to loopback, or run it in a network namespace.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import fenchel
from fenchel.engines import MPI, Dask, Serial, Threads
from fenchel.serve.owner import Limits, owned
from fenchel.serve.owners import Owners
from fenchel.serve.server import Address, server

COLUMNS, PER_ROW, REPEATS = 1_000_000, 75, 15


def data(n_rows: int) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    column = rng.integers(0, COLUMNS, n_rows * PER_ROW).astype(np.int32)
    start = np.arange(0, n_rows * PER_ROW + 1, PER_ROW, dtype=np.int32)
    X = sparse.csr_array((rng.normal(size=len(column)), column, start), (n_rows, COLUMNS))
    X.sum_duplicates()
    return X, np.where(rng.random(n_rows) < 0.5, -1.0, 1.0)


def echo(shard: Any, w: np.ndarray) -> np.ndarray:
    return w


def seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """The least and the median."""
    call()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times), statistics.median(times)


def measure(name: str, X: Any, y: np.ndarray, engine: Any) -> float:
    started = time.perf_counter()
    problem = fenchel.problem(X, y, loss="logistic", engine=engine)
    placing = time.perf_counter() - started
    w = np.random.default_rng(1).normal(size=COLUMNS) / 1000
    value = problem.risk.at(w).value
    risk: Any = problem.risk
    least, median = seconds(lambda: risk.at(w))
    placed = risk.engine
    quiet = seconds(lambda: placed.total(placed.map(echo, w)))
    report(name, least, median, quiet, placing, value)
    placed.close()
    return least


def report(
    name: str, least: float, median: float, quiet: tuple[float, float], placing: float, value: float
) -> None:
    cells = [f"{1000 * number:8.1f}" for number in (least, median, *quiet)]
    print(f"{name:12} {' '.join(cells)} {placing:8.1f}   {value.hex()}", flush=True)


def across_owners(X: Any, y: np.ndarray) -> None:
    half, urls = X.shape[0] // 2, []
    for rows in (slice(0, half), slice(half, None)):
        owner = owned(X[rows], y[rows], loss="logistic", limits=Limits(max_queries=10**6))
        running = server(owner, Address(port=0))
        threading.Thread(target=running.run, daemon=True).start()
        while not running.started:
            time.sleep(0.05)
        urls.append(f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}")
    problem = fenchel.problem(engine=Owners(urls), loss="logistic")
    w = np.random.default_rng(1).normal(size=COLUMNS) / 1000
    least, median = seconds(lambda: problem.risk.at(w))
    report("owners 2", least, median, (float("nan"), float("nan")), 0.0, problem.risk.at(w).value)


def main() -> None:
    small = "small" in sys.argv
    engine = MPI() if "mpi" in sys.argv else None  # other ranks stay here
    X, y = data(20_000 if small else 200_000)
    print("engine          round: min, median;  echo: min, median ms; placing s   value")
    if engine is not None:
        measure(f"mpi {engine.communicator.size}", X, y, engine)
        return
    measure("serial", X, y, Serial())
    measure("threads 2", X, y, Threads(2))
    one = measure("dask 1", X, y, Dask(n_workers=1))
    two = measure("dask 2", X, y, Dask(n_workers=2))
    print(f"dask: T(n) = {1000 * (2 * two - one):.0f} ms + {2000 * (one - two):.0f} ms / n")
    across_owners(X, y)


if __name__ == "__main__":
    main()
