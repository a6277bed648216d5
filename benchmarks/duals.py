"""CPU seconds of dual coordinate ascent and of `auto` to within a distance of the minimum, beside
liblinear's dual coordinate descent in scikit-learn; and how `sdca` grows with the data.

fenchel's time is that of a fit that certifies the gap. The peer's is that of the loosest tolerance
of a ladder whose solution lies within the distance of the certified lower bound: it is not told
when to stop, nor does it know that it may. One run, one thread; ratio = fenchel / peer: less than 1
says fenchel is faster.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from data import a9a, imdb, news, real, two_classes
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, normalize
from sklearn.svm import LinearSVC, LinearSVR
from threadpoolctl import threadpool_limits

import fenchel

DISTANCES = (1e-3, 1e-5)
STRENGTHS = (1e-4, 1e-5, 1e-6)
TOLERANCES = 10.0 ** -np.arange(0, 8.5, 0.5)
LIMIT = 15.0  # seconds for a fit, and for a ladder
SVC = {"fit_intercept": False, "max_iter": 10**6, "random_state": 0}
PEERS: dict[str, Callable[[float, float], Any]] = {
    "hinge": lambda C, tol: LinearSVC(loss="hinge", C=C, tol=tol, **SVC),
    "squared_hinge": lambda C, tol: LinearSVC(loss="squared_hinge", C=C / 2, tol=tol, **SVC),
    "epsilon_insensitive": lambda C, tol: LinearSVR(epsilon=0.1, C=C, tol=tol, **SVC),
    "logistic": lambda C, tol: LogisticRegression(
        solver="liblinear", dual=True, C=C, tol=tol, **SVC
    ),
}


def sets() -> Iterator[tuple[str, Any, Any]]:
    yield "a9a", *a9a()
    yield "w8a", *real("w8a/w8a", 300)
    yield "20news", *news()
    X, y = imdb()
    yield "imdb (rows of length 1)", normalize(X), y
    X, y = real("covtype/covtype", 54)
    yield "covtype", MaxAbsScaler().fit_transform(X), two_classes(y, 2)


def ladder(loss: str, C: float, X: Any, y: Any) -> Iterator[tuple[float, Any]]:
    """(seconds, coefficients) for ever smaller tolerances."""
    spent = 0.0
    for tol in TOLERANCES:
        start = time.process_time()
        w = np.ravel(PEERS[loss](C, tol).fit(X, y).coef_)
        seconds = time.process_time() - start
        yield seconds, w
        spent += seconds
        if spent > LIMIT:
            return


def timed(problem: fenchel.Problem, solver: str, gap: float) -> tuple[float, fenchel.Result]:
    start = time.process_time()
    result = fenchel.minimize(problem, solver, gap=gap, max_seconds=LIMIT)
    return time.process_time() - start, result


def compare(loss: str, name: str, X: Any, y: Any, strength: float) -> None:
    problem = fenchel.problem(X, y, loss=loss, strength=strength, engine="serial")
    runs = {(s, g): timed(problem, s, g) for s in ("sdca", "auto") for g in DISTANCES}
    bound = max(result.lower_bound for _, result in runs.values())
    C = 1 / (strength * X.shape[0])
    steps = [
        (seconds, problem.objective(problem.risk.at(w))) for seconds, w in ladder(loss, C, X, y)
    ]
    for gap in DISTANCES:
        near = [seconds for seconds, J in steps if J <= bound * (1 + gap)]
        cells = [f"{near[0]:.3f}" if near else f"> {sum(s for s, _ in steps):.0f} (ladder)"]
        for solver in ("sdca", "auto"):
            seconds, result = runs[solver, gap]
            ratio = f"{seconds / near[0]:.2f}" if near and result.converged else "-"
            time_cell = f"{seconds:.3f}" if result.converged else f"- (gap {result.gap:.0e})"
            cells.append(f"{time_cell} {result.solver} | {ratio}")
        print(f"| {loss} | {name} | {strength:g} | {gap:g} | {' | '.join(cells)} |", flush=True)


def growth() -> None:
    """Seconds and memory of `sdca` on random text of ever more rows, and the fitted exponent."""
    rng, sizes, seconds = np.random.default_rng(0), [], []
    for n in (10_000, 30_000, 100_000, 300_000):
        columns, d = rng.zipf(1.3, size=(n, 40)) % 50_000, 50_000
        X = sparse.csr_array(
            (np.ones(n * 40), columns.ravel(), np.arange(n + 1) * 40), shape=(n, d)
        )
        X.sum_duplicates()
        X = sparse.csr_array(normalize(X))
        y = np.sign(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n))
        problem = fenchel.problem(X, y, loss="hinge", strength=1e-4, engine="serial")
        took, result = timed(problem, "sdca", 1e-3)
        sizes.append(X.nnz)
        seconds.append(took)
        print(f"{X.nnz:>10} nonzeros {took:8.3f} s, {result.passes} passes, {result.status.name}")
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"seconds grow like nonzeros^{exponent:.2f}")


def main(losses: list[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    print("| loss | data | strength | distance | liblinear | sdca | ratio | auto | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, X, y in sets():
        X = sparse.csr_matrix(X)  # of 32-bit indices, which scikit-learn wants
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        for loss in losses:
            for strength in STRENGTHS:
                compare(loss, name, X, y, strength)
    growth()


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:] or list(PEERS))
