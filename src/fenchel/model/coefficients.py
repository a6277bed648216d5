"""Coefficients in a file, as they are or without their zeros.

Where it is shorter, the file holds a bit for each coefficient, set where it is not 0, and the
others in order. Such a file has one reading only, and none asks for more than 64 times its own size
of memory; with indices instead of bits a few bytes could claim 2^40 coefficients.
"""

from __future__ import annotations

import numpy as np

from fenchel._system.container import Arrays, take
from fenchel.errors import InvalidData
from fenchel.risks.base import Array


def stored(coef: Array) -> Arrays:
    """The arrays that hold the coefficients."""
    dense: Array = np.array(coef, dtype=np.float64, order="C")
    present = dense.reshape(-1) != 0  # nor is -0.0: soft thresholds leave many, and no score tells
    mask, values = np.packbits(present), dense.reshape(-1)[present]
    if mask.nbytes + values.nbytes < dense.nbytes:
        return {"coef.mask": mask, "coef.values": values}
    return {"coef": dense}


def restored(arrays: Arrays, shape: tuple[int, ...]) -> Array:
    """The coefficients, taken out of the arrays; they must be finite."""
    coef = _unmasked(arrays, shape) if "coef.mask" in arrays else take(arrays, "coef", "f8", shape)
    if not np.isfinite(coef).all():
        raise InvalidData("its coefficients hold nan or inf")
    return coef


def _unmasked(arrays: Arrays, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape, dtype=object))  # before any memory is taken, and without overflow
    mask = take(arrays, "coef.mask", np.uint8, ((size + 7) // 8,))
    bits = np.unpackbits(mask)
    if bits[size:].any():
        raise InvalidData("its mask of coefficients is longer than they are")
    present = bits[:size].view(np.bool_)
    coef = np.zeros(size)
    coef[present] = take(arrays, "coef.values", np.float64, (int(present.sum()),))
    return coef.reshape(shape)
