"""Several classes beside liblinear's `-s 4`, scikit-learn and cyanure, to 1e-3 and 1e-6 of min J;
and two classes of dense rows, mnist's even digits against the odd ones, beside liblinear's trust
region (`-s 2`, `-s 0`) and cyanure.

    FENCHEL_DATA=... python benchmarks/classes.py [--only WORD] [--solver NAME] [--limit SECONDS]

One thread, CPU seconds. Ours are those of fits that certify the gap, by `auto` unless a solver is
named. A peer is told no gap: its seconds are those of the loosest tolerance of a ladder whose model
lies within the distance of the lower bound that our tighter fit proves, and "-" stands where none
did within the limit for a ladder. liblinear's rows are given as its own type before the clock
starts, and all modules are imported. Fits with an intercept are compared with scikit-learn's, whose
LinearSVC penalises it, so that of its time there the default tolerance is shown, and nothing of its
distance. cyanure and liblinear are left out where they are not installed. Without --only the whole
takes less than ten minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from data import mnist
from multiclass import loaded
from peers import limited, objective
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import fenchel

DISTANCES = 1e-3, 1e-6
TOLERANCES = tuple(10.0**-k for k in range(1, 8))
REPEATS = 5  # of fits of milliseconds

# A peer takes (X, y, strength) and gives models for ever smaller tolerances: (seconds, W).
Fits = Iterator[tuple[float, np.ndarray]]
Peer = Callable[[Any, np.ndarray, float], Fits]


class Line(NamedTuple):
    loss: str
    data: str
    strength: float
    intercept: bool = False


LINES = (
    *(Line("multiclass_hinge", "letter", strength) for strength in (1e-3, 1e-4)),
    *(Line("multiclass_hinge", "20news", strength) for strength in (1e-3, 1e-4)),
    *(Line("multiclass_hinge", "usps", strength) for strength in (1e-3, 1e-4)),
    Line("softmax", "mnist", 1e-4),
    *(Line("softmax", "20news", strength) for strength in (1e-3, 1e-4)),
    *(Line("softmax", "usps", strength) for strength in (1e-3, 1e-4)),
    Line("softmax", "20news", 1e-4, intercept=True),
    *(Line("multiclass_hinge", name, 1e-4, intercept=True) for name in ("letter", "20news")),
    *(Line("squared_hinge", "mnist even", strength) for strength in (1e-4, 1e-6)),
    *(Line("logistic", "mnist even", strength) for strength in (1e-4, 1e-6)),
)
# Losses of two classes: liblinear's number, its loss over ours, and cyanure's name.
BINARY = {"squared_hinge": (2, 2.0, "sqhinge"), "logistic": (0, 1.0, "logistic")}
SMALL = {"iris": load_iris, "wine": load_wine, "digits": load_digits}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def given(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a line, and their labels."""
    return mnist() if name == "mnist even" else loaded(name)


def liblinear(solver: int, factor: float = 1.0) -> Peer:
    """Of its losses by number, which are so many times ours."""

    def fits(X: Any, y: np.ndarray, strength: float) -> Fits:
        from liblinear.liblinearutil import problem, train

        rows, C = problem(y, sparse.csr_matrix(X)), 1 / (factor * strength * X.shape[0])
        for tol in TOLERANCES:
            settings = f"-s {solver} -q -c {C!r} -e {tol!r}"
            seconds, model = timed(lambda settings=settings: train(rows, settings))
            yield seconds, coefficients(model)

    return fits


def coefficients(model: Any) -> np.ndarray:
    """Of liblinear's model, classes in ascending order; of two those of the second."""
    labels = np.array(model.get_labels())
    if len(labels) == 2:
        return np.sign(labels[0]) * np.ctypeslib.as_array(model.w, (model.nr_feature,))
    W = np.ctypeslib.as_array(model.w, (model.nr_feature, model.nr_class)).T
    return W[np.argsort(labels)].copy()


def logistic(solver: str, intercept: bool = False) -> Peer:
    def fits(X: Any, y: np.ndarray, strength: float) -> Fits:
        for tol in TOLERANCES:
            model = LogisticRegression(
                solver=solver,
                C=1 / (strength * X.shape[0]),
                tol=tol,
                fit_intercept=intercept,
                max_iter=10**4,
            )
            seconds, _ = timed(lambda model=model: model.fit(X, y))
            yield seconds, model.coef_  # the best intercepts for it are found anyway

    return fits


def cyanure(loss: str) -> Peer:
    def fits(X: Any, y: np.ndarray, strength: float) -> Fits:
        from cyanure.estimators import Classifier

        for tol in TOLERANCES:
            model = Classifier(
                loss=loss,
                penalty="l2",
                lambda_1=strength,
                tol=tol,
                fit_intercept=False,
                max_iter=1000,
                duality_gap_interval=1,
                verbose=False,
                n_threads=1,
            )
            seconds, _ = timed(lambda model=model: model.fit(X, y))
            W = np.asarray(model.coef_)
            yield seconds, W if len(W) in (1, len(np.unique(y))) else W.T

    return fits


