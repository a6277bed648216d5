"""Data sets for the benchmarks: real ones through FENCHEL_DATA, and a synthetic one."""

from __future__ import annotations

import io
import lzma
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file


def real(name: str, n_features: int, *, multilabel: bool = False) -> tuple[sparse.csr_array, Any]:
    """A svmlight file of FENCHEL_DATA, such as 'a9a/a9a'."""
    folder = os.environ.get("FENCHEL_DATA")
    if not folder:
        sys.exit("set FENCHEL_DATA to the folder of the data sets (see its README)")
    text = lzma.decompress((Path(folder) / f"{name}.xz").read_bytes())
    X, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, multilabel=multilabel)
    return sparse.csr_array(X), y


def labelled(name: str, n_features: int) -> tuple[sparse.csr_array, list[tuple[int, ...]]]:
    """A multilabel file of FENCHEL_DATA: each row with its set of labels."""
    text = lzma.decompress((Path(os.environ["FENCHEL_DATA"]) / f"{name}.xz").read_bytes())
    X, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, multilabel=True)
    return sparse.csr_array(X), [tuple(int(label) for label in labels) for labels in y]


def two_classes(y: np.ndarray, positive: Any) -> np.ndarray:
    return np.where(np.isin(y, positive), 1.0, -1.0)


def a9a() -> tuple[sparse.csr_array, np.ndarray]:
    return real("a9a/a9a", 123)


def news() -> tuple[sparse.csr_array, np.ndarray]:
    X, y = real("20news/train.tfidf.svm", 130107)
    return X, two_classes(y % 2, 0)


def imdb() -> tuple[sparse.csr_array, np.ndarray]:
    return real("imdb/train.counts.svm", 74849)


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """Dense, even against odd digits."""
    X, y = real("mnist/mnist", 780)
    return X.toarray() / 255, two_classes(y % 2, 0)


def synthetic(
    n_rows: int = 1_000_000, n_columns: int = 100_000, per_row: int = 50
) -> tuple[sparse.csr_array, np.ndarray]:
    """Uniformly random columns, standard normal values."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, n_columns, size=(n_rows, per_row), dtype=np.int32)
    columns.sort(axis=1)
    for _ in range(100):  # redraw the few repeats
        repeated = np.zeros_like(columns, dtype=bool)
        repeated[:, 1:] = columns[:, 1:] == columns[:, :-1]
        if not repeated.any():
            break
        columns[repeated] = rng.integers(0, n_columns, size=int(repeated.sum()), dtype=np.int32)
        columns.sort(axis=1)
    values = rng.standard_normal(n_rows * per_row)
    row_start = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    X = sparse.csr_array((values, columns.ravel(), row_start), shape=(n_rows, n_columns))
    return X, np.sign(X @ rng.standard_normal(n_columns))


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A small dense set of FENCHEL_DATA: a svmlight file, or a csv with the label last."""
    folder = Path(os.environ["FENCHEL_DATA"]) / name
    svmlight = folder / f"{name}.svm.xz"
    if svmlight.exists():
        X, y = load_svmlight_file(io.BytesIO(lzma.decompress(svmlight.read_bytes())))
        return X.toarray(), y
    text = lzma.decompress((folder / f"{name}.csv.xz").read_bytes()).decode().replace("'", "")
    values = np.loadtxt(io.StringIO(text), delimiter=",")
    return values[:, :-1], values[:, -1]
