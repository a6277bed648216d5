"""Sets of labels: the ranking hinge of all labels at once, beside one machine for each label.

Each is fitted for several strengths, ours to a certified gap of 1e-3 or for LIMIT seconds, and
measured on the test rows: the share of rows without any mistake, and F1 of all decisions together.
Shown is the strength of the best F1 of each, which flatters both in the same way. CPU seconds, one
thread.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from data import labelled
from peers import limited
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MaxAbsScaler, MultiLabelBinarizer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import fenchel

SETS = {"scene": 294, "yeast": 103, "enron": 1001, "tmc2007": 500, "bibtex": 1836}
STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4)
LIMIT = 20.0  # seconds for a fit


def loaded(name: str) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Train and test, columns scaled to at most 1, labels as indicators."""
    parts = [labelled(f"{name}/{part}.svm", SETS[name]) for part in ("train", "test")]
    scaler = MaxAbsScaler().fit(parts[0][0])
    sets = MultiLabelBinarizer().fit([*parts[0][1], *parts[1][1]])
    return tuple((_narrow(scaler.transform(X)), sets.transform(y)) for X, y in parts)


def _narrow(X: Any) -> Any:
    """With a column of ones, penalised as liblinear has it, and indices of its 32 bits."""
    X = sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1))]))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def ours(alpha: float, n_rows: int) -> Any:
    return fenchel.MultilabelClassifier(
        alpha=alpha, fit_intercept=False, tol=1e-3, n_jobs=1, callback=limited(LIMIT)
    )


def one_by_one(alpha: float, n_rows: int) -> Any:
    return OneVsRestClassifier(LinearSVC(loss="hinge", C=1 / (alpha * n_rows), fit_intercept=False))


def main() -> None:
    print(
        f"{'data':8} {'labels':>6} {'model':12} {'no mistake':>10} {'F1':>7}"
        f" {'alpha':>7} {'gap':>8} {'seconds':>8}"
    )
    for name in SETS:
        (X, Y), (X_test, Y_test) = loaded(name)
        for kind, make in (("together", ours), ("one by one", one_by_one)):
            found = []
            for alpha in STRENGTHS:
                model, begun = make(alpha, len(Y)), time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of labels without rows, and of liblinear
                    model.fit(X, Y)
                seconds, predicted = time.process_time() - begun, model.predict(X_test)
                f1 = f1_score(Y_test, predicted, average="micro")
                exact = accuracy_score(Y_test, predicted)
                found.append((f1, exact, alpha, getattr(model, "gap_", np.nan), seconds))
            f1, exact, alpha, gap, seconds = max(found)
            print(
                f"{name:8} {Y.shape[1]:6} {kind:12} {exact:10.4f} {f1:7.4f} {alpha:7.0e} {gap:8.1e}"
                f" {seconds:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
