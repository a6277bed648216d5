"""The slopes of losses of K scores that a witness means by offsets, a softness and a tilt.

They are means of the gradients g_j of a loss's pieces with the shares p_j (1 - d_j): p_j =
exp(piece_j / mu) over their sum, and d_j = <g_j, t> less its mean under p (witness.py). As with all
dual variables nothing rests on how they were found: they prove what their conjugate says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from fenchel import losses
from fenchel.errors import InvalidCertificate

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]


def tilted_slopes(loss: Any, Z: Array, y: Labels, mu: float, t: Array) -> Array:
    """The slopes of each row; as the loss has them where its slopes are no such mean."""
    if not 0 < mu < np.inf or not np.isfinite(t).all():
        raise InvalidCertificate(f"a tangent of the witness has the softness {mu!r} and a tilt {t}")
    if type(loss) is losses.Softmax:
        return _of_classes(Z / mu, np.ones_like(Z), y, t)
    if type(loss) is losses.MulticlassHinge:
        costs = loss.costs(Z.shape[1]).T[y]
        lengths = costs if loss.rescaling == "slack" else np.ones_like(Z)
        return _of_classes(loss.pieces(Z, y) / mu, lengths, y, t)
    if type(loss) is losses.MultilabelHinge and loss.uniform is not None:
        return _of_sets(Z, loss.uniform, np.asarray(y, dtype=bool), mu, t)
    if type(loss) in (losses.HierarchicalHinge, losses.HierarchicalSoftmax):
        on = loss.for_classes(np.arange(Z.shape[1]))
        paths = on.tree.paths
        return np.asarray(tilted_slopes(on.of_leaves, Z @ paths.T, y, mu, paths @ t) @ paths)
    return np.array(loss.slope(Z, y), dtype=np.float64)


def _of_classes(pieces: Array, lengths: Array, y: Labels, t: Array) -> Array:
    """sum_k p_k (1 - d_k) Delta_k (e_k - e_y), Delta_k the lengths."""
    rows = np.arange(len(y))
    p = softmax(pieces, axis=1)
    rise = lengths * (t - t[y][:, np.newaxis])
    a = lengths * p * (1 - (rise - np.sum(p * rise, axis=1, keepdims=True)))
    a[rows, y] = 0.0
    a[rows, y] = -np.sum(a, axis=1)
    return np.asarray(a)


def _of_sets(Z: Array, cost: float, right: Labels, mu: float, t: Array) -> Array:
    """The same over pairs of a wrong label k and a right one r, with p = pi P_k Q_r, and over 0."""
    both = np.any(right, axis=1) & np.any(~right, axis=1)
    z, some, a = Z[both] / mu, right[both], np.zeros_like(Z)
    shares, tops = [], []
    for side in (np.where(some, -np.inf, z), np.where(some, -z, -np.inf)):
        top = np.max(side, axis=1, initial=-np.inf, keepdims=True)
        each = np.exp(side - top)
        shares.append(each / np.sum(each, axis=1, keepdims=True))
        tops.append(top + np.log(np.sum(each, axis=1, keepdims=True)))
    pi = np.exp(-np.logaddexp(0.0, -(cost / mu + tops[0] + tops[1])))
    up, down = (share @ t[:, np.newaxis] for share in shares)
    mean = pi * (up - down)
    wrong = shares[0] * (1 - (t - down - mean))
    a[both] = pi * (wrong - shares[1] * (1 - (up - t - mean)))
    return a