def peers_of(line: Line) -> dict[str, Peer]:
    """Those that minimise the same, of the installed ones."""
    has = {name: importlib.util.find_spec(name) is not None for name in ("cyanure", "liblinear")}
    if line.loss in BINARY:
        number, factor, name = BINARY[line.loss]
        found = {"liblinear": liblinear(number, factor), "cyanure": cyanure(name)}
        return {name: peer for name, peer in found.items() if has[name]}
    if line.loss == "multiclass_hinge":
        return {"liblinear": liblinear(4)} if has["liblinear"] and not line.intercept else {}
    found = {"lbfgs": logistic("lbfgs", line.intercept)}
    if line.intercept:
        return found
    if line.data != "20news":
        found["newton-cg"] = logistic("newton-cg")
    if has["cyanure"]:
        found["cyanure"] = cyanure("multiclass-logistic")
    return found


def ours(problem: fenchel.Problem, solver: str, limit: float) -> tuple[list[str], float]:
    """Seconds to each distance, and the best lower bound that was proved."""
    words, lower = [], -np.inf
    for gap in DISTANCES:
        settings = {"gap": gap, "callback": limited(limit)}
        seconds, result = timed(lambda s=settings: fenchel.minimize(problem, solver, **s))
        reached = result.gap <= gap
        words.append(f"{seconds:.2f} ({result.solver})" if reached else f"- ({result.gap:.0e})")
        lower = max(lower, result.lower_bound)
    return words, lower


def theirs(fits: Fits, problem: fenchel.Problem, lower: float, limit: float) -> list[str]:
    words, spent = [], 0.0
    for seconds, W in fits:
        spent += seconds
        distance = objective(problem, W) / lower - 1
        words += [f"{seconds:.2f}" for each in DISTANCES[len(words) :] if distance <= each]
        if len(words) == len(DISTANCES) or spent > limit:
            break
    return words + ["-"] * (len(DISTANCES) - len(words))


def compare(line: Line, X: Any, y: np.ndarray, solver: str, limit: float) -> None:
    problem = fenchel.problem(
        X, y, loss=line.loss, strength=line.strength, intercept=line.intercept, engine="serial"
    )
    words, lower = ours(problem, solver, limit)
    name = f"{line.loss} | {line.data}{', intercept' if line.intercept else ''} | {line.strength:g}"
    print(f"| {name} | fenchel | {' | '.join(words)} |", flush=True)
    for peer, fits in peers_of(line).items():
        found = theirs(fits(X, y, line.strength), problem, lower, limit)
        print(f"| {name} | {peer} | {' | '.join(found)} |", flush=True)


def import_all() -> None:
    """What fenchel imports at its first fit, peers have imported before their clock starts."""
    for loss in ("softmax", "multiclass_hinge"):
        fenchel.Classifier(loss=loss).fit(np.eye(3), np.arange(3))
    for loss in BINARY:
        fenchel.Classifier(loss=loss).fit(np.eye(2), np.arange(2))


def small(name: str, loss: str, solver: str) -> None:
    """Milliseconds of fits with an intercept, at scikit-learn's default tolerance."""
    X, y = SMALL[name](return_X_y=True)
    X, n = StandardScaler().fit_transform(X), len(y)
    crammer_singer = LinearSVC(multi_class="crammer_singer", C=1.0)
    peer = crammer_singer if loss == "multiclass_hinge" else LogisticRegression(C=1.0)
    model = fenchel.Classifier(loss=loss, alpha=1 / n, solver=solver)
    model.fit(X, y), peer.fit(X, y)
    times = [
        (timed(lambda: model.fit(X, y))[0], timed(lambda: peer.fit(X, y))[0])
        for _ in range(REPEATS)
    ]
    mine, other = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
    result = model.result_
    print(
        f"| {loss} | {name}, intercept | {mine:.1f} ms ({result.solver}, gap {result.gap:.0e}) | "
        f"{other:.1f} ms | {mine / other:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="lines whose loss and data contain this")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--limit", type=float, default=15.0, help="seconds for a fit or a ladder")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import_all()
    print("| loss | data | strength | by | to 1e-3 | to 1e-6 |\n|---|---|---|---|---|---|")
    kept: dict[str, tuple[Any, np.ndarray]] = {}
    for line in LINES:
        if options.only not in f"{line.loss} {line.data}{' intercept' if line.intercept else ''}":
            continue
        if line.data not in kept:
            kept = {line.data: given(line.data)}
        compare(line, *kept[line.data], options.solver, options.limit)
    print("\n| loss | data | fenchel | scikit-learn | ratio |\n|---|---|---|---|---|")
    for name in SMALL:
        for loss in ("softmax", "multiclass_hinge"):
            if options.only in f"{loss} {name} intercept":
                small(name, loss, options.solver)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
