"""What faults cost a run on Dask: undisturbed, and with one kind of fault after another.

BMRM on 40,000 rows x 100 columns from a store, two workers of this machine, on loopback. Workers
are killed (five times in one run), hang, and answer nan; the store is replaced under the run; the
driver itself is killed and started again; the disk under the store and the checkpoint is full. For
each: rounds a second, faults, placements, seconds lost per fault, and whether all went as it
should, to the last bit where there is a model. Usage: faults.py [--repeats 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, LocalCluster

import fenchel
from fenchel import checkpoint
from fenchel.data.dataset import Dataset
from fenchel.data.store import read_store, write_store
from fenchel.engines import Dask
from fenchel.result import Record, Result

ITERATIONS, DEADLINE, EVERY = 40, 5.0, 6
FULL = """mount -t tmpfs -o size=3m none {folder} || exit 77
exec {python} {script} full {store} {folder}"""

Disturb = Callable[[str], Any]  # does something to the worker at an address


class Outcome(NamedTuple):
    """A disturbed run."""

    result: Result
    seconds: float
    rounds: int
    placements: int


def rows(store: Path, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40_000, 100))
    write_store(Dataset(X, np.sign(X[:, 0] + rng.normal(size=len(X)))), store)


def posed(store: Path, engine: Any) -> fenchel.Problem:
    dataset = read_store(store)
    return fenchel.problem(dataset.X, dataset.y, strength=1e-5, engine=engine)


@contextmanager
def workers() -> Iterator[Client]:
    """Two, started anew when they die."""
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    # Dask loses count of workers that died, which is an error when it closes.
    with suppress(KeyError), cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


def run(client: Client, store: Path, disturb: Disturb, times: int) -> Outcome:
    problem = posed(store, Dask(client, deadline=DEADLINE))
    engine: Any = problem.risk.engine
    done = 0

    def callback(record: Record) -> None:
        nonlocal done
        if done < times and record.iteration % EVERY == 0:
            disturb(engine.hosts[done % len(engine.hosts)].where)
            done += 1

    started = time.perf_counter()
    result = fenchel.minimize(
        problem, "bmrm", gap=1e-9, max_iterations=ITERATIONS, callback=callback
    )
    placements = sum(host.replacements for host in engine.hosts)
    return Outcome(result, time.perf_counter() - started, engine.rounds, placements)


# What is done to workers.


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


def killer(client: Client) -> Disturb:
    def kill(where: str) -> None:
        for number in client.run(pid, workers=[where]).values():
            os.kill(number, signal.SIGKILL)

    return kill


# The faults.


def of_workers(client: Client, store: Path, repeats: int) -> None:
    """Each disturbed run comes after one that is left alone, so that both see the same load."""
    kill = killer(client)
    w = run(client, store, kill, 0).result.w
    faults: dict[str, tuple[int, Disturb]] = {
        "kill -9": (5, kill),
        f"hangs, deadline {DEADLINE:g} s": (2, lambda at: client.run(hang, 15.0, workers=[at])),
        "answers nan": (5, lambda at: client.run(lie, workers=[at])),
    }
    lost: dict[str, list[float]] = {name: [] for name in faults}
    for _ in range(repeats):
        for name, (times, disturb) in faults.items():
            alone, found = run(client, store, kill, 0), run(client, store, disturb, times)
            lost[name].append((found.seconds - alone.seconds) / times)
            same = np.array_equal(found.result.w, w)
            report(
                name,
                f"{found.rounds / found.seconds:.0f} rounds/s",
                f"{alone.rounds / alone.seconds:.0f} undisturbed",
                f"{times} faults",
                f"{found.placements} placed anew",
                f"{lost[name][-1]:.2f} s each",
                "same bits" if same else "OTHER BITS",
            )
    for name, seconds in lost.items():
        report(name, f"median {statistics.median(seconds):.2f} s lost each")


def of_the_store(client: Client, store: Path) -> None:
    """It is replaced, and then a worker that has it mapped is lost."""
    kill, changed = killer(client), store.with_name("changed.store")
    shutil.copy(store, changed)

    def replace(where: str) -> None:
        rows(changed, seed=1)
        kill(where)

    try:
        run(client, changed, replace, 1)
        report("data replaced", "NOT NOTICED")
    except fenchel.InvalidData as error:
        report("data replaced", f"refused: {error}")


def of_the_driver(store: Path, folder: Path) -> None:
    """Killed once it has written a checkpoint, and started again."""
    command = [sys.executable, __file__, "drive", str(store)]
    whole, parted = folder / "whole", folder / "parted"
    subprocess.run([*command, str(whole)], check=True)
    driver = subprocess.Popen([*command, str(parted)], start_new_session=True)
    while not parted.exists() and driver.poll() is None:
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    early = not Path(f"{parted}.npy").exists()
    started = time.perf_counter()
    subprocess.run([*command, str(parted)], check=True)
    seconds = time.perf_counter() - started
    same = np.array_equal(np.load(f"{parted}.npy"), np.load(f"{whole}.npy"))
    report(
        "driver killed",
        "before its end" if early else "TOO LATE",
        f"started again, done in {seconds:.1f} s",
        "same bits" if same else "OTHER BITS",
    )


def drive(store: str, state: str) -> None:
    checkpoint._SECONDS = 0.0  # a state is written whenever one is taken
    problem = posed(Path(store), Dask(n_workers=2))
    result = fenchel.minimize(
        problem, "bmrm", gap=1e-9, max_iterations=ITERATIONS, checkpoint=state
    )
    np.save(f"{state}.npy", result.w)


def of_the_disk(store: Path, folder: Path) -> None:
    """In a file system of 3 MB of its own."""
    disk = folder / "disk"
    disk.mkdir()
    command = FULL.format(folder=disk, python=sys.executable, script=__file__, store=store)
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], check=False)
    if done.returncode:
        report("disk full", "not done: no right to mount one")


def full(store: str, disk: str) -> None:
    small, data = Path(disk, "data.store"), read_store(store)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 100))
    y = np.sign(X[:, 0])
    write_store(Dataset(X, y), small)
    before = small.read_bytes()
    try:
        write_store(Dataset(np.vstack([X] * 40), np.tile(y, 40)), small)
        report("disk full", "NOT NOTICED")
    except OSError as error:
        intact = small.read_bytes() == before and os.listdir(disk) == ["data.store"]
        report("disk full", f"refused: {error.strerror}", "store intact" if intact else "LOST")
    Path(disk, "rest").write_bytes(bytes(shutil.disk_usage(disk).free))
    problem = fenchel.problem(data.X, data.y, strength=1e-5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = fenchel.minimize(
            problem, "bmrm", gap=1e-9, max_iterations=10, checkpoint=Path(disk, "state")
        )
    warned = any("checkpoint could not be written" in str(each.message) for each in said)
    kept = f"{result.iterations} iterations kept"
    report("disk full of checkpoints", "warned" if warned else "NOT SAID", kept)


def report(name: str, *cells: str) -> None:
    print(f"{name:24} {', '.join(cells)}", flush=True)


def main() -> None:
    if sys.argv[1:2] in (["drive"], ["full"]):
        return {"drive": drive, "full": full}[sys.argv[1]](*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore", fenchel.FenchelWarning)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "data.store"
        rows(store)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        if repeats:
            with workers() as client:
                of_workers(client, store, repeats)
                of_the_store(client, store)
        of_the_driver(store, folder)
        of_the_disk(store, folder)
    return None


if __name__ == "__main__":
    main()
