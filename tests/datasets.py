"""Small data sets, and how tests write and read them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel.data.files import read, write

X = np.array([[0.1, 0.0, -3.0], [0.0, 1e-300, 2.0], [1 / 3, 5e-324, 0.0], [7.0, 1e99, -0.0]])
Y = np.array([1.5, -2.0, 0.0, 1e17])
QID = np.array([3, 3, 1, 2**60], dtype=np.int64)
NAMES = ("age", "height", "weight of it")


def same(a, b):
    """Equal bits and types, dense or sparse."""
    if a is None or b is None:
        return a is b
    if sparse.issparse(a):
        return all(same(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    a, b = np.asarray(a), np.asarray(b)
    kinds = a.dtype.kind == b.dtype.kind == "U" or a.dtype == b.dtype
    return a.shape == b.shape and kinds and a.tolist() == b.tolist() and _signs(a) == _signs(b)


def _signs(a):
    return np.signbit(a).tolist() if a.dtype.kind == "f" else None


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def again(dataset, path, **how):
    write(dataset, path)
    return read(path, **how)


def saved(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refuses(path, *said, kind=fenchel.InvalidData, **how):
    with pytest.raises(kind) as error:
        read(path, **how)
    for phrase in said:
        assert phrase in str(error.value)
