"""CRF beside M3N on letters and on ATIS, and how the time for one evaluation grows.

Arguments: `letters`, `atis`, `threads`, `growth`; all without. For letters and ATIS a line for each
strength, loss and solver: the objective, the certified gap, iterations, passes over the data, the
seconds of the processor on one thread, of which a run gets SECONDS, and the accuracy on the test
part. crfsuite.py has the comparison with crfsuite.
"""

from __future__ import annotations

import lzma
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from crfsuite import TUTORIAL, tagged

import fenchel
from fenchel import losses
from fenchel.engines import Serial, Threads
from fenchel.estimators.chunks import agreement

SECONDS = 120.0
STRENGTHS = (1e-2, 1e-3, 1e-4, 1e-5)
CASES = (
    *(("crf", solver) for solver in ("lbfgs", "agm-1", "bmrm", "ls-bmrm")),
    *(("m3n", solver) for solver in ("bmrm", "ls-bmrm")),
    *(("soft_m3n", solver) for solver in ("lbfgs", "agm-1")),
)


class Limit:
    """A callback that ends a run after so many seconds of the processor."""

    def __init__(self) -> None:
        self.started = time.process_time()

    @property
    def seconds(self) -> float:
        return time.process_time() - self.started

    def __call__(self, record: fenchel.Record) -> bool:
        return self.seconds > SECONDS


def shown(strength: float, loss: str, found: fenchel.Result, seconds: float) -> str:
    return (
        f"  {strength:g} {loss:9} {found.solver:8} J {found.objective:9.5f}  gap {found.gap:.1e}  "
        f"{found.iterations:5} iterations {found.passes:6} passes {seconds:6.1f} s"
    )


def letters(part: str) -> tuple[list[Any], list[np.ndarray]]:
    """The words of a part of the OCR set: pixels and letters of each."""
    from sklearn.datasets import load_svmlight_file

    path = Path(os.environ["FENCHEL_DATA"]) / "ocr_letters" / f"{part}.svm.xz"
    with lzma.open(path) as file:
        X, y, words = load_svmlight_file(file, n_features=128, query_id=True)
    inner = np.flatnonzero(np.diff(words)) + 1
    return np.split(X.toarray(), inner), np.split(y.astype(int), inner)


def fits(X: Any, y: Any, **settings: Any) -> Iterator[tuple[str, fenchel.SequenceLabeler]]:
    """Models of all strengths, losses and solvers, each with a line that says how it was fitted."""
    for alpha in STRENGTHS:
        for loss, solver in CASES:
            limit = Limit()
            model = fenchel.SequenceLabeler(
                loss=loss,
                solver=solver,
                temperature=0.1,
                alpha=alpha,
                tol=1e-2,
                n_jobs=1,
                callback=limit,
                **settings,
            ).fit(X, y)
            yield shown(alpha, loss, model.result_, limit.seconds), model


def ocr() -> None:
    print("ocr_letters, 626 words; to a gap of 1e-2; letters of the test part that are read")
    (X, y), (X_test, gold) = letters("train"), letters("test")
    for line, model in fits(X, y, pairs="all"):
        print(f"{line}  accuracy {100 * model.score(X_test, gold):.1f}", flush=True)


def growth() -> None:
    """Seconds for one evaluation against tokens and labels, and the exponents of best fit."""
    rng = np.random.default_rng(0)

    def seconds(n: int, n_labels: int) -> float:
        X = np.eye(50)[rng.integers(0, 50, n)]
        y = np.arange(n) % n_labels
        problem = fenchel.problem(
            X, y, loss=losses.CRF(pairs="all"), groups=np.arange(n) // 20, engine=Serial()
        )
        w = rng.normal(size=problem.risk.n_parameters)
        times = []
        for _ in range(5):
            started = time.process_time()
            problem.risk.at(w)
            times.append(time.process_time() - started)
        return min(times)

    for name, sizes, at in (
        ("tokens", [10_000, 20_000, 40_000, 80_000], lambda n: seconds(n, 20)),
        ("labels", [32, 64, 128, 256], lambda n_labels: seconds(4000, n_labels)),
    ):
        times = [at(size) for size in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        shown = ", ".join(f"{n:,}: {1e3 * t:.1f} ms" for n, t in zip(sizes, times, strict=True))
        print(f"{name}: {shown}; exponent {exponent:.2f}", flush=True)


def threads() -> None:
    """Seconds by the clock for one evaluation on one thread and on two."""
    X, y = tagged("conll2000", "train")
    model = fenchel.SequenceLabeler(template=TUTORIAL, max_iter=1)
    (problem,) = model._posed(X, y).problems
    w = np.zeros(problem.risk.n_parameters)
    for engine in (Serial(), Threads(2)):
        problem.risk.engine = engine.place(problem.risk.engine.shards)
        times = []
        for _ in range(7):
            started = time.perf_counter()
            problem.risk.at(w)
            times.append(time.perf_counter() - started)
        print(f"{engine!r}: {min(times):.3f} s for one evaluation", flush=True)


def atis() -> None:
    print("atis, 4,978 sentences, template words; to a gap of 1e-2; tokens and F1 of slots, test")
    (X, y), (X_test, gold) = tagged("atis", "train"), tagged("atis", "test")
    for line, model in fits(X, y, template="words"):
        found = agreement(gold, model.predict(X_test))
        print(f"{line}  accuracy {100 * found.accuracy:.2f}  F1 {100 * found.f1:.2f}", flush=True)


PARTS: dict[str, Callable[[], None]] = {
    "letters": ocr,
    "atis": atis,
    "threads": threads,
    "growth": growth,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
