"""Types of the C++ kernels; see kernels/module.cpp."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Vector = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.floating[Any]]
_Columns = npt.NDArray[np.signedinteger[Any]]

class Loss:
    def __init__(self, name: str, parameter: float) -> None: ...

class SimplexQP:
    def append(self, cross: _Vector, diagonal: float, linear: float) -> None: ...
    def remove(self, indices: _Indices) -> None: ...
    def set_linear(self, b: _Vector) -> None: ...
    def assign(self, Q: _Vector, b: _Vector, alpha: _Vector | None = None) -> None: ...
    def solve(self, tolerance: float = 1e-12, max_steps: int = 100000) -> float: ...
    @property
    def weights(self) -> _Vector: ...
    @property
    def gram(self) -> _Vector: ...
    @property
    def size(self) -> int: ...
    @property
    def objective(self) -> float: ...

class Softmax:
    def __init__(self, K: int) -> None: ...

class MulticlassHinge:
    def __init__(self, K: int, cost: float | _Vector) -> None: ...

class MultilabelHinge:
    def __init__(self, K: int, cost: float) -> None: ...

class MultilabelCostHinge:
    def __init__(self, K: int, cost: _Vector) -> None: ...

_Hinge = MulticlassHinge | MultilabelHinge | MultilabelCostHinge
_Labels = npt.NDArray[np.int64] | npt.NDArray[np.uint8]

def vector_slopes(
    loss: _Hinge | Softmax, Z: _Vector, y: _Labels, s: _Vector | None, A: _Vector
) -> float: ...
def vector_slope_along(
    loss: _Hinge, Z: _Vector, Q: _Vector, y: _Labels, s: _Vector | None, eta: float
) -> float: ...
def vector_kinks_along(
    loss: _Hinge,
    Z: _Vector,
    Q: _Vector,
    y: _Labels,
    s: _Vector | None,
    low: float,
    high: float,
) -> _Vector: ...
def vector_ties(loss: _Hinge, Z: _Vector, y: _Labels, tolerance: float) -> _Indices: ...
def vector_steepest(
    loss: _Hinge,
    Z: _Vector,
    Q: _Vector,
    y: _Labels,
    s: _Vector | None,
    tolerance: float,
    A: _Vector,
) -> None: ...
def csr_scores(
    row_start: _Indices, column: _Columns, value: _Numbers, w: _Vector, z: _Vector
) -> None: ...
def csr_adjoint(
    row_start: _Indices, column: _Columns, value: _Numbers, a: _Vector, g: _Vector
) -> None: ...
def csr_squares(
    row_start: _Indices, column: _Columns, value: _Numbers, s: _Vector | None, g: _Vector
) -> None: ...
def csr_evaluate(
    row_start: _Indices,
    column: _Columns,
    value: _Numbers,
    loss: Loss,
    y: _Vector,
    s: _Vector | None,
    w: _Vector,
    z: _Vector,
    a: _Vector,
    g: _Vector,
) -> float: ...
def csr_first_duplicate(
    row_start: _Indices, column: _Columns, value: _Numbers, seen: _Indices
) -> int: ...
def dense_scores(X: _Numbers, w: _Vector, z: _Vector) -> None: ...
def dense_adjoint(X: _Numbers, a: _Vector, g: _Vector) -> None: ...
def dense_squares(X: _Numbers, s: _Vector | None, g: _Vector) -> None: ...
def dense_evaluate(
    X: _Numbers,
    loss: Loss,
    y: _Vector,
    s: _Vector | None,
    w: _Vector,
    z: _Vector,
    a: _Vector,
    g: _Vector,
) -> float: ...
def scan(X: _Numbers) -> tuple[int, int, int, float]: ...
def slopes(
    loss: Loss, z: _Vector, y: _Vector, s: _Vector | None, b: float, a: _Vector
) -> float: ...
def near_kinks(loss: Loss, z: _Vector, y: _Vector, tolerance: float) -> int: ...
def sums(
    loss: Loss, z: _Vector, y: _Vector, s: _Vector | None, b: float
) -> tuple[float, float]: ...
def slope_along(
    loss: Loss, z: _Vector, q: _Vector, y: _Vector, s: _Vector | None, eta: float
) -> tuple[float, float]: ...
def kinks_along(
    loss: Loss, z: _Vector, q: _Vector, y: _Vector, s: _Vector | None, low: float, high: float
) -> _Vector: ...
def crossing(slope: float, curvature: float, low: float, kinks: _Vector) -> float: ...
