"""Lasso, elastic net and L1 logistic regression: column descent beside the peers, and paths.

Models of several scores and of groups of columns are in sparse_blocks.py.

fenchel's time is that of posing the problem and of a fit that certifies the gap. A peer's is that
of the loosest tolerance of a ladder whose solution lies within the distance of fenchel's lower
bound: it is not told when to stop, nor does it know that it may. Imports and compilation are not
counted. One run, one thread, CPU seconds; ratio = fenchel / the best peer, so that less than 1 says
fenchel is faster. A ladder ends at LIMIT seconds, and a fit where it has taken HOPELESS times as
long as ours: such a peer has a dash, and where all have, the ratio is at most the one shown, "<".
Peers that are not installed (celer, skglm) are left out.

gap / distance is what is certified at 1e-3 over how far J really is from the least value known.
Columns that only one side has are ties where |v_j| = t_j at the minimum: `tie` is how far the
worst of them is from that, relative to t_j.

    python benchmarks/sparse.py [lasso|logistic|paths|supports|blocks] [name of a set ...]
"""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bounded import seconds_within
from data import a9a, imdb, news, real, two_classes
from peers import cpu_seconds
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
)
from sklearn.preprocessing import MaxAbsScaler, normalize
from sparse_blocks import blocks
from threadpoolctl import threadpool_limits

import fenchel

DISTANCES = (1e-3, 1e-6)
TOLERANCES = 10.0 ** -np.arange(1, 12)
LIMIT = 4.0  # seconds for a peer's ladder, unless ours takes longer, and half a fit of ours
HOPELESS = 4.0  # times our time to the last distance
READ = 2e9  # numbers of X that a fit of scikit-learn's may read, as it cannot be interrupted
Data = tuple[Any, np.ndarray]
Model = Callable[[float], Any]  # of a tolerance


def standardised(name: str, d: int) -> Data:
    """Columns of mean 0 and variance 1, as these sets are mostly used."""
    X, y = real(f"{name}/{name}.svm", d)
    dense = X.toarray()
    deviation = dense.std(axis=0)
    X = (dense - dense.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return np.asfortranarray(X), np.where(y > 0, 1.0, -1.0)


def gaussian() -> Data:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 100))
    return np.asfortranarray(X), X[:, :10] @ np.ones(10) + rng.normal(size=20_000)


def covtype() -> Data:
    X, y = real("covtype/covtype", 54)
    return sparse.csr_array(MaxAbsScaler().fit_transform(X)), two_classes(y, 2)


def mnist() -> Data:
    X, y = real("mnist/mnist", 780)
    return sparse.csr_array(X / 255), two_classes(y % 2, 0)


def texts() -> Data:
    X, y = imdb()
    return sparse.csr_array(normalize(X)), y


SETS: dict[str, Callable[[], Data]] = {
    "20news": news,
    "dense": gaussian,
    "colon": lambda: standardised("colon", 2000),
    "leukemia": lambda: standardised("leukemia", 7129),
    "a9a": a9a,
    "w8a": lambda: real("w8a/w8a", 300),
    "imdb": texts,
    "imdb-counts": imdb,
    "covtype": covtype,
    "mnist": mnist,
}
LASSO, LOGISTIC = (
    ("20news", "dense", "colon", "leukemia"),
    (
        "a9a",
        "w8a",
        "20news",
        "imdb",
        "imdb-counts",
        "covtype",
        "mnist",
        "colon",
        "leukemia",
    ),
)


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def lasso_peers(strength: float, ratio: float, numbers: int) -> dict[str, Model]:
    """(1/2n) ||y - Xw - b||^2 + strength (ratio |w|_1 + (1 - ratio)/2 |w|^2)."""
    plain = {"alpha": strength, "max_iter": min(100_000, int(READ / numbers))}
    net = plain if ratio == 1 else {**plain, "l1_ratio": ratio}
    kind = Lasso if ratio == 1 else ElasticNet
    found: dict[str, Model] = {"sklearn": lambda tol: kind(**net, tol=tol)}
    if has("celer"):
        import celer

        theirs = celer.Lasso if ratio == 1 else celer.ElasticNet
        found["celer"] = lambda tol: theirs(**{**net, "max_iter": 100}, tol=tol)
    if has("skglm"):
        import skglm

        glm = skglm.Lasso if ratio == 1 else skglm.ElasticNet
        found["skglm"] = lambda tol: glm(**{**net, "max_iter": 100}, tol=tol)
    return found


def logistic_peers(strength: float, n: int) -> dict[str, Model]:
    C = 1 / (strength * n)
    plain = {"C": C, "fit_intercept": False}
    found: dict[str, Model] = {
        "liblinear": lambda tol: LogisticRegression(
            l1_ratio=1.0, solver="liblinear", max_iter=10_000, tol=tol, **plain
        )
    }
    if has("celer"):
        import celer

        found["celer"] = lambda tol: celer.LogisticRegression(C=C, tol=tol, max_iter=100)
    if has("skglm"):
        import skglm

        found["skglm"] = lambda tol: skglm.SparseLogisticRegression(
            alpha=strength, tol=tol, fit_intercept=False, max_iter=100
        )
    return found


