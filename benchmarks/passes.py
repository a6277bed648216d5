"""Passes and fits by one thread and by two, beside SciPy, NumPy and what the machine can do.

FENCHEL_DATA=... python benchmarks/passes.py [fits]

About three minutes, for a machine that does nothing else. All figures are ratios of medians of
interleaved repeats in one run.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from data import a9a, imdb, mnist, news, real, synthetic, two_classes
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.engines import Threads

REPEATS, FITS = 15, 5
POOL = ThreadPoolExecutor(2)


def medians(calls: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """Seconds of each call, interleaved."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


def passes() -> None:
    """Value and subgradient of the mean hinge loss, beside the two products alone.

    The peer computes X @ w and X.T @ g with ready-made slopes g.
    """
    print("| data | numbers | peer, ms | ours, 1 thread | ours, 2 threads | two threads gain |")
    print("|---|---|---|---|---|---|")
    sets = {
        "a9a": a9a,
        "20news": news,
        "imdb": imdb,
        "1e6 x 1e5, 5e7 nonzeros": synthetic,
        "mnist, dense (taken as sparse)": mnist,
        "100,000 x 500, dense": dense,
    }
    for name, load in sets.items():
        X, y = load()
        for dtype in (np.float64, np.float32):
            each = X.astype(dtype)
            seconds = medians(_of_passes(each, y))
            peer, one, two = (seconds[key] for key in ("peer", "ours 1", "ours 2"))
            print(
                f"| {name} | {np.dtype(dtype).name} | {1e3 * peer:.2f} | {peer / one:.2f}"
                f" | {peer / two:.2f} | {one / two:.2f} |",
                flush=True,
            )


def _of_passes(X: Any, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    n, d = X.shape
    w = (np.random.default_rng(0).standard_normal(d) / np.sqrt(d)).astype(X.dtype)
    g = np.where(y * (X @ w) < 1, -y / n, 0).astype(X.dtype)
    one, two = (fenchel.problem(X, y, engine=Threads(k)).risk for k in (1, 2))
    w64 = w.astype(np.float64)
    return {
        "peer": lambda: (X @ w, X.T @ g),
        "ours 1": lambda: one.at(w64),
        "ours 2": lambda: two.at(w64),
    }


def dense() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 500))
    return X, np.sign(X[:, 0] + rng.standard_normal(len(X)))


def bounds() -> None:
    """A dense pass beside reading X once (the product of X with itself, as one vector).

    By two threads too: two read no more than the memory gives, and a pass by two cannot be faster.
    """
    print("\n| 100,000 x 500, dense | threads | read once, ms | a pass, ms | pass / read |")
    print("|---|---|---|---|---|")
    X, y = dense()
    w = np.full(X.shape[1], 0.01)
    for dtype in (np.float64, np.float32):
        each = X.astype(dtype)
        halves = np.array_split(each.ravel(), 2)
        one, two = (fenchel.problem(each, y, engine=Threads(k)).risk for k in (1, 2))
        found = medians(
            {
                "read 1": lambda halves=halves: [*map(_square, halves)],
                "pass 1": lambda one=one: one.at(w),
                "read 2": lambda halves=halves: [*POOL.map(_square, halves)],
                "pass 2": lambda two=two: two.at(w),
            }
        )
        for threads in (1, 2):
            read, full = (1e3 * found[f"{what} {threads}"] for what in ("read", "pass"))
            name = np.dtype(dtype).name
            print(f"| {name} | {threads} | {read:.1f} | {full:.1f} | {full / read:.2f} |")


def _square(x: np.ndarray) -> float:
    return float(x @ x)


def fits() -> None:
    """Whole fits, posing and proof included; and the control, work that shares no memory."""
    print("\n| fit | data | 1 thread, ms | 2 threads, ms | gain |")
    print("|---|---|---|---|---|")
    control = medians({"1": lambda: [*map(_busy, "ab")], "2": lambda: [*POOL.map(_busy, "ab")]})
    _row("control: two hashes", "", control)
    covtype, kind = real("covtype/covtype", 54)
    sets = {
        "a9a": a9a(),
        "20news": news(),
        "mnist": mnist(),
        "covtype": (MaxAbsScaler().fit_transform(covtype), two_classes(kind, 2)),
    }
    for solver, loss, names in (
        ("newton", "logistic", ("covtype", "mnist")),
        ("newton-cg", "logistic", ("20news",)),
        ("lbfgs", "logistic", ("a9a", "20news", "mnist", "covtype")),
        ("polish", "hinge", ("a9a", "20news", "mnist", "covtype")),
        ("sdca", "hinge", ("a9a", "20news", "covtype")),
    ):
        for name in names:
            fit = lambda k, X, y, loss=loss, solver=solver: fenchel.minimize(  # noqa: E731 - one of several kinds of fit
                fenchel.problem(X, y, loss=loss, strength=1e-4, engine=Threads(k)),
                solver,
                gap=1e-3,
            )
            calls = {str(k): lambda k=k, fit=fit, of=sets[name]: fit(k, *of) for k in (1, 2)}
            _row(f"{solver}, {loss}", name, medians(calls, FITS))


def _busy(word: str) -> bytes:
    """Some 50 ms of one core, without the GIL."""
    return hashlib.pbkdf2_hmac("sha256", word.encode(), b"salt", 100_000)


def _row(fit: str, name: str, seconds: dict[str, float]) -> None:
    one, two = seconds["1"], seconds["2"]
    print(f"| {fit} | {name} | {1e3 * one:.0f} | {1e3 * two:.0f} | {one / two:.2f} |", flush=True)


def main() -> None:
    with threadpool_limits(1, "blas"):
        if "fits" not in sys.argv:
            passes()
            bounds()
        fits()


if __name__ == "__main__":
    main()
