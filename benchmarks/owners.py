"""What an owner's guard and masks cost a round, and how far honest solvers get under the guard.

Rounds: an owner of n rows x 100 columns is asked at points along a descent, over a socket of this
machine, until the span of its answers has the rank that is shown; CPU milliseconds of the process
(owner and asker together), by the median. Without the guard `crowd` is 1 and the span is not kept.
Masks: sealing and adding up d numbers of each of K owners, in process. Solvers: normal rows in
three owners. Usage: owners.py [--rows 20000]
"""

from __future__ import annotations

import argparse
import itertools
import logging
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

import fenchel
from fenchel.engines import masks
from fenchel.engines.owners import Owners
from fenchel.serve.guard import Limits, Span
from fenchel.serve.owner import Owner, owned
from fenchel.serve.server import Address, server

COLUMNS = 100


def rows(n: int, d: int = COLUMNS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sign(X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n))


@contextmanager
def asked(parts: Sequence[Owner]) -> Iterator[Owners]:
    """Owners on ports of this machine."""
    running = [server(each, Address(port=0)) for each in parts]
    threads = [threading.Thread(target=each.run, daemon=True) for each in running]
    for thread in threads:
        thread.start()
    while not all(each.started for each in running):
        time.sleep(0.05)
    ports = [each.servers[0].sockets[0].getsockname()[1] for each in running]
    owners = Owners([f"http://127.0.0.1:{port}" for port in ports])
    yield owners
    owners._client.close()
    for each in running:
        each.should_exit = True
    for thread in threads:
        thread.join()


def milliseconds(work: Callable[..., object], *args: object) -> float:
    """CPU time, the median of nine."""
    times = []
    for _ in range(9):
        began = time.process_time()
        work(*args)
        times.append(1000 * (time.process_time() - began))
    return statistics.median(times)


def rounds(n: int) -> None:
    """CPU time of a round at some ranks, with the guard and without."""
    X, y = rows(n)
    points = iter(0.02 * np.random.default_rng(1).normal(size=(1000, COLUMNS)))
    for name, crowd in (("guard", 3), ("no guard", 1)):
        owner = owned(X, y, loss="logistic", limits=Limits(crowd=crowd, probes=10**6))
        if crowd == 1:
            setattr(owner.guard.span, "beyond", lambda a: None)  # noqa: B010  # switched off
        with asked([owner]) as owners:
            for rank in (10, 50, 200):
                while owner.n_queries < rank - 9:
                    owners.evaluate(next(points))
                spent = milliseconds(lambda each: each.evaluate(next(points)), owners)
                found = owner.guard.span.rank
                print(
                    f"{n:>8} rows {name:>9}: rank {found:>3}, {spent:7.2f} ms a round", flush=True
                )
    most = Span(n, Limits()).most
    print(f"{n:>8} rows: {8 * n / 1e6:.2f} MB a dimension, at most {most} of them", flush=True)


def sealing() -> None:
    """CPU time of masks."""
    for K, d in ((3, 100), (3, 10_000), (3, 1_000_000), (20, 10_000)):
        numbers, keys = np.random.default_rng(0).normal(size=d), [b"k" * 32] * K
        seal = milliseconds(masks.masked, numbers, 0, keys, b"c")
        add = milliseconds(
            lambda parts: masks.floats(masks.added(parts)), [masks.fixed(numbers)] * K
        )
        print(
            f"masks of {K:>3} owners, d = {d:>9,}: {seal:8.2f} ms each, {add:8.2f} to add",
            flush=True,
        )


def solvers(n: int) -> None:
    """How far honest solvers get, and what that takes."""
    runs = [("logistic", "lbfgs"), ("logistic", "bmrm"), ("hinge", "bmrm"), ("hinge", "ls-bmrm")]
    for total, (loss, solver) in itertools.product((600, 3000, n), runs):
        X, y = rows(total, 20)
        parts = [owned(X[k::3], y[k::3], loss=loss) for k in range(3)]
        with asked(parts) as owners:
            problem = fenchel.problem(engine=owners, loss=loss, strength=1e-3)
            result = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=300)
        queries, rank = parts[0].n_queries, parts[0].guard.span.rank
        status, gap = result.status.name.lower(), result.certificate.gap
        print(f"{total:>8} rows {loss:>8} {solver:>7}: {status:>9}, gap {gap:.1e}, ", end="")
        print(f"{queries:>4} queries, rank {rank:>3}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    n = parser.parse_args().rows
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    rounds(n)
    sealing()
    solvers(n)


if __name__ == "__main__":
    main()
