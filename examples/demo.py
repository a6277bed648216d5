"""Fits real data that ships with scikit-learn, proves each fit, and sets scikit-learn beside it.

Run it with `make demo`.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import ElasticNet, LogisticRegression, QuantileRegressor
from sklearn.metrics import accuracy_score, mean_pinball_loss, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fenchel

STRENGTH = 1e-3
QUANTILE = 0.9
REPEATS = 11


def split(load: Callable[..., Any]) -> tuple[Any, ...]:
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


def accuracy(y: Any, scores: Any) -> float:
    return float(accuracy_score(y, scores > 0))


def pinball(y: Any, scores: Any) -> float:
    return -float(mean_pinball_loss(y, scores, alpha=QUANTILE))


def milliseconds(fit: Callable[[], Any]) -> tuple[float, Any]:
    """The median of some fits, the first left out, and what the last one gave."""
    fitted, times = fit(), []
    for _ in range(REPEATS):
        started = time.perf_counter()
        fitted = fit()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times), fitted


def compare(
    data: tuple[Any, ...], peer: Any, score: Callable[..., float], **settings: Any
) -> fenchel.Result:
    X, X_test, y, y_test = data

    def fit() -> fenchel.Result:
        problem = fenchel.problem(X, y, strength=STRENGTH, intercept=True, **settings)
        return fenchel.minimize(problem)

    mine, result = milliseconds(fit)
    proof = fenchel.verify(
        result, fenchel.problem(X, y, strength=STRENGTH, intercept=True, **settings)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other, fitted = milliseconds(lambda: peer.fit(X, y))
    loss = settings["loss"] + " + " + settings.get("regularizer", "l2")
    ours, theirs = X_test @ result.w + result.intercept, X_test @ np.ravel(fitted.coef_)
    theirs = theirs + np.ravel(fitted.intercept_)[0]
    print(
        f"{loss:27} {result.solver:14} {proof.lower_bound:12.7f} {proof.upper_bound:12.7f}"
        f" {proof.gap:8.1e} {mine:6.1f} {score(y_test, ours):9.4f}"
        f" | {type(peer).__name__:18} {other:6.1f} {score(y_test, theirs):9.4f}"
    )
    return result


def main() -> None:
    cancer, diabetes = split(load_breast_cancer), split(load_diabetes)
    n = len(cancer[2])
    C = 1 / (STRENGTH * n)
    print(
        "Every fit with an unregularised intercept, to a certified gap of 1e-4; both bounds are\n"
        "those of fenchel.verify. scikit-learn at its default tolerance, which proves nothing.\n"
        f"Milliseconds are medians of {REPEATS} fits.\n"
    )
    print(
        f"{'problem':27} {'by':14} {'lower bound':>12} {'objective':>12} {'gap':>8} {'ms':>6}"
        f" {'test':>9} | {'scikit-learn':18} {'ms':>6} {'test':>9}"
    )
    print("breast cancer, test accuracy")
    hinge = compare(
        cancer,
        LinearSVC(loss="hinge", C=C, max_iter=100_000, random_state=0),
        accuracy,
        loss="hinge",
    )
    compare(cancer, LogisticRegression(C=C), accuracy, loss="logistic")
    sparse = LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", random_state=0)
    compare(cancer, sparse, accuracy, loss="logistic", regularizer="l1")
    print(f"diabetes, test R^2 for squared error, minus the pinball loss for quantile {QUANTILE}")
    compare(
        diabetes,
        ElasticNet(alpha=STRENGTH, l1_ratio=0.5),
        lambda y, scores: float(r2_score(y, scores)),
        loss="squared_error",
        regularizer="elastic_net",
    )
    compare(
        diabetes,
        QuantileRegressor(quantile=QUANTILE, alpha=STRENGTH),
        pinball,
        loss="quantile",
        quantile=QUANTILE,
        regularizer="l1",
    )
    print(f"\n{hinge!r}\n{hinge.solver} was chosen because: {hinge.reason}.")


if __name__ == "__main__":
    main()
