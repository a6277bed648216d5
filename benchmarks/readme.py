"""The table of README: sizes people have, fenchel with its proof beside others.

    FENCHEL_DATA=... python benchmarks/readme.py [--only WORD] [--write]

About eight minutes on two cores that do nothing else; `--write` puts the table between its markers
in README.md. Without FENCHEL_DATA it makes data of the same kind and size, and leaves chains out.

Seconds by the clock, medians of up to three fits in turns, of one where a fit takes more than five
seconds; all cores for everyone. Ours are certified to a gap of 1e-4. Others have their default
settings, unless a line says otherwise. `its gap` is how far their coefficients are from the minimum
at most, by the lower bound that we proved, where both minimise the same.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import real, table
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

import fenchel

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))
from demo import HINGE, LOGISTIC, QUANTILE, Objective, frame  # noqa: E402 - the demo's formulas

START, END = "<!-- figures: written by benchmarks/readme.py -->", "<!-- /figures -->"
HEAD = ("problem", "fenchel", "proved gap", "beside", "takes", "its gap", "")
LONG = 5.0  # seconds after which a fit is not repeated
REAL = "FENCHEL_DATA" in os.environ


class Line(NamedTuple):
    problem: str
    ours: float
    gap: str
    peer: str
    theirs: float
    distance: str = ""
    remark: str = ""


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[Any, ...]:
    """Median seconds and what came out of each, and what the last fit of theirs said."""
    times: tuple[list[float], list[float]] = ([], [])
    found: list[Any] = [None, None]
    said = ""
    for _ in range(3):
        for k, fit in enumerate((ours, theirs)):
            if times[k] and times[k][0] > LONG:
                continue
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                started = time.perf_counter()
                found[k] = fit()
                times[k].append(time.perf_counter() - started)
            short = any(issubclass(each.category, ConvergenceWarning) for each in heard)
            said = "warns that it did not converge" if k and short else said
    return *map(statistics.median, times), *found, said


def same(name: str, X: Any, y: Any, peer: Any, J: Objective, strength: float, **loss: Any) -> Line:
    """One problem, minimised by both."""
    problem = fenchel.problem(X, y, strength=strength, intercept=True, **loss)
    fenchel.minimize(problem, max_iterations=1)  # so that imports are not timed
    mine, other, result, fitted, said = in_turns(
        lambda: fenchel.minimize(problem), lambda: peer.fit(X, y)
    )
    proof = fenchel.verify(result, problem)
    J_other = J(X, y, strength, np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0]))
    distance = f"{max((J_other - proof.lower_bound) / J_other, 0.0):.0e}"
    return Line(name, mine, f"{proof.gap:.0e}", type(peer).__name__, other, distance, said)


def alike(name: str, X: Any, y: Any, ours: Any, peer: Any, remark: str = "") -> Line:
    """Two estimators of one kind."""
    mine, other, model, _, said = in_turns(lambda: ours.fit(X, y), lambda: peer.fit(X, y))
    title = getattr(peer, "estimator", peer)
    called = (
        type(title).__name__ if title is peer else f"{type(peer).__name__}({type(title).__name__})"
    )
    gap = f"{float(np.max(model.gap_)):.0e}"
    return Line(name, mine, gap, called, other, "", remark or said)


def svmlight(name: str, n_features: int) -> tuple[Any, Any]:
    """A file of FENCHEL_DATA."""
    X, y = real(name, n_features)
    return narrow(X), y


def narrow(X: Any) -> Any:
    """With indices of 32 bits: liblinear takes no others."""
    return sparse.csr_matrix((X.data, X.indices.astype("i4"), X.indptr.astype("i4")), X.shape)


def scaled(X: Any) -> Any:
    return StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)


def quantile() -> Iterator[Line]:
    if REAL:
        X, y = table("cal_housing")
        name, (X, y) = "cal_housing", (scaled(X), y / 1e5)
    else:
        X, _, y = frame(20_640, 8)
        name = "made up"
    peer = QuantileRegressor(quantile=0.9, alpha=1e-3)
    size = f"{len(y):,} x {X.shape[1]}"
    yield same(
        f"0.9 quantile with L1, {name}, {size}",
        *(X, y, peer, QUANTILE, 1e-3),
        loss="quantile",
        quantile=0.9,
        regularizer="l1",
    )


def hinge() -> Iterator[Line]:
    if REAL:
        name, (X, y) = "a9a", svmlight("a9a/a9a", 123)
    else:
        X, _, score = frame(32_561, 123)
        name, y = "made up", np.sign(score)
    strength = 1e-6
    peer = LinearSVC(loss="hinge", C=1 / (strength * len(y)), random_state=0)
    size = f"{len(y):,} x {X.shape[1]}"
    title = f"support vector machine, strength 1e-6, {name}, {size}"
    yield same(title, X, y, peer, HINGE, strength, loss="hinge")


def logistic() -> Iterator[Line]:
    if REAL:
        X, labels = real("covtype/covtype", 54)
        name, X, y = "covtype", X.toarray(), np.where(labels == 2, 1.0, -1.0)
    else:
        _, X, score = frame(500_000, 54)
        name, y = "made up", np.sign(score)
    strength = 1e-6
    size = f"{len(y):,} x {X.shape[1]}"
    peer = LogisticRegression(C=1 / (strength * len(y)))
    title = f"logistic regression, columns as they come, {name}, {size}"
    yield same(title, X, y, peer, LOGISTIC, strength, loss="logistic")


def text() -> Iterator[Line]:
    if REAL:
        name, (X, y) = "20news", svmlight("20news/train.tfidf.svm", 130107)
    else:
        name, (X, y) = "made up", _text(11_314, 130_107, 20)
    size = f"{len(y):,} x {X.shape[1]:,}, {len(np.unique(y))} classes"
    ours = fenchel.Classifier(loss="hinge", alpha=1 / len(y))
    peer = LinearSVC(loss="hinge", random_state=0)
    yield alike(f"one against the rest, text, {name}, {size}", X, y, ours, peer)


def _text(n: int, d: int, classes: int) -> tuple[Any, Any]:
    """Rows of 150 words, some of which each class has more of, of unit length."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    words = (rng.pareto(0.8, size=(n, 150)) * 50).astype(np.int64) % d
    own = rng.random((n, 150)) < 0.1
    words[own] = (words[own] * classes + np.repeat(y, 150).reshape(n, 150)[own]) % d
    X = sparse.csr_array(
        (np.ones(n * 150), words.ravel(), np.arange(0, 150 * n + 1, 150)), shape=(n, d)
    )
    X.sum_duplicates()
    return narrow(normalize(X)), y


