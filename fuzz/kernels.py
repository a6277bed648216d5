"""Random problems of rows known through a kernel: no bound of any solver may contradict another.

    python fuzz/kernels.py [problems] [seed]

Each problem draws a kernel, a loss, a strength, scales of rows and labels, weights, repeated rows
and an intercept; every solver that can minimises it, verified or not, and each lower bound must be
at most each objective, but for what verification says that objectives are in doubt by. 300 problems
take about a minute.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel.solvers import SOLVERS
from fenchel.verification import recompute

MARGINS = ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "perceptron")
RESIDUALS = ("squared_error", "absolute_error", "quantile", "epsilon_insensitive", "huber")
KERNELS = ("rbf", "laplacian", "polynomial", "linear", "precomputed")


class Drawn(NamedTuple):
    """The arguments of a problem."""

    X: np.ndarray
    y: np.ndarray
    settings: dict[str, Any]


def drawn(seed: int) -> Drawn:
    """A problem, the same for the same seed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2)
    X[rng.random(n) < 0.2] = X[0]  # the same row again, whatever its label
    loss = str(rng.choice(MARGINS + RESIDUALS))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0) if loss in MARGINS else rng.normal(size=n)
    if loss in MARGINS:
        y[:2] = (1.0, -1.0)
    kernel = str(rng.choice(KERNELS))
    settings = {
        "kernel": kernel,
        "loss": loss,
        "strength": 10.0 ** rng.uniform(-6, 1),
        "intercept": bool(rng.random() < 0.5),
        "sample_weight": rng.uniform(0.1, 3, n) if rng.random() < 0.5 else None,
        "gamma": 10.0 ** rng.uniform(-2, 1),
        "degree": int(rng.integers(1, 4)),
        "coef0": float(rng.uniform(0, 2)),
        "cache_size": float(rng.choice([1e-3, 200.0])),
    }
    if kernel == "precomputed":
        X = X @ X.T
        X = (X + X.T) / 2
    return Drawn(X, y, settings)


def contradictions(seed: int) -> list[str]:
    """What solvers claim of a problem and others refute."""
    X, y, settings = drawn(seed)
    problem = fenchel.problem(X, y, **settings)
    bounds, objectives = {}, {}
    for name, kind in SOLVERS.items():
        if kind().obstacle(problem) is not None:
            continue
        result = fenchel.minimize(problem, name, gap=1e-6, max_iterations=60)
        found = recompute(result, problem)
        bounds[name] = result.lower_bound
        objectives[name] = result.objective + 2 * found.doubt
    return [
        f"seed {seed}: {one} proves min J >= {low!r}, but {other} has J = {high!r}; {settings}"
        for one, low in bounds.items()
        for other, high in objectives.items()
        if low > high
    ]


def main(problems: int, first: int) -> int:
    """The number of contradictions, which are printed."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + problems):
            found += contradictions(seed)
    print("\n".join(found))
    print(f"{problems} problems, {len(found)} contradictions")
    return len(found)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    sys.exit(bool(main(count, int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
