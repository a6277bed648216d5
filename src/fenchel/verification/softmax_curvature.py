"""A lower bound of min R without a penalty for softmax, from the curvature around a point.

As in curvature.py, for K scores a row. Softmax does not change when a row's scores move together,
so that the first class may keep the score 0: the parameters are those of the K - 1 others, and the
Hessian of a row's loss in its scores is h = diag(p) - pp' on these, p the probabilities. Along a
move of the scores by t v the variance of anything under p falls no faster than by the factor
exp(-t (max v - min v)), as its derivative is E[(u - Eu)^2 (v - Ev)]. So a row keeps exp(-rho) of h
while no two of its scores move apart by more than rho; and with the first score at rest, they move
apart by at most twice the most that any of them moves.

The terms of an entry of H are at most p_j p_k |a| |a'|, and p_j p_k is no larger than the root of
p_j (1 - p_j) p_k (1 - p_k): round-off is bounded as it is there.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from fenchel.tolerances import ROUND_OFF, SCORES
from fenchel.verification import products
from fenchel.verification.curvature import MOST_WORK, decrement, inverted, longest
from fenchel.verification.dependence import MOST_COLUMNS, all_combinations, independent
from fenchel.verification.row_data import RowEvidence

Array = npt.NDArray[np.float64]

_TRIES = 20  # at reaches that grow, which cost nothing


def softmax_bound(data: RowEvidence, w: Array, b: float | Array) -> float:
    """A lower bound of min R from the data around W and its intercepts; -inf if there is none."""
    assert data.K is not None
    m = (data.n_columns + 1) * (data.K - 1)
    if m > MOST_COLUMNS or m * m * len(data.y) > MOST_WORK:
        return -math.inf
    Z = data.scores(w) + b
    off = data.score_error(w) + SCORES * np.abs(b)
    counted = data.share > 0
    moved = 2 * float(np.max(off[counted], initial=0.0))
    found = _decrement_and_reach(data, Z, off)
    if found is None:
        return -math.inf
    delta, d = found
    value = np.where(counted, data.loss.value(Z, data.y), 0.0)
    slope = np.where(data.each(counted), np.abs(data.loss.slope(Z, data.y)), 0.0)
    R = float(np.sum(data.share * value))
    floor = R - float(np.sum(data.each(data.share) * slope * off)) - ROUND_OFF * abs(R)
    rho = moved
    for _ in range(_TRIES):
        factor = math.exp(-rho) * (1 - ROUND_OFF)
        needed = 2 * delta * d / factor * (1 + ROUND_OFF) + moved
        if needed <= rho:
            return floor - delta**2 / (2 * factor) * (1 + ROUND_OFF)
        if not needed < 100:
            break
        rho = 1.5 * needed
    return -math.inf


def _decrement_and_reach(data: RowEvidence, Z: Array, off: Array) -> tuple[float, float] | None:
    """(delta, d) at the scores Z, but for what curvature is lost on the way; None if not known."""
    assert data.K is not None
    ones, K = data.has_intercept or data.has_offsets, data.K
    whole = products.by_columns(data.engine, products.gram, data.share)
    columns, rest = independent(whole, ones)
    if not len(columns) or not all_combinations(data, whole, columns, rest):
        return None
    n = len(columns)
    H = np.zeros((n * (K - 1), n * (K - 1)))
    p, part = softmax(Z, axis=1), np.ix_(columns, columns)
    for j in range(1, K):
        others = np.sum(np.delete(p, j, axis=1), axis=1)
        for k in range(1, j + 1):
            each = p[:, j] * (others if j == k else -p[:, k])
            h = np.where(data.share > 0, data.share * each, 0.0)
            block = products.by_columns(data.engine, products.gram, h)[part]
            H[(j - 1) * n : j * n, (k - 1) * n : k * n] = block
            H[(k - 1) * n : k * n, (j - 1) * n : j * n] = block.T
    data.passes += K * (K - 1) // 2
    inverse = inverted(H, np.arange(len(H)))
    if inverse is None:
        return None
    g, g_error = (each[columns, 1:].T.ravel() for each in _gradient(data, Z, off))
    W = np.zeros((K - 1, len(whole), len(H)))
    W[:, columns] = inverse.W.reshape(K - 1, n, -1)
    d = max(longest(data, each, inverse.kappa) for each in W)
    return decrement(inverse, g, g_error), 2 * d


def _gradient(data: RowEvidence, Z: Array, off: Array) -> tuple[Array, Array]:
    """The gradient at the scores Z, a line for each column and one for ones; and its error."""
    counted = data.each(data.share > 0)
    share = data.each(data.share)
    alpha = np.where(counted, share * data.loss.slope(Z, data.y), 0.0)
    error = data.loss.smoothness * np.linalg.norm(off, axis=1, keepdims=True)
    error = np.where(counted, share * error, 0.0) + ROUND_OFF * np.abs(alpha)
    n = data.n_columns
    g, doubt = (
        each.reshape(-1, alpha.shape[1])[:n]
        for each in (data.adjoint(alpha), data.adjoint_error(alpha, error))
    )
    total = np.sum(alpha, axis=0)
    left = np.sum(error + ROUND_OFF * np.abs(alpha), axis=0)
    return np.vstack([g, total]), np.vstack([doubt, left])
