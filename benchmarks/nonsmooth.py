"""Bundle and quasi-Newton methods on nonsmooth risks, as in [Yu10] figures 16, 20 and 22.

For each data set and strength: iterations and passes until the gap is certified, and in brackets
the passes after which the objective itself was that near to the least that anyone found; a dash:
not within the time limit. The least is proved to the gap, by one of the four or by `polish` or
`sdca`, or said to be "at most" so much: what is least at a larger strength bounds it, too. All sets
take some six minutes. With --auto, in their place: the solver that `auto` takes, its CPU seconds on
one thread and the gap that it certifies.
Usage: nonsmooth.py [set ...] [--gap 1e-3] [--seconds 4] [--auto]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import data
import numpy as np
from peers import limited
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import fenchel

SOLVERS = ("bmrm", "ls-bmrm", "sublbfgs", "hybrid")
JUDGES = ("polish", "sdca")
STRENGTHS = (1e-2, 1e-4, 1e-6)
Loader = Callable[[], tuple[Any, Any]]


def w8a() -> tuple[Any, Any]:
    return data.real("w8a/w8a", 300)


def covtype() -> tuple[Any, Any]:
    """Class 2 against the others, columns scaled to unit variance."""
    X, y = data.real("covtype/covtype", 54)
    return StandardScaler().fit_transform(X.toarray()), data.two_classes(y, 2)


def wide(name: str, n_features: int) -> Loader:
    """A micro-array set, standardised."""

    def load() -> tuple[Any, Any]:
        X, y = data.real(f"{name}/{name}.svm", n_features)
        return StandardScaler().fit_transform(X.toarray()), y

    return load


def multiclass(name: str, n_features: int, scale: float = 1.0) -> Loader:
    def load() -> tuple[Any, Any]:
        X, y = data.real(name, n_features)
        return X / scale, y

    return load


def multilabel(name: str, n_features: int) -> Loader:
    """Sets of labels; rows without one are kept."""

    def load() -> tuple[Any, Any]:
        return data.labelled(f"{name}/train.svm", n_features)

    return load


SETS: dict[str, tuple[Loader, str]] = {
    "a9a": (data.a9a, "hinge"),
    "w8a": (w8a, "hinge"),
    "mnist-binary": (data.mnist, "hinge"),
    "covtype": (covtype, "hinge"),
    "20news": (data.news, "hinge"),
    "colon": (wide("colon", 2000), "hinge"),
    "leukemia": (wide("leukemia", 7129), "hinge"),
    "usps": (multiclass("usps/usps", 256), "multiclass_hinge"),
    "letter": (multiclass("letter/letter", 16), "multiclass_hinge"),
    "mnist": (multiclass("mnist/mnist", 780, 255), "multiclass_hinge"),
    "scene": (multilabel("scene", 294), "multilabel_hinge"),
    "yeast": (multilabel("yeast", 103), "multilabel_hinge"),
    "tmc2007": (multilabel("tmc2007", 500), "multilabel_hinge"),
}


def compare(name: str, gap: float, seconds: float) -> None:
    load, loss = SETS[name]
    X, y = load()
    least = np.inf  # at a larger strength: no less than at this one
    for strength in STRENGTHS:
        problem = fenchel.problem(X, y, loss=loss, strength=strength)
        results = {
            solver: fenchel.minimize(problem, solver, gap=gap, max_seconds=seconds)
            for solver in SOLVERS
        }
        found = [*results.values(), *judged(problem, results.values(), gap, seconds)]
        least = min(least, *(result.objective for result in found))
        proved = max(result.lower_bound for result in found) >= least * (1 - gap)
        cells = [cell(result, least * (1 + gap)) for result in results.values()]
        said = f"{least:.6g}" if proved else f"at most {least:.6g}"
        print(f"| {name} | {strength:g} | {said} | {' | '.join(cells)} |", flush=True)


def judged(
    problem: fenchel.Problem, results: Iterable[fenchel.Result], gap: float, seconds: float
) -> Iterator[fenchel.Result]:
    """What proves the minimum where none of the four does."""
    proved = any(result.converged for result in results)
    for judge in JUDGES:
        if not proved:
            result = fenchel.minimize(problem, judge, gap=gap, max_seconds=seconds)
            proved = result.converged
            yield result


def cell(result: fenchel.Result, near: float) -> str:
    """iterations / passes, certified; (passes until the objective was near)."""
    reached = (record.passes for record in result.history if record.objective <= near)
    certified = f"{result.iterations} / {result.passes}" if result.converged else "-"
    return f"{certified} ({next(reached, '-')})"


def chosen(name: str, gap: float, seconds: float) -> None:
    """What `auto` takes on one thread, and whether it certifies the gap in its time."""
    load, loss = SETS[name]
    X, y = load()
    for strength in STRENGTHS:
        problem = fenchel.problem(X, y, loss=loss, strength=strength, engine="serial")
        start = time.process_time()
        result = fenchel.minimize(problem, gap=gap, callback=limited(seconds))
        took = time.process_time() - start
        said = f"{took:.2f}" if result.converged else "-"
        row = f"{result.solver} | {result.objective:.6g} | {said} | {result.gap:.1e}"
        print(f"| {name} | {strength:g} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--auto", action="store_true", help="what auto takes, on one thread")
    options = parser.parse_args()
    np.seterr(all="ignore")
    if options.auto:
        print("| data | strength | solver | objective | seconds | gap |\n|---|---|---|---|---|---|")
        with threadpool_limits(1):
            for name in options.sets:
                chosen(name, options.gap, options.seconds)
        return
    print(f"| data | strength | objective | {' | '.join(SOLVERS)} |")
    print("|---|---|---|" + "---|" * len(SOLVERS))
    for name in options.sets:
        compare(name, options.gap, options.seconds)


if __name__ == "__main__":
    main()
