"""Quadratic penalties: the squared Euclidean norm, and any other."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.errors import Incompatible, InvalidData
from fenchel.piecewise import Slope
from fenchel.regularizers.base import Array, Indices, Regularizer, Weighted, over, squared_slope
from fenchel.tolerances import EPSILON, MATRIX


class L2(Weighted):
    """Omega(w) = 1/2 sum_j c_j w_j^2."""

    smooth = quadratic = True

    @property
    def strong_convexity(self) -> float:
        return self.least_weight

    def value(self, w: Array) -> float:
        """1/2 sum_j c_j w_j^2."""
        if self.weights is None:
            return 0.5 * float(np.dot(w, w))
        return 0.5 * float(np.dot(self.c * w, w))

    def subgradient(self, w: Array) -> Array:
        return self.c * w

    def support(self, w: Array, p: Array) -> Array:
        """c w, the gradient."""
        return self.c * w

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        return squared_slope(w, p, self.c, eta)

    def curvature(self, n_parameters: int) -> Array:
        return np.array(np.broadcast_to(self.c, n_parameters))

    def prox(self, v: Array, step: float) -> Array:
        """v / (1 + step c)."""
        return v / (1.0 + step * self.c)

    def scaled_prox(self, v: Array, steps: Array) -> Array:
        return v / (1.0 + steps * self.c)

    def conjugate(self, u: Array) -> float:
        """1/2 sum_j u_j^2 / c_j; inf unless u_j = 0 where c_j = 0."""
        if np.any(u[self.free(len(u))]):
            return np.inf
        if self.weights is None:
            return 0.5 * float(np.dot(u, u))
        return 0.5 * float(np.dot(over(u, self.c), u))

    def conjugate_argmax(self, u: Array) -> Array:
        return over(u, self.c)

    def reach(self, u: Array, value: float) -> float:
        return float(np.linalg.norm(u if self.weights is None else over(u, self.c)))

    def extended_argmax(self, u: Array) -> Array:
        """u / c, and an end of the line where c = 0."""
        return over(u, self.c, np.inf)

    def shrinkage(self, n_parameters: int) -> tuple[Array, Array] | None:
        """(0, 1 / c)."""
        if self.weights is None:
            return None
        return np.zeros(n_parameters), over(np.ones(n_parameters), self.weights)

    def conjugate_curvature(self, u: Array) -> Array:
        return over(np.ones_like(u), self.c)


class Quadratic(Regularizer):
    """Omega(w) = 1/2 w'Qw for a symmetric positive semidefinite Q, dense or sparse.

    Where w is that of several outputs it is the sum of all of them. Q is kept by its eigenvalues
    and eigenvectors: for up to a few thousand columns. A singular Q has an infinite conjugate
    outside its range, so that little can be proved: add a small multiple of the identity to it.
    """

    smooth = quadratic = True

    def __init__(self, Q: npt.ArrayLike | sparse.sparray | None = None):
        self.Q, self._n_outputs = _checked_matrix(Q), 1
        e, self._V = np.linalg.eigh(self.Q)
        # eigh's eigenvalues are those of a matrix that differs from Q by a few units of round-off.
        doubt = 4 * EPSILON * len(e) * float(np.linalg.norm(self.Q))
        if e[0] < -doubt:
            raise InvalidData(
                f"Q must be positive semidefinite; its smallest eigenvalue is {e[0]:.6g}"
            )
        self._e = np.maximum(e, 0.0)
        self._least = np.maximum(e - doubt, 0.0)  # no eigenvalue of Q is smaller

    @property
    def strong_convexity(self) -> float:
        """The smallest eigenvalue of Q, rounded down."""
        return float(self._least[0])

    def has(self, fact: str) -> bool:
        """The conjugate of a singular Q has no gradient."""
        if fact == "conjugate_argmax":
            return self.strong_convexity > 0
        return super().has(fact)

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """None; Q must be of the right size."""
        if n_parameters != len(self.Q) * self._n_outputs:
            raise InvalidData(
                f"Q has {len(self.Q)} rows and columns, but X has {n_parameters} columns"
            )
        return super().free(n_parameters)

    def spread(self, columns: Indices, n_columns: int) -> Regularizer:
        """The same Q for each output."""
        n_outputs = len(columns) // n_columns
        if not np.array_equal(columns, np.repeat(np.arange(n_columns), n_outputs)):
            raise Incompatible(
                "a quadratic regulariser is one of columns: it takes no intercepts of a vector "
                "loss, nor a sequence's features and transitions; use l2, l1 or elastic_net"
            )
        spread = copy.copy(self)
        spread._n_outputs = n_outputs
        return spread

    def _filtered(self, u: Array, factor: Array) -> Array:
        """V diag(factor) V'u, for each output."""
        U = u.reshape(len(self.Q), -1)
        return np.asarray(self._V @ (factor[:, None] * (self._V.T @ U))).ravel()

    def value(self, w: Array) -> float:
        return max(0.5 * float(w @ self.subgradient(w)), 0.0)  # in this order nan stays nan

    def subgradient(self, w: Array) -> Array:
        """Q w; where w has K numbers for each column of Q, each of its K columns by itself."""
        return np.asarray(self.Q @ w.reshape(len(self.Q), -1)).ravel()

    def curvature(self, n_parameters: int) -> Array:
        """The diagonal of Q."""
        return np.repeat(np.diag(self.Q), n_parameters // len(self.Q))

    def prox(self, v: Array, step: float) -> Array:
        """(I + step Q)^-1 v."""
        return self._filtered(v, 1 / (1 + step * self._e))

    def conjugate(self, u: Array) -> float:
        """1/2 u'Q^-1 u, with eigenvalues rounded down; inf where u leaves the range of Q."""
        squares = np.sum((self._V.T @ u.reshape(len(self.Q), -1)) ** 2, axis=1)
        if np.any(squares[self._least == 0]):
            return np.inf
        return 0.5 * float(np.sum(over(squares, self._least)))

    def conjugate_argmax(self, u: Array) -> Array:
        return self._filtered(u, over(np.ones(len(self._e)), self._e))


def _checked_matrix(Q: npt.ArrayLike | sparse.sparray | None) -> Array:
    if Q is None:
        raise InvalidData("quadratic needs Q, a symmetric matrix with a row for each column of X")
    try:
        dense = sparse.csr_array(Q).toarray() if sparse.issparse(Q) else Q
        matrix = np.array(dense, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"Q must be a matrix of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidData(f"Q must be a square matrix; got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InvalidData("Q holds nan or inf")
    if not np.allclose(matrix, matrix.T, rtol=MATRIX, atol=MATRIX * float(np.max(np.abs(matrix)))):
        raise InvalidData("Q must be symmetric; (Q + Q.T) / 2 gives the same penalty and is")
    matrix = (matrix + matrix.T) / 2
    matrix.setflags(write=False)
    return matrix
