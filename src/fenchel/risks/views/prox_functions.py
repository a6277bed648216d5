"""Prox-functions d: what the distances of proximal methods are measured with.

A proximal method goes from x to the minimiser of a model plus c times the Bregman divergence of d
around x, and takes as many steps as the model's curvature is uneven in d's geometry ([Zhang11]
section 3.1; Chambolle and Pock, Math. Programming 2016, for primal-dual methods). A regulariser has
a d of its own (regularizers/base.py): Euclid's, or the entropy. It knows nothing of the data. These
do:

    columns    d(x) = 1/2 sum_j m_j x_j^2,   m_j between 1 and the columns' mean squares
    whitened   d(x) = 1/2 x'M x,             M the columns' second moments and a little more

In the second the curvature of a mean square is 1 in all directions but those that hardly occur. It
takes a Gram matrix, once, and is for few columns and a quadratic Omega: with V'MV = I and V'QV =
diag(q), for the Q of Omega = 1/2 x'Qx, the model's minimiser is a division by c + weight q in the
coordinates V. All of them take the columns about their means where there is an intercept, which is
what is left of them once it is profiled out.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod

import numpy as np
from scipy import linalg

from fenchel.data.rows import SparseRows
from fenchel.data.shards import Shard
from fenchel.losses import MultivariateLoss
from fenchel.regularizers import Boxed, Regularizer
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.grams import dense_gram, row_gram
from fenchel.settings import user_written
from fenchel.tolerances import VARIANCE

KINDS = ("auto", "own", "columns", "whitened")
FEW = 300  # columns up to which a Gram matrix is made: it takes as long as half a row's numbers
_RIDGE = 1e-2  # of the largest eigenvalue of the columns' correlations, that is added to all
_LEAST = 1e-12  # of the largest mean square: a column with less is as good as empty
_MEASURABLE = 1e150  # of mean squares: those of more, or less than one over it, are no unit


class ProxFunction(ABC):
    """A strongly convex d with the steps that a method takes in it.

    One of your own is given in place of a name, `solver("agm-inf", prox=...)`; `ground` must know
    the problem's regulariser Omega.
    """

    convexity: float = 0.0  # a number m for which Omega - m d is convex

    @property
    def stretch(self) -> float:
        """What mean <x_i, v>^2 is at most for norm(v) = 1; inf where it is not known."""
        return math.inf

    @abstractmethod
    def d(self, x: Array) -> float:
        """The prox-function itself."""

    @abstractmethod
    def d_gradient(self, x: Array) -> Array:
        """Its gradient."""

    @abstractmethod
    def norm(self, x: Array) -> float:
        """A norm in which d is 1-strongly convex."""

    @abstractmethod
    def ground(self, s: Array, c: float, weight: float) -> Array:
        """Argmin over x of weight Omega(x) + c d(x) + <s, x>."""


class OwnGeometry(ProxFunction):
    """The regulariser's own: Euclid's, or the entropy; in one unit for all columns."""

    def __init__(self, problem: Problem):
        self.regularizer = problem.regularizer
        self.risk, self.convexity = problem.risk, problem.regularizer.relative_convexity

    @property
    def stretch(self) -> float:
        """What the columns' mean squares say: a pass, once."""
        if not isinstance(self.risk, LinearRisk):
            return math.inf
        return self.regularizer.stretch(self.risk.squares / _rows_in_one(self.risk))

    def d(self, x: Array) -> float:
        return self.regularizer.d(x)

    def d_gradient(self, x: Array) -> Array:
        return self.regularizer.d_gradient(x)

    def norm(self, x: Array) -> float:
        return self.regularizer.norm(x)

    def ground(self, s: Array, c: float, weight: float) -> Array:
        return self.regularizer.ground(s, c, weight)


class ColumnScales(ProxFunction):
    """1/2 sum_j m_j x_j^2, m_j the geometric mean of column j's mean square and the largest.

    With the mean squares themselves, columns that hardly occur would be moved as far as all others
    before they are known: on text that takes twice the steps.
    """

    def __init__(self, problem: Problem):
        self.regularizer = regularizer = problem.regularizer
        assert isinstance(problem.risk, LinearRisk)
        squares = _filled(centred_squares(problem.risk))
        self.m = np.sqrt(squares) * math.sqrt(np.max(squares))
        self._stretch = float(np.sum(squares / self.m))
        known = regularizer.quadratic and regularizer.separable
        curved = regularizer.curvature(len(self.m)) if known else regularizer.strong_convexity
        self.convexity = float(np.min(curved / self.m))

    @property
    def stretch(self) -> float:
        """The trace, which is no less than the largest eigenvalue."""
        return self._stretch

    def d(self, x: Array) -> float:
        return 0.5 * float(self.m @ (x * x))

    def d_gradient(self, x: Array) -> Array:
        return self.m * x

    def norm(self, x: Array) -> float:
        return float(np.sqrt(2 * self.d(x)))

    def ground(self, s: Array, c: float, weight: float) -> Array:
        at = c * self.m
        with np.errstate(over="ignore"):
            steps = np.minimum(weight / at, sys.float_info.max)
        return self.regularizer.scaled_prox(s / -at, steps)


