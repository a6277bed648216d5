"""ERLPBoost beside scikit-learn's AdaBoost and gradient boosting: accuracy, rounds and CPU seconds.

Five folds, all with decision stumps. AdaBoost and gradient boosting take the number of rounds that
they are given; ERLPBoost ends by its certified gap, 0.02, and its nu is given. `used` counts the
hypotheses with a weight above 1e-3 of the largest.
"""

import io
import lzma
import os
import time
from pathlib import Path

import numpy as np
from data import a9a, two_classes
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from fenchel import ERLPBoost

N_ROWS, TOL = 1000, 0.02


def adult():
    X, y = a9a()
    rows = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
    return X[rows].toarray(), y[rows]


def mammography():
    path = Path(os.environ["FENCHEL_DATA"]) / "mammography" / "mammography.csv.xz"
    table = np.genfromtxt(io.StringIO(lzma.open(path, "rt").read().replace("'", "")), delimiter=",")
    rows = np.random.default_rng(0).permutation(len(table))[:N_ROWS]
    return table[rows, :-1], two_classes(table[rows, -1], 1)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, two_classes(y, 1)


MODELS = {
    **{
        f"ERLPBoost, nu = {nu}": ERLPBoost(nu=nu, tol=TOL, random_state=0)
        for nu in (0.01, 0.05, 0.1, 0.3)
    },
    "ERLPBoost, nu = 0.1, depth 2": ERLPBoost(
        DecisionTreeClassifier(max_depth=2), nu=0.1, tol=TOL, random_state=0
    ),
    **{f"AdaBoost, {n}": AdaBoostClassifier(n_estimators=n, random_state=0) for n in (50, 200)},
    "gradient boosting, 100": GradientBoostingClassifier(max_depth=1, random_state=0),
}


def used(model):
    weights = np.abs(np.ravel(getattr(model, "estimator_weights_", np.ones(rounds(model)))))
    return int(np.sum(weights > 1e-3 * weights.max()))


def rounds(model):
    return model.n_iter_ if isinstance(model, ERLPBoost) else len(model.estimators_)


def main():
    for load in (breast_cancer, mammography, adult):
        X, y = load()
        shape = f"{X.shape[0]} rows, {X.shape[1]} columns"
        print(f"{load.__name__}: {shape}, {np.mean(y > 0):.1%} positive")
        for name, model in MODELS.items():
            rows = []
            for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                begun = time.process_time()
                model.fit(X[train], y[train])
                seconds = time.process_time() - begun
                found = model.predict(X[test])
                scores = np.mean(found == y[test]), f1_score(y[test], found)
                gap = getattr(model, "gap_", np.nan)
                rows.append((*scores, rounds(model), used(model), gap, seconds))
            accuracy, f1, n, n_used, gap, seconds = np.mean(rows, axis=0)
            line = f"  {name:<30} accuracy {accuracy:.3f}  F1 {f1:.3f}  rounds {n:5.0f}"
            print(f"{line}  used {n_used:4.0f}  gap {gap:.4f}  {seconds:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
