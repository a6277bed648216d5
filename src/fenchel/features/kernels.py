"""Positive semidefinite kernels k(x, x') between the rows of two matrices, dense or sparse.

A kernel takes what its user has (`points`: rows, texts, graphs) and gives k for all pairs of two
collections of them (`block`). Those numbers are rounded; `doubt` bounds by how much, so that what
is proved of a model that they make can be charged for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fenchel.errors import Incompatible, InvalidData
from fenchel.settings import positive, real, whole
from fenchel.tolerances import EPSILON

Array = npt.NDArray[np.float64]

_BLOCK = 32  # rows at a time, where a kernel gives matrices only and the diagonal is wanted
_IN_CACHE = 1 << 15  # numbers: a quarter of a megabyte
NAMES = ("rbf", "laplacian", "polynomial", "poly", "linear")


class Points(NamedTuple):
    """Rows with their squared lengths, which are computed once."""

    X: Any
    squares: Array

    @classmethod
    def of(cls, X: Any) -> Points:
        """The rows of X."""
        return cls(X, row_norms(X, squared=True))

    def take(self, rows: Any) -> Points:
        """Some of the rows."""
        return Points(self.X[rows], self.squares[rows])


class Kernel(ABC):
    """A kernel that is positive semidefinite."""

    @abstractmethod
    def block(self, A: Points, B: Points) -> Array:
        """k(a, b) for each row a of A and b of B."""

    @abstractmethod
    def diagonal(self, A: Points) -> Array:
        """k(a, a) for each row."""

    def doubt(self, A: Points) -> float:
        """By how much a number of `block` may be off, as it is rounded, for rows of A."""
        return 4 * EPSILON * float(np.max(np.abs(self.diagonal(A)), initial=0.0))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, x') = (gamma <x, x'> + coef0)^degree; the linear kernel with 1, 0 and 1."""

    gamma: float
    coef0: float
    degree: int

    def block(self, A: Points, B: Points) -> Array:
        return self._of(safe_sparse_dot(A.X, B.X.T, dense_output=True))

    def diagonal(self, A: Points) -> Array:
        return self._of(A.squares)

    def doubt(self, A: Points) -> float:
        """That of a product of d numbers each, of a multiple, a sum and a power: relative.

        |<x, x'>| and the magnitudes that it is added up from are at most the largest square.
        """
        largest = self.gamma * float(np.max(A.squares, initial=0.0)) + self.coef0
        steps = A.X.shape[1] + 3 * self.degree + 8
        return float(EPSILON * steps * self.degree * largest**self.degree)

    def _of(self, products: Array) -> Array:
        powers: Array = (self.gamma * products + self.coef0) ** self.degree
        return powers


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, x') = exp(-gamma ||x - x'||^2)."""

    gamma: float

    def block(self, A: Points, B: Points) -> Array:
        """From ||x||^2 + ||x'||^2 - 2 <x, x'>, which round-off must not make negative."""
        values: Array = safe_sparse_dot(A.X, B.X.T, dense_output=True)
        left, right = -self.gamma * A.squares, -self.gamma * B.squares
        step = max(1, _IN_CACHE // max(len(right), 1))
        for start in range(0, len(values), step):  # all that is done to a number, while it is near
            some = values[start : start + step]
            some *= 2 * self.gamma
            some += left[start : start + step, np.newaxis]
            some += right
            np.minimum(some, 0.0, out=some)
            np.exp(some, out=some)
        return values

    def diagonal(self, A: Points) -> Array:
        return np.ones(len(A.squares))

    def doubt(self, A: Points) -> float:
        """exp(-t) <= 1 falls by no more than t rises: by what the squared distance is off."""
        steps, largest = A.X.shape[1] + 8, float(np.max(A.squares, initial=0.0))
        return float(min(1.0, EPSILON * (4 + self.gamma * 4 * steps * largest)))


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, x') = exp(-gamma sum_j |x_j - x'_j|)."""

    gamma: float

    def block(self, A: Points, B: Points) -> Array:
        dense = isinstance(A.X, np.ndarray)
        distances = cdist(A.X, B.X, "cityblock") if dense else manhattan_distances(A.X, B.X)
        values: Array = np.exp(-self.gamma * distances)
        return values

    def diagonal(self, A: Points) -> Array:
        return np.ones(len(A.squares))

    def doubt(self, A: Points) -> float:
        """t exp(-t) < 1 for all t >= 0, and the distance is off relative to itself."""
        return float(EPSILON * (A.X.shape[1] + 8))


@dataclass(frozen=True)
class Written(Kernel):
    """A user's function of two matrices that gives the matrix of all k(a, b), as for an SVC."""

    function: Callable[[Any, Any], Any]

    def block(self, A: Points, B: Points) -> Array:
        """What the function gives, if it is of the right shape and finite."""
        values = np.asarray(self.function(A.X, B.X), dtype=np.float64)
        wanted = (len(A.squares), len(B.squares))
        if values.shape != wanted or not np.isfinite(values).all():
            raise InvalidData(
                f"kernel must give a finite number for each pair of rows of its two matrices: "
                f"of {wanted[0]} and {wanted[1]} rows it gave shape {values.shape}"
                + ("" if values.shape != wanted else ", with nan or inf in it")
            )
        return values

    def diagonal(self, A: Points) -> Array:
        """From small blocks along the diagonal."""
        starts = range(0, len(A.squares), _BLOCK)
        blocks = (A.take(slice(start, start + _BLOCK)) for start in starts)
        return np.concatenate([np.diagonal(self.block(part, part)) for part in blocks])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """k of the pairs of some rows, in a matrix; a point is the number of its row."""

    matrix: npt.NDArray[np.floating[Any]]

    def block(self, A: Points, B: Points) -> Array:
        if np.array_equal(B.X, np.arange(self.matrix.shape[1])):  # all columns: no second copy
            return np.asarray(self.matrix[A.X], dtype=np.float64)
        return np.asarray(self.matrix[np.ix_(A.X, B.X)], dtype=np.float64)

    def diagonal(self, A: Points) -> Array:
        return np.asarray(self.matrix[A.X, A.X], dtype=np.float64)

    def doubt(self, A: Points) -> float:
        """None: its numbers are the data."""
        return 0.0


def kernel_of(kernel: object, gamma: object, degree: object, coef0: object, width: int) -> Kernel:
    """The kernel of that name with its settings, or the caller's own; width is that of the rows."""
    if callable(kernel):
        return Written(kernel)
    rate = 1.0 / width if gamma is None else positive("gamma", gamma)
    if kernel == "rbf":
        return Gaussian(rate)
    if kernel == "laplacian":
        return Laplacian(rate)
    if kernel == "linear":
        return Polynomial(1.0, 0.0, 1)
    if kernel in ("polynomial", "poly"):
        offset = real("coef0", coef0)
        if offset < 0:
            raise InvalidData(f"coef0 must be >= 0 for a kernel to exist; got {coef0!r}")
        return Polynomial(rate, offset, whole("degree", degree, least=1))
    if kernel == "sigmoid":
        raise Incompatible(
            "kernel 'sigmoid', tanh(gamma <x, x'> + coef0), is not positive semidefinite, so that "
            "there is no convex problem to certify: use 'rbf', 'laplacian' or 'polynomial'"
        )
    raise Incompatible(
        f"kernel must be 'rbf', 'laplacian', 'polynomial', 'linear' or a function of two "
        f"matrices; got {kernel!r}"
    )
