"""The coefficients of a linear model that matter most, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.risks.base import Array
from fenchel.settings import whole


class Coefficient(NamedTuple):
    """One weight; `label` is the class that a positive weight speaks for, None in regression."""

    label: str | None
    feature: str
    weight: float


class Size(NamedTuple):
    """How sparse the weights of one class are."""

    label: str | None
    intercept: float
    nonzeros: int
    features: int


class Coefficients(NamedTuple):
    """The largest weights, class by class, and the sizes of all."""

    largest: list[Coefficient]
    sizes: list[Size]


def coefficients(
    coef: npt.ArrayLike,
    intercept: npt.ArrayLike,
    names: Sequence[object] | None = None,
    classes: Sequence[object] | npt.NDArray[np.generic] | None = None,
    k: int = 20,
) -> Coefficients:
    """The k weights of each class that are largest in size, largest first; zeros are left out.

    Takes `coef_`, `intercept_` and `classes_` as scikit-learn has them. `names` are the features'
    (`range(1, d + 1)` will do for a file that counts from 1); without them they are x0, x1, ...
    """
    weights = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    k = whole("k", k, least=0)
    labels = _labels(classes, len(weights))
    offsets = _offsets(intercept, len(weights))
    if names is not None and len(names) != weights.shape[1]:
        raise InvalidData(f"{len(names)} names were given for {weights.shape[1]} features")
    rows = [
        Coefficient(label, f"x{j}" if names is None else str(names[j]), float(row[j]))
        for label, row in zip(labels, weights, strict=True)
        for j in _largest(row, k)
    ]
    counts = [int(np.count_nonzero(row)) for row in weights]
    sizes = [
        Size(label, float(offset), count, weights.shape[1])
        for label, offset, count in zip(labels, offsets, counts, strict=True)
    ]
    return Coefficients(rows, sizes)


def _largest(row: Array, k: int) -> list[int]:
    order = np.argsort(-np.abs(row), kind="stable")[:k]
    return [int(j) for j in order if row[j] != 0]


def _offsets(intercept: npt.ArrayLike, n: int) -> Array:
    offsets = np.ravel(np.asarray(intercept, dtype=np.float64))
    if len(offsets) not in (1, n):
        raise InvalidData(f"{len(offsets)} intercepts were given for {n} rows of coefficients")
    return np.broadcast_to(offsets, n)


def _labels(
    classes: Sequence[object] | npt.NDArray[np.generic] | None, n: int
) -> Sequence[str | None]:
    if classes is None:
        return [None] * n
    labels = [str(label) for label in classes]
    if n == 1 and len(labels) == 2:
        return labels[1:]  # the one row is that of the second class
    if len(labels) != n:
        raise InvalidData(f"{len(labels)} classes were given for {n} rows of coefficients")
    return labels
