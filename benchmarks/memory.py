"""The memory that training holds beside the data, in multiples of the data.

    FENCHEL_DATA=/path/to/data python benchmarks/memory.py [name ...]

Each line is measured in a fresh process: the peak resident memory of problem() and minimize()
(VmHWM, reset through /proc/self/clear_refs) minus what was resident when the data had been loaded,
over the bytes of X's arrays. Labels count as memory beside the data only where fenchel copies them.
glibc keeps freed blocks below 128 kB in its arenas and gives each thread an arena of its own: fixed
costs of some ten MB, which weigh on small sets, so those are shown in MB too. Linux only.
"""

from __future__ import annotations

import gc
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

FILES = {
    "a9a": "a9a/a9a.xz",
    "covtype": "covtype/covtype.xz",
    "mnist": "mnist/mnist.xz",
    "20news": "20news/train.tfidf.svm.xz",
    "imdb": "imdb/train.counts.svm.xz",
}
RUNS = [("logistic", "auto", 10_000), ("hinge", "bmrm", 60)]
TARGET = 1.2


def load(name):
    """(X, y) with labels +-1."""
    import numpy as np

    if name == "synthetic":
        return synthetic(1_000_000, 100_000, 50)
    from sklearn.datasets import load_svmlight_file

    with lzma.open(Path(os.environ["FENCHEL_DATA"]) / FILES[name]) as file:
        X, y = load_svmlight_file(file, zero_based=False)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    if name == "covtype":
        X.data /= 1000.0
    if name == "mnist":
        X = X.toarray() / 255.0
    positive = {"covtype": lambda: y == 2, "a9a": lambda: y > 0, "imdb": lambda: y > 0}
    return X, np.where(positive.get(name, lambda: y % 2 == 0)(), 1.0, -1.0)


def synthetic(n, d, per_row):
    """n x d CSR with per_row nonzeros in each row, int32 indices."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(0)
    stride = d // per_row  # one column in each of per_row strips: no duplicates
    columns = rng.integers(0, stride, size=(n, per_row), dtype=np.int32)
    columns += np.arange(0, d, stride, dtype=np.int32)[:per_row]
    X = sparse.csr_matrix((n, d))
    X.data, X.indices = rng.standard_normal(n * per_row), columns.ravel()
    X.indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    return X, np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)


def status(field):
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise KeyError(field)


def measure(name, loss, solver, max_iterations):
    """Runs one training in this process."""
    import fenchel

    X, y = load(name)
    parts = [X] if not hasattr(X, "indptr") else [X.data, X.indices, X.indptr]
    data = sum(part.nbytes for part in parts)
    fenchel.minimize(fenchel.problem(X[:50], [0, 1] * 25), max_iterations=3)  # code, thread stacks
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    problem = fenchel.problem(X, y, loss=loss, strength=1e-4)
    prepared = status("VmHWM")
    result = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=max_iterations)
    peak = status("VmHWM")
    return {
        "solver": result.solver,
        "iterations": result.iterations,
        "shards": problem.risk.engine.n_shards,
        "data": data,
        "problem": prepared - before,
        "peak": peak - before,
    }


def main():
    """Prints the table."""
    names = sys.argv[1:] or [*FILES, "synthetic"]
    print(f"{'data':10} {'loss':9} {'solver':7} {'iter.':>6} {'shards':>6} {'data MB':>8} ", end="")
    print(f"{'problem MB':>10} {'peak MB':>8} {'peak/data':>9}")
    for name in names:
        for run in RUNS:
            command = [sys.executable, __file__, "--measure", name, *map(str, run)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            r = json.loads(done.stdout)
            ratio = r["peak"] / r["data"]
            print(
                f"{name:10} {run[0]:9} {r['solver']:7} {r['iterations']:6} {r['shards']:6} "
                f"{r['data'] / 1e6:8.1f} {r['problem'] / 1e6:10.1f} {r['peak'] / 1e6:8.1f} "
                f"{ratio:9.2f}{'' if ratio <= TARGET else '  above ' + str(TARGET)}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(*sys.argv[2:5], int(sys.argv[5]))))
    else:
        main()
