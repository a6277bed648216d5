"""Small fits with an intercept beside scikit-learn's: what most people run, and run by the hundred.

    python benchmarks/small.py [--only WORD] [--repeats N]

Each line is a fit of ours, certified to a gap of 1e-4, and the same model in scikit-learn at its
default tolerance, which certifies nothing (and whose LinearSVC penalises the intercept). CPU
milliseconds on one thread, medians of repeats that alternate between the two; `gap` is the one that
was certified. The first part is the data that the methods were chosen on, the second data they were
not, the third grid searches and paths.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from data import table
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import fenchel

Data = tuple[np.ndarray, np.ndarray]


class Case(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray
    ours: Any
    theirs: Any


def scaled(data: Data) -> Data:
    X, y = data
    return StandardScaler().fit_transform(X), y


def tuned_on() -> Iterator[Case]:
    """Data and settings of which the table is made that started this work."""
    X, y = scaled(load_breast_cancer(return_X_y=True))
    yield from classification("breast cancer", X, y)
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, y = scaled(load(return_X_y=True))
        n = len(y)
        yield Case(
            f"{name}, hinge, one against the rest",
            *(X, y),
            fenchel.Classifier(alpha=1 / n),
            svm.LinearSVC(loss="hinge", C=1.0),
        )
    yield from regression("diabetes", *scaled_target(load_diabetes(return_X_y=True)))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = X @ [1.0, -2.0] + rng.normal(size=20)
    yield Case(
        "20 x 2, logistic",
        X,
        y > 0,
        fenchel.Classifier(loss="logistic", alpha=1 / 20),
        logistic(1.0),
    )
    yield ridge("20 x 2", X, y)
    yield lasso("20 x 2", X, y)
    X = rng.normal(size=(10_000, 100)) / 10
    y = rng.poisson(np.exp(X @ rng.normal(size=100))).astype(float)
    yield Case(
        "Poisson, 10,000 x 100",
        *(X, y),
        fenchel.PoissonRegressor(alpha=1e-4),
        linear_model.PoissonRegressor(alpha=1e-4),
    )
    yield from kinked("cal_housing", *scaled_target(table("cal_housing")))


def classification(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Case]:
    n = len(y)
    yield Case(
        f"{name}, Classifier() beside LinearSVC()", X, y, fenchel.Classifier(), svm.LinearSVC()
    )
    yield Case(
        f"{name}, hinge, C = 1",
        *(X, y),
        fenchel.Classifier(alpha=1 / n),
        svm.LinearSVC(loss="hinge", C=1.0),
    )
    if len(np.unique(y)) > 2:
        both = fenchel.Classifier(loss="softmax", alpha=1 / n), logistic(1.0)
        yield Case(f"{name}, softmax", X, y, *both)
        both = (
            fenchel.Classifier(loss="multiclass_hinge", alpha=1 / n),
            svm.LinearSVC(multi_class="crammer_singer", C=1.0),
        )
        yield Case(f"{name}, multiclass hinge", X, y, *both)
        return
    yield Case(
        f"{name}, L1 logistic",
        *(X, y),
        fenchel.Classifier(loss="logistic", penalty="l1", alpha=1 / n),
        linear_model.LogisticRegression(l1_ratio=1, solver="liblinear"),
    )
    both = fenchel.Classifier(loss="logistic", alpha=1 / n), logistic(1.0)
    yield Case(f"{name}, logistic", X, y, *both)


def logistic(C: float) -> Any:
    return linear_model.LogisticRegression(C=C)


def regression(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Case]:
    yield lasso(name, X, y)
    yield ridge(name, X, y)
    yield Case(
        f"{name}, quantile L1",
        *(X, y),
        fenchel.Regressor(loss="quantile", quantile=0.8, penalty="l1", alpha=0.01),
        linear_model.QuantileRegressor(quantile=0.8, alpha=0.01),
    )


def lasso(name: str, X: np.ndarray, y: np.ndarray) -> Case:
    ours = fenchel.Regressor(loss="squared_error", penalty="l1", alpha=0.01)
    return Case(f"{name}, lasso", X, y, ours, linear_model.Lasso(alpha=0.01))


def ridge(name: str, X: np.ndarray, y: np.ndarray) -> Case:
    ours = fenchel.Regressor(loss="squared_error", alpha=1 / len(y))
    return Case(f"{name}, ridge", X, y, ours, linear_model.Ridge(alpha=1.0))


def kinked(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Case]:
    for loss, options in (
        ("epsilon_insensitive", {"epsilon": 0.1}),
        ("quantile", {"quantile": 0.8}),
    ):
        ours = fenchel.Regressor(loss=loss, alpha=1e-4, **options)
        yield Case(
            f"{name}, {loss} L2 beside SciPy's L-BFGS", X, y, ours, Quasi(loss, 1e-4, options)
        )


def scaled_target(data: Data) -> Data:
    X, y = scaled(data)
    return X, (y - y.mean()) / y.std()


class Quasi:
    """SciPy's L-BFGS on the subgradients, stopped where J is within 1e-4 of the least, if ever."""

    def __init__(self, loss: str, alpha: float, options: dict[str, float]):
        self.loss, self.alpha, self.options = loss, alpha, options

    def __sklearn_clone__(self) -> Quasi:
        return Quasi(self.loss, self.alpha, self.options)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Quasi:
        from scipy.optimize import minimize

        def both(v: np.ndarray) -> tuple[float, np.ndarray]:
            w, r = v[:-1], X @ v[:-1] + v[-1] - y
            if self.loss == "quantile":
                a = np.where(r > 0, 1 - self.options["quantile"], -self.options["quantile"])
                value = np.mean(a * r)
            else:
                over = np.abs(r) - self.options["epsilon"]
                a = np.where(over > 0, np.sign(r), 0.0)
                value = np.mean(np.maximum(over, 0))
            a = a / len(y)
            slope = np.append(X.T @ a + self.alpha * w, a.sum())
            return value + 0.5 * self.alpha * w @ w, slope

        found = minimize(both, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B")
        self.objective_ = found.fun
        return self


def others() -> Iterator[Case]:
    """Data on which nothing was chosen."""
    for name, data in (
        ("wine", load_wine(return_X_y=True)),
        ("digits", load_digits(return_X_y=True)),
        ("mammography", table("mammography")),
        ("mixed frame", frame(0, 2_000, 12)),
        ("wide frame", frame(1, 300, 200)),
        ("tall frame", frame(2, 20_000, 8)),
        ("rare frame", frame(3, 1_000, 30, rare=True)),
    ):
        yield from classification(name, *scaled(data))
    for name in ("cal_housing", "abalone"):
        X, y = scaled_target(table(name))
        yield lasso(name, X, y)
        yield ridge(name, X, y)
        if len(y) < 10_000:
            yield from kinked(name, X, y)


def frame(seed: int, n: int, d: int, rare: bool = False) -> Data:
    """A frame as they come: skewed numbers, counts, flags, correlated columns, noise in y."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, d))
    X = base @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d))
    X[:, ::4] = np.exp(X[:, ::4] / 2)
    X[:, 1::4] = rng.poisson(np.exp(np.clip(X[:, 1::4], -2, 2)))
    X[:, 2::4] = X[:, 2::4] > 0.5
    score = X @ rng.normal(size=d) / np.sqrt(d)
    limit = np.quantile(score, 0.95 if rare else 0.5)
    return X, (score + 0.5 * rng.normal(size=n) > limit).astype(int)


def searches() -> Iterator[Case]:
    """Grids of settings, each fit by itself and along a path."""
    X, y = scaled(load_breast_cancer(return_X_y=True))
    n, C = len(y), np.logspace(-2, 2, 8)
    for loss, theirs in (
        ("hinge", svm.LinearSVC(loss="hinge", max_iter=10_000)),
        ("logistic", linear_model.LogisticRegression()),
    ):
        yield Case(
            f"GridSearchCV 8 x 5, breast cancer, {loss}",
            *(X, y),
            GridSearchCV(fenchel.Classifier(loss=loss), {"alpha": 1 / (n * C)}),
            GridSearchCV(theirs, {"C": C}),
        )
    C = np.logspace(-4, 4, 10)
    yield Case(
        "ClassifierCV(hinge), 10 strengths, beside GridSearchCV(LinearSVC)",
        *(X, y),
        fenchel.ClassifierCV(alphas=1 / (n * C)),
        GridSearchCV(svm.LinearSVC(loss="hinge", max_iter=10_000), {"C": C}),
    )
    yield Case(
        "ClassifierCV(logistic), 10 strengths, beside LogisticRegressionCV",
        *(X, y),
        fenchel.ClassifierCV(loss="logistic", alphas=1 / (n * C)),
        linear_model.LogisticRegressionCV(Cs=C, l1_ratios=(0,), use_legacy_attributes=False),
    )
    X, y = scaled_target(load_diabetes(return_X_y=True))
    for penalty, theirs in (
        ("l1", linear_model.LassoCV()),
        ("elastic_net", linear_model.ElasticNetCV()),
    ):
        grid = theirs.fit(X, y).alphas_
        yield Case(
            f"RegressorCV({penalty}), 100 strengths, beside {type(theirs).__name__}",
            *(X, y),
            fenchel.RegressorCV(loss="squared_error", penalty=penalty, alphas=grid),
            theirs,
        )


def measured(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    model = clone(model)
    start = time.process_time()
    model.fit(X, y)
    return 1e3 * (time.process_time() - start), model


def gap_of(model: Any) -> float:
    best = getattr(model, "best_estimator_", model)
    return float(best.gap_)


def run(case: Case, repeats: int) -> None:
    ours, theirs = [], []
    measured(case.ours, case.X, case.y), measured(case.theirs, case.X, case.y)  # warm-up
    for _ in range(repeats):
        took, model = measured(case.ours, case.X, case.y)
        ours.append(took)
        theirs.append(measured(case.theirs, case.X, case.y)[0])
        if sum(ours) + sum(theirs) > 20_000:
            break
    mine, other = statistics.median(ours), statistics.median(theirs)
    best = getattr(model, "best_estimator_", model)
    print(
        f"| {case.name} | {mine:.2f} | {other:.2f} | {mine / other:.2f} "
        f"| {gap_of(model):.0e} | {best.solver_} |",
        flush=True,
    )


def path_beside_cold_fits(repeats: int) -> None:
    X, y = scaled(load_breast_cancer(return_X_y=True))
    strengths = np.geomspace(1e-1, 1e-6, 30)
    problem = fenchel.problem(X, y, loss="hinge", intercept=True)
    whole, cold = [], []
    for _ in range(repeats):
        start = time.process_time()
        fenchel.path(problem, strengths)
        whole.append(time.process_time() - start)
        start = time.process_time()
        for strength in strengths:
            fenchel.minimize(fenchel.problem(X, y, loss="hinge", intercept=True, strength=strength))
        cold.append((time.process_time() - start) / len(strengths))
    path, fit = statistics.median(whole), statistics.median(cold)
    print(f"\nA hinge path of 30 strengths on breast cancer: {1e3 * path:.1f} ms, as much as")
    print(f"{path / fit:.1f} cold fits of {1e3 * fit:.2f} ms in the mean.")


def main() -> None:
    os.environ["FENCHEL_NUM_THREADS"] = "1"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="lines whose name holds this")
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        tables(given.only, given.repeats)


def tables(only: str, repeats: int) -> None:
    for title, cases in (("Tuned on", tuned_on), ("Others", others), ("Searches", searches)):
        print(f"\n| {title} | fenchel, ms | scikit-learn, ms | ratio | gap | solver |")
        print("|---|---|---|---|---|---|")
        for case in cases():
            if only in case.name:
                run(case, repeats)
    if only in "path":
        path_beside_cold_fits(repeats)


if __name__ == "__main__":
    main()
