"""The papers' data sets by name, or the nearest that can be had, and few rows of them.

Read from the folder that FENCHEL_DATA names, in the layout that benchmarks/fetch.py makes. Without
it a few rows can still be had: random ones of the same shape, which is enough to see that the code
works, and for nothing else.
"""

from __future__ import annotations

import functools
import io
import itertools
import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from fenchel.data.svmlight import parsed

Kind = Literal["binary", "classes", "labels", "real", "ordinal", "queries", "sequences"]


class Loaded(NamedTuple):
    """Rows, their labels, and the query or sequence of each where there are any."""

    X: Any
    y: Any
    groups: Any = None


@dataclass(frozen=True)
class DataSet:
    """A svmlight file below FENCHEL_DATA and what is done to it.

    `share` of the entries is not 0: for random rows in its place. `classes` are classes, labels or
    levels. `prepare` changes what was read: scales columns, makes two classes of several.
    """

    file: str
    n_features: int
    kind: Kind = "binary"
    share: float = 1.0
    classes: int = 2
    prepare: Callable[[Loaded], Loaded] = lambda loaded: loaded


def load(name: str, rows: int | None = None) -> Loaded:
    """A set, or about so many of its rows, spread over the beginning of its file; kept.

    A name may go on with changes, as varied.py has them: "20news, columns=1024".
    """
    if name.partition(", ")[0] not in SETS:
        raise KeyError(f"there is no data set {name!r}; there are {', '.join(SETS)}")
    return _load(name, rows)


def source(name: str) -> str:
    """Where the rows come from, for those who read the page."""
    path = _path(SETS[name])
    return f"{name}" if path is not None else f"random rows in the place of {name}"


@functools.lru_cache(maxsize=2)
def _load(name: str, rows: int | None) -> Loaded:
    from reproduction.varied import named

    wanted = named(name)
    path = _path(wanted)
    if path is None and rows is None:
        raise FileNotFoundError(
            f"set FENCHEL_DATA to the folder of the data sets, which has no {wanted.file}.xz; "
            f"benchmarks/fetch.py gets {name}"
        )
    if path is None or rows is None:
        loaded = _random(wanted, rows or 0) if path is None else _read(path, wanted, None)
        return wanted.prepare(loaded)
    return wanted.prepare(_spread(_read(path, wanted, 10 * rows), rows))


def _path(wanted: DataSet) -> Path | None:
    path = Path(os.environ.get("FENCHEL_DATA") or os.devnull) / f"{wanted.file}.xz"
    return path if path.is_file() else None


def _read(path: Path, wanted: DataSet, lines: int | None) -> Loaded:
    with lzma.open(path, "rb") as file:
        text = file.read() if lines is None else b"".join(itertools.islice(file, lines))
    if wanted.kind == "labels":
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(io.BytesIO(text), n_features=wanted.n_features, multilabel=True)
        return Loaded(sparse.csr_array(X), [tuple(int(label) for label in row) for row in y])
    grouped = wanted.kind in ("queries", "sequences")
    found = parsed(path, [text], n_features=wanted.n_features, qid=grouped)
    return Loaded(found.X, found.y, found.qid if grouped else None)


def _spread(loaded: Loaded, rows: int) -> Loaded:
    """So many rows at equal distances, or as many whole queries or sequences from the front."""
    n = loaded.X.shape[0]
    index = np.unique(np.linspace(0, n - 1, min(n, rows)).astype(int))
    if loaded.groups is not None:
        index = np.flatnonzero(loaded.groups <= loaded.groups[min(n, rows) - 1])
        index = np.arange(int(index[-1]) + 1) if len(index) else np.arange(n)
    y = [loaded.y[i] for i in index] if isinstance(loaded.y, list) else loaded.y[index]
    groups = None if loaded.groups is None else loaded.groups[index]
    return Loaded(loaded.X[index], y, groups)


