"""Dual variables that are orthogonal to columns without a penalty."""

from __future__ import annotations

import numpy as np

from fenchel.risks.base import Array
from fenchel.tolerances import ROUND_OFF


def orthogonal(alpha: Array, h: Array | float, B: Array) -> Array | None:
    """alpha, moved along h times the rows of B to where it is orthogonal to them, if it gets there.

    Three times, because the rows may be nearly dependent.
    """
    hB = B * h
    for _ in range(3):
        c = np.linalg.lstsq(hB @ B.T, B @ alpha, rcond=None)[0]
        alpha = alpha - c @ hB
    return alpha if are_orthogonal(alpha, B) else None


def are_orthogonal(alpha: Array, B: Array) -> bool:
    """Whether <b, alpha> is 0 for all rows of B, but for round-off."""
    return bool(np.all(np.abs(B @ alpha) <= ROUND_OFF * (np.abs(B) @ np.abs(alpha))))
