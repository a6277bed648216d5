"""What a round costs by a star and by a tree of Dask workers, and what it would cost with 64.

    python benchmarks/relays.py [columns]      1,000,000 without

Echo rounds (w out, as many numbers back, added up) and empty ones (a number a worker) with 1 to 16
workers of this machine, each asked by the driver itself and through the tree of relays.py; medians
of TURNS, in ms: the round by the clock, and the CPU time of the driver in it. Two cores that do the
work of 16 workers show what the driver is spared, not what a cluster gains. That is simulated: a
tree of workers with a core each, whose constants are measured here,

    out + back   what the driver spends on one more worker of a star: a vector out and one back
    hop          the time of an empty round with one worker

beside the star's law, n times the first.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import fenchel
from fenchel.data.shards import Shard
from fenchel.engines import Dask, Engine, remote
from fenchel.engines.relays import Branch, branches, plan
from fenchel.risks import shardwork

TURNS, WORKERS, MANY = 9, (1, 2, 4, 8, 16), 64
Array = np.ndarray[Any, Any]


def echoed(shard: Shard, w: Array) -> Array:
    return w


def placed(client: Client, n: int, star: bool) -> Engine:
    """An engine of n workers, with a few rows each: there is nothing to compute."""
    remote._MANY = MANY if star else 2
    fenchel.data.shards.NUMBERS_PER_SHARD = 16
    X = np.random.default_rng(0).normal(size=(64 * n, 2))
    problem = fenchel.problem(X, np.ones(64 * n), loss="squared_error", engine=Dask(client))
    return problem.risk.engine


def measured(engine: Engine, w: Array) -> tuple[float, float, float]:
    """Medians of the seconds of an echo, of the driver's in it, and of an empty round."""
    found = []
    for _ in range(TURNS + 1):
        clock, busy = time.perf_counter(), time.process_time()
        engine.total(engine.map(echoed, w))
        echo = time.perf_counter() - clock, time.process_time() - busy
        clock = time.perf_counter()
        engine.total(engine.map(shardwork.weight))
        found.append((*echo, time.perf_counter() - clock))
    seconds, driver, empty = (statistics.median(each) for each in zip(*found[1:], strict=True))
    return seconds, driver, empty


def simulated(n: int, out: float, back: float, hop: float) -> float:
    """Seconds of a round of a tree of n workers with a core each, and nothing to compute."""
    hosts = [Branch(k, k, k + 1) for k in range(n)]
    below = dict(plan(hosts))

    def ended(given: Sequence[Branch]) -> float:
        now, replies = 0.0, []
        for each in given:  # one vector after the other leaves
            now += out
            replies.append(now + hop / 2 + ended(below.get(each.host, ())) + hop / 2)
        for reply in sorted(replies):  # and one after the other comes back
            now = max(now, reply) + back
        return now

    return ended(branches(hosts))


def main() -> None:
    w = np.random.default_rng(1).normal(size=int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    driver, empty = {}, {}
    print("| workers | star | driver | empty | tree | driver | empty |")
    print("|---|---|---|---|---|---|---|")
    for n in WORKERS:
        cluster = LocalCluster(
            n_workers=n,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=50,  # CRITICAL
        )
        with cluster, Client(cluster, direct_to_workers=True) as client:
            cells = []
            for star in (True, False):
                engine = placed(client, n, star)
                found = measured(engine, w)
                cells += [f"{1000 * each:.1f}" for each in found]
                if star:
                    driver[n], empty[n] = found[1:]
        print(f"| {n} | {' | '.join(cells)} |", flush=True)
    each = np.polyfit(WORKERS, [driver[n] for n in WORKERS], 1)[0]
    hop = empty[1]
    star = each * MANY + hop
    tree = simulated(MANY, each / 2, each / 2, hop)
    print(f"\none more worker: {1000 * each:.1f} ms of the driver; a hop: {1000 * hop:.1f} ms")
    print(f"{MANY} workers, {w.size:,} columns: star {star:.2f} s, tree {tree:.2f} s (simulated)")


if __name__ == "__main__":
    main()
