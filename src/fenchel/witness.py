"""The evidence a certificate carries, from which `verify` recomputes its lower bound.

A lower bound of the objective follows from a cut, a linear function that lies below the risk
everywhere; and a cut follows from dual variables, a slope of the loss for each row, or from places
at which it touches the risk as a tangent. A witness is either of them, or a mean. It is small
enough to be kept with a result, and whoever has the data can make the cut of it anew, without
trusting the solver that found it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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


class Tilted(NamedTuple):
    """K intercepts of a vector loss, and which slopes are meant there: see risks/offsets.py.

    The slopes of a row are the mean of the gradients g_j of the pieces that its loss is a maximum
    of, or a soft one, with the shares p_j (1 - d_j): p_j = exp(piece_j / mu) over their sum, mu = 1
    of softmax, and d_j = <g_j, tilt> less its mean. Of squared errors they are those of the loss.
    """

    b: Array
    mu: float
    tilt: Array


class Ties(NamedTuple):
    """Rows whose score lies on a kink of the loss up to round-off, and the slopes chosen there.

    Whoever recomputes such a score may find it on the other side.
    """

    rows: npt.NDArray[np.intp]
    slopes: Array  # one a row, or K


class Tangency(NamedTuple):
    """Where a cut touches the risk: at w, with the intercept in a bracket."""

    w: Array
    bracket: Bracket = Bracket()
    ties: Ties | None = None  # none with a bracket, which keeps off the kinks
    offsets: Tilted | None = None  # of a vector loss with intercepts, in place of the bracket


@dataclass(frozen=True)
class Witness:
    """A dual point: weighted tangents of the risk, per-row dual variables, or both.

    The dual variable of row i is alpha_i + sum_k weights_k s_i/S l'(z_i^k, y_i), with z^k the
    scores at tangency k; of a vector loss there are K of them, and alpha holds them row after row.
    Weights are >= 0; they add up to 1 where there is no alpha, and for a non-negative loss to at
    most 1 (the rest is the cut R >= 0). Nothing at all proves the bound 0.
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


def packed(name: str, witnesses: Sequence[Witness]) -> dict[str, npt.NDArray[Any]]:
    """Witnesses as plain arrays, name.w and so on, for a checkpoint."""
    touches = [touch for witness in witnesses for touch in witness.tangencies]
    ties, offsets = [touch.ties for touch in touches], [touch.offsets for touch in touches]
    alphas = [witness.alpha for witness in witnesses if witness.alpha is not None]
    arrays = {
        "tangencies": np.array([len(witness.tangencies) for witness in witnesses], dtype=np.int64),
        "weights": np.array([x for witness in witnesses for x in witness.weights]),
        "w": np.array([touch.w for touch in touches]),
        "brackets": np.array([touch.bracket for touch in touches]),
        "offsets": np.array([[*o.b, o.mu, *o.tilt] for o in offsets if o is not None]),
        "ties": np.array([-1 if tie is None else len(tie.rows) for tie in ties], dtype=np.int64),
        "tie_rows": _joined([tie.rows for tie in ties if tie is not None], np.int64),
        "tie_slopes": _joined([tie.slopes.ravel() for tie in ties if tie is not None], np.float64),
        "has_alpha": np.array([witness.alpha is not None for witness in witnesses], dtype=np.int64),
        "alpha": np.array(alphas),
    }
    return {f"{name}.{key}": array for key, array in arrays.items()}


def unpacked(name: str, state: Mapping[str, npt.NDArray[Any]]) -> list[Witness]:
    """The witnesses that were packed under this name."""
    prefix = f"{name}."
    arrays = {k.removeprefix(prefix): array for k, array in state.items() if k.startswith(prefix)}
    ends = np.cumsum(np.maximum(arrays["ties"], 0))
    rows = np.split(arrays["tie_rows"], ends[:-1]) if len(ends) else []
    n_ties = len(arrays["tie_rows"])
    width = len(arrays["tie_slopes"]) // max(n_ties, 1)
    each = arrays["tie_slopes"].reshape((n_ties, width) if width > 1 else n_ties)
    slopes = np.split(each, ends[:-1]) if len(ends) else []
    offsets = [_tilted(line) for line in arrays["offsets"]] or [None] * len(ends)
    touches = [
        Tangency(w, Bracket(*bracket), None if n < 0 else Ties(tied.astype(np.intp), a), b)
        for w, bracket, n, tied, a, b in zip(
            arrays["w"],
            arrays["brackets"].tolist(),
            arrays["ties"],
            rows,
            slopes,
            offsets,
            strict=True,
        )
    ]
    alphas = iter(arrays["alpha"])
    witnesses, first = [], 0
    for n, has_alpha in zip(arrays["tangencies"], arrays["has_alpha"], strict=True):
        last = first + int(n)
        weights = arrays["weights"][first:last].tolist()
        witnesses.append(Witness(touches[first:last], weights, next(alphas) if has_alpha else None))
        first = last
    return witnesses


def _tilted(line: Array) -> Tilted | None:
    """K offsets, mu, and a tilt for each."""
    K = len(line) // 2
    return Tilted(line[:K], float(line[K]), line[K + 1 :])


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0), *parts]).astype(kind)
