"""The slopes of hinges of K scores whose maximum over pieces is softened, in float64.

They are points of the conjugate's domain, means of the pieces' gradients with the weights p_j =
exp(piece_j / mu) over their sum. As with all dual variables nothing rests on how they were found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from fenchel import losses
from fenchel.errors import InvalidCertificate

Array = npt.NDArray[np.float64]


def soft_slopes(loss: Any, Z: Array, y: npt.NDArray[Any], mu: float) -> Array:
    """A mean of the pieces' gradients for each row of scores."""
    if not 0 < mu < np.inf:
        raise InvalidCertificate(f"a tangent of the witness has the softness {mu!r}")
    if type(loss) is losses.MulticlassHinge:
        return _multiclass(loss, Z, y, mu)
    if type(loss) is losses.MultilabelHinge:
        return _multilabel(loss, Z, np.asarray(y, dtype=bool), mu)
    if type(loss) is losses.HierarchicalHinge:
        on = loss.for_classes(np.arange(Z.shape[1]))
        paths = on.tree.paths
        return np.asarray(_multiclass(on.of_leaves, Z @ paths.T, y, mu) @ paths)
    raise InvalidCertificate(f"a tangent of the witness is soft, but {loss!r} has no soft maximum")


def _multiclass(loss: losses.MulticlassHinge, Z: Array, y: npt.NDArray[Any], mu: float) -> Array:
    """p - e_y; of rescaled slacks sum_k p_k Delta_k (e_k - e_y)."""
    rows = np.arange(len(y))
    a = softmax(loss.pieces(Z, y) / mu, axis=1)
    if loss.rescaling == "slack":
        a *= loss.costs(Z.shape[1]).T[y]
    a[rows, y] = 0.0
    a[rows, y] = -np.sum(a, axis=1)
    return np.asarray(a)


def _multilabel(loss: losses.MultilabelHinge, Z: Array, right: Any, mu: float) -> Array:
    """pi P_k of wrong labels k and -pi Q_r of right ones r, pi the weight of all pairs of them."""
    assert loss.uniform is not None
    both = np.any(right, axis=1) & np.any(~right, axis=1)
    a = np.zeros_like(Z)
    z, some = Z[both] / mu, right[both]
    parts, tops = [], []
    for side in (np.where(some, -np.inf, z), np.where(some, -z, -np.inf)):
        tops.append(np.max(side, axis=1, initial=-np.inf, keepdims=True))
        parts.append(np.exp(side - tops[-1]))
    sums = [np.sum(part, axis=1, keepdims=True) for part in parts]
    gap = loss.uniform / mu + tops[0] + tops[1] + np.log(sums[0]) + np.log(sums[1])
    pi = np.exp(-np.logaddexp(0.0, -gap))
    a[both] = pi * (parts[0] / sums[0] - parts[1] / sums[1])
    return a
