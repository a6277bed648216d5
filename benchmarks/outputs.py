"""Vector losses: the two products with K outputs against SciPy and NumPy, and an exact search.

Ratios of medians of interleaved repeats in one run, one thread. The baseline computes X @ W and
X.T @ A with ready-made slopes A; fenchel's evaluation computes scores, loss, slopes and gradient.
The last columns are what other parts of an iteration cost, in units of fenchel's evaluation: one
sweep for the slope at a step, and a whole exact line search ([Yu10] algorithms 4 and 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from data import real
from passes import medians
from scipy import sparse
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.engines import Serial
from fenchel.risks.views.row_space import RowSpace
from fenchel.solvers._line_search import Along, exact


def measure(name: str, X: Any, y: np.ndarray, loss: str) -> None:
    rng = np.random.default_rng(0)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-4, engine=Serial())
    risk, K = problem.risk, len(problem.risk.classes)
    rows = RowSpace(risk)
    w = rng.standard_normal(risk.n_parameters) / np.sqrt(X.shape[1])
    point = risk.at(w)
    W, A = w.reshape(-1, K), point.duals.reshape(-1, K)
    calls = {
        "peer scores": lambda: X @ W,
        "peer adjoint": lambda: X.T @ A,
        "scores": lambda: rows.scores(w),
        "adjoint": lambda: rows.adjoint(point.duals),
        "evaluation": lambda: risk.at(w),
    }
    if risk.facts.piecewise:
        along = Along(problem, point, -problem.subgradient(point))
        calls["slope"] = lambda: along.slope(1.0)
        calls["search"] = lambda: exact(along, 1.0)
    seconds = medians(calls)
    peer, ours = seconds["peer scores"] + seconds["peer adjoint"], seconds["evaluation"]
    shares = [f"{seconds[part] / ours:7.2f}" for part in ("slope", "search") if part in seconds]
    print(
        f"{name:14} {K:3} {loss:16} {X.dtype!s:8} {1e3 * peer:9.2f}"
        f" {seconds['peer scores'] / seconds['scores']:7.2f}"
        f" {seconds['peer adjoint'] / seconds['adjoint']:7.2f}"
        f" {peer / ours:7.2f} {' '.join(shares)}",
        flush=True,
    )


def _dense(name: str, n_features: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = real(name, n_features)
    return X.toarray() / scale, y


def _multilabel(name: str, n_features: int) -> tuple[sparse.csr_array, list[Any]]:
    return real(name, n_features, multilabel=True)


def main() -> None:
    print(
        f"{'data':14} {'K':>3} {'loss':16} {'dtype':8} {'peer ms':>9} {'X W':>7} {'X^T A':>7}"
        f" {'both':>7} {'slope':>7} {'search':>7}"
    )
    sets = {
        "letter": _dense("letter/letter", 16, 15.0),
        "usps": _dense("usps/usps", 256, 1.0),
        "mnist": _dense("mnist/mnist", 780, 255.0),
        "mnist sparse": real("mnist/mnist", 780),
        "20news tfidf": real("20news/train.tfidf.svm", 130107),
    }
    labelled = {
        "yeast": _multilabel("yeast/train.svm", 103),
        "tmc2007": _multilabel("tmc2007/train.svm", 500),
        "bibtex": _multilabel("bibtex/train.svm", 1836),
    }
    with threadpool_limits(1, "blas"):
        for name, (X, y) in sets.items():
            for loss in ("multiclass_hinge", "softmax"):
                measure(name, X, y, loss)
        for name, (X, y) in labelled.items():
            measure(name, X, y, "multilabel_hinge")
        X, y = sets["mnist"]
        measure("mnist", X.astype(np.float32), y, "multiclass_hinge")
        X, y = sets["20news tfidf"]
        measure("20news tfidf", X.astype(np.float32), y, "multiclass_hinge")


if __name__ == "__main__":
    main()
