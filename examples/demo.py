"""What fenchel does, in under a minute: a table on the terminal, and a page for the browser.

Run it with `make demo`, or `python examples/demo.py [page.html]`. The data come with scikit-learn
or are made here; nothing is fetched.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from demo_page import write
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LogisticRegression, QuantileRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fenchel
from fenchel import Classifier, ClassifierCV, Regressor, RegressorCV

PAGE = Path(__file__).parent.parent / "build" / "demo.html"
ENOUGH = 0.5  # seconds after which a fit is not repeated


class Line(NamedTuple):
    """One problem: ours and theirs, milliseconds, and how far each is from the minimum at most."""

    problem: str
    ours: float
    gap: float
    peer: str
    theirs: float
    distance: float  # nan where the peer minimises something else
    says: str


class Objective(NamedTuple):
    """J of losses of one score, by its formula: for coefficients that others found."""

    loss: Callable[[Any, Any], Any]
    penalty: Callable[[Any], float]

    def __call__(self, X: Any, y: Any, strength: float, w: Any, b: float) -> float:
        return float(strength * self.penalty(w) + np.mean(self.loss(X @ w + b, y)))


def half_square(w: Any) -> float:
    return 0.5 * float(w @ w)


def absolute(w: Any) -> float:
    return float(np.abs(w).sum())


LOGISTIC = Objective(lambda z, y: np.logaddexp(0.0, -y * z), half_square)
HINGE = Objective(lambda z, y: np.maximum(0.0, 1 - y * z), half_square)
QUANTILE = Objective(lambda z, y: np.maximum(0.9 * (y - z), 0.1 * (z - y)), absolute)


def milliseconds(fit: Callable[[], Any]) -> tuple[float, Any, str]:
    """The median of five fits, or of one that takes long; what came out, and what was said."""
    times: list[float] = []
    while len(times) < 5 and (not times or times[0] < 1e3 * ENOUGH):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            started = time.perf_counter()
            fitted = fit()
            times.append(1e3 * (time.perf_counter() - started))
    short = any(issubclass(each.category, ConvergenceWarning) for each in said)
    return statistics.median(times), fitted, "did not converge" if short else ""


def beside(
    name: str, X: Any, y: Any, peer: Any, J: Objective, strength: float, **loss: Any
) -> Line:
    """A fit, proved, beside a peer's, whose J is compared with the lower bound that we proved."""
    problem = fenchel.problem(X, y, strength=strength, intercept=True, **loss)
    fenchel.minimize(problem, max_iterations=1)  # so that imports are not timed
    ours, result, _ = milliseconds(lambda: fenchel.minimize(problem))
    proof = fenchel.verify(result, problem)
    theirs, fitted, says = milliseconds(lambda: peer.fit(X, y))
    w, b = np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])
    found = J(X, y, strength, w, b)
    distance = (found - proof.lower_bound) / found
    return Line(name, ours, proof.gap, type(peer).__name__, theirs, distance, says)


def estimators(name: str, X: Any, y: Any, ours: Any, peer: Any) -> Line:
    """Whole estimators beside each other, which need not minimise the same."""
    mine, fitted, _ = milliseconds(lambda: ours.fit(X, y))
    theirs, _, says = milliseconds(lambda: peer.fit(X, y))
    gaps = np.max(fitted.gap_)
    title = type(peer).__name__
    return Line(name, mine, float(gaps), title, theirs, float("nan"), says)


def frame(n: int, d: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Columns of one size, the same as they come (cents beside millions), and noisy scores."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    sizes, middles = 10.0 ** rng.uniform(-2, 3, d), 10.0 ** rng.uniform(-1, 2, d)
    noise = (1 + np.abs(X[:, 0])) * rng.standard_normal(n)
    return X, X * sizes + middles, X @ rng.standard_normal(d) + noise


def faster() -> Iterator[Line]:
    """Problems on which we are faster, and prove what we found."""
    n, strength = 20_000, 1e-6
    X, raw, score = frame(n, 20)
    y = np.sign(score + 0.5)
    C = 1 / (strength * n)
    some = X[:4000], score[:4000]
    yield beside(
        "0.9 quantile + L1, 4,000 x 20",
        *some,
        QuantileRegressor(quantile=0.9, alpha=1e-3),
        QUANTILE,
        1e-3,
        loss="quantile",
        quantile=0.9,
        regularizer="l1",
    )
    svm = LinearSVC(loss="hinge", C=C, random_state=0)
    yield beside("hinge, small strength, 20,000 x 20", X, y, svm, HINGE, strength, loss="hinge")
    logistic = LogisticRegression(C=C)
    yield beside(
        "logistic, raw columns, 20,000 x 20", raw, y, logistic, LOGISTIC, strength, loss="logistic"
    )
    digits = load_digits(return_X_y=True)
    yield estimators("digits, one against the rest", *digits, Classifier(), LinearSVC())
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    grid = {"C": np.geomspace(1e-3, 1e3, 10)}
    yield estimators(
        "breast cancer, hinge, best of 10 strengths",
        X,
        y,
        ClassifierCV(loss="hinge", alphas=10),
        GridSearchCV(LinearSVC(loss="hinge", random_state=0), grid),
    )
    diabetes = load_diabetes(return_X_y=True)
    yield estimators(
        "diabetes, lasso, best of 100 strengths",
        *diabetes,
        RegressorCV(penalty="l1", alphas=100),
        LassoCV(),
    )


def slower() -> Iterator[Line]:
    """And some on which we are not: the proof has its price where there is little to do."""
    X, y = load_diabetes(return_X_y=True)
    yield estimators("diabetes, ridge, 442 x 10", X, y, Regressor(alpha=1e-3), Ridge(alpha=0.442))
    X, y = load_digits(return_X_y=True)
    X = X / 16
    yield estimators(
        "digits, softmax",
        X,
        y,
        Classifier(loss="softmax", alpha=1e-3),
        LogisticRegression(C=1 / 1.797),
    )


HEAD = ("problem", "fenchel, ms", "proved gap", "scikit-learn", "ms", "its gap", "")


def cells(line: Line) -> tuple[str, ...]:
    distance = "" if np.isnan(line.distance) else f"{max(line.distance, 0):.0e}"
    found = f"{line.ours:.1f}", f"{line.gap:.0e}", line.peer, f"{line.theirs:.1f}"
    return (line.problem, *found, distance, line.says)


def show(line: tuple[str, ...]) -> None:
    name, ours, gap, peer, theirs, distance, says = line
    print(
        f"{name:43} {ours:>11} {gap:>10} | {peer:18} {theirs:>9} {distance:>7} {says}", flush=True
    )


def main(page: Path) -> None:
    started = time.perf_counter()
    print(INTRODUCTION)
    show(HEAD)
    table = []
    for group in (faster(), slower()):
        for line in group:
            table.append(cells(line))
            show(table[-1])
        print()
    write(page, HEAD, table)
    print(f"{time.perf_counter() - started:.0f} seconds. A race, a path and a model of sequences,")
    print(f"each with its proof, are on a page of {page.stat().st_size / 1000:.0f} kB; open it:")
    print(f"  {page.resolve().as_uri()}")


INTRODUCTION = """Every fit of fenchel ends with a proof: lower bound <= min J <= objective. The
gap between the two, as fenchel.verify recomputes it from the data, stands beside its time.
scikit-learn at its default settings proves nothing; "its gap" is how far its coefficients are
from the minimum at most, by the lower bound that fenchel proved, where both minimise the same
(LinearSVC almost: it penalises the intercept). The last lines are of small and easy fits,
at which scikit-learn can be the faster.
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE)
