"""The evidence a certificate carries, from which `verify` recomputes its lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Tangency(NamedTuple):
    """Where a cut touches the risk: weight on (w, below) and 1 - weight on (w, above).

    Without an intercept both offsets are 0. With one, `below` and `above` enclose the best offset
    and `weight` is such that the two tangents' slopes in the offset cancel (see intercept.py).
    """

    w: Array
    below: float = 0.0
    above: float = 0.0
    weight: float = 1.0


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
