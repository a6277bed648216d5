"""Draws docs/path.svg and prints what docs/how-to/paths.md shows: a sparse path, the best alpha.

python examples/path.py
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import fenchel

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)

    problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", intercept=True)
    path = fenchel.path(problem)
    print(path)
    print(path.strengths[:3], path.coefficients.shape)
    print(path[10])
    path.plot(DOCS / "path.svg")

    model = fenchel.ClassifierCV(loss="logistic", penalty="l1").fit(X, y)
    print(model.alpha_, model.mean_scores_.max())
    print(model.result_)


if __name__ == "__main__":
    main()
