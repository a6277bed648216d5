"""What a round costs on each engine: value and gradient of the logistic loss, a million columns.

200,000 rows of 75 numbers in 2 shards, or (`small`) 20,000. Engines take turns, so that all see the
same load of a shared machine; least, median and quartiles, in ms, of

    round     w out, value and gradient back
    compute   CPU time of the shards' own work in such a round, over the workers
    echo      a round that sends w back as it came: communication and dispatch
    driver    CPU time of the driver in an echo, which workers cannot share
    empty     a round that adds up a number a shard: dispatch alone

and of T(n) = s + t/n for 1 and 2 workers: by the rounds of the same turn, which is what this
machine does under its load, and by compute and echo, which is what workers with a core each do.

`mpiexec -n 2 python benchmarks/engines.py mpi` measures MPI; restrict it to loopback, or run it in
a network namespace.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import fenchel
from fenchel import losses
from fenchel.data.shards import Shard
from fenchel.engines import MPI, Dask, Engine, Serial, Threads
from fenchel.engines.owners import Owners
from fenchel.risks import shardwork
from fenchel.serve.owner import Limits, owned
from fenchel.serve.server import Address, server

COLUMNS, PER_ROW, TURNS = 1_000_000, 75, 25
Array = np.ndarray[Any, Any]


def data(n_rows: int) -> tuple[sparse.csr_array, Array]:
    rng = np.random.default_rng(0)
    column = rng.integers(0, COLUMNS, n_rows * PER_ROW).astype(np.int32)
    start = np.arange(0, n_rows * PER_ROW + 1, PER_ROW, dtype=np.int32)
    X = sparse.csr_array((rng.normal(size=len(column)), column, start), (n_rows, COLUMNS))
    X.sum_duplicates()
    return X, np.where(rng.random(n_rows) < 0.5, -1.0, 1.0)


def evaluated(shard: Shard, loss: losses.Loss, w: Array) -> tuple[float, Array, float]:
    """The value, the gradient, and the CPU seconds they took."""
    started = time.thread_time()
    value, gradient, _ = shardwork.evaluate(shard, loss, w)
    return value, gradient, time.thread_time() - started


def echoed(shard: Shard, w: Array) -> Array:
    return w


class Case:
    """An engine with the data, and the times of its rounds."""

    def __init__(self, name: str, engine: Engine, n_workers: int, X: Any, y: Array):
        self.name, self.n_workers = name, n_workers
        problem = fenchel.problem(X, y, loss="logistic", engine=engine)
        self.engine: Engine = problem.risk.engine
        self.round: list[float] = []
        self.compute: list[float] = []
        self.echo: list[float] = []
        self.driver: list[float] = []
        self.empty: list[float] = []
        self.value = 0.0

    @property
    def times(self) -> tuple[list[float], ...]:
        return self.round, self.compute, self.echo, self.driver, self.empty

    def turn(self, w: Array) -> None:
        """One round of each kind."""
        engine = self.engine
        seconds, found = timed(
            lambda: engine.totals(*engine.map(evaluated, losses.Logistic(), w).split(3))
        )
        self.value = found[0]
        self.round.append(seconds)
        self.compute.append(found[2] / self.n_workers)
        busy = time.process_time()
        self.echo.append(timed(lambda: engine.total(engine.map(echoed, w)))[0])
        self.driver.append(time.process_time() - busy)
        self.empty.append(timed(lambda: engine.total(engine.map(shardwork.weight)))[0])

    def report(self) -> None:
        cells = [spread(each) for each in self.times]
        print(f"| {self.name} | {' | '.join(cells)} | {self.value.hex()} |", flush=True)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def spread(seconds: Any) -> str:
    """The least, the median and the quartiles."""
    least, low, middle, high = 1000 * np.percentile(seconds, [0, 25, 50, 75])
    return f"{least:.1f}, {middle:.1f} ({low:.1f}-{high:.1f})"


def law(one: Case, two: Case) -> None:
    """T(n) = s + t/n, turn by turn, and by its parts; and the rate of the driver."""
    T, C, E = (
        (np.array(getattr(one, name)), np.array(getattr(two, name)))
        for name in ("round", "compute", "echo")
    )
    print("\nT(n) = s + t/n, in ms")
    print(f"by rounds: s = {spread(2 * T[1] - T[0])}, t = {spread(2 * (T[0] - T[1]))}")
    print(f"by compute: t = {spread(2 * (C[0] - C[1]))}, not shared {spread(2 * C[1] - C[0])}")
    print(f"by echo: 1 worker {spread(E[0])}, the second adds {spread(E[1] - E[0])}")
    for case in (one, two):
        rates = [16e-9 * COLUMNS * case.n_workers / np.median(x) for x in (case.echo, case.driver)]
        print(f"{case.name}: {rates[0]:.2f} GB/s by echo, {rates[1]:.2f} GB/s by the driver's CPU")


def across_owners(X: Any, y: Array, w: Array) -> None:
    half, urls = X.shape[0] // 2, []
    for rows in (slice(0, half), slice(half, None)):
        owner = owned(X[rows], y[rows], loss="logistic", limits=Limits(max_queries=10**6))
        running = server(owner, Address(port=0))
        threading.Thread(target=running.run, daemon=True).start()
        while not running.started:
            time.sleep(0.05)
        urls.append(f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}")
    risk = fenchel.problem(engine=Owners(urls), loss="logistic").risk
    found = [timed(lambda: risk.at(w))[0] for _ in range(TURNS // 3)]
    print(f"| owners 2 | {spread(found)} | | | | | |", flush=True)


def main() -> None:
    X, y = data(20_000 if "small" in sys.argv else 200_000)
    w = np.random.default_rng(1).normal(size=COLUMNS) / 1000
    if "mpi" in sys.argv:
        engine = MPI()
        ranks = int(engine.communicator.size)
        cases = [Case(f"mpi {ranks}", engine, ranks, X, y)]
    else:
        cases = [
            Case("serial", Serial(), 1, X, y),
            Case("threads 2", Threads(2), 2, X, y),
            Case("dask 1", Dask(n_workers=1), 1, X, y),
            Case("dask 2", Dask(n_workers=2), 2, X, y),
        ]
    for _ in range(1 + TURNS):
        for case in cases:
            case.turn(w)
    if not cases[0].engine.leads:
        return
    print("| engine | round | compute | echo | driver | empty | value |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        for each in case.times:
            del each[0]  # the first turn warms up
        case.report()
    if len(cases) > 1:
        across_owners(X, y, w)
        law(cases[2], cases[3])


if __name__ == "__main__":
    main()
