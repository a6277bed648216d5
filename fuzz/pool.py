"""The pool of threads at work on many small shards, for ThreadSanitizer to watch (`make tsan`).

    python fuzz/pool.py          every solver and kind of loss, in four threads and in one
    python fuzz/pool.py --race   two threads write to one array: TSan must say so, or sees nothing

Kernels are instrumented; CPython, NumPy and SciPy are not. So a race is reported where two kernels
touch the same memory, one of them writing, and nothing orders them. Python's own locks, with which
the pool orders its tasks, are pthread's, which TSan knows without instrumentation. What NumPy does
to an array while a kernel reads it is not seen.

The results of four threads must be those of one, to the last bit: what TSan cannot see would show
there.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import warnings
from typing import Any

import numpy as np
from scipy import sparse

import fenchel
from fenchel import _kernels
from fenchel.data import sequences, shards
from fenchel.data.svmlight import parse_svmlight
from fenchel.engines import Threads
from fenchel.errors import Incompatible
from fenchel.solvers import SOLVERS

N_THREADS = 4
_LOSSES = "hinge logistic poisson softmax multiclass_hinge multilabel_hinge".split()
_LOSSES += "roc fbeta ndcg crf m3n nu_hinge".split()


def data(loss: str) -> tuple[Any, Any, Any]:
    """(X, y, groups) of 96 rows, sparse for half of the losses."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 4))
    Z = X @ rng.normal(size=(4, 3))
    y: Any = np.sign(Z[:, 0])
    if loss in ("softmax", "multiclass_hinge", "crf", "m3n"):
        y = np.argmax(Z, axis=1)
    elif loss == "multilabel_hinge":
        y = (Z > 0).astype(np.uint8)
    elif loss in ("poisson", "ndcg"):
        y = np.digitize(Z[:, 0], [-1, 1]).astype(float)
    groups = np.repeat(np.arange(24), 4) if loss in ("ndcg", "crf", "m3n") else None
    return (sparse.csr_array(X) if len(loss) % 2 else X), y, groups


def exercise() -> int:
    """Fits by every solver that takes the loss, compared bit by bit; how many there were."""
    fits = 0
    for loss in _LOSSES:
        X, y, groups = data(loss)
        problems = [
            fenchel.problem(X, y, loss=loss, strength=1e-2, groups=groups, engine=engine)
            for engine in (Threads(N_THREADS), Threads(1))
        ]
        engine: Any = getattr(problems[0].risk, "engine", None)
        assert engine.n_shards > 1, loss
        for name in SOLVERS:
            try:
                many, one = (
                    fenchel.minimize(problem, name, gap=1e-3, max_iterations=4)
                    for problem in problems
                )
            except Incompatible:
                continue
            assert np.array_equal(many.w, one.w), (loss, name)
            assert many.lower_bound == one.lower_bound, (loss, name)
            fits += 1
    return fits


def parse() -> None:
    """Text is parsed in several threads of C++."""
    text = b"".join(b"%d 1:%d 7:0.5 %d:2\n" % (i % 2, i, 8 + i % 50) for i in range(1, 40_000))
    with tempfile.NamedTemporaryFile(suffix=".svm") as file:
        file.write(text)
        file.flush()
        assert parse_svmlight(file.name, n_threads=N_THREADS).X.shape[0] == 39_999


def race() -> None:
    """Two threads compute scores into one array, again and again."""
    n = 20_000
    start, column = np.arange(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32)
    value, w, z = np.ones(n), np.ones(1), np.zeros(n)

    def work() -> None:
        for _ in range(50):
            _kernels.csr_scores(start, column, value, w, z)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    modules: Any = (shards, sequences)
    for module in modules:
        module.NUMBERS_PER_SHARD = 16
    if "--race" in sys.argv:
        race()
    else:
        parse()
        print(f"{exercise()} fits in {N_THREADS} threads have the bits of one")
