"""Re-ranking with a million features: OWL-QN beside the K&T split and L-BFGS ([Andrew07] table 2).

A generated task in the shape of [Andrew07]'s: lists of candidates with sparse counts, features
drawn by a power law, a few hundred of them with a hidden weight. Evaluations of the objective, two
passes over the data each, and seconds of the processor on one thread, until the objective is within
1e-2, 1e-3 and 1e-4 of the least found for its regulariser; the weights that are not 0 in the end,
and the peak of memory of the run, which has a process of its own. The K&T split is ours, and as
SciPy's L-BFGS-B on w = u - v solves it, from the same kernels. A run gets SECONDS of the processor.

Arguments: lists, candidates, features a candidate, features, 36000 10 30 1200000 without; then the
solvers, all without.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

import fenchel
from fenchel.engines import Serial

SECONDS = 300.0
STRENGTH = 1e-4
RUNS = {"owlqn": "l1", "kt-split": "l1", "l-bfgs-b": "l1", "lbfgs": "l2"}
TARGETS = (1e-2, 1e-3, 1e-4)
Sizes = tuple[int, int, int, int]


class Run(NamedTuple):
    """Objective, evaluations and seconds after each iteration; the weights, and memory in MB."""

    marks: list[tuple[float, float, float]]
    nonzeros: int
    memory: float


def task(
    n_lists: int, candidates: int, per_candidate: int, n_features: int
) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Candidates, which of them are gold, and the list of each."""
    rng = np.random.default_rng(0)
    n = n_lists * candidates
    rank = rng.random((n, per_candidate), dtype=np.float32)
    column = (n_features ** rank.astype(np.float64)).astype(np.int64) - 1  # log-uniform: Zipf
    start = np.arange(n + 1, dtype=np.int64) * per_candidate
    X = sparse.csr_array(
        (np.ones(column.size, dtype=np.float32), column.ravel(), start), shape=(n, n_features)
    )
    X.sum_duplicates()
    hidden = np.zeros(n_features)
    chosen = rng.choice(min(n_features, 20_000), 500, replace=False)
    hidden[chosen] = rng.normal(size=500)
    z = (X @ hidden + rng.gumbel(size=n)).reshape(n_lists, candidates)
    gold = (z == z.max(axis=1, keepdims=True)).astype(np.float64).ravel()
    return X, gold, np.repeat(np.arange(n_lists), candidates)


def problem_of(sizes: Sizes, penalty: str) -> fenchel.Problem:
    X, y, lists = task(*sizes)
    return fenchel.problem(
        X,
        y,
        loss="rerank_likelihood",
        regularizer=penalty,
        groups=lists,
        strength=STRENGTH,
        engine=Serial(),
    )


def run(sizes: Sizes, solver: str) -> Run:
    problem = problem_of(sizes, RUNS[solver])
    started = time.process_time()
    marks: list[tuple[float, float, float]] = []

    def mark(J: float) -> bool:
        marks.append((J, problem.risk.passes / 2, time.process_time() - started))
        return marks[-1][2] > SECONDS

    if solver == "l-bfgs-b":
        w = split(problem, mark)
    else:
        w = fenchel.minimize(
            problem, solver, gap=1e-4, callback=lambda record: mark(record.objective)
        ).w
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Run(marks, np.count_nonzero(w), memory)


def split(problem: fenchel.Problem, mark: Callable[[float], bool]) -> np.ndarray:
    """K&T's w = u - v with u, v >= 0, where L1 is linear, by L-BFGS-B."""
    n = problem.risk.n_parameters

    def J(uv: np.ndarray) -> tuple[float, np.ndarray]:
        point = problem.risk.at(uv[:n] - uv[n:])
        g = point.subgradient
        return point.value + STRENGTH * float(np.sum(uv)), np.concatenate([g, -g]) + STRENGTH

    best = [np.zeros(n)]

    def watch(intermediate_result: optimize.OptimizeResult) -> None:
        best[0] = intermediate_result.x[:n] - intermediate_result.x[n:]
        if mark(intermediate_result.fun):
            raise StopIteration

    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-9, "gtol": 0.0}
    optimize.minimize(
        J,
        np.zeros(2 * n),
        jac=True,
        method="L-BFGS-B",
        bounds=optimize.Bounds(0, np.inf),
        callback=watch,
        options=options,
    )
    return best[0]


def main(sizes: Sizes, solvers: list[str]) -> None:
    n_lists, candidates, per_candidate, n_features = sizes
    print(
        f"{n_lists:,} lists of {candidates} candidates with {per_candidate} features of "
        f"{n_features:,}; strength {STRENGTH:g}",
        flush=True,
    )
    runs = {}
    for solver in solvers:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            runs[solver] = pool.apply(run, (sizes, solver))
        print(f"# {solver}: {runs[solver].marks[-1]}", file=sys.stderr, flush=True)
    for solver, found in runs.items():
        rivals = [each for name, each in runs.items() if RUNS[name] == RUNS[solver]]
        least = min(J for each in rivals for J, _, _ in each.marks)
        shown = []
        for target in TARGETS:
            at = [mark for mark in found.marks if mark[0] <= least * (1 + target)]
            shown.append(f"{at[0][1]:5.0f} evaluations {at[0][2]:6.1f} s" if at else f"{'-':>26}")
        J, evaluations, seconds = found.marks[-1]
        print(
            f"  {RUNS[solver]} {solver:9} {'  '.join(shown)}  in the end J {J:.6f} after "
            f"{evaluations:.0f}, {seconds:.0f} s; {found.nonzeros:,} not 0; {found.memory:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    names = [word for word in sys.argv[1:] if word in RUNS]
    a, b, c, d = numbers or (36_000, 10, 30, 1_200_000)
    main((a, b, c, d), names or list(RUNS))
