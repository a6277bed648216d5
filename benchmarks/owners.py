"""What an owner's guard and masks cost a round, and how far honest solvers get under the guard.

Rounds: an owner of n rows x 100 columns is asked at points along a descent, over a socket of this
machine, until the span of its answers has the rank that is shown; CPU milliseconds of the process
(owner and asker together), by the median. Without the guard `crowd` is 1 and the span is not kept.
Masks: sealing and adding up d numbers of each of K owners, in process. Solvers: normal rows in
three owners. Usage: owners.py [--rows 20000]
"""

from __future__ import annotations

import argparse
import logging
import statistics
import threading
import time
import warnings
from collections.abc import Callable, Iterator
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
def served(owner: Owner) -> Iterator[str]:
    running = server(owner, Address(port=0))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.05)
    port = running.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join()


def milliseconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def rounds(n: int) -> None:
    """CPU time of a round at some ranks, with the guard and without."""
    X, y = rows(n)
    w = 0.02 * np.random.default_rng(1).normal(size=(201, COLUMNS))
    for guarded in (True, False):
        owner = owned(X, y, loss="logistic", limits=Limits(crowd=3 if guarded else 1))
        if not guarded:
            owner.guard.span.beyond = lambda a: None  # type: ignore[method-assign]  # switched off
        with served(owner) as url:
            asker = Owners([url])
            asker.evaluate(w[0])
            for rank in (10, 50, 200):
                while owner.n_queries < rank - 9:
                    asker.evaluate(w[owner.n_queries])
                times = [milliseconds(lambda: asker.evaluate(w[owner.n_queries])) for _ in range(9)]
                name = "guard" if guarded else "no guard"
                print(f"{n:>8} rows  {name:>8}  rank {owner.guard.span.rank:>3}  "
                      f"{statistics.median(times):7.2f} ms a round")  # fmt: skip
    span = Span(n, Limits())
    print(f"{n:>8} rows  basis: {8 * n / 1e6:.2f} MB a dimension, at most {span.most} dimensions")


def sealing() -> None:
    """CPU time of masks."""
    rng = np.random.default_rng(0)
    for n_owners, d in ((3, 100), (3, 10_000), (3, 1_000_000), (20, 10_000)):
        keys = [bytes([k]) * 32 for k in range(n_owners)]
        numbers = rng.normal(size=d)
        shared = [keys[0]] * n_owners
        seal = [milliseconds(lambda: masks.masked(numbers, 0, shared, b"c")) for _ in range(5)]
        parts = [masks.fixed(numbers)] * n_owners
        add = [milliseconds(lambda: masks.floats(masks.added(parts))) for _ in range(5)]
        print(f"masks: {n_owners:>3} owners  d = {d:>9,}  sealed in {statistics.median(seal):8.2f} ms "
              f"by each, added in {statistics.median(add):8.2f} ms")  # fmt: skip


def solvers(n: int) -> None:
    """How far honest solvers get, and what that takes."""
    for total in (600, 3000, n):
        X, y = rows(total, 20)
        for loss, solver in (("logistic", "lbfgs"), ("logistic", "bmrm"), ("hinge", "bmrm"), ("hinge", "ls-bmrm")):  # fmt: skip
            parts = [owned(X[k::3], y[k::3], loss=loss) for k in range(3)]
            with served(parts[0]) as a, served(parts[1]) as b, served(parts[2]) as c:
                problem = fenchel.problem(engine=Owners([a, b, c]), loss=loss, strength=1e-3)
                result = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=300)
            first = parts[0]
            climbs = sum(client.climbs for client in first._clients.values())
            print(f"{total:>8} rows  {loss:>8} {solver:>7}: {result.status.name.lower():>9}, gap "
                  f"{result.certificate.gap:.1e}, {first.n_queries:>4} queries, rank "
                  f"{first.guard.span.rank:>3}, {climbs:>3} climbs")  # fmt: skip


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
