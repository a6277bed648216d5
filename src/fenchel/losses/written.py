"""A first question to a loss of a user, before certificates rely on what it says.

Fenchel-Young: l*(a) >= <a, z> - l(z) for all a and z, with equality where a is a slope of l at z. A
conjugate that is lower would prove what is not so, one that is higher proves little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Conjugable, Loss
from fenchel.losses.vector import ConjugableVector, VectorLoss
from fenchel.settings import user_written

_LABELS = 5  # of all rows, from the least to the largest, or from the first to the last
_STEPS = np.array([-30.0, -3.0, -1.0, -0.3, 0.0, 0.2, 0.7, 2.0, 10.0])
_FAR = 1e-6  # of their terms, by which the two sides differ not by round-off


def check_conjugate(loss: Loss, y: Array) -> None:
    """Raises InvalidData where the conjugate that a user wrote is not that of the loss.

    It is asked at scores about 0 and about the label, for few of the labels.
    """
    if not (user_written(loss) and isinstance(loss, Conjugable) and len(y)):
        return
    labels = np.unique(np.quantile(y, np.linspace(0, 1, _LABELS), method="nearest"))
    for label in labels:
        scores = np.unique([*_STEPS, *(label + _STEPS)])
        with np.errstate(all="ignore"):
            _check(loss, scores, np.full_like(scores, label))


def check_vector_conjugate(loss: VectorLoss, y: Any, n_scores: int) -> None:
    """The same of a loss of several scores a row, at few rows' labels.

    Scores are a few lengths of a few directions: one score alone, all alike, all different.
    """
    if not (user_written(loss) and isinstance(loss, ConjugableVector) and len(y)):
        return
    one, k = np.eye(1, n_scores), np.arange(n_scores)
    directions = np.vstack([one, one[:, ::-1], np.ones(n_scores), np.cos(1.0 + k)])
    scores = np.unique(np.concatenate([step * directions for step in _STEPS]), axis=0)
    for row in np.unique(np.linspace(0, len(y) - 1, _LABELS).astype(int)):
        with np.errstate(all="ignore"):
            _check(loss, scores, np.repeat(y[row : row + 1], len(scores), axis=0))


def _check(loss: Conjugable | ConjugableVector, z: Array, y: Array) -> None:
    """Looks at one label: each slope at its own score, then at all others."""
    value, slope = (
        np.asarray(each, dtype=np.float64) for each in (loss.value(z, y), loss.slope(z, y))
    )
    finite = np.isfinite(value) & np.isfinite(slope).reshape(len(z), -1).all(axis=1)
    z, y, value, slope = (each[finite] for each in (z, y, value, slope))
    a = _inside(loss, slope, z, y)
    answer = np.asarray(loss.conjugate(a, y), dtype=np.float64)
    if answer.shape != value.shape:
        raise InvalidData(
            f"{type(loss).__name__}.conjugate gave an array of shape {answer.shape} for {len(a)} "
            "slopes; it must give a number for each"
        )
    _compare(type(loss).__name__, z, y, value, a, answer)


def _inside(loss: Conjugable | ConjugableVector, slope: Array, z: Array, y: Array) -> Array:
    """The slopes, moved into the conjugate's domain by no more than round-off."""
    name, a = type(loss).__name__, np.asarray(loss.feasible(slope, y), dtype=np.float64)
    if a.shape != slope.shape:
        raise InvalidData(
            f"{name}.feasible gave an array of shape {a.shape} for slopes of shape {slope.shape}"
        )
    size = np.abs(slope) if slope.ndim == 1 else np.abs(slope).max(axis=1, keepdims=True)
    outside = ~(np.abs(a - slope) <= _FAR * size)
    for k in np.flatnonzero(outside.reshape(len(slope), -1).any(axis=1)):
        at = f"{name}.slope is {_shown(slope[k])} at z = {_shown(z[k])}: "
        if isinstance(loss, Conjugable):
            lowest, highest = (np.broadcast_to(end, y.shape)[k] for end in loss.domain(y))
            raise InvalidData(
                f"{name}.domain gives [{lowest:.9g}, {highest:.9g}] for y = {_shown(y[k])}, but "
                f"{at}it must hold all slopes"
            )
        raise InvalidData(
            f"{name}.feasible gives {_shown(a[k])} for y = {_shown(y[k])}, but {at}slopes are "
            "in the domain of the conjugate and must stay as they are"
        )
    return a


def _compare(name: str, z: Array, y: Array, value: Array, a: Array, answer: Array) -> None:
    """Fenchel-Young for every slope at every score, with equality at its own."""
    points, slopes = z.reshape(len(z), -1), a.reshape(len(a), -1)
    below = slopes @ points.T - value  # of slope k at score j, which l*(a_k) is at least
    size = np.abs(slopes) @ np.abs(points).T + np.abs(value) + np.abs(answer)[:, np.newaxis]
    short = below - answer[:, np.newaxis]
    own = np.eye(len(z), dtype=bool)
    wrong = (short > _FAR * size) | (own & ~(np.abs(short) <= _FAR * size))
    product = "a z" if z.ndim == 1 else "<a, z>"
    for k, j in np.argwhere(wrong):
        least = "" if k == j else "at least "
        raise InvalidData(
            f"{name}.conjugate is not that of {name}.value, or {name}.slope is no slope of it: "
            f"for y = {_shown(y[k])} the slope at z = {_shown(z[k])} is a = {_shown(a[k])}, so "
            f"that l*(a) is {least}{product} - l(z) = {below[k, j]:.9g}, by z = {_shown(z[j])}; "
            f"conjugate(a, y) gave {answer[k]:.9g}"
        )


def _shown(number: Any) -> str:
    """A number, or the first and last of several."""
    if np.ndim(number) == 0:
        return f"{number:.9g}"
    return np.array2string(np.asarray(number), precision=6, threshold=8, separator=", ")
