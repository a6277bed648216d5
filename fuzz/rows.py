"""Rows and labels of random problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.losses.table import Labels, Real, Row, Whole, Word

Rng = np.random.Generator
Array = npt.NDArray[np.float64]

N_CLASSES = 3
TREE = {"pets": ["cat", "dog"], "fern": None}
LEAVES = np.array(["cat", "dog", "fern"])
_UNIT_COST = {"m3n": 1.0}


def matrix(rng: Rng, n: int, d: int, wild: bool) -> Array:
    """X, of one kind of numbers, with what makes problems degenerate."""
    kinds: dict[str, Array] = {
        "normal": rng.normal(size=(n, d)),
        "whole": rng.integers(-2, 3, size=(n, d)).astype(float),
        "zeros and ones": (rng.random((n, d)) < 0.4).astype(float),
        "few columns": rng.normal(size=(n, max(1, d // 3))) @ rng.normal(size=(max(1, d // 3), d)),
        "heavy tails": np.clip(rng.standard_t(1.5, size=(n, d)), -1e4, 1e4),
    }
    X = kinds[str(rng.choice(list(kinds), p=[0.4, 0.2, 0.15, 0.1, 0.15]))]
    if rng.random() < 0.3:
        X[rng.random((n, d)) < 0.5] = 0.0
    if rng.random() < 0.2:
        X = X[rng.integers(max(1, n // 2), size=n)]  # rows that occur twice and more
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.15:
        X[rng.integers(n)] = 0.0
    if rng.random() < 0.15:
        X[:, rng.integers(d)] = float(rng.choice([0.0, 1.0]))
    return _scaled(rng, X) if wild else X


def _scaled(rng: Rng, X: Array) -> Array:
    n, d = X.shape
    if rng.random() < 0.5:
        X = X * 10.0 ** rng.uniform(-8, 8, size=d)
    elif rng.random() < 0.5:
        X = X * 10.0 ** rng.uniform(-8, 8)
    if rng.random() < 0.3:
        X = X + 10.0 ** rng.uniform(0, 5, size=d) * (rng.random(d) < 0.5)
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.uniform(-4, 4, size=n)[:, np.newaxis]
    return X


def losses_options(rng: Rng, row: Row) -> dict[str, Any]:
    """Options of a loss, half of them as they are by default."""
    options: dict[str, Any] = {}
    for option in row.options:
        if option.name == "taxonomy":
            options["taxonomy"] = TREE
        elif rng.random() < 0.5:
            continue
        elif isinstance(option, Real):
            options[option.name] = _within(rng, option)
        elif isinstance(option, Whole):
            options[option.name] = int(rng.integers(option.least, option.least + 5))
        elif isinstance(option, Word):
            options[option.name] = str(rng.choice(option.words))
        elif option.name == "cost" and row.name != "ordinal":
            options["cost"] = _cost(rng)
        elif option.name == "M":
            A = rng.normal(size=(N_CLASSES, int(rng.integers(1, N_CLASSES + 1))))
            options["M"] = A @ A.T
    if options.get("rescaling") == "slack" and row.name in _UNIT_COST:
        options["cost"] = _UNIT_COST[row.name]
    return options


def _within(rng: Rng, option: Real) -> float:
    """A number in the option's range."""
    low = option.above if option.least is None else option.least
    high = option.below if option.most is None else option.most
    assert low is not None
    if high is None:
        return float(low + 10.0 ** rng.uniform(-3, 2))
    return float(low + (high - low) * rng.uniform(0.02, 0.98))


def _cost(rng: Rng) -> Any:
    if rng.random() < 0.4:
        return float(10.0 ** rng.uniform(-3, 2))
    cost = rng.uniform(0.0, 3.0, size=(N_CLASSES, N_CLASSES))
    np.fill_diagonal(cost, 0.0)
    return cost


def labelled(
    rng: Rng, row: Row, X: Array, options: dict[str, Any], wild: bool
) -> tuple[Any, npt.NDArray[np.int64] | None]:
    """(y, groups): labels that X explains in part, all, or not at all; groups where there are."""
    n, d = X.shape
    size = np.max(np.abs(X), axis=0)
    Z = (X / np.where(size > 0, size, 1.0)) @ rng.normal(size=(d, N_CLASSES))
    Z += float(rng.choice([0.0, 0.3, 3.0])) * rng.normal(size=Z.shape)
    groups = _groups(rng, row, n)
    if row.labels in (Labels.CLASSES, Labels.LEAVES, Labels.TAGS):
        codes = np.argmax(Z, axis=1)
        return (LEAVES[codes] if row.labels is Labels.LEAVES else codes), groups
    if row.labels is Labels.SETS:
        return (Z > 0.2).astype(np.uint8), groups
    if row.labels is Labels.VECTORS:
        return _sized(rng, Z, wild), groups
    return _one_each(rng, row, Z[:, 0], groups, wild), groups


def _one_each(rng: Rng, row: Row, z: Array, groups: Any, wild: bool) -> Array | None:
    """One number for each row."""
    if row.labels is Labels.BINARY:
        y = np.where(z > np.median(z), 1.0, -1.0)
        if rng.random() < 0.9:  # else one class may be missing
            y[: min(2, len(y))] = [1.0, -1.0][: min(2, len(y))]
        return y
    if row.labels is Labels.NONE:
        return None
    if groups is not None or row.name == "ordinal":
        y = np.digitize(z, [-0.5, 0.7]).astype(float)
        if row.name.startswith("rerank"):
            y[np.unique(groups, return_index=True)[1]] += 1.0
        return y
    if row.labels is Labels.COUNT:
        return _sized(rng, rng.poisson(np.exp(np.clip(z, -3, 3))).astype(float), wild)
    if row.labels is Labels.POSITIVE:
        return _sized(rng, rng.gamma(2.0, 0.5 * np.exp(np.clip(z, -3, 3))) + 1e-3, wild)
    y = np.round(z) if rng.random() < 0.2 else z
    return _sized(rng, y + (float(rng.choice([0.0, 1e3])) if wild else 0.0), wild)


def _sized(rng: Rng, y: Array, wild: bool) -> Array:
    """Labels of another unit."""
    return y * 10.0 ** rng.uniform(-6, 6) if wild and rng.random() < 0.5 else y


def _groups(rng: Rng, row: Row, n: int) -> npt.NDArray[np.int64] | None:
    """Lists, queries or sequences of one to five rows."""
    if row.labels is not Labels.TAGS and row.estimator not in ("Ranker", "Reranker"):
        return None
    return np.repeat(np.arange(n), rng.integers(1, 6, size=n))[:n].astype(np.int64)
