"""The mean squared error of few columns as a function of w alone: its moments, and paths by them.

    R(w) = q - <c, w> + 1/2 <w, G w>        at the best offset b = center - <mean, w>

G and c are sums over rows about their means, q half the mean square of y, all weighted by the rows'
shares. They are computed once; after that no row is read at any strength, neither to minimise nor
to bound the minimum (kernels/gram_path.hpp, where what round-off does to both is derived).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fenchel import _kernels
from fenchel.risks.base import Array
from fenchel.risks.views.grams import Gram
from fenchel.tolerances import ROUND_OFF

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
    share: Array | float  # of each row
    intercept: bool


def moments_of(gram: Gram, of: Response, adjoint: Callable[[Array], Array], size: Array) -> Moments:
    """The moments, from the Gram matrix of all columns, and one product X'a."""
    y = of.y if of.offset is None else of.y - of.offset
    largest = np.abs(of.y) if of.offset is None else np.abs(of.y) + np.abs(of.offset)
    center = float(np.sum(of.share * y)) if of.intercept else 0.0
    slopes = of.share * (y - center)
    c = adjoint(slopes) - float(np.sum(slopes)) * gram.mean
    size_y = math.sqrt(float(np.sum(of.share * np.square(largest))))
    q = 0.5 * float(slopes @ (y - center))
    return Moments(gram.G, c, q, gram.mean, center, size, size_y)
