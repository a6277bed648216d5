"""Time per evaluation of the losses of all scores at once, and how it grows; and of solvers.

    FENCHEL_DATA=... python benchmarks/multivariate.py [growth] [solvers]

What was aimed at: a fitted exponent <= 1.15 from 1e3 to 1e6 scores, and 1e6 scores in under a
second. The solvers' table has CPU seconds to a certified gap of 1e-3 on one thread, or the gap that
they certified in LIMIT seconds.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from data import a9a, real
from metrics import queries
from peers import limited
from threadpoolctl import threadpool_limits

import fenchel
from fenchel import losses
from fenchel.losses.multivariate_twins import twin

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
SECONDS = 0.3  # per size
LIMIT = 20.0
SOLVERS = ("ls-bmrm", "bmrm", "sublbfgs", "subbfgs", "hybrid")


def seconds(work: Callable[[], object]) -> float:
    """Of processor time, the best of several runs: the machine may be busy."""
    best, spent = np.inf, 0.0
    while spent < SECONDS:
        start = time.thread_time()
        work()
        best, spent = min(best, time.thread_time() - start), spent + time.thread_time() - start
    return best


def evaluation(loss: losses.MultivariateLoss, n: int, *, offset: bool = False) -> float:
    """One evaluation at standard normal scores: binary labels one third positive, four levels.

    With `offset`, one at the offset that suits the scores best.
    """
    rng = np.random.default_rng(0)
    # Ever new scores: a processor that has seen a thousand of them knows every branch by heart.
    scores = itertools.cycle(rng.normal(size=(max(1, 1_000_000 // n), n)))
    binary = loss.labels is losses.Labels.BINARY
    y = np.where(rng.random(n) < 1 / 3, 1.0, -1.0) if binary else rng.integers(0, 4, size=n) * 1.0
    groups = np.arange(n) // 100 if loss.grouped else None
    native = twin(loss, loss.sample(y, None, groups))
    if offset:
        return seconds(lambda: native.least(next(scores), 0.0))
    return seconds(lambda: native.tangent(next(scores)))


def growth() -> None:
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    cases: dict[str, Callable[[int], losses.MultivariateLoss]] = {
        "roc": lambda n: losses.ROC(),
        "fbeta": lambda n: losses.FBeta(),
        "fbeta, beta=0.5": lambda n: losses.FBeta(beta=0.5),
        "fbeta, best offset": lambda n: losses.FBeta(),
        "precision_at_k, k=n/10": lambda n: losses.PrecisionAtK(k=n // 10),
        "prbep": lambda n: losses.PRBEP(),
        "ordinal, 4 levels": lambda n: losses.Ordinal(),
        "ordinal, 4 levels, costs": lambda n: losses.Ordinal(cost=distance),
        "rank_hinge, queries of 100": lambda n: losses.RankHinge(),
        "ndcg, queries of 100": lambda n: losses.NDCG(),
        "eru, queries of 100": lambda n: losses.ERU(),
        "mrr, queries of 100": lambda n: losses.MRR(),
    }
    print("| loss | " + " | ".join(f"{n:,}" for n in SIZES) + " | exponent |")
    print("|---|" + "---|" * (len(SIZES) + 1))
    for name, loss in cases.items():
        times = [evaluation(loss(n), n, offset="offset" in name) for n in SIZES]
        exponent = np.polyfit(np.log(SIZES), np.log(times), 1)[0]
        shown = " | ".join(f"{1e3 * t:.3g} ms" for t in times)
        print(f"| {name} | {shown} | {exponent:.2f} |", flush=True)


def solvers() -> None:
    X, y, groups = queries("mq2008/S1.svm", "mq2008/S2.svm", "mq2008/S3.svm")
    ranked = {"X": X, "y": y, "groups": groups}
    adult, web = (dict(zip("Xy", data, strict=True)) for data in (a9a(), real("w8a/w8a", 300)))
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("a9a", adult, {"loss": "roc", "strength": 1e-3}),
        ("a9a", adult, {"loss": "fbeta", "strength": 1e-4, "intercept": True}),
        ("w8a", web, {"loss": "roc", "strength": 1e-3}),
        ("w8a", web, {"loss": "fbeta", "strength": 1e-5, "intercept": True}),
        ("w8a", web, {"loss": "precision_at_k", "k": 500, "strength": 1e-5}),
        ("mq2008", ranked, {"loss": "ordinal", "strength": 1e-3}),
        *(
            ("mq2008", ranked, {"loss": loss, "strength": 1e-3})
            for loss in ("rank_hinge", "ndcg", "mrr", "eru")
        ),
    ]
    print("| loss | data | strength | " + " | ".join(SOLVERS) + " |")
    print("|---|---|---|" + "---|" * len(SOLVERS))
    for name, data, options in cases:
        if options["loss"] == "ordinal":
            data = {key: value for key, value in data.items() if key != "groups"}
        problem = fenchel.problem(**data, **options, engine="serial")
        cells = []
        for solver in SOLVERS:
            start = time.process_time()
            result = fenchel.minimize(problem, solver, gap=1e-3, callback=limited(LIMIT))
            took = f"{time.process_time() - start:.2f}"
            cells.append(took if result.converged else f"gap {result.gap:.0e} ({took})")
        shown = f"| {options['loss']} | {name} | {options['strength']:g} | "
        print(shown + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    tables = {"growth": growth, "solvers": solvers}
    with threadpool_limits(1):
        for chosen in sys.argv[1:] or tables:
            tables[chosen]()
