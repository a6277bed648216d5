"""The squared error of K real targets at once ([Teo07] table 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.vector import ConjugableVector, Curved
from fenchel.tolerances import MATRIX, OUTSIDE_RANGE


class MultivariateSquared(Curved, ConjugableVector):
    """l(z, y) = 1/2 (z - y)' M (z - y) for targets y in R^K, M positive semidefinite.

    M is the identity by default; the inverse covariance of the noise is another choice. A matrix
    of low rank has eigenvalues of either sign about 0 once it is rounded, and would leave J without
    a minimum: those up to `MATRIX` times the largest are 0 here, so that M = FF' for `factor` F.
    """

    labels = Labels.VECTORS
    nonnegative = True
    differentiable = True

    def __init__(self, M: npt.ArrayLike | None = None):
        self.M = None if M is None else _semidefinite(M)
        if self.M is not None:
            eigenvalues, vectors = np.linalg.eigh(self.M)
            kept = eigenvalues > MATRIX * eigenvalues[-1]
            self._eigenvalues, self._vectors = eigenvalues[kept], vectors[:, kept]

    @property
    def smoothness(self) -> float:
        """The largest eigenvalue of M."""
        return 1.0 if self.M is None else float(np.max(self._eigenvalues, initial=0.0))

    @property
    def factor(self) -> Array | None:
        """F, one column for each eigenvalue above 0: the loss is 1/2 |F'(z - y)|^2; None for I."""
        return None if self.M is None else self._vectors * np.sqrt(self._eigenvalues)

    def for_classes(self, classes: npt.NDArray[Any]) -> MultivariateSquared:
        """Itself, if M is of the right size."""
        if self.M is not None and len(self.M) != len(classes):
            raise InvalidData(f"M has shape {self.M.shape}, but y has {len(classes)} columns")
        return self

    def value(self, Z: Array, y: Array) -> Array:
        """In the eigenvectors' coordinates, where no term is negative."""
        with np.errstate(invalid="ignore", over="ignore"):  # scores that are nan or inf
            r = Z - y
            if self.M is None:
                return np.asarray(0.5 * np.sum(r * r, axis=1))
            return np.asarray(0.5 * (r @ self._vectors) ** 2 @ self._eigenvalues)

    def slope(self, Z: Array, y: Array) -> Array:
        """M (z - y)."""
        r = Z - y
        if self.M is None:
            return np.asarray(r)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray((r @ self._vectors * self._eigenvalues) @ self._vectors.T)

    def curvature(self, Z: Array) -> Array:
        """Nothing: the Hessian is M everywhere."""
        return np.ones_like(Z)

    def bend(self, h: Array, Q: Array) -> Array:
        """M q."""
        return self.slope(Q, np.zeros_like(Q))

    def bends(self, h: Array) -> Array:
        """The diagonal of M."""
        return h if self.M is None else h * np.diag(self.M)

    def conjugate(self, alpha: Array, y: Array) -> Array:
        """<alpha, y> + 1/2 alpha' M^+ alpha, M^+ the pseudo-inverse, for alpha in the range of M.

        With r = z - y: sup of <alpha, r> - 1/2 r'Mr is attained where M r = alpha.
        """
        inner = np.sum(alpha * y, axis=1)
        if self.M is None:
            return np.asarray(inner + 0.5 * np.sum(alpha * alpha, axis=1))
        parts = alpha @ self._vectors
        outside = np.linalg.norm(alpha - parts @ self._vectors.T, axis=1)
        value = inner + 0.5 * parts**2 @ (1 / self._eigenvalues)
        return np.where(outside <= OUTSIDE_RANGE * np.linalg.norm(alpha, axis=1), value, np.inf)

    def feasible(self, alpha: Array, y: Array) -> Array:
        """Projected on the range of M."""
        if self.M is None:
            return alpha
        return np.asarray(alpha @ self._vectors @ self._vectors.T)


def _semidefinite(given: Any) -> Array:
    try:
        M = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"M must be a matrix of numbers: {error}") from error
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise InvalidData(f"M must be a square matrix; got shape {M.shape}")
    if not np.isfinite(M).all():
        raise InvalidData("M holds nan or inf")
    off = np.abs(M - M.T)
    if np.max(off) > MATRIX * np.max(np.abs(M)):
        i, j = np.unravel_index(int(np.argmax(off)), M.shape)
        raise InvalidData(f"M must be symmetric; M[{i}, {j}] is {M[i, j]}, M[{j}, {i}] {M[j, i]}")
    eigenvalues = np.linalg.eigvalsh(M)
    if eigenvalues[0] < -MATRIX * max(eigenvalues[-1], -eigenvalues[0]):
        raise InvalidData(
            f"M must be positive semidefinite; it has the eigenvalue {eigenvalues[0]}"
        )
    M.setflags(write=False)
    return M
