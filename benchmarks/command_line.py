"""`fenchel train` end to end against a scikit-learn script that does the same.

Both are processes of their own that read a svmlight file, fit and save; wall time, medians of
three interleaved repeats. Both minimise the same objective without an intercept. fenchel stops at a
proved gap of 1e-4; scikit-learn gets the loosest `tol` whose objective is within 1e-4 of fenchel's
lower bound, found beforehand (where no `tol` gets there, the best one, marked with ~).

FENCHEL_DATA=... python benchmarks/command_line.py [DATA:LOSS ...], such as imdb:logistic
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from data import imdb, news
from sklearn.datasets import dump_svmlight_file

GAP, STRENGTH, REPEATS = 1e-4, 1e-4, 3

SCRIPT = """
import sys
import warnings
import joblib
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore")
loss, path, model, tol, strength = *sys.argv[1:4], *map(float, sys.argv[4:])
X, y = load_svmlight_file(path)
X.indices, X.indptr = X.indices.astype("i4"), X.indptr.astype("i4")  # liblinear insists
C = 1 / (strength * X.shape[0])
shared = {"fit_intercept": False, "tol": tol, "max_iter": 100000, "random_state": 0}
if loss == "logistic":
    fitted = LogisticRegression(C=C, **shared)
elif loss == "hinge":
    fitted = LinearSVC(loss="hinge", C=C, dual=True, **shared)
else:  # liblinear's square has no factor 1/2
    fitted = LinearSVC(C=C / 2, dual=True, **shared)
joblib.dump(fitted.fit(X, y), model)
"""


def timed(command: list[str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - started, done.stdout


def fenchel(loss: str, path: Path) -> list[str]:
    settings = {"loss": loss, "strength": STRENGTH, "gap": GAP}
    flags = [f"--{name}={value}" for name, value in settings.items()]
    train = [sys.executable, "-m", "fenchel", "train", str(path), "-o", f"{path}.model"]
    return [*train, "--no-intercept", "--json", "--quiet", *flags]


def peer(loss: str, path: Path, tol: float) -> list[str]:
    return [
        sys.executable,
        "-c",
        SCRIPT,
        loss,
        str(path),
        f"{path}.joblib",
        str(tol),
        str(STRENGTH),
    ]


def objective(loss: str, path: Path, X, y: np.ndarray) -> float:
    import joblib

    w = joblib.load(f"{path}.joblib").coef_[0]
    u = y * (X @ w)
    values = {
        "hinge": np.maximum(0, 1 - u),
        "squared_hinge": 0.5 * np.maximum(0, 1 - u) ** 2,
        "logistic": np.logaddexp(0, -u),
    }
    return STRENGTH / 2 * w @ w + values[loss].mean()


def tolerance(loss: str, path: Path, X, y: np.ndarray, lower_bound: float) -> tuple[float, float]:
    """The loosest tol that is good enough, and the relative excess it gives."""
    found: list[tuple[float, float]] = []
    for tol in (0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5, 1e-6):
        timed(peer(loss, path, tol))
        excess = objective(loss, path, X, y) / lower_bound - 1
        found.append((excess, tol))
        if excess <= GAP:
            return tol, excess
    excess, tol = min(found)
    return tol, excess


def measure(name: str, loss: str, path: Path, X, y: np.ndarray) -> None:
    _, report = timed(fenchel(loss, path))
    run = json.loads(report)["runs"][0]
    tol, excess = tolerance(loss, path, X, y, run["lower_bound"])
    seconds: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(REPEATS):
        seconds["ours"].append(timed(fenchel(loss, path))[0])
        seconds["peer"].append(timed(peer(loss, path, tol))[0])
    parts = json.loads(timed(fenchel(loss, path))[1])["seconds"]
    ours, theirs = (statistics.median(seconds[side]) for side in ("ours", "peer"))
    print(
        f"{name:8} {loss:14} {ours:7.2f} {parts['read']:6.2f} {parts['fit']:6.2f} "
        f"{parts['save']:6.2f} {theirs:9.2f} {tol:8.0e} {'~' if excess > GAP else ' '}{excess:7.0e}"
        f" {theirs / ours:7.2f}",
        flush=True,
    )


def main() -> None:
    print(
        f"{'data':8} {'loss':14} {'fenchel':>7} {'read':>6} {'fit':>6} {'save':>6} {'sklearn':>9}"
        f" {'tol':>8} {'excess':>8} {'ratio':>7}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, load in {"20news": news, "imdb": imdb}.items():
            X, y = load()
            path = Path(folder) / f"{name}.svm"
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            dump_svmlight_file(X, y, str(path), zero_based=False)
            for loss in ("hinge", "squared_hinge", "logistic"):
                if len(sys.argv) == 1 or f"{name}:{loss}" in sys.argv:
                    measure(name, loss, path, X, y)


if __name__ == "__main__":
    main()
