"""What is measured, minimised directly or by a loss of each row: F1, ROC area, precision, ranks.

Every model has the same strengths to choose from, by its measure on held-out training rows, and
is fitted again on all of them: to a certified gap of 1e-4, or for LIMIT seconds of the processor,
one thread. (The bounds are flat: on mq2008, w = 0 is within 1e-3.) Columns are scaled by training
rows alone. Thresholds of logistic and hinge are set on training scores for F1, as those of
MetricClassifier are.

FENCHEL_DATA=... python benchmarks/metrics.py [classes] [ranking] [ordinal]
"""

from __future__ import annotations

import csv
import lzma
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from data import real
from peers import limited
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.estimators.measures import ndcg
from fenchel.estimators.thresholds import best_threshold, f_measure

LIMIT = 20.0  # seconds for a fit
STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)

Part = tuple[Any, ...]  # X, y, and the queries of a ranking
Fitted = Callable[[float, Part], Any]
Measured = Callable[[Any, Part], float]


def options() -> dict[str, Any]:
    return {"tol": 1e-4, "n_jobs": 1, "callback": limited(LIMIT)}


def tuned(fit: Fitted, measure: Measured, train: Part, held: Part, whole: Part) -> tuple[Any, str]:
    """The model of the best strength, fitted on the whole, and what it took."""
    found = [measure(fit(alpha, train), held) for alpha in STRENGTHS]
    alpha = STRENGTHS[int(np.argmax(found))]
    start = time.process_time()
    model = fit(alpha, whole)
    took = time.process_time() - start
    gap = f"{model.gap_:8.0e}" if hasattr(model, "gap_") else f"{'-':>8}"
    return model, f"{alpha:7.0e} {gap} {took:8.1f}"


# Two classes

