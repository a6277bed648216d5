"""Sparse models of several scores, and of groups of columns: block descent beside the others.

softmax under L1, and under a group lasso of rows (one group = all classes of a column), with
intercepts: `block-descent` beside fenchel's own OWL-QN and FISTA with restarts, and scikit-learn's
saga for L1. Squares of several targets under the rows' group lasso beside the MultiTaskLasso of
scikit-learn and skglm (celer's does not run with today's scikit-learn); the group lasso of one
target beside celer's and skglm's. Times and ladders are those of sparse.py, whose last part this
is: CPU seconds of one thread, ours and those of our other solvers with a certificate of the gap;
"-" where a fit took LIMIT seconds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from multiclass import loaded
from peers import cpu_seconds
from sklearn.linear_model import LogisticRegression, MultiTaskLasso

import fenchel
from fenchel.regularizers import GroupL1
from fenchel.solvers import FISTA, OWLQN, BlockDescent, Solver

STRENGTHS = (1e-3, 1e-4)
GAPS = (1e-3, 1e-6)
LIMIT = 60.0  # seconds for a fit, and for a peer's ladder
TOLERANCES = 10.0 ** -np.arange(1, 10)
Model = Callable[[float], Any]


def ours(X: Any, y: Any, solver: Solver, gap: float, options: dict[str, Any]) -> tuple[float, Any]:
    """The CPU seconds of posing and solving, inf where the gap was not reached; the result."""

    def work() -> tuple[fenchel.Problem, fenchel.Result]:
        problem = fenchel.problem(X, y, engine="serial", intercept=True, **options)
        limits = {"max_seconds": LIMIT, "max_iterations": 10**6}
        return problem, fenchel.minimize(problem, solver, gap=gap, **limits)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, (problem, result) = cpu_seconds(work)
    if result.converged:
        fenchel.verify(result, problem)
    return (seconds if result.converged else math.inf), (problem, result)


def theirs(model: Model, X: Any, y: Any, problem: fenchel.Problem, bound: float) -> float:
    """The seconds of the loosest tolerance whose coefficients come as low as the bound."""
    spent = 0.0
    for tolerance in TOLERANCES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, fit = cpu_seconds(lambda t=tolerance: model(t).fit(X, y))
        w = problem.risk.flattened(np.atleast_2d(fit.coef_), 0.0)
        if problem.objective(problem.risk.at(np.ravel(w))) <= bound:
            return seconds
        spent += seconds
        if spent > LIMIT:
            break
    return math.inf


def table(
    label: str, X: Any, y: Any, solvers: dict[str, Solver], peers: dict[str, Model], **options: Any
) -> list[float]:
    """A row for each gap; the ratios of our time to the best of the others'."""
    ratios = []
    for gap in GAPS:
        seconds, (problem, result) = ours(X, y, BlockDescent(), gap, options)
        bound = result.lower_bound + gap * abs(result.objective)
        times = {name: ours(X, y, each, gap, options)[0] for name, each in solvers.items()}
        times |= {name: theirs(each, X, y, problem, bound) for name, each in peers.items()}
        ratios.append(seconds / min(min(times.values()), LIMIT))
        cells = "  ".join(f"{name} {shown(each)}" for name, each in times.items())
        print(
            f"{label:36s} {gap:.0e}  block {seconds:7.3f}  {cells}  ratio {ratios[-1]:.2f}",
            flush=True,
        )
    return ratios


def shown(seconds: float) -> str:
    return "      -" if seconds == math.inf else f"{seconds:7.3f}"


def softmax(name: str, X: Any, y: np.ndarray) -> list[float]:
    ratios = []
    fista, owlqn = {"fista": FISTA(restart=True)}, {"owlqn": OWLQN()}
    for strength in STRENGTHS:
        C = 1 / (strength * len(y))
        saga = {"saga": lambda tol, C=C: LogisticRegression(
            l1_ratio=1.0, C=C, solver="saga", tol=tol, max_iter=1000
        )}  # fmt: skip
        options = {"loss": "softmax", "strength": strength}
        ratios += table(
            f"{name} {strength:g}, l1", X, y, owlqn | fista, saga, regularizer="l1", **options
        )
        rows = GroupL1(np.arange(X.shape[1]))
        ratios += table(f"{name} {strength:g}, rows", X, y, fista, {}, regularizer=rows, **options)
    return ratios


def targets(n: int = 2000, d: int = 5000, K: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Columns of which neighbours are alike; twenty of them make K targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + math.sqrt(0.75) * X[:, j]
    W = np.zeros((d, K))
    W[rng.choice(d, 20, replace=False)] = rng.normal(size=(20, K))
    return np.asfortranarray(X), np.asfortranarray(X @ W + rng.normal(size=(n, K)))


def squares() -> list[float]:
    import celer
    import skglm

    X, Y = targets()
    ratios, fista = [], {"fista": FISTA(restart=True)}
    groups = np.arange(X.shape[1]) // 10
    lists = [np.flatnonzero(groups == g).tolist() for g in range(groups[-1] + 1)]
    for part in (0.1, 0.01):
        largest = np.max(np.linalg.norm(X.T @ (Y - Y.mean(axis=0)), axis=1)) / len(X)
        alpha = float(part * largest)
        peers: dict[str, Model] = {
            "sklearn": lambda tol, a=alpha: MultiTaskLasso(alpha=a, tol=tol, max_iter=10**5),
            "skglm": lambda tol, a=alpha: skglm.MultiTaskLasso(alpha=a, tol=tol),
        }
        rows = GroupL1(np.arange(X.shape[1]))
        options = {"loss": "multivariate_squared", "regularizer": rows, "strength": alpha}
        ratios += table(f"{part:g} of the largest, rows", X, Y, fista, peers, **options)
        y, c = np.ascontiguousarray(Y[:, 0]), np.ones(len(lists))
        norms = [np.linalg.norm(X[:, each].T @ (y - y.mean())) for each in lists]
        alpha = float(part * max(norms) / len(X))
        peers = {
            "celer": lambda tol, a=alpha: celer.GroupLasso(groups=10, alpha=a, tol=tol),
            "skglm": lambda tol, a=alpha: skglm.GroupLasso(groups=10, alpha=a, tol=tol),
        }
        options = {"loss": "squared_error", "regularizer": GroupL1(groups, c), "strength": alpha}
        ratios += table(f"{part:g} of the largest, groups of 10", X, y, fista, peers, **options)
    return ratios


def blocks(names: list[str]) -> list[float]:
    """All of it, or the parts named."""
    ratios: list[float] = []
    for name in names or ("usps", "20news"):
        ratios += softmax(name, *loaded(name))
    return ratios if names else ratios + squares()
