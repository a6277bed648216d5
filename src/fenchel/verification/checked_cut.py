"""A cut of a risk as verification computes it, with what round-off did to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class CheckedCut(NamedTuple):
    """R(v) >= <a', v> + c - c_error for all v, with an a' whose |a' - a| is at most a_error.

    Both are 0 in unpenalised coordinates. Of several problems each array has a line, and c and its
    error a number, for each. Under plain L2 the length of a' - a may be known in the place of its
    coordinates: a_error is 0 then.
    """

    a: Array
    c: Any
    a_error: Array
    c_error: Any
    length: float = 0.0
