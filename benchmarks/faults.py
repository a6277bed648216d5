"""What faults cost a run on Dask: the same run undisturbed, and with workers killed, hung, lying.

Prints the load (rounds a second), how many faults were survived, the seconds they took, and whether
the model has the bits of the undisturbed run. Two workers of this machine, on loopback.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import fenchel
from fenchel.engines import Dask
from fenchel.result import Record, Result

ITERATIONS, DEADLINE = 40, 5.0


def pid() -> int:
    return os.getpid()


def hang(seconds: float) -> None:
    """The next sums of this worker take so long."""
    from fenchel.engines import host, sums

    def slow(*args: Any) -> Any:
        host.subtotals = sums.subtotals
        time.sleep(seconds)
        return sums.subtotals(*args)

    host.subtotals = slow


def lie() -> None:
    """The next sums of this worker are nan."""
    from fenchel.engines import host, sums

    def lying(*args: Any) -> Any:
        host.subtotals = sums.subtotals
        return {span: np.nan * value for span, value in sums.subtotals(*args).items()}

    host.subtotals = lying


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 100))
    y = np.sign(X[:, 0] + rng.normal(size=len(X)))
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    with cluster, Client(cluster, direct_to_workers=True) as client:

        def run(disturb: Callable[[str], Any], times: int) -> tuple[Result, float, Any]:
            problem = fenchel.problem(X, y, strength=1e-5, engine=Dask(client, deadline=DEADLINE))
            engine: Any = problem.risk.engine
            done = 0

            def callback(record: Record) -> None:
                nonlocal done
                if done < times and record.iteration % 6 == 0:
                    disturb(engine.hosts[done % len(engine.hosts)].where)
                    done += 1

            started = time.perf_counter()
            result = fenchel.minimize(
                problem, "bmrm", gap=1e-9, max_iterations=ITERATIONS, callback=callback
            )
            return result, time.perf_counter() - started, engine

        def kill(where: str) -> None:
            found = client.run(pid, workers=[where])
            for number in found.values():
                os.kill(number, signal.SIGKILL)

        warnings.simplefilter("ignore", fenchel.FenchelWarning)
        plain, alone, _ = run(lambda where: None, 0)
        for name, times, disturb in (
            ("nothing", 0, kill),
            ("kill -9", 5, kill),
            (f"hangs, deadline {DEADLINE:g} s", 2, lambda w: client.run(hang, 15.0, workers=[w])),
            ("answers nan", 5, lambda w: client.run(lie, workers=[w])),
        ):
            result, seconds, engine = run(disturb, times)
            placed = sum(each.replacements for each in engine.hosts)
            same = np.array_equal(result.w, plain.w)
            lost = (seconds - alone) / max(times, 1)
            print(
                f"{name:22} {engine.rounds / seconds:6.1f} rounds/s, {times} faults, "
                f"{placed} placed anew, {lost:5.2f} s each, same bits: {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
