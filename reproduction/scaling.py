"""Iterations of BMRM on Dask workers of this machine, and the law T(n) = s + t / n ([Teo07])."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def scaled(
    loss: str, data: str, strength: float, rows: int | None, workers: list[int], iterations: int
) -> dict[str, Any]:
    """Seconds an iteration and busy CPU seconds of the busiest worker, for each number of workers.

    `driver` are the CPU seconds of its own programme in an iteration, without those of sending;
    `products` those of the same work without workers. In a process of its own: those that make runs
    may not start others.
    """
    given = json.dumps([loss, data, strength, rows, workers, iterations])
    done = subprocess.run(
        [sys.executable, "-m", "reproduction.scaling", given], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@dataclass(frozen=True)
class Law:
    """T(n) = s + t / n, from what one worker took."""

    workers: list[int]
    seconds: list[float]
    busy: list[float]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Law:
        """From a run."""
        return cls(found["workers"], found["seconds"], found["busy"])

    @property
    def t(self) -> float:
        """The CPU seconds of values and gradients by one worker, an iteration."""
        return self.busy[0]

    @property
    def s(self) -> float:
        """All else."""
        return max(self.seconds[0] - self.busy[0], 0.0)

    @property
    def shared(self) -> float | None:
        """The CPU time of the busier of two workers over that of one; None if there was but one."""
        return self.busy[1] / self.busy[0] if len(self.busy) > 1 else None

    def __call__(self, n: float) -> float:
        """Seconds an iteration with n workers."""
        return self.s + self.t / n


def _measured(
    loss: str, data: str, strength: float, rows: int | None, workers: list[int], iterations: int
) -> dict[str, Any]:
    import statistics

    import numpy as np
    from distributed import Client, LocalCluster

    import fenchel
    from fenchel.engines import Dask, Serial
    from reproduction.data import load

    X, y, groups = load(data, rows)
    if loss == "ordinal":
        y = np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y).astype(float)
    told: dict[str, Any] = {
        "workers": workers,
        "seconds": [],
        "busy": [],
        "driver": [],
        "shards": 0,
    }
    told["products"] = _alone(fenchel.problem(X, y, groups=groups, loss=loss, engine=Serial()))
    for n in workers:
        with (
            LocalCluster(
                n_workers=n, threads_per_worker=1, dashboard_address=None, processes=True
            ) as cluster,
            Client(cluster) as client,
        ):
            engine = Dask(client)
            problem = fenchel.problem(
                X, y, groups=groups, loss=loss, strength=strength, engine=engine
            )
            told["shards"] = problem.risk.engine.n_shards
            clock: list[float] = []
            busy: list[list[float]] = []
            own = 0.0
            for _ in fenchel.solver("bmrm").iterate(problem, np.zeros(problem.risk.n_parameters)):
                if not clock:
                    busy.append(_cpu(client))  # not before: a first call has things to import
                    own = time.thread_time()  # not of the threads that send
                clock.append(time.perf_counter())
                if len(clock) > iterations:
                    break
            own = time.thread_time() - own
            busy.append(_cpu(client))
        spent = max(after - before for before, after in zip(*busy, strict=True))
        told["seconds"].append(statistics.median(np.diff(clock)))
        told["busy"].append(spent / iterations)
        told["driver"].append(own / iterations)
    return told


def _alone(problem: Any) -> float:
    """CPU seconds of a value and gradient in this process, without messages: median of nine."""
    import statistics

    import numpy as np

    spent = []
    for k in range(10):
        w = np.full(problem.risk.n_parameters, 1e-3 * k)
        started = time.process_time()
        problem.risk.at(w)
        spent.append(time.process_time() - started)
    return statistics.median(spent[1:])


def _cpu(client: Any) -> list[float]:
    """CPU seconds of each worker's process so far."""
    used = client.run(time.process_time)
    return [used[key] for key in sorted(used)]


if __name__ == "__main__":
    print(json.dumps(_measured(*json.loads(sys.argv[1]))))
