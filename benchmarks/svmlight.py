"""Reading svmlight text: fenchel against scikit-learn, on plain files with equal results.

Ratios of medians of interleaved repeats in one run.
"""

from __future__ import annotations

import lzma
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import fenchel
from fenchel.data.svmlight_writing import write_svmlight

REPEATS = 5
REAL = ["a9a/a9a", "20news/train.tfidf.svm", "imdb/train.counts.svm", "mnist/mnist"]


def unpacked(name: str, folder: Path) -> Path:
    root = os.environ.get("FENCHEL_DATA")
    if not root:
        sys.exit("set FENCHEL_DATA to the folder of the data sets (see its README)")
    path = folder / name.replace("/", "_")
    path.write_bytes(lzma.decompress((Path(root) / f"{name}.xz").read_bytes()))
    return path


def synthetic(folder: Path, per_row: int, digits: int | None) -> Path:
    """3 million normal numbers, in all their digits or rounded to some."""
    rng = np.random.default_rng(0)
    n_rows = 3_000_000 // per_row
    X = sparse.random_array(
        (n_rows, 50_000), density=per_row / 50_000, format="csr", rng=rng,
        data_sampler=rng.standard_normal,
    )  # fmt: skip
    if digits is not None:
        X.data = X.data.round(digits)
    path = folder / f"synthetic, {digits or 'all'} digits"
    write_svmlight(path, X, rng.integers(0, 2, size=n_rows))
    return path


def medians(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each call, interleaved."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in seconds.items()}


def check(path: Path) -> None:
    """The same numbers in the same places, bit for bit."""
    X, y = fenchel.read_svmlight(path)
    theirs, labels = load_svmlight_file(str(path))
    assert np.array_equal(X.indptr, theirs.indptr) and np.array_equal(X.indices, theirs.indices)
    assert X.data.tobytes() == theirs.data.tobytes() and y.tobytes() == labels.tobytes()
    assert X.shape == theirs.shape


def measure(path: Path) -> None:
    check(path)
    seconds = medians(
        {
            "peer": lambda: load_svmlight_file(str(path)),
            "1": lambda: fenchel.read_svmlight(path, n_threads=1),
            "2": lambda: fenchel.read_svmlight(path, n_threads=2),
        }
    )
    size = path.stat().st_size / 1e6
    print(
        f"{path.name:26} {size:6.1f} {size / seconds['peer']:8.0f} {size / seconds['1']:8.0f}"
        f" {size / seconds['2']:8.0f} {seconds['peer'] / seconds['1']:8.1f}"
        f" {seconds['peer'] / seconds['2']:8.1f}",
        flush=True,
    )


def main() -> None:
    print("reading svmlight text, MB/s and speed against scikit-learn (target: 8 on one thread)")
    print(
        f"{'data':26} {'MB':>6} {'peer':>8} {'ours, 1':>8} {'ours, 2':>8} {'1 / peer':>8}"
        f" {'2 / peer':>8}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in REAL:
            measure(unpacked(data, folder))
        measure(synthetic(folder, per_row=100, digits=6))
        measure(synthetic(folder, per_row=100, digits=None))


if __name__ == "__main__":
    main()
