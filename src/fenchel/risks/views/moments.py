"""The mean squared error of few columns as a function of w alone: its moments, and paths by them.

    R(w) = q - <c, w> + 1/2 <w, G w>        at the best offset b = center - <mean, w>

G and c are sums over rows about their means, q half the mean square of y, all weighted by the rows'
shares. They are computed once; after that no row is read at any strength, neither to minimise nor
to bound the minimum (kernels/gram_path.hpp, where what round-off does to both is derived).
"""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import DenseRows
from fenchel.risks.base import Array, Risk
from fenchel.risks.views.columns import Columns, columns_of
from fenchel.tolerances import ROUND_OFF

Indices = npt.NDArray[np.intp]

_LARGE = 10**6  # products of a Gram matrix, from which on it is worth a detour to save most of them
_ENOUGH = 0.1  # of the moments of all rows, that must be left
_EPOCHS = 10_000  # in one descent, of which a strength makes a few


class Moments(NamedTuple):
    """G, c and q; what the best offset needs; and the roots of mean squares, means included."""

    G: Array
    c: Array
    q: float
    mean: Array  # 0 without an intercept
    center: float
    size: Array
    size_y: float

    def path(
        self, t: Array, m: Array, strengths: Array, gap: float, w: Array
    ) -> tuple[Array, Array, Array]:
        """Minimisers at strengths that decrease, their offsets, and (J, its bound) for each.

        The penalty is strength times t_j |w_j| + m_j/2 w_j^2, and w is where the first starts.
        """
        W, bounds = np.empty((len(strengths), len(w))), np.empty((len(strengths), 2))
        problem = self.G, self.c, self.q, self.size, self.size_y, t, m
        _kernels.gram_path(*problem, strengths, gap, ROUND_OFF, _EPOCHS, w, W, bounds)
        return W, self.center - W @ self.mean, bounds


class Response(NamedTuple):
    """What is to be fitted: y less the offsets of rows, about its mean if there is an intercept."""

    y: Array
    offset: Array | None
    share: Array  # of each row
    intercept: bool

    def of(self, rows: npt.NDArray[np.bool_]) -> Response:
        """The same of some rows."""
        offset = None if self.offset is None else self.offset[rows]
        return Response(self.y[rows], offset, self.share[rows], self.intercept)

    @property
    def values(self) -> Array:
        """y less the offsets."""
        return self.y if self.offset is None else self.y - self.offset


_KEPT: WeakKeyDictionary[Columns, Moments] = WeakKeyDictionary()
_PARTS: WeakKeyDictionary[Risk, tuple[Risk, Indices]] = WeakKeyDictionary()


def moments(risk: Risk) -> Moments:
    """The moments of a squared error of few columns: the same for all fits on it."""
    columns = columns_of(risk)
    found = _KEPT.get(columns)
    if found is None:
        found = _KEPT[columns] = _of_whole(risk, columns) or _anew(columns)
    return found


def part(risk: Risk, whole: Risk, inside: Indices) -> None:
    """Says that the rows of a risk are some of those of `whole`, whose moments may help."""
    _PARTS[risk] = whole, inside


def _response(columns: Columns) -> Response:
    share = columns.share
    share = np.full(columns.n_rows, share) if isinstance(share, float) else share
    return Response(columns.y, columns.offset, share, columns.has_intercept)


def _anew(columns: Columns) -> Moments:
    gram = columns.gram(np.arange(columns.n_columns, dtype=np.int32), None)
    columns.norms = np.sqrt(np.diag(gram.G) + gram.mean**2)  # the same, without a pass
    response = _response(columns)
    y, share = response.values, response.share
    size = math.sqrt(float(share @ np.square(np.abs(response.y) + np.abs(response.y - y))))
    center = float(share @ y) if response.intercept else 0.0
    slopes = share * (y - center)
    c = columns.adjoint(slopes) - float(slopes.sum()) * gram.mean
    q = 0.5 * float(slopes @ (y - center))
    return Moments(gram.G, c, q, gram.mean, center, columns.norms, size)


def _of_whole(risk: Risk, columns: Columns) -> Moments | None:
    """From those of all rows, if they are known to have these among them, and that saves time."""
    whole, inside = _PARTS.get(risk, (None, None))
    if whole is None or columns.n_rows * columns.n_columns**2 < _LARGE:
        return None
    every = columns_of(whole)
    left = np.ones(every.n_rows, dtype=bool)
    left[inside] = False
    once = np.count_nonzero(left) == every.n_rows - columns.n_rows
    if not (once and isinstance(every.rows, DenseRows) and 2 * columns.n_rows > every.n_rows):
        return None
    X = np.asarray(every.rows.values[left], dtype=np.float64)
    return less(moments(whole), X, _response(every).of(left))


def less(whole: Moments, X: Array, left: Response) -> Moments | None:
    """The moments of all rows but those left out, X, from those of all; None where that is unsound.

    y is a column like any other. Let M be the moments of all rows about their means, p_i the shares
    of the rows left out among all, z_i those rows about the same means, A = sum_i p_i z_i z_i',
    e = sum_i p_i z_i and P = sum_i p_i. The rest has (M - A) / (1 - P) about those means, from
    which its own are off by u = -e / (1 - P): about its own, it has u u' less.

    M - A is off by round-off of M, and so in terms of sizes is what the bounds take off; where it
    is a tenth of M or less in some column, as if the rows left out were all there is in it, the
    moments are better computed anew.
    """
    mean = np.append(whole.mean, whole.center)
    z, share = np.empty((len(X), len(mean))), left.share
    np.subtract(X, whole.mean, out=z[:, :-1])
    np.subtract(left.values, whole.center, out=z[:, -1])
    e = share @ z
    z *= np.sqrt(share)[:, np.newaxis]
    rest = 1.0 - float(np.sum(share))
    M = np.block([[whole.G, whole.c[:, np.newaxis]], [whole.c, 2 * whole.q]])
    inside = M - z.T @ z
    if not (rest >= _ENOUGH and np.all(np.diag(inside) >= _ENOUGH * np.diag(M))):
        return None
    u = e / -rest if left.intercept else np.zeros_like(mean)
    inside = inside / rest - np.multiply.outer(u, u)
    G, c, q = np.ascontiguousarray(inside[:-1, :-1]), inside[:-1, -1].copy(), 0.5 * inside[-1, -1]
    mean, scale = mean + u, math.sqrt(1 / rest)
    return Moments(G, c, float(q), mean[:-1], mean[-1], scale * whole.size, scale * whole.size_y)
