"""Many classes at once: seconds to within 1e-4 of the minimum, beside liblinear and scikit-learn.

The multiclass hinge is that of Crammer and Singer in liblinear, the softmax scikit-learn's
multinomial LogisticRegression: the same objectives, without intercepts. fenchel's time is that of a
fit that certifies the gap. A peer's is that of the loosest tolerance of a ladder whose objective is
fenchel's up to the same distance, or lower. One run, one thread, CPU seconds; ratio = peer /
fenchel, so that more than 1 says fenchel is faster.

FENCHEL_DATA=... python benchmarks/multiclass.py [letter] [usps] [mnist] [20news]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from data import real
from peers import ladder, limited, objective
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import fenchel

DISTANCE = 1e-4
STRENGTHS = (1e-2, 1e-3, 1e-4)
LIMIT = 60.0  # seconds for a fit
LADDER = 120.0  # and for a peer's ladder

Peer = Callable[[float, float], Any]


def crammer_singer(C: float, tol: float) -> Any:
    return LinearSVC(
        multi_class="crammer_singer",
        C=C,
        tol=tol,
        fit_intercept=False,
        max_iter=10**6,
        random_state=0,
    )


def multinomial(solver: str) -> Peer:
    return lambda C, tol: LogisticRegression(
        solver=solver, C=C, tol=tol, fit_intercept=False, max_iter=10**5
    )


PEERS: dict[str, dict[str, Peer]] = {
    "multiclass_hinge": {"LinearSVC": crammer_singer},
    "softmax": {"lbfgs": multinomial("lbfgs"), "newton-cg": multinomial("newton-cg")},
}


def loaded(name: str) -> tuple[Any, np.ndarray]:
    """Values of at most 1; dense where most of them are not 0."""
    if name == "20news":
        X, y = real("20news/train.tfidf.svm", 130107)
    else:
        n_columns, scale = {"letter": (16, 15), "usps": (256, 1), "mnist": (780, 255)}[name]
        X, y = real(f"{name}/{name}", n_columns)
        X = X / scale if name == "mnist" else X.toarray() / scale
    if not isinstance(X, np.ndarray):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def compare(loss: str, name: str, X: Any, y: np.ndarray, strength: float) -> None:
    problem = fenchel.problem(X, y, loss=loss, strength=strength, engine="serial")
    start = time.process_time()
    result = fenchel.minimize(problem, gap=DISTANCE, callback=limited(LIMIT))
    seconds = time.process_time() - start
    ours = f"{seconds:.2f} ({result.solver})"
    C = 1 / (strength * X.shape[0])
    for peer, model in PEERS[loss].items():
        for step in ladder(model, C, X, y, LADDER):
            taken, distance = step[0], objective(problem, step[1]) / result.objective - 1
            if distance <= DISTANCE:
                break
        theirs = f"{taken:.2f}" if distance <= DISTANCE else f"- ({taken:.2f})"
        ratio = f"{taken / seconds:.2f}" if max(distance, result.gap) <= DISTANCE else "-"
        print(
            f"| {loss} | {name} | {strength:g} | {ours} | {result.gap:.0e} | {peer} | {theirs} | "
            f"{distance:+.0e} | {ratio} |",
            flush=True,
        )


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    print("| loss | data | strength | fenchel | gap | peer | seconds | distance | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or ("letter", "usps", "mnist", "20news"):
        X, y = loaded(name)
        for loss in PEERS:
            for strength in STRENGTHS:
                compare(loss, name, X, y, strength)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
