"""L1 logistic regression: OWL-QN, OWL-QN* and the K&T split beside BMRM and liblinear.

For each set: iterations, passes and seconds to a certified relative gap of 1e-3 and of 1e-6, the
nonzeros, and how far the objective of liblinear's solution lies above ours. Then figure 17 of
[Yu10]: the same with random subgradients. Arguments: names of sets and `random`; all of them
without. `passes` is a table of its own: passes to 1e-6 of all, also as the papers print them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from data import a9a, mnist, news, real, two_classes
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import fenchel
from fenchel.solvers import OWLQN, OWLQNStar

SECONDS = 120.0
Data = tuple[Any, np.ndarray]


def covtype() -> Data:
    X, y = real("covtype/covtype", 54)
    return X, two_classes(y, 2)


def scaled(X: sparse.csr_array) -> sparse.csr_array:
    """Columns in [-1, 1]."""
    largest = np.abs(X).max(axis=0).toarray().ravel()
    return sparse.csr_array(X @ sparse.diags_array(1 / np.where(largest > 0, largest, 1)))


def covtype_scaled() -> Data:
    X, y = covtype()
    return scaled(X), y


def standardised(name: str, d: int) -> Data:
    """Columns of mean 0 and variance 1, as these sets are mostly used."""
    X, y = real(f"{name}/{name}.svm", d)
    dense = X.toarray()
    deviation = dense.std(axis=0)
    return (dense - dense.mean(axis=0)) / np.where(deviation > 0, deviation, 1), y


SETS: dict[str, tuple[Callable[[], Data], tuple[float, ...]]] = {
    "a9a": (a9a, (1e-3, 1e-4, 1e-5)),
    "w8a": (lambda: real("w8a/w8a", 300), (1e-3, 1e-4, 1e-5)),
    "colon": (lambda: standardised("colon", 2000), (1e-1, 1e-2, 1e-3)),
    "leukemia": (lambda: standardised("leukemia", 7129), (1e-1, 1e-2, 1e-3)),
    "20news": (news, (1e-3, 1e-4)),
    "mnist": (mnist, (1e-2, 1e-3)),
    "covtype-scaled": (covtype_scaled, (1e-3, 1e-4)),
    "covtype": (covtype, (1e-1,)),
}


CASES = (
    ("a9a", 1e-3),
    ("a9a", 1e-4),
    ("a9a", 1e-5),
    ("w8a", 1e-3),
    ("w8a", 1e-4),
    ("20news", 1e-4),
    ("colon", 1e-3),
    ("leukemia", 1e-2),
)


def reached(result: fenchel.Result, gap: float) -> str:
    """Iterations, passes and seconds to a gap."""
    for record in result.history:
        if record.gap <= gap:
            return f"{record.iteration:5} {record.passes:6} {record.seconds:7.2f}"
    return f"{'-':>5} {'-':>6} {'-':>7}"


def liblinear(X: Any, y: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    """Its coefficients at a small tolerance, and the seconds."""
    model = LogisticRegression(
        l1_ratio=1.0,
        solver="liblinear",
        fit_intercept=False,
        C=1 / (strength * len(y)),
        tol=1e-7,
        max_iter=1000,
    )
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model.coef_[0], time.perf_counter() - started


def compare(name: str, solvers: tuple[str, ...]) -> None:
    load, strengths = SETS[name]
    X, y = load()
    for strength in strengths:
        problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", strength=strength)
        w, seconds = liblinear(X, y, strength)
        theirs = problem.objective(problem.risk.at(w))
        print(f"{name} {strength:g}: liblinear J {theirs:.9g}, {np.count_nonzero(w)} nonzeros")
        print(f"  liblinear to its tol of 1e-7: {seconds:.2f} s")
        for solver in solvers:
            result = fenchel.minimize(problem, solver, gap=1e-6, max_seconds=SECONDS)
            fenchel.verify(result, problem)
            differ = np.count_nonzero((result.w != 0) != (w != 0))
            print(
                f"  {solver:11} 1e-3: {reached(result, 1e-3)}   1e-6: {reached(result, 1e-6)}"
                f"   gap {result.gap:.0e} nonzeros {np.count_nonzero(result.w):5} (differ {differ})"
                f" liblinear above by {(theirs - result.objective) / theirs:+.1e}",
                flush=True,
            )


def at_random(kind: type[OWLQN]) -> OWLQN:
    """The solver with random elements of dJ(w) in place of the steepest one."""
    rng = np.random.default_rng(0)

    class Random(kind):
        def subgradient(self, problem: fenchel.Problem, point: Any) -> np.ndarray:
            p = rng.uniform(-1, 1, size=len(point.w))
            kinks = np.where(point.w == 0, np.abs(p), 1.0)
            signs = problem.regularizer.support(point.w, p)
            return np.asarray(point.subgradient + problem.strength * kinks * signs)

    return Random()


def random_subgradients() -> None:
    """Figure 17 of [Yu10]: OWL-QNr breaks down, OWL-QNr* does not."""
    print("random subgradients, (J - min J) / min J after 50, 100 and 200 iterations")
    for name, strength in (("a9a", 1e-3), ("w8a", 1e-3), ("covtype-scaled", 1e-3)):
        X, y = SETS[name][0]()
        problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", strength=strength)
        least = fenchel.minimize(problem, "owlqn", gap=1e-8, max_seconds=SECONDS).objective
        rivals = {"OWL-QN": OWLQN(), "OWL-QN*": OWLQNStar()}
        rivals |= {"OWL-QNr": at_random(OWLQN), "OWL-QNr*": at_random(OWLQNStar)}
        for label, solver in rivals.items():
            result = fenchel.minimize(problem, solver, gap=1e-8, max_iterations=200)
            J = [record.objective for record in result.history]
            after = [J[min(k, len(J)) - 1] / least - 1 for k in (50, 100, 200)]
            cells = "  ".join(f"{excess:8.1e}" for excess in after)
            print(f"  {name:15} {label:9} {cells}   {result.status.name.lower()}", flush=True)


def passes() -> None:
    """A row a case, a column a solver; a dash: not in 15 seconds."""
    rivals = {
        "owlqn": ("owlqn", {}),
        "owlqn-star": ("owlqn-star", {}),
        "owlqn as printed": ("owlqn", {"form": "printed"}),
        "kt-split": ("kt-split", {}),
        "kt-split left running": ("kt-split", {"burst": None}),
        "bmrm": ("bmrm", {}),
    }
    print(f"| set, strength | {' | '.join(rivals)} |")
    print("|---|" + "---|" * len(rivals))
    for name, strength in CASES:
        X, y = SETS[name][0]()
        problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", strength=strength)
        cells = []
        for solver, options in rivals.values():
            method = fenchel.solver(solver, **options)
            result = fenchel.minimize(problem, method, gap=1e-6, max_seconds=15.0)
            cells.append(str(result.passes) if result.converged else "-")
        print(f"| {name} {strength:g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    wanted = sys.argv[1:] or [*SETS, "random"]
    for name in wanted:
        if name == "random":
            random_subgradients()
        elif name == "passes":
            passes()
        else:
            large = name.startswith(("covtype", "mnist", "20news"))
            rivals = ("owlqn", "owlqn-star", "kt-split")
            compare(name, rivals if large else (*rivals, "bmrm"))


if __name__ == "__main__":
    main()
