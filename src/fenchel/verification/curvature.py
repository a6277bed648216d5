"""A lower bound of min R where nothing is penalised, from the curvature that rows keep nearby.

Let A hold the rows (and a column of ones for an intercept), w the parameters with the intercept,
z = A w the scores with their offsets, g the gradient of R at w. Suppose that the loss of row i
bends by at least h_i >= 0 wherever its score is within rho of z_i, and let, with shares s_i / S,

    H = sum_i s_i/S h_i a_i a_i',    delta^2 = g'H^-1 g,    d^2 = max_i a_i'H^-1 a_i.

Go from w by t in a direction of length 1 in the norm of H. No score moves by more than t d, so
for t <= rho / d the second derivative of R along the way is at least 1, and the first is at least
-delta at its start:

    R(w + t v) >= R(w) - delta t + t^2 / 2    for t <= rho / d.

If 2 delta d <= rho that is at least R(w) at the end t = rho / d, and as R is convex it is at least
R(w) beyond, too. So R has a minimum, within that distance, and

    min R >= R(w) - delta^2 / 2.

It is the Newton decrement's bound (Bach 2010, "Self-concordant analysis for logistic regression"),
with what nearness costs written out; no dual variables, no bound on w and no regulariser take part.
Of the losses below the third derivative is no larger than the second, so that h_i = exp(-rho)
l''(z_i); of a piecewise quadratic loss h_i is the least curvature of the pieces within reach.

Columns that are combinations of others, exactly, change nothing but that w is not unique: R is a
function of A w, and the other columns alone have the same A w. That they are so is checked in whole
numbers. Columns that are combinations up to round-off only are another matter: a w of 1e16 may be
better than any other, so nothing is proved, and `dependence` says which they are.

Round-off. H is a sum of chunks, each of _ROWS terms at most, by pairs: an entry is off by gamma of
sum_i h_i |a_ij| |a_ik| <= sqrt(H_jj H_kk). With the diagonal brought to 1 an error of norm gamma m
remains, which costs H the share kappa = gamma m / (its least eigenvalue). Errors of the scores that
the data are multiplied with add to rho; those of the gradient, entry by entry, to delta.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.losses import (
    Expectile,
    Exponential,
    Gamma,
    Huber,
    Logistic,
    Loss,
    Poisson,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    SquaredPerceptron,
    Tweedie,
)
from fenchel.tolerances import EPSILON, ROUND_OFF, SCORES
from fenchel.verification import products
from fenchel.verification.dependence import MOST_COLUMNS, all_combinations, independent
from fenchel.verification.row_data import RowEvidence

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

MOST_WORK = 1e12  # products of two numbers: about a minute
_TRIES = 5  # at reaches that grow
SLACK = 0.01  # of lengths, for the round-off of their products

_BENDING = (Logistic, Exponential, Poisson, Gamma, Tweedie)
_PIECEWISE = (
    SquaredError,
    Huber,
    Expectile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    SmoothedHinge,
    SquaredPerceptron,
)


def is_curved(loss: Loss) -> bool:
    """Whether something is known here of the curvature of a loss."""
    return type(loss) in (*_BENDING, *_PIECEWISE)


def curvature(loss: Any, z: Array, y: Array) -> Array:
    """l''(z, y) of the losses whose third derivative is no larger, but for a few units."""
    with np.errstate(over="ignore", under="ignore"):
        if type(loss) is Logistic:
            far = np.exp(-np.abs(z))
            return np.asarray(far / (1 + far) ** 2)
        if type(loss) is Exponential:
            return np.asarray(np.exp(-y * z))
        if type(loss) is Poisson:
            return np.asarray(np.exp(z))
        if type(loss) is Gamma:
            return np.asarray(y * np.exp(-z))
        a, b = loss.power - 1.0, 2.0 - loss.power
        return np.asarray(b * np.exp(b * z) + a * y * np.exp(-a * z))


def least_curvature(loss: Any, z: Array, y: Array, rho: float) -> Array:
    """The least l''(u, y) of a piecewise quadratic loss over all |u - z| <= rho."""
    pieces = loss.pieces(y)

    def after(u: Array, inclusive: bool) -> Array:
        passed = pieces.at <= u if inclusive else pieces.at < u
        return np.asarray(pieces.curvature + np.sum(np.where(passed, pieces.bend, 0.0), axis=0))

    least = np.minimum(after(z - rho, False), after(z + rho, True))
    for at in pieces.at:
        inside = np.abs(at - z) <= rho
        there = np.minimum(after(at, False), after(at, True))
        least = np.where(inside, np.minimum(least, there), least)
    return np.maximum(least, 0.0)


class Inverted(NamedTuple):
    """H as W W' = H^-1 on the columns that are not combinations of others."""

    W: Array  # with rows of zeros for the columns that are
    scale: Array  # the roots of the diagonal of H on the columns that are not
    chosen: Indices  # those
    least: float  # eigenvalue, with a diagonal of ones
    kappa: float  # the share of H that round-off may have made up


