"""From a loss to its twin in C++, and to the sums over rows that both can do.

What is said of scalar losses is done for vector losses in vector_twins.py, without an offset b.
"""

from __future__ import annotations

import inspect

import numpy as np

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses import LOSSES, vector_twins
from fenchel.losses.base import Array, Loss, Pieces, ScalarLoss
from fenchel.losses.vector import VectorLoss

# Each built-in loss's name and, where it has one, its parameter.
_NATIVE = {
    kind: (name, next(iter(inspect.signature(kind).parameters), None))
    for name, kind in LOSSES.items()
    if issubclass(kind, ScalarLoss)
}


def twin(loss: Loss) -> _kernels.Loss | None:
    """The native loss, by exact type: a subclass may have changed the formula."""
    if not isinstance(loss, ScalarLoss) or type(loss) not in _NATIVE:
        return None
    name, parameter = _NATIVE[type(loss)]
    return _kernels.Loss(name, 0.0 if parameter is None else getattr(loss, parameter))


def built_in(loss: Loss) -> _kernels.Loss:
    """The native loss of one that is known to be built in."""
    found = twin(loss)
    assert found is not None
    return found


def slopes(loss: Loss, z: Array, y: Array, s: Array | None, b: float = 0.0) -> tuple[float, Array]:
    """(sum_i s_i l(z_i + b, y_i), the array of s_i l'(z_i + b, y_i))."""
    if isinstance(loss, VectorLoss):
        return vector_twins.slopes(loss, z, y, s)
    native = twin(loss)
    if native is not None:
        a = np.empty_like(z)
        return _kernels.slopes(native, z, y, s, b, a), a
    value, slope = np.asarray(loss.value(z + b, y)), np.asarray(loss.slope(z + b, y))
    if value.shape != z.shape or slope.shape != z.shape:
        raise InvalidData(
            f"{loss!r} must give a value and a slope for each score; for {len(z)} scores it gave "
            f"shapes {value.shape} and {slope.shape}"
        )
    if s is not None:
        value, slope = (s * np.where(s > 0, part, 0.0) for part in (value, slope))
    return float(np.sum(value)), np.ascontiguousarray(slope, dtype=np.float64)


def sums(loss: Loss, z: Array, y: Array, s: Array | None, b: float) -> tuple[float, float]:
    """(sum_i s_i l(z_i + b, y_i), sum_i s_i l'(z_i + b, y_i))."""
    native = twin(loss)
    if native is not None:
        return _kernels.sums(native, z, y, s, b)
    value, slope = slopes(loss, z, y, s, b)
    return value, float(np.sum(slope))


def slope_along(
    loss: Loss, z: Array, q: Array, y: Array, s: Array | None, eta: float
) -> tuple[float, float]:
    """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i), and its slope, just right of eta."""
    if isinstance(loss, VectorLoss):
        return vector_twins.slope_along(loss, z, q, y, s, eta)
    native = twin(loss)
    if native is not None:
        return _kernels.slope_along(native, z, q, y, s, eta)
    pieces, steps = _crossed(loss, z, q, y)
    at = z + eta * q
    slope, curvature = pieces.start + pieces.curvature * at, pieces.curvature.copy()
    right = np.where(q > 0, steps <= eta, steps > eta)
    slope += np.sum(right * (pieces.jump + pieces.bend * (at - pieces.at)), axis=0)
    curvature += np.sum(right * pieces.bend, axis=0)
    weighted = q if s is None else s * q
    return float(weighted @ slope), float(weighted @ (curvature * q))


def kinks_along(
    loss: Loss,
    z: Array,
    q: Array,
    y: Array,
    s: Array | None,
    low: float,
    high: float,
) -> Array:
    """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
    if isinstance(loss, VectorLoss):
        return vector_twins.kinks_along(loss, z, q, y, s, low, high)
    native = twin(loss)
    if native is not None:
        return _kernels.kinks_along(native, z, q, y, s, low, high)
    pieces, steps = _crossed(loss, z, q, y)
    k, i = np.nonzero((steps > low) & (steps <= high))
    weight = np.abs(q[i]) if s is None else s[i] * np.abs(q[i])
    return np.column_stack(
        [steps[k, i], weight * pieces.jump[k, i], weight * q[i] * pieces.bend[k, i]]
    )


def _crossed(loss: Loss, z: Array, q: Array, y: Array) -> tuple[Pieces, Array]:
    """The loss's pieces and the steps at which its breakpoints are crossed; nan where never."""
    assert isinstance(loss, ScalarLoss)
    pieces = loss.pieces(y)
    assert pieces is not None
    with np.errstate(all="ignore"):
        steps = np.where(q == 0, np.nan, (pieces.at - z) / q)
    return pieces, steps
