"""Value and subgradient of the mean hinge loss, against the two products alone in SciPy and NumPy.

Ratios of medians of interleaved repeats in one run. The baseline computes X @ w and X.T @ g with
ready-made slopes g; fenchel computes the scores, the loss, the slopes and the gradient.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from data import a9a, imdb, mnist, news, synthetic
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.engines import Serial, Threads

REPEATS = 15


def medians(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each call, interleaved."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


def measure(name: str, X: Any, y: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    n, d = X.shape
    w = rng.standard_normal(d) / np.sqrt(d)
    w = w.astype(X.dtype)
    g = np.where(y * (X @ w) < 1, -y / n, 0).astype(X.dtype)
    halves = [(X[: n // 2], g[: n // 2]), (X[n // 2 :], g[n // 2 :])]
    pool = ThreadPoolExecutor(2)

    def products(X: Any, g: np.ndarray) -> None:
        X @ w
        X.T @ g

    problems = {
        engine.n_threads if isinstance(engine, Threads) else 1: fenchel.problem(
            X, y, engine=engine
        ).risk
        for engine in (Serial(), Threads(2))
    }
    w64 = w.astype(np.float64)
    seconds = medians(
        {
            "peer 1": lambda: products(X, g),
            "peer 2": lambda: list(pool.map(lambda half: products(*half), halves)),
            "ours 1": lambda: problems[1].at(w64),
            "ours 2": lambda: problems[2].at(w64),
        }
    )
    base = seconds["peer 1"]
    print(
        f"{name:24} {X.dtype!s:8} {1e3 * base:9.2f} {base / seconds['peer 2']:9.2f}"
        f" {base / seconds['ours 1']:9.2f} {base / seconds['ours 2']:9.2f}"
        f" {problems[1].engine.n_shards:7}",
        flush=True,
    )


def main() -> None:
    print("speed against SciPy/NumPy on one thread (target: 1.2 on one thread, 2.3 on two)")
    print(
        f"{'data':24} {'dtype':8} {'peer ms':>9} {'peer, 2':>9} {'ours, 1':>9} {'ours, 2':>9}"
        f" {'shards':>7}"
    )
    sets = {
        "a9a": a9a,
        "20news tfidf": news,
        "imdb counts": imdb,
        "mnist, dense": mnist,
        "1e6 x 1e5, 5e7 nonzeros": synthetic,
    }
    with threadpool_limits(1, "blas"):
        for name, load in sets.items():
            X, y = load()
            measure(name, X, y)
            X = X.astype(np.float32)
            measure(name, X, y)


if __name__ == "__main__":
    main()