def fitted(model: Model, X: Any, y: np.ndarray, limit: float) -> Iterator[Any]:
    """(seconds, w) for ever smaller tolerances, until one fit takes as long as the limit.

    That one has no w.
    """
    spent = 0.0
    for tol in TOLERANCES:
        fit = functools.partial(coefficients, model(tol), X, y)
        seconds, w = seconds_within(max(limit, 1.0), fit)
        yield seconds, w
        spent += seconds
        if w is None or spent > max(LIMIT, limit) or seconds > limit:
            return


def coefficients(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    return np.ravel(model.fit(X, y).coef_)


def some_rows(y: np.ndarray) -> np.ndarray:
    """A few, with the least and the largest labels."""
    return np.sort(np.argsort(y, kind="stable")[[*range(20), *range(-20, 0)]])


def theirs(
    problem: fenchel.Problem, model: Model, data: Data, bounds: list[float], limit: float
) -> tuple[list[float], float]:
    """The seconds to come within each distance, inf where the ladder ended first; the longest."""
    X, y = data
    reached, longest = [math.inf] * len(bounds), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = some_rows(y)
        few = X[some] if sparse.issparse(X) else np.asfortranarray(X[some])
        model(1e-4).fit(few, y[some])  # compiles what is compiled, for this layout
        for seconds, w in fitted(model, X, y, limit):
            J = math.inf if w is None else problem.objective(problem.risk.at(w))
            longest = max(longest, seconds)
            reached = [
                seconds if before == math.inf and bound >= J else before
                for before, bound in zip(reached, bounds, strict=True)
            ]
            if max(reached) < math.inf:
                break
    return reached, longest


def ours(X: Any, y: np.ndarray, gap: float, options: dict[str, Any]) -> tuple[float, Any]:
    def work() -> tuple[fenchel.Problem, fenchel.Result]:
        problem = fenchel.problem(X, y, engine="serial", **options)
        return problem, fenchel.minimize(problem, gap=gap, max_seconds=2 * LIMIT)

    seconds, (problem, result) = cpu_seconds(work)
    if result.converged:
        fenchel.verify(result, problem)
    return (seconds if result.converged else math.inf), (problem, result)


def classic(X: Any) -> Any:
    """As scikit-learn takes it."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = (each.astype(np.int32) for each in (X.indices, X.indptr))
    return X


def compare(name: str, data: Data, peers: dict[str, Model], options: dict[str, Any]) -> list[float]:
    """A row for each distance; the ratios."""
    X, y = data
    some = some_rows(y)
    ours(X[some], y[some], 0.1, options)  # imports what is imported
    found = [ours(X, y, gap, options) for gap in DISTANCES]
    (_, (_, first)), (last, (problem, result)) = found[0], found[-1]
    bounds = [result.lower_bound + gap * abs(result.objective) for gap in DISTANCES]
    limit = HOPELESS * min(last, LIMIT)
    times = {p: theirs(problem, m, (classic(X), y), bounds, limit) for p, m in peers.items()}
    distance = max(first.objective - result.objective, 1e-15 * abs(first.objective))
    pace = (first.objective - first.lower_bound) / distance
    ratios = []
    for k, gap in enumerate(DISTANCES):
        best = min(reached[k] for reached, _ in times.values())
        least = min(longest for _, longest in times.values()) if best == math.inf else best
        ratios.append(found[k][0] / least)
        cells = [f"{found[k][0]:.3f}", *(shown(reached[k]) for reached, _ in times.values())]
        sign, extra = "< " if best == math.inf else "", f"{pace:.2g}" if k == 0 else ""
        print(
            f"| {name} | {gap:.0e} | {np.count_nonzero(result.w)} | {' | '.join(cells)} "
            f"| {sign}{ratios[-1]:.2f} | {extra} |",
            flush=True,
        )
    return ratios


def shown(seconds: float) -> str:
    return "-" if seconds == math.inf else f"{seconds:.3f}"


def header(peers: dict[str, Model]) -> None:
    """The head of a table."""
    names = ["data, strength", "to", "columns", "fenchel", *peers, "ratio", "gap / distance"]
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}")


def lasso(names: list[str]) -> list[float]:
    ratios: list[float] = []
    header(lasso_peers(1.0, 1.0, 1))
    for name in names or LASSO:
        X, y = data = SETS[name]()
        numbers = X.nnz if sparse.issparse(X) else X.size
        largest = float(np.max(np.abs(X.T @ (y - y.mean())))) / len(y)
        for ratio in (1.0, 0.5):
            penalty = "l1" if ratio == 1 else fenchel.regularizers.ElasticNet(ratio)
            for strength in (1e-3 * largest / ratio, 1e-4 * largest / ratio, 1e-3, 1e-4):
                options = {"loss": "squared_error", "regularizer": penalty, "strength": strength}
                options["intercept"] = True
                peers = lasso_peers(strength, ratio, numbers)
                ratios += compare(f"{name} {ratio:g}, {strength:.1e}", data, peers, options)
    return ratios


def logistic(names: list[str]) -> list[float]:
    ratios: list[float] = []
    header(logistic_peers(1.0, 1))
    for name in names or LOGISTIC:
        _, y = data = SETS[name]()
        for strength in (1e-3, 1e-4, 1e-5):
            options = {"loss": "logistic", "regularizer": "l1", "strength": strength}
            peers = logistic_peers(strength, len(y))
            ratios += compare(f"{name}, {strength:.0e}", data, peers, options)
    return ratios


def paths(names: list[str]) -> list[float]:
    """Cross-validation over the same grid, to the gap that scikit-learn's tolerance stands for."""
    X, y = load_diabetes(return_X_y=True)
    small = [("diabetes", X, y)]
    ratios: list[float] = []
    print("\n| data | peer | fenchel | scikit-learn | ratio |\n|---|---|---|---|---|")
    fenchel.RegressorCV(penalty="l1", alphas=[1.0], cv=2).fit(X[:20], y[:20])  # imports
    for name, X, y in [*small, ("dense", *gaussian()), ("colon", *standardised("colon", 2000))]:
        if names and name not in names:
            continue
        for label, kind, ratio in (("LassoCV", LassoCV, 1.0), ("ElasticNetCV", ElasticNetCV, 0.5)):
            more = {} if ratio == 1 else {"l1_ratio": ratio}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peer, fit = cpu_seconds(lambda k=kind, m=more: k(cv=5, **m).fit(X, y))  # noqa: B023 - at once
            penalty = "l1" if ratio == 1 else fenchel.regularizers.ElasticNet(ratio)
            model = fenchel.RegressorCV(penalty=penalty, alphas=fit.alphas_, cv=5, tol=1e-4)
            seconds, mine = cpu_seconds(lambda: model.fit(X, y))  # noqa: B023 - at once
            ratios.append(seconds / peer)
            print(
                f"| {name} | {label} | {seconds:.3f} (alpha {mine.alpha_:.4g}) "
                f"| {peer:.3f} (alpha {fit.alpha_:.4g}) | {ratios[-1]:.2f} |",
                flush=True,
            )
    return ratios + classified(names)


def classified(names: list[str]) -> list[float]:
    X, y = standardised("colon", 2000)
    if names and "colon" not in names:
        return []
    Cs = np.geomspace(0.1, 100, 10)
    theirs = LogisticRegressionCV(
        Cs=Cs, cv=5, l1_ratios=(1.0,), solver="liblinear", fit_intercept=False, scoring="accuracy"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer, _ = cpu_seconds(lambda: theirs.fit(X, y))
    model = fenchel.ClassifierCV(
        loss="logistic", penalty="l1", alphas=1 / (Cs * len(y)), cv=5, fit_intercept=False
    )
    seconds, _ = cpu_seconds(lambda: model.fit(X, y))
    ratio = seconds / peer
    print(
        f"| colon | LogisticRegressionCV | {seconds:.3f} | {peer:.3f} | {ratio:.2f} |", flush=True
    )
    return [ratio]


def supports(names: list[str]) -> list[float]:
    """Which columns of L1 logistic regression are not 0, beside liblinear's and skglm's."""
    print("\n| data, strength | columns | peer | its columns | on one side | tie |")
    print("|---|---|---|---|---|---|")
    for name in names or ("a9a", "w8a", "colon", "leukemia"):
        X, y = SETS[name]()
        for strength in (1e-3, 1e-4):
            options = {"loss": "logistic", "regularizer": "l1", "strength": strength}
            _, (problem, result) = ours(X, y, 1e-8, options)
            v = np.abs(problem.risk.at(result.w).subgradient)
            for peer, model in logistic_peers(strength, len(y)).items():
                if peer == "celer":  # whose smallest tolerances take minutes
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    w = np.ravel(model(1e-8).fit(classic(X), y).coef_)
                odd = np.flatnonzero((w != 0) != (result.w != 0))
                tie = np.max(np.abs(v[odd] / strength - 1), initial=0.0)
                print(
                    f"| {name}, {strength:.0e} | {np.count_nonzero(result.w)} | {peer} "
                    f"| {np.count_nonzero(w)} | {len(odd)} | {tie:.1e} |",
                    flush=True,
                )
    return []


def main() -> None:
    wanted = sys.argv[1:]
    tables = {"lasso": lasso, "logistic": logistic, "paths": paths, "supports": supports}
    tables["blocks"] = blocks
    names = [each for each in wanted if each not in tables]
    ratios: list[float] = []
    with threadpool_limits(1):
        for table, measured in tables.items():
            if not set(wanted) & set(tables) or table in wanted:
                ratios += measured(names)
    finite = [ratio for ratio in ratios if 0 < ratio < math.inf]
    if finite:
        mean = math.exp(sum(map(math.log, finite)) / len(finite))
        print(f"\n{len(ratios)} ratios, geometric mean {mean:.2f}, largest {max(ratios):.2f}.")


if __name__ == "__main__":
    main()
