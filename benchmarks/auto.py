"""Makes src/fenchel/solvers/auto_table.json: seconds to a certified gap of 1e-4, solver by solver.

    make auto-table        on a machine that does nothing else: some twenty minutes

Problems are posed as estimators pose them, with an intercept, and every third without. CPU seconds
on one thread, medians of repeats. Where the limit came first they are multiplied by how many times
too large the gap still was, as if it fell like 1/t, but by a thousand at most: a guess, but one
that puts solvers in order. `auto` takes the solver that was fastest on the measured problems most
like its own. At the end stand the spread of the repeats, and how well the table does on each of its
problems when that is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import a9a, imdb, mnist, news, real, table, two_classes
from peers import limited
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import MaxAbsScaler, normalize, scale

import fenchel
from fenchel.errors import Incompatible
from fenchel.following import at_once
from fenchel.solvers.auto import CANDIDATES, Cases, fastest, kind_of, likest_of, shape_of

GAP = 1e-4
TABLE = Path(__file__).parent.parent / "src/fenchel/solvers/auto_table.json"


class Data(NamedTuple):
    name: str
    X: Any
    y: Any


# Of each task the losses, and of each regulariser the strengths.
LOSSES = {
    "two classes": ("hinge", "logistic", "squared_hinge"),
    "numbers": ("quantile", "epsilon_insensitive", "squared_error", "huber"),
    "counts": ("poisson",),
    "classes": ("softmax", "multiclass_hinge"),
    "labels": ("multilabel_hinge",),
}
STRENGTHS = {"l2": (1e-2, 1e-4, 1e-6), "l1": (1e-2, 1e-4), "elastic_net": (1e-4,)}
# Of several scores there are fewer sets, and more depends on the strength.
SEVERAL = {"l2": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)}


def two() -> Iterator[Data]:
    yield Data("breast_cancer", scale(load_breast_cancer().data), load_breast_cancer().target)
    X, y = table("mammography")
    yield Data("mammography", scale(X), y)
    yield Data("a9a", *a9a())
    yield Data("w8a", *real("w8a/w8a", 300))
    yield Data("20news", *news())
    X, y = imdb()
    yield Data("imdb", normalize(X), y)
    yield Data("pros_cons", *real("pros_cons/train.svm", 95082))
    X, y = real("covtype/covtype", 54)
    yield Data("covtype", MaxAbsScaler().fit_transform(X), two_classes(y, 2))
    X, y = mnist()
    yield Data("mnist", X[:20000], y[:20000])
    X, y = real("leukemia/leukemia.svm", 7129)
    yield Data("leukemia", scale(X.toarray()), y)
    yield Data("hiva", *real("hiva/hiva.svm", 1617))
    X, y = load_wine(return_X_y=True)
    yield Data("wine", scale(X), y == 1)


def numbers() -> Iterator[Data]:
    yield Data("diabetes", scale(load_diabetes().data), scale(load_diabetes().target))
    for name in ("cpusmall", "mv", "pol", "abalone", "cal_housing"):
        X, y = table(name)
        yield Data(name, scale(X), scale(y))
    X, _ = news()
    w = np.random.default_rng(0).normal(size=X.shape[1])
    yield Data("20news", X, scale(X @ w))


def counts() -> Iterator[Data]:
    rng = np.random.default_rng(0)
    for n, d in ((300, 5), (10_000, 100)):
        X = rng.normal(size=(n, d)) / np.sqrt(d)
        y = rng.poisson(np.exp(X @ rng.normal(size=d))).astype(float)
        yield Data(f"{n} x {d}", X, y)


def several() -> Iterator[Data]:
    for name, load in (("iris", load_iris), ("wine", load_wine), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        yield Data(name, scale(X), y)
    X, y = real("usps/usps", 256)
    yield Data("usps", X.toarray(), y)
    X, y = real("letter/letter", 16)
    yield Data("letter", X.toarray() / 7.5 - 1, y)
    yield Data("20news", *real("20news/train.tfidf.svm", 130107))
    X, y = real("mnist/mnist", 780)
    yield Data("mnist", X[:10000].toarray() / 255, y[:10000])
    X, y = real("letter/letter", 16)
    yield Data("letter as it comes", X.toarray(), y)


def labels() -> Iterator[Data]:
    for name, d in (("scene", 294), ("yeast", 103)):
        X, y = real(f"{name}/train.svm", d, multilabel=True)
        yield Data(name, X.toarray(), [tuple(map(int, each)) for each in y])


SETS = {"two classes": two, "numbers": numbers, "counts": counts, "classes": several}
SETS["labels"] = labels


def measured(problem: fenchel.Problem, solver: str, limit: float) -> tuple[float, float]:
    """(median CPU seconds of some runs, the largest over the smallest); more where they are short.

    A run that met the limit is made once.
    """
    seconds: list[float] = []
    for _ in range(5):
        start = time.process_time()
        result = minimized(problem, solver, limit)
        took = time.process_time() - start
        seconds.append(took * float(np.clip(result.gap / GAP, 1.0, 1000.0)))
        if sum(seconds) > 0.25:
            break
    return round(statistics.median(seconds), 5), max(seconds) / min(seconds)


def minimized(problem: fenchel.Problem, solver: str, limit: float) -> fenchel.Result:
    """As estimators do it: by a solver that takes all its steps by itself, where there is one."""
    ((_, known),) = at_once([problem], solver, GAP)
    if known is not None:
        return known
    return fenchel.minimize(problem, solver, gap=GAP, callback=limited(limit))


def problems() -> Iterator[tuple[str, fenchel.Problem]]:
    """All of them, each with its name."""
    n = 0
    for task, sets in SETS.items():
        for name, X, y in sets():
            for loss in LOSSES[task]:
                penalties = SEVERAL if task in ("classes", "labels") else STRENGTHS
                for penalty, strengths in penalties.items():
                    for strength in strengths:
                        n += 1
                        what = f"{loss} with {penalty} on {name} at strength {strength:g}"
                        settings = {"regularizer": penalty, "strength": strength}
                        settings |= {"intercept": n % 3 != 0, "engine": "serial"}
                        yield what, fenchel.problem(X, y, loss=loss, **settings)


def case(
    name: str, problem: fenchel.Problem, limit: float, solver: str, known: dict[str, float]
) -> tuple[dict[str, Any], list[float]]:
    """A row of the table, with the known seconds of the solvers that are not measured anew."""
    kind, seconds, spreads = kind_of(problem), {}, []
    for each in CANDIDATES[kind]:
        if solver not in each.name:
            seconds |= {each.name: known[each.name]} if each.name in known else {}
        elif each().obstacle(problem) is None:
            try:
                seconds[each.name], spread = measured(problem, each.name, limit)
            except Incompatible:
                continue
            spreads.append(spread)
    row = {"kind": kind, "name": name, "shape": shape_of(problem), "seconds": seconds}
    return row, spreads


def left_out(cases: list[dict[str, Any]]) -> tuple[float, float]:
    """How many times the seconds of the best it takes: geometric mean, and the worst."""
    ratios = []
    for k, each in enumerate(cases):
        if len(each["seconds"]) < 2:
            continue
        others = [case for case in cases[:k] + cases[k + 1 :] if case["kind"] == each["kind"]]
        if len(others) < 3:
            continue
        able = [kind for kind in CANDIDATES[each["kind"]] if kind.name in each["seconds"]]
        picked = fastest(able, likest_of(Cases(others), tuple(each["shape"]))).name
        ratios.append(each["seconds"][picked] / min(each["seconds"].values()))
    return math.exp(statistics.fmean(map(math.log, ratios))), max(ratios)


def kept(kind: str, name: str) -> list[dict[str, Any]]:
    """The rows of the table that are not measured anew."""
    return [each for each in rows() if kind not in each["kind"] or name not in each["name"]]


def rows() -> list[dict[str, Any]]:
    """Those of the table as it is."""
    return list(json.loads(TABLE.read_text())["problems"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=1.5, help="CPU seconds of a run, at most")
    parser.add_argument("--kind", default="", help="kinds that hold this; the others' rows stay")
    parser.add_argument("--name", default="", help="problems whose name holds this, likewise")
    parser.add_argument("--solver", default="", help="solvers that hold this; the rest stays")
    given = parser.parse_args()
    cases, spreads = kept(given.kind, given.name), []
    before = {(each["kind"], each["name"]): each["seconds"] for each in rows()}
    for name, problem in problems():
        if given.kind not in kind_of(problem) or kind_of(problem) not in CANDIDATES:
            continue
        if given.name not in name:
            continue
        seconds = before.get((kind_of(problem), name), {})
        row, spread = case(name, problem, given.limit, given.solver, seconds)
        cases.append(row)
        spreads += spread
        print(name, row["seconds"], flush=True)
    mean, worst = left_out(cases)
    about = {
        "made": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, one thread",
        "spread of repeats, median": round(statistics.median(spreads), 3),
        "left out one by one, times the best": [round(mean, 3), round(worst, 2)],
    }
    lines = ",\n".join("  " + json.dumps(each) for each in cases)
    TABLE.write_text(f'{{\n "about": {json.dumps(about)},\n "problems": [\n{lines}\n ]\n}}\n')
    print(about)


if __name__ == "__main__":
    main()
