"""What a pass costs where rows stay in a file: a store, svmlight text or Parquet, against memory.

    FENCHEL_DATA=/path/to/data python benchmarks/streams.py [threads ...]

covtype, 581,012 rows of 54 columns, 22 per cent of them not 0: sparse as svmlight and a store of
it, dense as Parquet and a store of that. A pass is value and gradient of the logistic loss at one
w, without an intercept: every row is read once. The least of five, files in the cache of the
system; after that one pass with the cache of the file dropped, where the system lets us.
"""

from __future__ import annotations

import lzma
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fenchel
from fenchel.data import files
from fenchel.data.store_stream import svmlight_to_store
from fenchel.engines import Threads


def prepared(folder: Path) -> dict[str, Path]:
    """The same rows in every format."""
    text = folder / "covtype.svm"
    with lzma.open(Path(os.environ["FENCHEL_DATA"]) / "covtype/covtype.xz") as source:
        with open(text, "wb") as copy:
            shutil.copyfileobj(source, copy)
    svmlight_to_store(text, folder / "sparse.store")
    data = files.read(text)
    dense = fenchel.data.dataset.Dataset(data.X.toarray(), data.y)
    files.write(dense, folder / "covtype.parquet")
    files.write(dense, folder / "dense.store")
    return {
        "sparse, in memory": text,
        "sparse store": folder / "sparse.store",
        "svmlight": text,
        "dense, in memory": folder / "covtype.parquet",
        "dense store": folder / "dense.store",
        "Parquet": folder / "covtype.parquet",
    }


def passes(path: Path, stream: bool, threads: int) -> tuple[float, float, float]:
    """Seconds to open the file, of a pass, and of a pass that finds nothing in the cache."""
    started = time.perf_counter()
    data = files.read(path, stream=stream)
    opened = time.perf_counter() - started
    y = np.where(data.y == 2, 1.0, -1.0)
    problem = fenchel.problem(data.X, y, loss="logistic", engine=Threads(threads))
    w = np.full(problem.risk.n_parameters, 1e-5)
    warm = min(_timed(problem, w) for _ in range(5))
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return opened, warm, _timed(problem, w)


def _timed(problem: fenchel.Problem, w: np.ndarray) -> float:
    started = time.perf_counter()
    problem.risk.at(w).subgradient  # noqa: B018 - computes it
    return time.perf_counter() - started


def main() -> None:
    """A line for each format and number of threads."""
    counts = [int(argument) for argument in sys.argv[1:]] or [1, 2]
    print(f"{'rows':20}{'MB':>6}{'threads':>9}{'open s':>9}{'pass s':>9}{'cold s':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in prepared(Path(folder)).items():
            for threads in counts:
                found = passes(path, "memory" not in name, threads)
                size = path.stat().st_size / 1e6
                print(
                    f"{name:20}{size:6.0f}{threads:9}" + "".join(f"{each:9.3f}" for each in found)
                )
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