def _random(wanted: DataSet, rows: int) -> Loaded:
    """Rows that a linear model with noise labels."""
    rng = np.random.default_rng(len(wanted.file))
    grouped = wanted.kind in ("queries", "sequences")
    one = grouped or wanted.kind in ("real", "ordinal")
    d, several = wanted.n_features, 1 if one else wanted.classes
    X = sparse.random_array((rows, d), density=wanted.share, rng=rng, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    scores = X @ rng.normal(size=(d, several)) / np.sqrt(1 + wanted.share * d)
    scores += 0.3 * rng.normal(size=scores.shape)
    groups = np.arange(rows) // 8 if grouped else None
    return Loaded(X, _labels(wanted, scores), groups)


def _labels(wanted: DataSet, scores: Any) -> Any:
    first = scores[:, 0]
    if wanted.kind == "binary" and wanted.classes == 2:
        return np.where(first > 0, 1.0, -1.0)
    if wanted.kind in ("binary", "classes"):  # of several classes `prepare` makes two
        return np.argmax(scores, axis=1) + 1.0
    if wanted.kind == "labels":
        return [tuple(np.flatnonzero(row > 0.8).tolist()) for row in scores]
    if wanted.kind == "real":
        return first
    levels = np.quantile(first, np.linspace(0, 1, wanted.classes + 1)[1:-1])
    return np.searchsorted(levels, first).astype(float)


def scaled(loaded: Loaded) -> Loaded:
    """Columns in [-1, 1]: the smallest entry goes to -1, the largest to 1, as svm-scale does."""
    X = loaded.X.toarray() if sparse.issparse(loaded.X) else loaded.X
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return loaded._replace(X=np.where(high > low, 2 * (X - low) / width - 1, 0.0))


def standardised(loaded: Loaded) -> Loaded:
    """Columns of mean 0 and variance 1."""
    X = loaded.X.toarray() if sparse.issparse(loaded.X) else loaded.X
    deviation = X.std(axis=0)
    return loaded._replace(X=(X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def standardised_target(loaded: Loaded) -> Loaded:
    """The same, and of the targets too."""
    y = (loaded.y - np.mean(loaded.y)) / np.std(loaded.y)
    return standardised(loaded)._replace(y=y)


def divided(by: float) -> Callable[[Loaded], Loaded]:
    """Entries divided by a number, such as the largest value of a pixel."""
    return lambda loaded: loaded._replace(X=loaded.X / by)


def even_against_odd(loaded: Loaded) -> Loaded:
    """Two classes of several."""
    return loaded._replace(y=np.where(loaded.y % 2 == 0, 1.0, -1.0))


def second_against_rest(loaded: Loaded) -> Loaded:
    """covtype as it is mostly used: class 2 against the others, standardised."""
    return standardised(loaded)._replace(y=np.where(loaded.y == 2, 1.0, -1.0))


def _pixels(loaded: Loaded) -> Loaded:
    return even_against_odd(divided(255)(loaded))


def _regression(name: str, n_features: int) -> DataSet:
    return DataSet(f"{name}/{name}.svm", n_features, "real", prepare=standardised_target)


def _wide(name: str, n_features: int) -> DataSet:
    return DataSet(f"{name}/{name}.svm", n_features, prepare=standardised)


SETS: dict[str, DataSet] = {
    "a9a": DataSet("a9a/a9a", 123, share=0.113),
    "w8a": DataSet("w8a/w8a", 300, share=0.0388),
    "covtype": DataSet("covtype/covtype", 54, "binary", 0.22, 7, second_against_rest),
    "covtype-classes": DataSet("covtype/covtype", 54, "classes", 0.22, 7, standardised),
    "mnist-binary": DataSet("mnist/mnist", 780, "binary", 0.192, 10, _pixels),
    "20news": DataSet("20news/train.tfidf.svm", 130107, "binary", 0.0012, 20, even_against_odd),
    "imdb": DataSet("imdb/train.counts.svm", 74849, share=0.00184),
    "pros_cons": DataSet("pros_cons/train.svm", 95082, share=0.00014),
    "hiva": DataSet("hiva/hiva.svm", 1617, share=0.0916),
    "colon": _wide("colon", 2000),
    "leukemia": _wide("leukemia", 7129),
    "duke_breast": _wide("duke_breast", 7129),
    "usps": DataSet("usps/usps", 256, "classes", classes=10),
    "letter": DataSet("letter/letter", 16, "classes", classes=26, prepare=scaled),
    "mnist": DataSet("mnist/mnist", 780, "classes", 0.192, 10, divided(255)),
    "20news-classes": DataSet("20news/train.tfidf.svm", 130107, "classes", 0.0012, 20),
    "scene": DataSet("scene/train.svm", 294, "labels", classes=6),
    "yeast": DataSet("yeast/train.svm", 103, "labels", classes=14),
    "tmc2007": DataSet("tmc2007/train.svm", 500, "labels", 0.045, 22),
    "bibtex": DataSet("bibtex/train.svm", 1836, "labels", 0.037, 159),
    "enron": DataSet("enron/train.svm", 1001, "labels", 0.084, 53),
    "mq2008": DataSet("mq2008/S1.svm", 46, "queries", classes=3),
    "mq2007_agg": DataSet("mq2007_agg/A1.svm", 21, "queries", 0.65, 3),
    "lightgbm_rank": DataSet("lightgbm_rank/train.svm", 300, "queries", 0.316, 5),
    "ocr_letters": DataSet("ocr_letters/train.svm", 128, "sequences", 0.22, 26),
    "mv": _regression("mv", 12),
    "fried": _regression("fried", 10),
    "2dplanes": _regression("2dplanes", 10),
    "pol": _regression("pol", 48),
    "cpusmall": _regression("cpusmall", 12),
    "cpuact": _regression("cpuact", 21),
    "ailerons": _regression("ailerons", 40),
    "cal_housing": _regression("cal_housing", 8),
    "kin8nm": _regression("kin8nm", 8),
    "abalone": _regression("abalone", 10),
    "bodyfat": _regression("bodyfat", 14),
}
