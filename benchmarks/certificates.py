"""What it costs to prove what a fit claims, and what a bound that holds in exact arithmetic gives
away.

First table: CPU seconds of fits with `verify=False` and with `verify=True`, medians of three in
turns, the passes of either, and by how much the solver's claim exceeded its proof. Second table:
`fenchel.verify` and `fenchel.verify(rigorous=True)` on one fit each: seconds, and how much lower
the rigorous bound is, relative to the objective. One thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from data import a9a, imdb, mnist, news, real, two_classes
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

import fenchel

REPEATS = 3
GAP = 1e-4


class Case(NamedTuple):
    data: str
    problem: Any
    solver: str


def small() -> Iterator[Case]:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for loss, penalty in (("hinge", "l2"), ("logistic", "l2"), ("logistic", "l1")):
        problem = fenchel.problem(
            X, y, loss=loss, regularizer=penalty, strength=1e-3, intercept=True, engine="serial"
        )
        yield Case("breast cancer", problem, "auto")
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    for loss, penalty in (("squared_error", "l2"), ("squared_error", "l1"), ("quantile", "l1")):
        problem = fenchel.problem(
            X, y, loss=loss, regularizer=penalty, strength=1e-3, intercept=True, engine="serial"
        )
        yield Case("diabetes", problem, "auto")
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(X, y, loss="softmax", strength=1e-3, engine="serial")
    yield Case("iris", problem, "auto")


def large() -> Iterator[Case]:
    covtype, labels = real("covtype/covtype", 54)
    sets = {
        "a9a": a9a(),
        "20news": news(),
        "imdb": imdb(),
        "mnist": mnist(),
        "covtype": (covtype, two_classes(labels, 2)),
    }
    for name, (X, y) in sets.items():
        for loss, penalty, strength, intercept in (
            ("hinge", "l2", 1e-5, False),
            ("hinge", "l2", 1e-4, True),
            ("logistic", "l2", 1e-5, True),
            ("squared_hinge", "l2", 1e-5, False),
            ("logistic", "l1", 1e-4, False),
        ):
            problem = fenchel.problem(
                X,
                y,
                loss=loss,
                regularizer=penalty,
                strength=strength,
                intercept=intercept,
                engine="serial",
            )
            yield Case(name, problem, "auto")
    X, y = sets["a9a"]
    for solver in ("bmrm", "ls-bmrm", "sublbfgs", "lbfgs", "agm-inf"):
        loss = "logistic" if solver == "lbfgs" else "hinge"
        problem = fenchel.problem(X, y, loss=loss, strength=1e-4, engine="serial")
        yield Case("a9a", problem, solver)
    X, y = real("20news/train.tfidf.svm", 130107)
    problem = fenchel.problem(X, y, loss="softmax", strength=1e-4, engine="serial")
    yield Case("20news, 20 classes", problem, "auto")


def timed(call: Any) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def cost(case: Case) -> tuple[str, float]:
    """A line of the first table, and its ratio."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    results = {}
    for _ in range(REPEATS):
        for verify in (False, True):
            taken, results[verify] = timed(
                lambda verify=verify: fenchel.minimize(
                    case.problem, case.solver, gap=GAP, max_seconds=60, verify=verify
                )
            )
            seconds[verify].append(taken)
        if sum(map(sum, seconds.values())) > 15:
            break
    bare, proved = (statistics.median(seconds[verify]) for verify in (False, True))
    claimed = results[False].lower_bound
    certificate = fenchel.verify(results[False], case.problem)
    excess = (claimed - certificate.lower_bound) / abs(certificate.upper_bound)
    problem, found = case.problem, results[True]
    what = f"{problem.risk.loss} {type(problem.regularizer).__name__} {problem.strength:g}"
    if problem.risk.facts.has_intercept:
        what += " +b"
    return (
        f"{case.data:18} {what:42.42} {found.solver:9} {1e3 * bare:9.1f} {1e3 * proved:9.1f} "
        f"{proved / bare:6.2f} {found.passes:6} {found.proof_passes:5} {found.gap:8.1e} "
        f"{excess:9.1e}"
    ), proved / bare


def rigorous(case: Case) -> str:
    """A line of the second table."""
    result = fenchel.minimize(case.problem, case.solver, gap=GAP, max_seconds=60)
    plain, certificate = timed(lambda: fenchel.verify(result, case.problem))
    strict, exact = timed(lambda: fenchel.verify(result, case.problem, rigorous=True))
    lost = (certificate.lower_bound - exact.lower_bound) / abs(certificate.upper_bound)
    more = (exact.upper_bound - certificate.upper_bound) / abs(certificate.upper_bound)
    loss = f"{case.problem.risk.loss} {type(case.problem.regularizer).__name__}"
    return f"{case.data:18} {loss:42.42} {plain:8.3f} {strict:8.3f} {lost:10.1e} {more:10.1e}"


def main() -> None:
    print(
        f"{'data':18} {'problem':42} {'solver':9} {'bare ms':>9} {'proved':>9} {'ratio':>6} "
        f"{'passes':>6} {'proof':>5} {'gap':>8} {'excess':>9}"
    )
    ratios = []
    for cases in (small(), large()):
        for case in cases:
            line, ratio = cost(case)
            ratios.append(ratio)
            print(line, flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}, worst {max(ratios):.2f}")
    print(f"\n{'data':18} {'problem':42} {'verify s':>8} {'rigorous':>8} {'lost':>10} {'more':>10}")
    for case in large():
        if case.data in ("a9a", "20news", "20news, 20 classes") and case.solver == "auto":
            print(rigorous(case), flush=True)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
