"""The slope of a piecewise quadratic convex function of one variable, and where it crosses zero.

Its kinks are rows (eta, jump, bend): at eta the slope jumps by `jump` >= 0, and the rate at which
it rises changes by `bend`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import _kernels

Array = npt.NDArray[np.float64]

NO_KINKS = np.empty((0, 3))


class Slope(NamedTuple):
    """A slope just right of some step, and the rate at which it rises there."""

    slope: float
    curvature: float


def crossing(at: Slope, low: float, kinks: Array) -> float:
    """The first eta >= low with a slope >= 0, given the slope at `low` and the kinks after it."""
    return _kernels.crossing(*at, low, kinks)
