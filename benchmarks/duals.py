"""CPU seconds of `sdca` and of `auto` to within a distance of the minimum, beside liblinear's dual
coordinate descent in scikit-learn, or beside SciPy's L-BFGS on losses that liblinear has not; and
what an intercept costs `sdca`, and how it grows with the data.

fenchel's time is that of a fit that certifies the gap. The peer's is that of the loosest tolerance
of a ladder whose solution lies within the distance of the certified lower bound: it is not told
when to stop, nor does it know that it may. One thread; medians of three where a fit takes less than
half a second; ratio = fenchel / peer: less than 1 says fenchel is faster.
"""

from __future__ import annotations

import functools
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from data import a9a, imdb, news, real, two_classes
from peers import cpu_seconds, ladder, objective
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, normalize
from sklearn.svm import LinearSVC, LinearSVR
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.losses import Quantile

DISTANCES = (1e-3, 1e-5)
STRENGTHS = (1e-4, 1e-5, 1e-6)
SECONDS = 20.0  # for a fit
TAU = 0.9  # the quantile
SVC = {"fit_intercept": False, "max_iter": 10**6, "random_state": 0}


class Pinball:
    """Quantile regression by SciPy's L-BFGS, as users write it where no library has it."""

    def __init__(self, C: float, tol: float):
        self.C, self.tol = C, tol

    def fit(self, X: Any, y: Any) -> Pinball:
        strength = 1 / (self.C * len(y))

        def J(w: np.ndarray) -> tuple[float, np.ndarray]:
            r = y - X @ w
            a = np.where(r > 0, -TAU, 1 - TAU)
            return strength / 2 * (w @ w) - a @ r / len(y), strength * w + X.T @ a / len(y)

        options = {"maxiter": 10**5, "maxfun": 10**5, "ftol": self.tol * 1e-4, "gtol": 0.0}
        start = np.zeros(X.shape[1])
        found = optimize.minimize(J, start, jac=True, method="L-BFGS-B", options=options)
        self.coef_ = found.x[np.newaxis]
        return self


# On a table of few columns a million of its iterations would take an hour.
SVR: Callable[..., Any] = functools.partial(LinearSVR, **(SVC | {"max_iter": 3000}))
PEERS: dict[str, Callable[[float, float], Any]] = {
    "hinge": lambda C, tol: LinearSVC(loss="hinge", C=C, tol=tol, **SVC),
    # As LinearSVC does it where there are more rows than columns: Newton's steps on w.
    "squared_hinge": lambda C, tol: LinearSVC(loss="squared_hinge", C=C / 2, tol=tol, **SVC),
    "squared_hinge, dual": lambda C, tol: LinearSVC(
        loss="squared_hinge", dual=True, C=C / 2, tol=tol, **SVC
    ),
    "epsilon_insensitive": lambda C, tol: SVR(epsilon=0.1, C=C, tol=tol),
    "absolute_error": lambda C, tol: SVR(epsilon=0.0, C=C, tol=tol),
    "quantile": Pinball,
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


def regressions() -> Iterator[tuple[str, Any, Any]]:
    for name, d in (("mv/mv.svm", 12), ("cpusmall/cpusmall.svm", 12)):
        X, y = real(name, d)
        yield name.split("/")[0], MaxAbsScaler().fit_transform(X), (y - y.mean()) / y.std()


def timed(problem: fenchel.Problem, solver: str, gap: float) -> tuple[float, fenchel.Result]:
    return cpu_seconds(lambda: fenchel.minimize(problem, solver, gap=gap, max_seconds=SECONDS))


def compare(peer: str, name: str, X: Any, y: Any, strength: float) -> None:
    loss = peer.split(",")[0]
    minimised = Quantile(TAU) if loss == "quantile" else loss
    problem = fenchel.problem(X, y, loss=minimised, strength=strength, engine="serial")
    runs = {(s, g): timed(problem, s, g) for s in ("sdca", "auto") for g in DISTANCES}
    bound = max(result.lower_bound for _, result in runs.values())
    C = 1 / (strength * X.shape[0])
    steps = [(seconds, objective(problem, w)) for seconds, w in ladder(PEERS[peer], C, X, y)]
    for gap in DISTANCES:
        near = [seconds for seconds, J in steps if J <= bound * (1 + gap)]
        cells = [f"{near[0]:.3f}" if near else f"> {sum(s for s, _ in steps):.0f} (ladder)"]
        for solver in ("sdca", "auto"):
            seconds, result = runs[solver, gap]
            ratio = f"{seconds / near[0]:.2f}" if near and result.converged else "-"
            time_cell = f"{seconds:.3f}" if result.converged else f"- (gap {result.gap:.0e})"
            cells.append(f"{time_cell} {result.solver} | {ratio}")
        print(f"| {peer} | {name} | {strength:g} | {gap:g} | {' | '.join(cells)} |", flush=True)


def offsets() -> None:
    """Passes of `sdca` to a gap of 1e-4 without an intercept and with one."""
    print("| data | strength | hinge | squared_hinge | logistic |\n|---|---|---|---|---|")
    for name, X, y in sets():
        for strength in (1e-2, *STRENGTHS):
            cells = []
            for loss in ("hinge", "squared_hinge", "logistic"):
                problems = (
                    fenchel.problem(
                        X, y, loss=loss, strength=strength, intercept=b, engine="serial"
                    )
                    for b in (False, True)
                )
                runs = [fenchel.minimize(p, "sdca", max_seconds=SECONDS) for p in problems]
                cells.append(" / ".join(str(r.passes) if r.converged else "-" for r in runs))
            print(f"| {name} | {strength:g} | {' | '.join(cells)} |", flush=True)


def growth() -> None:
    """Seconds and memory of `sdca` on random text of ever more rows, and the fitted exponent."""
    rng, sizes, seconds, bytes_ = np.random.default_rng(0), [], [], []
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
        tracemalloc.start()
        fenchel.minimize(problem, "sdca", gap=1e-2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        sizes.append(X.nnz)
        seconds.append(took)
        bytes_.append(peak)
        print(
            f"{X.nnz:>10} nonzeros {took:8.3f} s, {peak / 1e6:.1f} MB, {result.passes} passes, "
            f"{result.status.name}"
        )
    for what, grown in (("seconds", seconds), ("memory", bytes_)):
        exponent = np.polyfit(np.log(sizes), np.log(grown), 1)[0]
        print(f"{what} grow like nonzeros^{exponent:.2f}")


def table(data: Iterable[tuple[str, Any, Any]], peers: Sequence[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    print("| loss | data | strength | distance | liblinear | sdca | ratio | auto | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, X, y in data:
        X = sparse.csr_matrix(X)  # of 32-bit indices, which scikit-learn wants
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        for peer in peers:
            for strength in STRENGTHS:
                compare(peer, name, X, y, strength)


if __name__ == "__main__":
    with threadpool_limits(1):
        table(sets(), sys.argv[1:] or ("hinge", "squared_hinge", "squared_hinge, dual", "logistic"))
        if not sys.argv[1:]:
            table(regressions(), ("absolute_error", "quantile", "epsilon_insensitive"))
            offsets()
            growth()
