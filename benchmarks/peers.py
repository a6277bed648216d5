"""Seconds to within a relative distance of the minimum, beside scikit-learn.

L1 here; many classes are in multiclass.py, losses of one score with L2 in duals.py.

fenchel's time is that of a fit that certifies the gap. A peer's is that of the loosest tolerance of
a ladder whose solution lies within the distance of the certified lower bound: it is not told when
to stop, nor does it know that it may. One run, one thread, CPU seconds; ratio = peer / fenchel, so
that more than 1 says fenchel is faster.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from data import a9a, news
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import fenchel

DISTANCES = (1e-3, 1e-6)
TOLERANCES = 10.0 ** -np.arange(0, 8.5, 0.5)
LIMIT = 20.0  # seconds for a ladder
SHORT = 0.5  # seconds below which a fit is timed three times
T = TypeVar("T")


def l1(solver: str) -> Callable[[float, float], Any]:
    def model(C: float, tol: float) -> Any:
        return LogisticRegression(
            l1_ratio=1.0, solver=solver, C=C, tol=tol, fit_intercept=False, max_iter=10**5
        )

    return model


CASES = [
    ("logistic", "l1", a9a, (1e-3, 1e-4), {"liblinear": l1("liblinear"), "saga": l1("saga")}),
    ("logistic", "l1", news, (1e-4,), {"liblinear": l1("liblinear"), "saga": l1("saga")}),
]


def cpu_seconds(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of some work, the median of three where they are few, and what came of it."""
    times: list[float] = []
    while not times or (len(times) < 3 and times[0] < SHORT):
        start = time.process_time()
        done = work()
        times.append(time.process_time() - start)
    return statistics.median(times), done


def ladder(
    model: Callable[..., Any], C: float, X: Any, y: Any, limit: float = LIMIT
) -> Iterator[tuple[float, Any]]:
    """(seconds, coefficients) for ever smaller tolerances."""
    spent = 0.0
    for tol in TOLERANCES:
        seconds, fitted = cpu_seconds(lambda tol=tol: model(C, tol).fit(X, y))
        yield seconds, fitted.coef_
        spent += seconds
        if spent > limit:
            return


def limited(seconds: float) -> Callable[[fenchel.Record], bool]:
    """A callback that ends a fit after some seconds of the processor, however busy it is."""
    start = time.process_time()
    return lambda record: time.process_time() - start > seconds


def objective(problem: fenchel.Problem, coef: np.ndarray) -> float:
    w = np.atleast_2d(coef).T.ravel()
    return problem.objective(problem.risk.at(w))


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    print("| loss | data | strength | distance | fenchel (solver) | peer | seconds | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for loss, regularizer, load, strengths, peers in CASES:
        X, y = load()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        for strength in strengths:
            compare(loss, regularizer, load.__name__, X, y, strength, peers)


def compare(
    loss: str, regularizer: str, name: str, X: Any, y: Any, strength: float, peers: dict[str, Any]
) -> None:
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=regularizer, strength=strength, engine="serial"
    )
    ours = {gap: fenchel.minimize(problem, gap=gap, max_seconds=60) for gap in DISTANCES}
    bound = max(result.lower_bound for result in ours.values())
    C = 1 / (strength * X.shape[0])
    for peer, model in peers.items():
        steps = [(seconds, objective(problem, coef)) for seconds, coef in ladder(model, C, X, y)]
        for gap, result in ours.items():
            near = [seconds for seconds, J in steps if J <= bound * (1 + gap)]
            mine = f"{result.seconds:.3f}" if result.converged else f"- (gap {result.gap:.0e})"
            theirs = f"{near[0]:.3f}" if near else "-"
            ratio = f"{near[0] / result.seconds:.2f}" if near and result.converged else "-"
            print(
                f"| {loss} + {regularizer} | {name} | {strength:g} | {gap:g} | "
                f"{mine} ({result.solver}) | {peer} | {theirs} | {ratio} |",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
