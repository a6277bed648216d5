"""Thirty strengths of an L1 penalty, each fit started from the last and each with its own proof."""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import fenchel

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", intercept=True)
path = fenchel.path(problem)
print(f"{len(path)} strengths, largest gap {max(path.gaps):.0e}, converged: {path.converged}")
path.plot("sparse_path.svg")
