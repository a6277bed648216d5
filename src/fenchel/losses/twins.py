"""From a loss to its twin in C++, and to the sums over rows that both can do."""

from __future__ import annotations

import inspect

import numpy as np

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses import LOSSES
from fenchel.losses.base import Array, ScalarLoss

# Each built-in loss's name and, where it has one, its parameter.
_NATIVE = {
    kind: (name, next(iter(inspect.signature(kind).parameters), None))
    for name, kind in LOSSES.items()
}


def twin(loss: ScalarLoss) -> _kernels.Loss | None:
    """The native loss, by exact type: a subclass may have changed the formula."""
    if type(loss) not in _NATIVE:
        return None
    name, parameter = _NATIVE[type(loss)]
    return _kernels.Loss(name, 0.0 if parameter is None else getattr(loss, parameter))


def slopes(
    loss: ScalarLoss, z: Array, y: Array, s: Array | None, b: float = 0.0
) -> tuple[float, Array]:
    """(sum_i s_i l(z_i + b, y_i), the array of s_i l'(z_i + b, y_i))."""
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


def sums(loss: ScalarLoss, z: Array, y: Array, s: Array | None, b: float) -> tuple[float, float]:
    """(sum_i s_i l(z_i + b, y_i), sum_i s_i l'(z_i + b, y_i))."""
    native = twin(loss)
    if native is not None:
        return _kernels.sums(native, z, y, s, b)
    value, slope = slopes(loss, z, y, s, b)
    return value, float(np.sum(slope))
