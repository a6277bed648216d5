"""Re-ranking with a million features: OWL-QN beside the K&T split and L-BFGS (002 table 2).

A generated task in the shape of 002's: lists of candidates with sparse counts, features drawn by a
power law, a few hundred of them with a hidden weight. Passes over the data, two an evaluation, and
seconds of the processor to a relative 1e-2, 1e-3 and 1e-4 of the least objective each found.
Arguments: lists, candidates, features a candidate, features; 36000 10 30 1200000 without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from scipy import sparse

import fenchel
from fenchel.engines import Serial

SECONDS = 200.0
RUNS = (("l1", "owlqn"), ("l1", "kt-split"), ("l2", "lbfgs"))


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


def main(sizes: Sequence[int]) -> None:
    X, y, lists = task(*sizes)
    print(f"{len(y):,} candidates, {X.nnz:,} nonzeros, {X.shape[1]:,} features", flush=True)
    for penalty, solver in RUNS:
        problem = fenchel.problem(
            X,
            y,
            loss="rerank_likelihood",
            regularizer=penalty,
            groups=lists,
            strength=1e-4,
            engine=Serial(),
        )
        started, marks = time.process_time(), []

        def watch(record: fenchel.Record, started: float = started, marks: list = marks) -> None:
            marks.append((record.objective, record.passes, time.process_time() - started))

        found = fenchel.minimize(problem, solver, gap=1e-4, max_seconds=SECONDS, callback=watch)
        shown = []
        for target in (1e-2, 1e-3, 1e-4):
            at = [mark for mark in marks if mark[0] <= found.objective * (1 + target)]
            shown.append(f"{at[0][1]:5} passes {at[0][2]:6.1f} s" if at else f"{'-':>20}")
        print(
            f"  {penalty} {solver:9} {'  '.join(shown)}  J {found.objective:.6f} "
            f"gap {found.gap:.1e}, {np.count_nonzero(found.w):,} nonzero",
            flush=True,
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [36_000, 10, 30, 1_200_000])
