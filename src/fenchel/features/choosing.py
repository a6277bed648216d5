"""From a user's `kernel=` and its settings to the kernel, its points and all their pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.data.checked import checked_matrix
from fenchel.errors import Incompatible
from fenchel.features.gram import KernelMatrix, precomputed
from fenchel.features.kernels import NAMES, Kernel, Points, kernel_of
from fenchel.features.objects import OBJECT_KERNELS, Embedded, ObjectKernel, SubsequenceKernel
from fenchel.kernel_options import check_options


class FittedKernel(NamedTuple):
    """A kernel whose settings are numbers, and the points it was fitted to."""

    kernel: Kernel
    points: Points
    gamma: float = 1.0
    made: Any = None  # what knows how to take new things, of texts and graphs
    things: Any = None  # those that were fitted

    def rows(self, some: npt.NDArray[np.intp]) -> Any:
        """Some of the rows, texts or graphs that it was fitted to."""
        if self.things is not None:
            return [self.things[i] for i in some.tolist()]
        return self.points.X[some]

    def new(self, X: Any) -> Points:
        """Other rows, checked, as points."""
        return row_points(X) if self.made is None else self.made.new(X)


@dataclass(frozen=True)
class KernelSettings:
    """What a user says of a kernel."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("gamma", "degree", "coef0", "cache_size")

    kernel: Any
    gamma: Any = "scale"
    degree: Any = 3
    coef0: Any = 0.0
    cache_size: Any = 200.0

    @property
    def of_objects(self) -> ObjectKernel | SubsequenceKernel | None:
        """A kernel of texts or graphs; None where rows are numbers."""
        if isinstance(self.kernel, str) and self.kernel in OBJECT_KERNELS:
            made: ObjectKernel | SubsequenceKernel = OBJECT_KERNELS[self.kernel]()
            return made
        return self.kernel if isinstance(self.kernel, ObjectKernel | SubsequenceKernel) else None

    @property
    def is_precomputed(self) -> bool:
        """Whether X is the matrix of all k itself."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def check(self) -> None:
        """Refuses settings that no rows could make good."""
        check_options(self.gamma, self.degree, self.coef0, self.cache_size)
        known = (*NAMES, *OBJECT_KERNELS, "precomputed", "sigmoid")
        if isinstance(self.kernel, str) and self.kernel not in known:
            raise Incompatible(
                f"kernel must be one of {', '.join(map(repr, known[:-1]))}, a kernel of texts or "
                f"graphs, or a function of two matrices; got {self.kernel!r}"
            )
        if self.of_objects is None and not self.is_precomputed:
            gamma = 1.0 if isinstance(self.gamma, str) else self.gamma
            kernel_of(self.kernel, gamma, self.degree, self.coef0, 1)

    def gram(self, X: Any) -> tuple[KernelMatrix, FittedKernel]:
        """The matrix of all pairs of the rows of X, and what later rows need."""
        self.check()
        megabytes = float(self.cache_size)
        if self.is_precomputed:
            gram = precomputed(X, megabytes)
            return gram, FittedKernel(gram.kernel, gram.points)
        fitted = self.fitted(X)
        return KernelMatrix(fitted.kernel, fitted.points, megabytes), fitted

    def fitted(self, X: Any) -> FittedKernel:
        """The kernel with numbers for settings that depend on X."""
        objects = self.of_objects
        if objects is not None:
            things = objects.checked(X)
            made = objects.fitted(things)
            kernel = made if isinstance(made, Embedded) else made.kernel
            return FittedKernel(kernel, made.points, made=made, things=things)
        points = row_points(X)
        gamma = self._gamma(points.X)
        width = points.X.shape[1]
        return FittedKernel(
            kernel_of(self.kernel, gamma, self.degree, self.coef0, width), points, gamma
        )

    def refitted(self, rows: Any, gamma: float) -> FittedKernel:
        """The same for some of the rows, with the gamma that all of them had."""
        if self.of_objects is None and not rows.shape[0]:
            rows = np.zeros((1, rows.shape[1]))  # a model of no rows: its kernel is never asked
        return replace(self, gamma=gamma).fitted(rows)

    def _gamma(self, X: Any) -> float:
        """1 / columns, or that over the variance of all numbers, as scikit-learn's SVC has it."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1.0 / int(X.shape[1])
        mean = float(X.mean())
        square = float(X.multiply(X).mean()) if sparse.issparse(X) else float(np.mean(X * X))
        variance = float(np.var(X)) if not sparse.issparse(X) else max(square - mean * mean, 0.0)
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0


def row_points(X: Any) -> Points:
    """Rows of numbers, finite and in double precision."""
    matrix: Any = checked_matrix(X).matrix()
    if not sparse.issparse(matrix):
        return Points.of(np.ascontiguousarray(matrix, dtype=np.float64))
    parts = matrix.data.astype(np.float64), matrix.indices, matrix.indptr
    if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max:  # which scikit-learn asks for
        parts = parts[0], parts[1].astype(np.int32), parts[2].astype(np.int32)
    return Points.of(sparse.csr_array(parts, shape=matrix.shape))