IMBALANCED = ("mammography", "hiva", "w8a", "a9a", "kddcup99 normal", "kddcup99 probes")
PROBES = (
    "satan.",
    "ipsweep.",
    "portsweep.",
    "nmap.",
    "mscan.",
    "saint.",
)  # attacks that look round


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A csv file of numbers of FENCHEL_DATA, and its lines but the first."""
    text = lzma.decompress((Path(os.environ["FENCHEL_DATA"]) / f"{name}.xz").read_bytes())
    lines = list(csv.reader(text.decode().splitlines()))
    first = 1 if lines[0][0] == "response" else 0
    values = np.array([[float(v.strip("'")) for v in line] for line in lines[first:]])
    return (values[:, 1:], values[:, 0]) if first else (values[:, :-1], values[:, -1])


def halves(X: Any, y: np.ndarray, share: float, seed: int) -> tuple[Part, Part]:
    X, X_held, y, y_held = train_test_split(X, y, test_size=share, random_state=seed, stratify=y)
    return (X, y), (X_held, y_held)


def standardised(train: Part, *others: Part) -> tuple[Part, ...]:
    """By the rows of the first part."""
    scaler = StandardScaler().fit(train[0])
    return tuple((scaler.transform(X), *rest) for X, *rest in (train, *others))


def kddcup(positive: tuple[str, ...]) -> tuple[Part, Part]:
    """Train and test; text columns as indicators, numbers as log(1 + x), all in [0, 1]."""
    folder = Path(os.environ["FENCHEL_DATA"]) / "kddcup99"
    files = ("kddcup.data_10_percent.xz", "corrected.xz")
    frames = [pd.read_csv(folder / file, header=None) for file in files]
    text, label = [1, 2, 3], 41
    indicators = OneHotEncoder(handle_unknown="ignore").fit(frames[0][text])
    numbers = [np.log1p(frame.drop(columns=[*text, label]).to_numpy(float)) for frame in frames]
    scaler = MaxAbsScaler().fit(numbers[0])
    parts = []
    for frame, X in zip(frames, numbers, strict=True):
        X = sparse.hstack([indicators.transform(frame[text]), scaler.transform(X)])
        parts.append((sparse.csr_array(X), np.where(frame[label].isin(positive), 1.0, -1.0)))
    return parts[0], parts[1]


def two_classes(name: str) -> tuple[Part, Part]:
    """Train and test."""
    if name == "a9a":
        return real("a9a/a9a", 123), real("a9a/a9a.t", 123)
    if name.startswith("kddcup99"):
        return kddcup(PROBES if name.endswith("probes") else ("normal.",))
    if name == "mammography":
        train, test = standardised(*halves(*table("mammography/mammography.csv"), 0.3, 0))
        return train, test
    return halves(*real(*{"w8a": ("w8a/w8a", 300), "hiva": ("hiva/hiva.svm", 1617)}[name]), 0.3, 0)


class Measures:
    """What is measured of scores; k is a hundredth of the rows."""

    def __init__(self, cut: float = 0.0):
        self.cut = cut

    def f1(self, z: np.ndarray, y: np.ndarray) -> float:
        return float(f1_score(y > 0, z > self.cut))

    def roc_auc(self, z: np.ndarray, y: np.ndarray) -> float:
        return float(roc_auc_score(y > 0, z))

    def precision_at_k(self, z: np.ndarray, y: np.ndarray) -> float:
        return float(np.mean(y[np.argsort(-z, kind="stable")[: k_of(y)]] > 0))


def k_of(y: np.ndarray) -> int:
    return max(1, round(len(y) / 100))


def by_metric(metric: str) -> Fitted:
    def fit(alpha: float, part: Part) -> Any:
        X, y = part
        model = fenchel.MetricClassifier(metric=metric, k=k_of(y), alpha=alpha, **options())
        return model.fit(X, y)

    return fit


def by_row(loss: str) -> Fitted:
    """With the threshold of the best F1 on the training scores; fits are kept for all measures."""
    kept: dict[Any, Any] = {}

    def fit(alpha: float, part: Part) -> Any:
        X, y = part
        if (alpha, len(y)) not in kept:
            model = fenchel.Classifier(loss=loss, alpha=alpha, **options()).fit(X, y)
            model.cut = best_threshold(model.decision_function(X), y > 0, f_measure(1.0))
            kept[alpha, len(y)] = model
        return kept[alpha, len(y)]

    return fit


def classes() -> None:
    print(
        f"{'data':16} {'measure':15} {'model':10} {'test':>7} "
        f"{'alpha':>7} {'gap':>8} {'seconds':>8}"
    )
    for name in IMBALANCED:
        whole, test = two_classes(name)
        # Strengths do not depend on the number of rows: of half a million a tenth will do.
        some = halves(*whole, 0.1, 2)[1] if name.startswith("kddcup99") else whole
        train, held = halves(*some, 0.3, 1)
        rows = {"logistic": by_row("logistic"), "hinge": by_row("hinge")}
        for metric in ("f1", "roc_auc", "precision_at_k"):

            def measure(model: Any, part: Part, metric: str = metric) -> float:
                z = model.decision_function(part[0])
                return float(getattr(Measures(getattr(model, "cut", 0.0)), metric)(z, part[1]))

            for kind, fit in {"direct": by_metric(metric), **rows}.items():
                model, how = tuned(fit, measure, train, held, whole)
                print(
                    f"{name:16} {metric:15} {kind:10} {measure(model, test):7.4f} {how}", flush=True
                )


# Ranking


def queries(*names: str) -> Part:
    """Files one after the other, dense."""
    folder, parts = Path(os.environ["FENCHEL_DATA"]), []
    n_features = {"mq2008": 46, "mq2007_agg": 21, "lightgbm_rank": 300}
    for number, name in enumerate(names):
        X, y, qid = fenchel.read_svmlight(
            folder / f"{name}.xz", qid=True, n_features=n_features[name.split("/")[0]]
        )
        parts.append((X.toarray(), y, qid + number * 10_000_000))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def ranked(name: str) -> tuple[Part, Part, Part]:
    """Train, held-out and test; mq2008 as it comes, scaled by queries, others standardised."""
    if name == "lightgbm_rank":
        every, test = queries("lightgbm_rank/train.svm"), queries("lightgbm_rank/test.svm")
        every, test = standardised(every, test)
        cut = np.flatnonzero(every[2] == np.unique(every[2])[160])[0]
        return tuple(v[:cut] for v in every), tuple(v[cut:] for v in every), test
    letter = {"mq2008": "S", "mq2007_agg": "A"}[name]
    files = [f"{name}/{letter}{k}.svm" for k in range(1, 6)]
    train, held, test = queries(*files[:3]), queries(files[3]), queries(files[4])
    if name == "mq2007_agg":  # places in 21 lists, 0 for documents that a list does not have
        inverse = [(np.divide(1, X, where=X > 0, out=X), *rest) for X, *rest in (train, held, test)]
        train, held, test = standardised(*inverse)
    return train, held, test


def ndcg_at_10(model: Any, part: Part) -> float:
    X, y, qid = part
    return float(np.mean(ndcg(np.asarray(model.predict(X)), y, qid, 10)))


def ranker(loss: str) -> Fitted:
    return lambda alpha, part: fenchel.Ranker(loss=loss, alpha=alpha, **options()).fit(
        part[0], part[1], groups=part[2]
    )


def ridge(alpha: float, part: Part) -> Any:
    return Ridge(alpha=alpha * len(part[1])).fit(part[0], part[1])


def lambdarank(train: Part, held: Part) -> Any:
    """LightGBM's, as it comes, with as many trees as suit the held-out queries."""
    from lightgbm import LGBMRanker, early_stopping

    def sizes(part: Part) -> np.ndarray:
        return np.diff(np.flatnonzero(np.r_[True, np.diff(part[2]) != 0, True]))

    model = LGBMRanker(n_estimators=300, n_jobs=1, random_state=0, verbose=-1)
    return model.fit(
        *(train[0], train[1].astype(int)),
        group=sizes(train),
        eval_set=[(held[0], held[1].astype(int))],
        eval_group=[sizes(held)],
        eval_at=[10],
        callbacks=[early_stopping(30, verbose=False)],
    )


