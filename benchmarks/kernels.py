"""Kernel machines on 20,000 rows: `smo` beside SVC and SVR of scikit-learn.

FENCHEL_DATA=... python benchmarks/kernels.py [rows]

About four minutes with 20,000 rows on two cores. Both have 200 MB for kernel values, C = 1 and
gamma = 1 / columns (columns of unit variance). Seconds are of the wall: SVC and SVR use one thread,
`smo` those of the engine; its processor seconds follow. The objective is J of the model that was
found, computed here; the gap is the certified one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from data import real
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import fenchel

SETS: dict[str, tuple[str, int, str]] = {
    "a9a": ("a9a/a9a", 123, "hinge"),
    "letter": ("letter/letter", 16, "hinge"),
    "cal_housing": ("cal_housing/cal_housing.svm", 8, "epsilon_insensitive"),
}
GAP = 1e-3


def main(n: int) -> None:
    print("| data | rows | method | seconds | cpu | J | gap | support rows |")
    for name, (path, n_features, loss) in SETS.items():
        X, y = prepared(path, n_features, loss, n)
        gamma, strength = 1 / n_features, 1 / len(y)
        posed = fenchel.problem(
            X, y, loss=loss, kernel="rbf", gamma=gamma, strength=strength, intercept=True
        )
        result, *spent = timed(lambda posed=posed: fenchel.minimize(posed, "smo", gap=GAP))
        used = int(np.count_nonzero(result.w))
        row(name, len(y), "smo", spent, result.objective, f"{result.gap:.1e}", used)
        peer = SVC(C=1.0, gamma=gamma) if loss == "hinge" else SVR(C=1.0, gamma=gamma)
        peer, *spent = timed(lambda peer=peer, X=X, y=y: peer.fit(X, y))
        J = objective(X, y, peer, loss, gamma, strength)
        row(name, len(y), type(peer).__name__, spent, J, "", len(peer.support_))


def prepared(path: str, n_features: int, loss: str, n: int) -> tuple[Any, Any]:
    """At most n rows, drawn at random, of unit variance; of many classes, two halves."""
    X, y = real(path, n_features)[:2]
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:n])
    dense, y = StandardScaler().fit_transform(X[rows].toarray()), np.asarray(y)[rows]
    if loss != "hinge":
        return dense, (y - np.mean(y)) / np.std(y)
    classes = np.unique(y)
    return dense, np.where(y > classes[(len(classes) - 1) // 2], 1, -1)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def objective(X: Any, y: Any, peer: Any, loss: str, gamma: float, strength: float) -> float:
    """J of a scikit-learn model, by blocks of its kernel matrix."""
    beta = peer.dual_coef_[0]
    z = peer.decision_function(X) if loss == "hinge" else peer.predict(X)
    blocks = np.array_split(np.arange(len(beta)), max(1, len(beta) // 1000))
    V = peer.support_vectors_
    square = sum(
        float(beta[some] @ (rbf_kernel(V[some], V, gamma=gamma) @ beta)) for some in blocks
    )
    lost = 1 - y * z if loss == "hinge" else np.abs(z - y) - 0.1
    return strength / 2 * square + float(np.mean(np.maximum(lost, 0.0)))


def row(name: str, n: int, method: str, spent: list[float], J: float, gap: str, used: int) -> None:
    wall, cpu = spent
    print(
        f"| {name} | {n} | {method} | {wall:.1f} | {cpu:.1f} | {J:.6f} | {gap} | {used} |",
        flush=True,
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
