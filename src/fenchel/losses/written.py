"""A first question to a loss of a user, before certificates rely on what it says.

Fenchel-Young: l*(a) >= a z - l(z) for all a and z, with equality where a is a slope of l at z. A
conjugate that is lower would prove what is not so, one that is higher proves little.
"""

from __future__ import annotations

import numpy as np

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Conjugable, Loss
from fenchel.settings import user_written

_LABELS = 5  # of all rows, from the least to the largest
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


def _check(loss: Conjugable, z: Array, y: Array) -> None:
    """Looks at one label: each slope at its own score, then at all others."""
    name = type(loss).__name__
    value, slope = loss.value(z, y), loss.slope(z, y)
    finite = np.isfinite(value) & np.isfinite(slope)
    z, y, value, slope = (each[finite] for each in (z, y, value, slope))
    lowest, highest = (np.broadcast_to(end, y.shape) for end in loss.domain(y))
    a = np.clip(slope, lowest, highest)
    for k in np.flatnonzero(np.abs(a - slope) > _FAR * np.abs(slope)):
        raise InvalidData(
            f"{name}.domain gives [{lowest[k]:.9g}, {highest[k]:.9g}] for y = {y[k]:.9g}, but "
            f"{name}.slope is {slope[k]:.9g} at z = {z[k]:.9g}: it must hold all slopes"
        )
    answer = np.asarray(loss.conjugate(a, y), dtype=np.float64)
    if answer.shape != a.shape:
        raise InvalidData(
            f"{name}.conjugate gave an array of shape {answer.shape} for {len(a)} slopes; it must "
            "give a number for each"
        )
    below = a[:, np.newaxis] * z - value  # of slope k at score j, which l*(a_k) is at least
    size = np.abs(a[:, np.newaxis] * z) + np.abs(value) + np.abs(answer)[:, np.newaxis]
    short = below - answer[:, np.newaxis]
    own = np.eye(len(z), dtype=bool)
    wrong = (short > _FAR * size) | (own & ~(np.abs(short) <= _FAR * size))
    for k, j in np.argwhere(wrong):
        least = "" if k == j else "at least "
        raise InvalidData(
            f"{name}.conjugate is not that of {name}.value, or {name}.slope is no slope of it: "
            f"for y = {y[k]:.9g} the slope at z = {z[k]:.9g} is a = {a[k]:.9g}, so that l*(a) is "
            f"{least}a z - l(z) = {below[k, j]:.9g}, by z = {z[j]:.9g}; conjugate(a, y) gave "
            f"{answer[k]:.9g}"
        )