def ranking() -> None:
    print(f"{'data':14} {'model':12} {'NDCG@10':>7} {'alpha':>7} {'gap':>8} {'seconds':>8}")
    for name in ("mq2008", "mq2007_agg", "lightgbm_rank"):
        train, held, test = ranked(name)
        whole = tuple(np.concatenate(both) for both in zip(train, held, strict=True))
        fits: dict[str, Fitted] = {
            loss: ranker(loss) for loss in ("rank_hinge", "ndcg", "mrr", "eru")
        }
        for kind, fit in {**fits, "ridge": ridge}.items():
            model, how = tuned(fit, ndcg_at_10, train, held, whole)
            print(f"{name:14} {kind:12} {ndcg_at_10(model, test):7.4f} {how}", flush=True)
        start = time.process_time()
        model = lambdarank(train, held)
        took, found = time.process_time() - start, ndcg_at_10(model, test)
        print(f"{name:14} {'LightGBM':12} {found:7.4f} {'-':>7} {'-':>8} {took:8.1f}", flush=True)


# Levels


def levels(alpha: float, part: Part) -> Any:
    return fenchel.OrdinalRegressor(alpha=alpha, **options()).fit(*part)


def mord(kind: str) -> Fitted:
    import mord

    return lambda alpha, part: getattr(mord, kind)(alpha=alpha * len(part[1])).fit(
        part[0], part[1].astype(int)
    )


def error(model: Any, part: Part) -> float:
    """The mean error in levels, which are numbered 1, 2, ..."""
    return float(np.mean(np.abs(model.predict(part[0]) - part[1])))


def ordinal() -> None:
    print(f"{'data':20} {'model':18} {'error':>7} {'alpha':>7} {'gap':>8} {'seconds':>8}")
    files = sorted((Path(os.environ["FENCHEL_DATA"]) / "ordinal").glob("*.csv.xz"))
    for name in (file.name.removesuffix(".csv.xz") for file in files):
        whole, test = standardised(*halves(*table(f"ordinal/{name}.csv"), 0.3, 0))
        train, held = halves(*whole, 0.3, 1)
        for kind, fit in {
            "OrdinalRegressor": levels,
            "mord LogisticAT": mord("LogisticAT"),
            "mord LogisticIT": mord("LogisticIT"),
        }.items():
            model, how = tuned(fit, lambda model, part: -error(model, part), train, held, whole)
            print(f"{name:20} {kind:18} {error(model, test):7.4f} {how}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables = {"classes": classes, "ranking": ranking, "ordinal": ordinal}
    with threadpool_limits(1):
        for chosen in sys.argv[1:] or tables:
            tables[chosen]()