def curvature_bound(data: RowEvidence, w: Array, b: float) -> float:
    """A lower bound of min R from the data around (w, b); -inf where there is none."""
    m = data.n_columns + 1
    if m > MOST_COLUMNS or m * m * len(data.y) > MOST_WORK or not is_curved(data.loss):
        return -math.inf
    z = data.scores(w) + b + data.offset
    off = data.score_error(w) + SCORES * (abs(b) + np.abs(data.offset))
    moved = float(np.max(off[data.share > 0], initial=0.0))
    g, g_error = _gradient(data, z, off)
    value = np.where(data.share > 0, data.loss.value(z, data.y), 0.0)
    slope = np.where(data.share > 0, np.abs(data.loss.slope(z, data.y)), 0.0)
    R = float(np.sum(data.share * value))
    floor = R - float(np.sum(data.share * slope * off)) - ROUND_OFF * abs(R)
    rho, h, inverse = moved, np.empty(0), None
    for _ in range(_TRIES):
        kept, factor = _kept(data, z, rho)
        if not np.array_equal(kept, h):
            h, inverse = kept, inverse_of(data, kept)
        if inverse is None or factor == 0:
            break
        delta = decrement(inverse, g, g_error) / math.sqrt(factor)
        d = longest(data, inverse.W, inverse.kappa) / math.sqrt(factor)
        needed = 2 * delta * d * (1 + ROUND_OFF) + moved
        if needed <= rho:
            return floor - delta**2 / 2 * (1 + ROUND_OFF)
        if not needed < math.inf:
            break
        rho = 2 * needed
    return -math.inf


def _kept(data: RowEvidence, z: Array, rho: float) -> tuple[Array, float]:
    """(shares times curvatures, a factor): what rows keep of their curvature within rho."""
    if type(data.loss) in _BENDING:
        each, factor = curvature(data.loss, z, data.y), math.exp(-rho)
    else:
        each, factor = least_curvature(data.loss, z, data.y, rho), 1.0
    return np.where(data.share > 0, data.share * each, 0.0), factor * (1 - ROUND_OFF)


def _gradient(data: RowEvidence, z: Array, off: Array) -> tuple[Array, Array]:
    """The gradient of R at scores z, the intercept's last, and by how much it may be off."""
    counted = data.share > 0
    alpha = np.where(counted, data.share * data.loss.slope(z, data.y), 0.0)
    ahead, behind = (data.loss.slope(z + move, data.y) for move in (off, -off))
    error = np.where(counted, data.share * (ahead - behind), 0.0) + ROUND_OFF * np.abs(alpha)
    g, g_error = data.adjoint(alpha), data.adjoint_error(alpha, error)
    total = float(np.sum(alpha)) if data.has_intercept else 0.0
    doubt = float(np.sum(error) + ROUND_OFF * np.sum(np.abs(alpha))) if data.has_intercept else 0.0
    return np.append(g, total), np.append(g_error, doubt)


def inverse_of(data: RowEvidence, h: Array) -> Inverted | None:
    """H^-1 for curvatures h >= 0 of the rows; None where H is not known to be of full rank."""
    data.passes += 1
    H = products.by_columns(data.engine, products.gram, h)
    chosen, rest = independent(H, data.has_intercept)
    if not len(chosen) or not all_combinations(data, H, chosen, rest):
        return None
    return inverted(H, chosen)


def inverted(H: Array, chosen: Indices) -> Inverted | None:
    """The inverse of a sum of products of rows on the chosen columns, if it is well known."""
    scale = np.sqrt(np.diag(H)[chosen])
    scaled = H[np.ix_(chosen, chosen)] / scale / scale[:, np.newaxis]
    if not np.isfinite(scaled).all():
        return None
    values, vectors = np.linalg.eigh(scaled)
    m, least = len(values), max(float(values[0]), EPSILON)
    # Of chunks, of their sum by pairs, of the scaling, and of eigh's own arithmetic.
    kappa = EPSILON * (products.GRAM_ROWS + 64 + 16 * m) * m / least
    if not (kappa < 0.5 and m * m * EPSILON / math.sqrt(least) < SLACK):
        return None
    W = np.zeros((len(H), m))
    W[chosen] = vectors / np.sqrt(values) / scale[:, np.newaxis]
    return Inverted(W, scale, chosen, least, kappa)


def decrement(inverse: Inverted, g: Array, g_error: Array) -> float:
    """No less than delta, the length of a gradient that may be off by so much in each entry.

    With the diagonal of H brought to 1, W has the norm 1 / sqrt(least), and a row the length l in
    the norm of H^-1 if it is at most l sqrt(m) long: so the products with W are off by `SLACK`.
    """
    W, scale, chosen, least, kappa = inverse
    doubt = g_error[chosen] / scale + len(chosen) * EPSILON * np.abs(g[chosen] / scale)
    delta = float(np.linalg.norm(W.T @ g)) + float(np.linalg.norm(doubt)) / math.sqrt(least)
    return delta * (1 + SLACK) / math.sqrt(1 - kappa)


def longest(data: RowEvidence, W: Array, kappa: float) -> float:
    """No less than d, the length of the longest row that counts in the norm of H^-1."""
    data.passes += 1
    lengths = products.by_rows(data.engine, products.lengths, W)
    d = float(np.max(lengths[data.share > 0], initial=0.0))
    return d * (1 + SLACK) / math.sqrt(1 - kappa)