def search() -> Iterator[Line]:
    if REAL:
        name, (X, y) = "a9a", svmlight("a9a/a9a", 123)
    else:
        X, _, score = frame(32_561, 123)
        name, y = "made up", np.sign(score)
    strengths = np.geomspace(1e-2, 1e-5, 8)
    ours = fenchel.ClassifierCV(loss="hinge", alphas=strengths)
    grid = {"C": 1 / (strengths * len(y) * 0.8)}
    peer = GridSearchCV(LinearSVC(loss="hinge", random_state=0), grid)
    title = f"best of 8 strengths by 5 folds, hinge, {name}, {len(y):,} x {X.shape[1]}"
    yield alike(title, X, y, ours, peer)


def measures() -> Iterator[Line]:
    """F1 and the area under the ROC curve, minimised themselves, on rows held out."""
    if REAL:
        name, (X, y) = "w8a", svmlight("w8a/w8a", 300)
    else:
        X, _, score = frame(49_749, 300)
        name, y = "made up", np.where(score > np.quantile(score, 0.97), 1.0, -1.0)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    f1 = fenchel.MetricClassifier(metric="f1", alpha=1e-5, max_seconds=20.0)
    peer = TunedThresholdClassifierCV(LogisticRegression(max_iter=1000), scoring="f1")
    line = alike(f"F1 itself, {name}, {X.shape[0]:,} x {X.shape[1]}", X, y, f1, peer)
    scores = [f1_score(y_test, model.predict(X_test)) for model in (f1, peer)]
    yield line._replace(remark="test F1 {:.3f} beside {:.3f}".format(*scores))
    area = fenchel.MetricClassifier(metric="roc_auc", alpha=1e-5, max_seconds=20.0)
    peer = LogisticRegression(max_iter=1000)
    line = alike(f"ROC area itself, {name}, {X.shape[0]:,} x {X.shape[1]}", X, y, area, peer)
    scores = [roc_auc_score(y_test, m.decision_function(X_test)) for m in (area, peer)]
    yield line._replace(remark="test area {:.3f} beside {:.3f}".format(*scores))


