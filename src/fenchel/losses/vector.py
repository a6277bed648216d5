"""What a vector loss is: a convex function l(z, y) of the K scores z of a row and its label y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Loss
from fenchel.settings import real

Cost = float | npt.ArrayLike | Callable[[Any, Any], float] | None


class VectorLoss(Loss):
    """A convex loss l(z, y), written over an array Z of shape (n_rows, K).

    y holds a code 0 .. K-1 for each row where `labels` is CLASSES, and a row of K zeros and ones
    for each row where it is SETS; LEAVES and VECTORS are explained in hierarchy.py and
    multioutput.py.
    """

    def pieces(self, Z: Array, y: Any) -> Array | None:
        """The lines in z whose maximum the loss is, of shape (n_rows, n_pieces); None for others.

        -inf stands for a piece that a row does not have. Without a conjugate the gradients of
        all pieces must be of one length, or 0: `verify` relies on it.
        """
        return None

    def largest_slope(self, y: Any) -> float:
        """The largest norm of a slope; inf where there is none."""
        return np.inf

    def for_classes(self, classes: npt.NDArray[Any]) -> VectorLoss:
        """The same loss, with whatever depends on the names of the classes worked out."""
        return self


class Curved(ABC):
    """A vector loss whose Hessian H_i in the K scores of row i is known."""

    @abstractmethod
    def curvature(self, Z: Array) -> Array:
        """All that `bend` and `bends` need to know of the scores: K numbers a row."""

    @abstractmethod
    def bend(self, h: Array, Q: Array) -> Array:
        """H_i q_i for every row."""

    @abstractmethod
    def bends(self, h: Array) -> Array:
        """The diagonal of H_i for every row."""


class ConjugableVector(VectorLoss):
    """A vector loss whose convex conjugate in z is known in closed form."""

    @property
    def has_conjugate(self) -> bool:
        return True

    @abstractmethod
    def conjugate(self, alpha: Array, y: Any) -> Array:
        """l*(alpha, y) = sup over z of <alpha, z> - l(z, y); inf outside its domain."""

    @abstractmethod
    def feasible(self, alpha: Array, y: Any) -> Array:
        """Dual variables moved into the domain, by no more than they lie outside it."""


class Softened(ABC):
    """A hinge whose maximum over pieces can be made soft ([Zhang11] section 5.1).

    Its slopes are means of the gradients g_j of its pieces with shares p_j, and mu times the
    entropy of p, less the most that it can be, is taken into the maximum.
    """

    @abstractmethod
    def n_pieces(self, y: Any, K: int) -> Array:
        """How many pieces each row has: the logarithm is the most that the entropy can be."""

    @abstractmethod
    def entropy(self, alpha: Array, y: Any) -> Array:
        """The largest entropy of shares of the pieces whose mean slopes are alpha, for each row."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The largest |g_j - g_k|^2.

        Along v the soft maximum bends by the variance of <g_j, v> under p, over mu: at most by
        spread |v|^2 / (4 mu).
        """


class CostLoss(VectorLoss):
    """A hinge with a cost Delta(z, y) >= 0 of taking z for the right label y, Delta(y, y) = 0.

    `cost` is a number (the same for all z != y; None is 1), a matrix of shape (K, K) with
    Delta(z, y) in row z and column y, or a function of two classes, which is called with z and y.
    """

    nonnegative = True

    def __init__(self, cost: Cost = None):
        self.cost = cost if cost is None or callable(cost) else checked_cost(cost)

    @property
    def uniform(self) -> float | None:
        """The one cost of all mistakes, None where they differ."""
        if self.cost is None:
            return 1.0
        return self.cost if isinstance(self.cost, float) else None

    def costs(self, K: int) -> Array:
        """Delta as a matrix."""
        if self.uniform is not None:
            return self.uniform * (1.0 - np.eye(K))
        if callable(self.cost):
            return self.for_classes(np.arange(K)).costs(K)
        costs = np.asarray(self.cost)
        if costs.shape != (K, K):
            raise InvalidData(f"cost has shape {costs.shape}, but there are {K} classes")
        return costs

    def for_classes(self, classes: npt.NDArray[Any]) -> CostLoss:
        """A function as its matrix; a matrix of the wrong size is refused."""
        if not callable(self.cost):
            self.costs(len(classes))
            return self
        names = classes.tolist()
        costs = [[self.cost(z, y) for y in names] for z in names]
        return type(self)(**{**self.settings(), "cost": costs})

    def largest_slope(self, y: Any) -> float:
        """One score up, one down."""
        return float(np.sqrt(2.0))


def checked_cost(cost: Any) -> float | Array:
    """A cost of mistakes: a number, or a matrix with Delta(z, y) in row z and column y."""
    try:
        matrix = np.array(cost, dtype=np.float64) if np.ndim(cost) else None
    except (TypeError, ValueError) as error:
        raise InvalidData(f"cost must be a number or a square matrix of them: {error}") from error
    if matrix is None:
        if not real("cost", cost) >= 0:
            raise InvalidData(f"cost must be >= 0; got {cost!r}")
        return real("cost", cost)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidData(f"cost must be a square matrix; got shape {matrix.shape}")
    bad = ~(np.isfinite(matrix) & (matrix >= 0))
    if bad.any():
        z, y = np.argwhere(bad)[0]
        raise InvalidData(f"costs must be finite and >= 0; cost[{z}, {y}] is {matrix[z, y]}")
    if np.diag(matrix).any():
        y = int(np.flatnonzero(np.diag(matrix))[0])
        raise InvalidData(f"the right label costs nothing, but cost[{y}, {y}] is {matrix[y, y]}")
    matrix.setflags(write=False)
    return matrix
