"""Positive semidefinite kernels k(x, x') between the rows of two matrices, dense or sparse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fenchel.errors import Incompatible, InvalidData
from fenchel.settings import positive, real, whole

Array = npt.NDArray[np.float64]

_BLOCK = 32  # rows at a time, where a kernel gives matrices only and the diagonal is wanted


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

    def _of(self, products: Array) -> Array:
        powers: Array = (self.gamma * products + self.coef0) ** self.degree
        return powers


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, x') = exp(-gamma ||x - x'||^2)."""

    gamma: float

    def block(self, A: Points, B: Points) -> Array:
        """From ||x||^2 + ||x'||^2 - 2 <x, x'>, which round-off must not make negative."""
        distances: Array = -2.0 * safe_sparse_dot(A.X, B.X.T, dense_output=True)
        distances += A.squares[:, np.newaxis]
        distances += B.squares
        values: Array = np.exp(-self.gamma * np.maximum(distances, 0.0))
        return values

    def diagonal(self, A: Points) -> Array:
        return np.ones(len(A.squares))


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


def kernel_of(kernel: object, gamma: object, degree: object, coef0: object, width: int) -> Kernel:
    """The kernel of that name with its settings, or the caller's own; width is that of the rows."""
    if callable(kernel):
        return Written(kernel)
    rate = 1.0 / width if gamma is None else positive("gamma", gamma)
    if kernel == "rbf":
        return Gaussian(rate)
    if kernel == "linear":
        return Polynomial(1.0, 0.0, 1)
    if kernel == "polynomial":
        offset = real("coef0", coef0)
        if offset < 0:
            raise InvalidData(f"coef0 must be >= 0 for a kernel to exist; got {coef0!r}")
        return Polynomial(rate, offset, whole("degree", degree, least=1))
    raise Incompatible(
        f"kernel must be 'rbf', 'polynomial', 'linear' or a function of two matrices; "
        f"got {kernel!r}"
    )