class Whitened(ProxFunction):
    """1/2 x'M x with M = D (C + ridge) D, where D C D are the columns' second moments."""

    def __init__(self, problem: Problem):
        risk, n = problem.risk, problem.risk.n_parameters
        assert isinstance(risk, LinearRisk)
        self.size = size = np.sqrt(_filled(centred_squares(risk)))
        C = centred_gram(risk) / size / size[:, np.newaxis]
        e, U = linalg.eigh(C)
        e = np.maximum(e, 0.0)  # where one row has all the weight, round-off may leave less
        e += _RIDGE * (float(e[-1]) or 1.0)
        self.M = (U * e) @ U.T
        root = U / np.sqrt(e)  # M = (root root')^-1
        Q = np.array([problem.regularizer.subgradient(v) for v in np.eye(n) / size]) / size
        q, V = linalg.eigh(root.T @ Q @ root)
        self.q, self.V = np.maximum(q, 0.0), (root @ V) / size[:, np.newaxis]
        self.convexity = float(self.q[0])

    @property
    def stretch(self) -> float:
        """1: M is more than the second moments."""
        return 1.0

    def d(self, x: Array) -> float:
        return 0.5 * float(x @ self.d_gradient(x))

    def d_gradient(self, x: Array) -> Array:
        return np.asarray(self.size * (self.M @ (self.size * x)))

    def norm(self, x: Array) -> float:
        return float(np.sqrt(max(2 * self.d(x), 0.0)))

    def ground(self, s: Array, c: float, weight: float) -> Array:
        return np.asarray(self.V @ ((self.V.T @ s) / -(c + weight * self.q)))


def prox_function(problem: Problem, wanted: str | ProxFunction) -> ProxFunction:
    """The prox-function of that name; "auto" is the finest that the problem has.

    Where the columns' mean squares are no unit to measure in, as one over them overflows, it is the
    regulariser's own. That is known after a pass only, which a run counts and an obstacle does not.
    """
    if isinstance(wanted, ProxFunction):
        return wanted
    if wanted == "auto":
        kinds = ("whitened", "columns", "own")
        wanted = next(kind for kind in kinds if obstacle(problem, kind) is None)
    if wanted == "own" or not _is_measurable(problem.risk):
        return OwnGeometry(problem)
    return Whitened(problem) if wanted == "whitened" else ColumnScales(problem)


def obstacle(problem: Problem, wanted: str | ProxFunction) -> str | None:
    """Why the problem has no such prox-function, as the end of "it cannot ...: ", or None."""
    if isinstance(wanted, ProxFunction) or wanted in ("own", "auto"):
        return None
    risk, regularizer = problem.risk, problem.regularizer
    if not isinstance(risk, LinearRisk) or risk.classes is not None:
        return f"prox={wanted!r} is of the columns of a loss of one score a row"
    if wanted == "columns":
        return None if _takes_steps(regularizer) else "prox='columns' needs l2, l1 or elastic_net"
    if not regularizer.quadratic:
        return "prox='whitened' needs a quadratic regulariser"
    if risk.n_parameters > FEW:
        return f"prox='whitened' is for {FEW} columns or fewer; there are {risk.n_parameters}"
    return None


def _is_measurable(risk: Risk) -> bool:
    """Whether the columns' mean squares, and one over them, are well within a number's range."""
    assert isinstance(risk, LinearRisk)
    largest = float(np.max(centred_squares(risk), initial=0.0))
    return largest == 0 or 1 / _MEASURABLE <= largest <= _MEASURABLE  # nor where it is nan


def _takes_steps(regularizer: Regularizer) -> bool:
    """A step for each coordinate; of a user's own, which may inherit another's, it is not known."""
    inner = regularizer.inner if isinstance(regularizer, Boxed) else regularizer
    return regularizer.has("scaled_prox") and not user_written(inner)


def column_means(risk: LinearRisk) -> Array:
    """The columns' means where an offset makes no difference, as one is free or cancels; else 0."""
    if not (risk.facts.has_intercept or is_shiftless(risk)):
        return np.zeros(risk.n_parameters)
    return risk.means / _rows_in_one(risk)


def is_shiftless(risk: LinearRisk) -> bool:
    """It is a measure that does not change when all scores are shifted."""
    return isinstance(risk.loss, MultivariateLoss) and not risk.loss.intercept


def centred_squares(risk: LinearRisk) -> Array:
    """The columns' mean squares, about their means where an offset makes no difference."""
    squares = risk.squares / _rows_in_one(risk)
    return np.maximum(squares - column_means(risk) ** 2, VARIANCE * squares)


def _rows_in_one(risk: LinearRisk) -> float:
    """What sums over rows are to be divided by, where the risk is no mean of them."""
    return 1.0 if risk.facts.separable else float(risk.n_rows)


def _filled(squares: Array) -> Array:
    """Mean squares of which none is 0."""
    return np.maximum(squares, _LEAST * (float(np.max(squares)) or 1.0))


def centred_gram(risk: LinearRisk) -> Array:
    """The columns' second moments, about their means where there is an intercept."""
    risk.passes += max(1, round(0.5 * risk.n_numbers / max(risk.n_rows, 1)))
    G: Array = risk.engine.total(risk.engine.map(_gram)) / (risk.weight * _rows_in_one(risk))
    means = column_means(risk)
    return G - np.outer(means, means)


def _gram(shard: Shard) -> Array:
    """sum_i s_i x_i x_i'."""
    which, s = np.arange(shard.rows.n_columns, dtype=np.int32), shardwork.weights(shard)
    if isinstance(shard.rows, SparseRows):
        return row_gram(shard.rows, which, s)[0]
    return dense_gram(shard.rows.matrix(), which, s)[0]
