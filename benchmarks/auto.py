"""Makes src/fenchel/solvers/auto_table.json: seconds to a certified gap of 1e-4, solver by solver.

CPU seconds on one thread. Where the limit came first they are multiplied by how many times too
large the gap still was, as if it fell like 1/t, but by ten at most: a guess, but one that puts
solvers in order. `auto` takes the solver that was fastest on the measured problems most like its
own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from data import a9a, imdb, mnist, news, real, two_classes
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import MaxAbsScaler, normalize, scale

import fenchel
from fenchel.solvers.auto import CANDIDATES, kind_of, shape_of

GAP, LIMIT = 1e-4, 4.0
STRENGTHS = (1e-2, 1e-4, 1e-6)
TABLE = Path(__file__).parent.parent / "src/fenchel/solvers/auto_table.json"
LOSSES = {
    True: ("hinge", "logistic", "squared_hinge"),
    False: ("absolute_error", "epsilon_insensitive", "squared_error"),
}


def classes() -> Iterator[tuple[str, Any, Any]]:
    yield "breast_cancer", scale(load_breast_cancer().data), load_breast_cancer().target
    yield "a9a", *a9a()
    yield "w8a", *real("w8a/w8a", 300)
    yield "20news", *news()
    X, y = imdb()
    yield "imdb", normalize(X), y
    yield "pros_cons", *real("pros_cons/train.svm", 95082)
    X, y = real("covtype/covtype", 54)
    yield "covtype", MaxAbsScaler().fit_transform(X), two_classes(y, 2)
    X, y = mnist()
    yield "mnist", X[:20000], y[:20000]
    X, y = real("leukemia/leukemia.svm", 7129)
    yield "leukemia", scale(X.toarray()), y
    yield "hiva", *real("hiva/hiva.svm", 1617)


def numbers() -> Iterator[tuple[str, Any, Any]]:
    yield "diabetes", scale(load_diabetes().data), scale(load_diabetes().target)
    for name, n_columns in (("cpusmall", 12), ("mv", 12), ("pol", 48), ("ailerons", 40)):
        X, y = real(f"{name}/{name}.svm", n_columns)
        yield name, scale(X.toarray()), scale(y)
    X, _ = news()
    w = np.random.default_rng(0).normal(size=X.shape[1])
    yield "20news", X, scale(X @ w)


def measured(problem: fenchel.Problem, solver: str) -> float:
    """CPU seconds of the fastest of some runs, more of them where they are short."""
    best, spent = np.inf, 0.0
    for _ in range(5):
        start = time.process_time()
        result = fenchel.minimize(problem, solver, gap=GAP, max_seconds=LIMIT)
        seconds = time.process_time() - start
        spent += seconds
        best = min(best, seconds * float(np.clip(result.gap / GAP, 1.0, 10.0)))
        if spent > 0.3:
            break
    return round(best, 4)


def case(name: str, X: Any, y: Any, loss: str, penalty: str, strength: float) -> dict[str, Any]:
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=penalty, strength=strength, engine="serial"
    )
    kind = kind_of(problem)
    return {
        "kind": kind,
        "name": f"{loss} on {name} at strength {strength:g}",
        "shape": shape_of(problem),
        "seconds": {
            each.name: measured(problem, each.name)
            for each in CANDIDATES[kind]
            if each().obstacle(problem) is None
        },
    }


def main() -> None:
    cases = []
    for is_classes, sets in ((True, classes()), (False, numbers())):
        for name, X, y in sets:
            for loss in LOSSES[is_classes]:
                for penalty in ("l2", "elastic_net"):
                    for strength in STRENGTHS if penalty == "l2" else (1e-3, 1e-5):
                        cases.append(case(name, X, y, loss, penalty, strength))
                        print(cases[-1]["name"], penalty, cases[-1]["seconds"], flush=True)
    lines = ",\n".join(" " + json.dumps(case) for case in cases)
    TABLE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
