"""Whether serial, threads and Dask on 1, 2 and 3 workers give the same bits, on real data.

For each data set and solver: iterations, the gap, and the engines whose w and history (objectives,
lower bounds, passes) differ from the serial ones in any bit; `mpiexec -n 3 python
benchmarks/same_bits.py mpi` does the same for the ranks of a job. Usage: same_bits.py [mpi]
[--iterations 20]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import data
import numpy as np

import fenchel
from fenchel.engines import MPI, Dask

SOLVERS = {
    "bmrm": ("hinge", "l2"),
    "sublbfgs": ("hinge", "l2"),
    "lbfgs": ("logistic", "l2"),
    "owlqn": ("logistic", "l1"),
}


def mnist() -> tuple[Any, Any]:
    X, y = data.real("mnist/mnist", 780)
    return X / 255, data.two_classes(y % 2, 0)


SETS = {"a9a": data.a9a, "20news": data.news, "mnist": mnist}


def engines(mpi: bool) -> Iterator[tuple[str, Any]]:
    if mpi:
        yield "mpi", MPI()
        return
    yield "threads", "threads"
    for n in (1, 2, 3):
        yield f"dask {n}", Dask(n_workers=n)


def fitted(X: Any, y: Any, solver: str, iterations: int, engine: Any) -> fenchel.Result:
    loss, regularizer = SOLVERS[solver]
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=regularizer, strength=1e-4, engine=engine
    )
    result = fenchel.minimize(problem, solver, gap=1e-6, max_iterations=iterations)
    problem.risk.engine.close()
    return result


def same(one: fenchel.Result, other: fenchel.Result) -> bool:
    histories = ([record[:5] for record in result.history] for result in (one, other))
    return np.array_equal(one.w, other.w) and next(histories) == next(histories)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mpi", nargs="?")
    parser.add_argument("--iterations", type=int, default=20)
    options = parser.parse_args()
    others = dict(engines(options.mpi is not None))
    talks = "mpi" not in others or others["mpi"].rank == 0
    if talks:
        print("| data | solver | iterations | gap | engines | that differ |")
        print("|---|---|---|---|---|---|")
    for name, load in SETS.items():
        X, y = load()
        for solver in SOLVERS:
            one = fitted(X, y, solver, options.iterations, "serial")
            differ = [
                other
                for other, engine in others.items()
                if not same(one, fitted(X, y, solver, options.iterations, engine))
            ]
            numbers = f"{one.iterations} | {one.gap:.1e} | {', '.join(others)}"
            if talks:
                print(f"| {name} | {solver} | {numbers} | {differ or 'none'} |", flush=True)


if __name__ == "__main__":
    main()
