"""The evidence a certificate carries, from which `verify` recomputes its lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Bracket(NamedTuple):
    """Two offsets that enclose the best intercept, and the mix of tangents whose slopes cancel.

    See intercept.py. Without an intercept both offsets are 0. The weights add up to 1; both are
    kept, because one may be far below the round-off of the other and yet carry a huge slope.
    """

    below: float = 0.0
    above: float = 0.0
    weight_below: float = 1.0
    weight_above: float = 0.0


class Ties(NamedTuple):
    """Rows whose score lies on a kink of the loss up to round-off, and the slopes chosen there.

    Whoever recomputes such a score may find it on the other side.
    """

    rows: npt.NDArray[np.intp]
    slopes: Array


class Tangency(NamedTuple):
    """Where a cut touches the risk: at w, with the intercept in a bracket."""

    w: Array
    bracket: Bracket = Bracket()
    ties: Ties | None = None  # with an intercept there are none: its bracket keeps off the kinks


@dataclass(frozen=True)
class Witness:
    """A dual point: weighted tangents of the risk, per-row dual variables, or both.

    The dual variable of row i is alpha_i + sum_k weights_k s_i/S l'(z_i^k, y_i), with z^k the
    scores at tangency k. Weights are >= 0; they add up to 1 where there is no alpha, and for a
    non-negative loss to at most 1 (the rest is the cut R >= 0). Nothing at all proves the bound 0.
    """

    tangencies: Sequence[Tangency] = ()
    weights: Sequence[float] = ()
    alpha: Array | None = None


def mixture(parts: Sequence[Witness], weights: Sequence[float]) -> Witness:
    """The witness of a weighted sum of cuts."""
    tangencies: list[Tangency] = []
    mixed: list[float] = []
    alpha: Array | None = None
    for part, weight in zip(parts, weights, strict=True):
        tangencies.extend(part.tangencies)
        mixed.extend(weight * share for share in part.weights)
        if part.alpha is not None:
            alpha = weight * part.alpha + (0.0 if alpha is None else alpha)
    return Witness(tangencies, mixed, alpha)
