"""What low-rank features leave of a Gaussian kernel matrix: ours, greedy or random, and Nystroem.

FENCHEL_DATA=... python benchmarks/low_rank.py
"""

from __future__ import annotations

import time

import numpy as np
from data import real
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

import fenchel

SETS = {
    "abalone": ("abalone/abalone.svm", 10),
    "cal_housing": ("cal_housing/cal_housing.svm", 8),
    "cpusmall": ("cpusmall/cpusmall.svm", 12),
    "letter": ("letter/letter", 16),
    "usps": ("usps/usps", 256),
}
RANKS = (50, 200)
N = 8000


def main() -> None:
    print("mean residual of k(x, x) = 1 (seconds); gamma = 1 / columns, columns of unit variance")
    for name, (path, n_features) in SETS.items():
        X = StandardScaler().fit_transform(real(path, n_features)[0].toarray()[:N])
        for rank in RANKS:
            cells = [
                cell(X, fenchel.IncompleteCholesky(rank=rank, pivots="greedy")),
                cell(X, Nystroem(gamma=1 / n_features, n_components=rank, random_state=0)),
                cell(X, fenchel.IncompleteCholesky(rank=rank)),
            ]
            print(f"| {name} | {len(X)} | {rank} | {' | '.join(cells)} |")


def cell(X: np.ndarray, features: fenchel.IncompleteCholesky | Nystroem) -> str:
    started = time.perf_counter()
    Phi = features.fit_transform(X)
    seconds = time.perf_counter() - started
    return f"{1 - np.mean(np.sum(Phi**2, axis=1)):.4f} ({seconds:.2f})"


if __name__ == "__main__":
    main()
