"""Data sets with one thing changed: what the experiments of reproduction/reasons vary.

A set and its changes, in their order, have a name: "w8a, balanced, lengths=1".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from reproduction.data import SETS, DataSet, Loaded

Change = Callable[[Loaded], Loaded]


def columns(n: int) -> Change:
    """Columns thrown together, at random and with random signs, until there are n."""

    def change(loaded: Loaded) -> Loaded:
        X, draw = sparse.coo_array(loaded.X), np.random.default_rng(0)
        to, sign = draw.integers(n, size=X.shape[1]), draw.choice([-1.0, 1.0], size=X.shape[1])
        entries = (X.data * sign[X.col], (X.row, to[X.col]))
        return loaded._replace(X=sparse.csr_array(entries, shape=(X.shape[0], n)))

    return change


def lengths(length: int) -> Change:
    """Rows of that length each, but for empty ones."""

    def change(loaded: Loaded) -> Loaded:
        X = sparse.csr_array(loaded.X)
        norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        by = sparse.diags_array(length / np.where(norm > 0, norm, 1.0))
        return loaded._replace(X=sparse.csr_array(by @ X))

    return change


def balanced(loaded: Loaded) -> Loaded:
    """As many rows of the larger class as the smaller one has."""
    least = min(np.count_nonzero(loaded.y == sign) for sign in (-1, 1))
    index = [np.flatnonzero(loaded.y == sign) for sign in (-1, 1)]
    spread = [each[np.linspace(0, len(each) - 1, least).astype(int)] for each in index]
    kept = np.sort(np.concatenate(spread))
    return loaded._replace(X=loaded.X[kept], y=loaded.y[kept])


def separable(loaded: Loaded) -> Loaded:
    """Labels by the side of a plane, that of least squares, on which each row is."""
    X = loaded.X.toarray() if sparse.issparse(loaded.X) else loaded.X
    w = np.linalg.lstsq(X, loaded.y, rcond=None)[0]
    return loaded._replace(y=np.where(loaded.X @ w > 0, 1.0, -1.0))


def labels(n: int) -> Change:
    """The n most frequent labels, and the rows that have some of these and not all."""

    def change(loaded: Loaded) -> Loaded:
        count = Counter(label for row in loaded.y for label in row)
        code = {label: k for k, (label, _) in enumerate(count.most_common(n))}
        y = [tuple(sorted(code[label] for label in row if label in code)) for row in loaded.y]
        kept = [i for i, row in enumerate(y) if 0 < len(row) < n]
        return loaded._replace(X=loaded.X[kept], y=[y[i] for i in kept])

    return change


def repeated(times: int) -> Change:
    """Every row, or sequence, or query, so many times: the same J of more terms."""

    def change(loaded: Loaded) -> Loaded:
        X = sparse.csr_array(sparse.vstack([sparse.csr_array(loaded.X)] * times))
        groups = loaded.groups
        if groups is not None:
            n = int(groups.max()) + 1
            groups = np.concatenate([groups + k * n for k in range(times)])
        return Loaded(X, np.tile(loaded.y, times), groups)

    return change


def pairs(loaded: Loaded) -> Loaded:
    """A row for each pair of a positive and a negative one, their difference, on either side.

    The hinge loss of these rows is the ROC loss of the given ones.
    """
    high, low = (np.flatnonzero(loaded.y == sign) for sign in (1, -1))
    above, below = np.repeat(high, len(low)), np.tile(low, len(high))
    y = np.where(np.arange(len(above)) % 2, 1.0, -1.0)
    X = sparse.csr_array(loaded.X)
    return loaded._replace(X=sparse.csr_array(sparse.diags_array(y) @ (X[above] - X[below])), y=y)


CHANGES: dict[str, Any] = {
    each.__name__: each for each in (columns, lengths, balanced, separable, labels, repeated, pairs)
}


def named(name: str) -> DataSet:
    """The set of data.py, changed after it has been prepared."""
    known, *words = name.split(", ")
    changes = [_change(*word.partition("=")) for word in words]

    def prepare(loaded: Loaded) -> Loaded:
        for change in (SETS[known].prepare, *changes):
            loaded = change(loaded)
        return loaded

    return replace(SETS[known], prepare=prepare)


def _change(word: str, equals: str, number: str) -> Change:
    change: Change = CHANGES[word](int(number)) if equals else CHANGES[word]
    return change
