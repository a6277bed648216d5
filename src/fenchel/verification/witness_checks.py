"""What a witness must look like before anything of it is computed: weights, sizes, places."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate
from fenchel.losses import Loss
from fenchel.tolerances import VERIFIED_ZERO
from fenchel.witness import Tangency, Witness

Array = npt.NDArray[np.float64]


class CheckedRows(Protocol):
    """Rows that dual variables and tangencies belong to."""

    y: npt.NDArray[Any]
    K: int | None
    has_intercept: bool
    takes_levels: bool  # of a loss of all rows: its tangents may be those of soft maxima

    def columns(self, v: Array) -> Array:
        """A vector as an array of K columns."""


def offsets_of(touch: Tangency) -> list[tuple[Any, float]]:
    """The intercepts that a tangent is a mean over, with their weights."""
    if touch.offsets is not None:
        return [(np.asarray(touch.offsets.b, dtype=np.float64), 1.0)]
    below, above, *weights = touch.bracket
    return list(zip((below, above), weights, strict=True))


def checked(data: CheckedRows, witness: Witness, n_parameters: int) -> tuple[Array, Array]:
    """The tangents' weights and the rows' dual variables, if they are such."""
    weights = np.asarray(witness.weights, dtype=np.float64)
    shares = np.array([touch.bracket[2:] for touch in witness.tangencies]).reshape(-1, 2)
    if len(weights) != len(witness.tangencies) or not np.all(weights >= 0):
        raise InvalidCertificate("the witness needs one weight >= 0 for each tangent")
    if not (np.all(shares >= 0) and np.all(np.abs(shares.sum(axis=1) - 1) <= VERIFIED_ZERO)):
        raise InvalidCertificate("a tangent of the witness is not a mean of two")
    for touch in witness.tangencies:
        rows = np.empty(0, dtype=np.intp) if touch.ties is None else touch.ties.rows
        n = data.K if data.has_intercept else None
        found = touch.offsets
        if data.takes_levels and found is not None and 0 < found.mu < np.inf:
            n = 0
        given = None if found is None else len(found.b) if len(found.b) == len(found.tilt) else -1
        if np.shape(touch.w) != (n_parameters,) or np.any(rows >= len(data.y)) or given != n:
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
    n_duals = len(data.y) * (data.K or 1)
    alpha = (
        np.zeros(n_duals) if witness.alpha is None else np.array(witness.alpha, dtype=np.float64)
    )
    if alpha.shape != (n_duals,):
        raise InvalidCertificate(
            f"the witness has {alpha.size} dual variables, but these data need {n_duals}: it was "
            "found on other data"
        )
    if not np.isfinite(alpha).all():
        raise InvalidCertificate(f"the witness needs {n_duals} finite dual variables")
    return weights, data.columns(alpha)


def check_weights(loss: Loss, weights: Array, witness: Witness) -> None:
    """Weights of tangents alone, which add up to 1, or to less where R >= 0 makes up for it."""
    total = float(np.sum(weights))
    if witness.alpha is not None:
        raise InvalidCertificate("dual variables prove nothing for a loss without a conjugate")
    if total > 1 + VERIFIED_ZERO or (total < 1 - VERIFIED_ZERO and not loss.nonnegative):
        raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")