def chains() -> Iterator[Line]:
    """Seconds until within 1e-3 of the least objective; reading is left out for both."""
    if not REAL:
        return
    from crfsuite import compare, least_of

    with contextlib.redirect_stdout(sys.stderr):
        runs = compare("l2", 1.0, 1, (2,))
    goal = 1.001 * least_of(runs)
    reached = {
        name: next(mark.clock for mark in each[0].marks if mark.J <= goal)
        for name, each in runs.items()
    }
    other, mine = (reached[name] for name in runs)
    scores = [100 * each[0].f1 for each in runs.values()]
    remark = f"to 1e-3 of the minimum; F1 {scores[1]:.1f} beside {scores[0]:.1f}"
    gap = f"{next(each[0].gap for name, each in runs.items() if 'fenchel' in name):.0e}"
    yield Line("CRF, conll2000, 211,727 tokens", mine, gap, "python-crfsuite", other, "", remark)


def others_faster() -> Iterator[Line]:
    if REAL:
        X, y = table("cal_housing")
        X, y, name = scaled(X), y / 1e5, "cal_housing"
        Z, z = real("letter/letter", 16)
        other, Z = "letter", scaled(Z.toarray())
    else:
        X, _, y = frame(20_640, 8)
        Z, _, score = frame(16_000, 16)
        name = other = "made up"
        z = np.digitize(score, np.quantile(score, np.linspace(0, 1, 27)[1:-1]))
    n = len(y)
    ours = fenchel.Regressor(loss="squared_error", alpha=2e-3)
    title = f"ridge regression, {name}, {n:,} x {X.shape[1]}"
    yield alike(title, X, y, ours, Ridge(alpha=n * 1e-3))
    ours = fenchel.Classifier(loss="softmax", alpha=1e-4)
    title = f"softmax, {other}, {len(z):,} x {Z.shape[1]}, {len(np.unique(z))} classes"
    yield alike(title, Z, z, ours, LogisticRegression(C=1e4 / len(z), max_iter=1000))


PARTS = (quantile, hinge, logistic, text, search, measures, chains, others_faster)


def seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def cells(line: Line) -> tuple[str, ...]:
    faster = line.ours <= line.theirs
    ours, theirs = seconds(line.ours), seconds(line.theirs)
    ours, theirs = (f"**{ours}**", theirs) if faster else (ours, f"**{theirs}**")
    return line.problem, ours, line.gap, line.peer, theirs, line.distance, line.remark


def row(entries: Any) -> str:
    return f"| {' | '.join(entries)} |"


def made() -> str:
    """When, where and of what the table is."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    model = next(
        (line.split(":")[1].strip() for line in _cpu() if line.startswith("model name")),
        platform.machine(),
    )
    day = datetime.date.today().isoformat()
    return f"{os.cpu_count()} cores of {model}, {day}, commit {commit}"


def _cpu() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="parts whose names have this in them")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    given = parser.parse_args()
    lines = [row(HEAD), row(["---", "--:", "--:", "---", "--:", "--:", "---"])]
    print(*lines, sep="\n", flush=True)
    for part in PARTS:
        for line in part() if given.only in part.__name__ else ():
            lines.append(row(cells(line)))
            print(lines[-1], flush=True)
    lines += ["", f"`python benchmarks/readme.py`: {made()}."]
    print(*lines[-2:], sep="\n")
    if given.write:
        readme = ROOT / "README.md"
        before, rest = readme.read_text().split(START)
        readme.write_text("\n".join([before + START, *lines, END + rest.split(END)[1]]))


if __name__ == "__main__":
    main()
