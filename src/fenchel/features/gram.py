"""The matrix K of a kernel between all pairs of n rows, of which blocks are computed when needed.

It has n^2 numbers, which is 3.2 GB for 20,000 rows: it is never asked for as a whole unless it fits
into the memory that its user grants (`megabytes`), and what is kept of it stays below that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky

from fenchel.errors import InvalidData
from fenchel.features.kernels import Array, Kernel, Points, Precomputed, Written
from fenchel.tolerances import INDEFINITE, MATRIX

_FACTORED = (
    1500  # rows up to which a kernel that may be indefinite is factored: a tenth of a second
)


@dataclass(frozen=True)
class KernelMatrix:
    """K_ij = k(x_i, x_j) of n points."""

    kernel: Kernel
    points: Points
    megabytes: float = 200.0

    def __post_init__(self) -> None:
        """Refuses what cannot be a positive semidefinite matrix, as far as its diagonal tells."""
        i = int(np.argmin(self.diagonal))
        if not np.isfinite(self.diagonal).all() or self.diagonal[i] < 0:
            raise InvalidData(
                f"the kernel is not positive semidefinite: k(x, x) is {self.diagonal[i]:g} at row "
                f"{i}",
                row=i,
            )
        if isinstance(self.kernel, Written | Precomputed) and self.n <= _FACTORED:
            self._check_definite()

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.points.squares)

    @property
    def memory(self) -> int:
        """The memory that may be kept."""
        return int(self.megabytes * 1e6)

    @cached_property
    def diagonal(self) -> Array:
        """k(x, x) of each row."""
        return self.kernel.diagonal(self.points)

    @cached_property
    def doubt(self) -> float:
        """By how much a number of `block` may be off."""
        return self.kernel.doubt(self.points)

    def block(self, rows: Any, columns: Any = None) -> Array:
        """K[rows, columns]; all columns by default."""
        others = self.points if columns is None else self.points.take(columns)
        return self.kernel.block(self.points.take(rows), others)

    def digest(self) -> bytes:
        """What tells it from others: the kernel and the points."""
        digest = hashlib.blake2b(repr(self.kernel).encode(), digest_size=16)
        X: Any = self.kernel.matrix if isinstance(self.kernel, Precomputed) else self.points.X
        parts: tuple[Any, ...] = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        for part in parts:
            digest.update(str(part.shape).encode())
            plain = part.dtype != object
            digest.update(np.ascontiguousarray(part).data if plain else repr(list(part)).encode())
        return digest.digest()

    def _check_definite(self) -> None:
        """Factors K with a little more on its diagonal, which fails if an eigenvalue is below 0."""
        K, largest = self.block(slice(None)), float(np.max(self.diagonal, initial=0.0))
        off = np.abs(K - K.T)
        if float(np.max(off)) > max(_tolerance(K) * largest, 4 * self.doubt):
            i, j = np.unravel_index(int(np.argmax(off)), K.shape)
            raise _asymmetric(K, int(i), int(j))
        given = self.kernel.matrix if isinstance(self.kernel, Precomputed) else K
        doubt = max(INDEFINITE, self.n * _tolerance(given))  # of numbers in single precision
        K[np.diag_indices_from(K)] += doubt * largest + np.finfo(float).tiny
        try:
            cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise InvalidData(
                "the kernel is not positive semidefinite: its matrix of these rows has a negative "
                "eigenvalue, so that the problem is not convex and nothing could be certified"
            ) from error


def _tolerance(K: npt.NDArray[Any]) -> float:
    """How far a matrix may be from its transpose, relative to its diagonal."""
    return MATRIX if K.dtype == np.float64 else 16 * float(np.finfo(K.dtype).eps)


def _asymmetric(K: npt.NDArray[Any], i: int, j: int) -> InvalidData:
    return InvalidData(
        f"the kernel matrix is not symmetric: k(x_{i}, x_{j}) is {K[i, j]:.9g}, but "
        f"k(x_{j}, x_{i}) is {K[j, i]:.9g}",
        row=i,
    )


def precomputed(matrix: Any, megabytes: float) -> KernelMatrix:
    """The Gram matrix that a user gives, square and symmetric."""
    K: npt.NDArray[Any] = np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
    if K.dtype.kind != "f":
        K = K.astype(np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise InvalidData(
            "X must be the square matrix of k between all pairs of rows for kernel='precomputed'; "
            f"got shape {K.shape}"
        )
    for start in range(0, len(K), 512):
        part = K[start : start + 512]
        if not np.isfinite(part).all():
            raise InvalidData("the kernel matrix holds nan or inf")
        off = np.abs(part - K[:, start : start + 512].T)
        if float(np.max(off)) > _tolerance(K) * float(np.max(np.abs(np.diagonal(K)))):
            i, j = np.unravel_index(int(np.argmax(off)), off.shape)
            raise _asymmetric(K, start + int(i), int(j))
    numbers = np.arange(len(K))
    return KernelMatrix(Precomputed(K), Points(numbers, np.zeros(len(K))), megabytes)
