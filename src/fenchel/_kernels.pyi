"""Types of the C++ kernels; see kernels/module.cpp."""

import enum
from typing import Any

import numpy as np
import numpy.typing as npt

_Vector = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.floating[Any]]
_Columns = npt.NDArray[np.signedinteger[Any]]

class Loss:
    def __init__(self, name: str, parameter: float) -> None: ...

class DualProblem:
    def __init__(
        self,
        loss: Loss,
        y: _Vector,
        rate: _Vector,
        kappa: _Vector,
        threshold: _Vector | None,
        scale: _Vector | None,
        offset: _Vector | None = None,
    ) -> None: ...

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

class MulticlassSlackHinge:
    def __init__(self, K: int, cost: float | _Vector) -> None: ...

class SmoothedMulticlassHinge:
    def __init__(self, cost: _Vector, mu: float) -> None: ...

class MultilabelHinge:
    def __init__(self, K: int, cost: float) -> None: ...

class MultilabelCostHinge:
    def __init__(self, K: int, cost: _Vector) -> None: ...

_Hinge = MulticlassHinge | MulticlassSlackHinge | MultilabelHinge | MultilabelCostHinge
_Labels = npt.NDArray[np.int64] | npt.NDArray[np.uint8]

def leaf_scores(parent: _Indices, leaf: _Indices, Z: _Vector, F: _Vector) -> None: ...
def node_slopes(parent: _Indices, leaf: _Indices, B: _Vector, y: _Indices, A: _Vector) -> None: ...
def vector_slopes(
    loss: _Hinge | Softmax | SmoothedMulticlassHinge,
    Z: _Vector,
    y: _Labels,
    s: _Vector | None,
    A: _Vector,
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
def box_plane_qp(
    d2: float | _Vector,
    m: _Vector,
    lower: _Vector,
    upper: _Vector,
    sigma: _Vector,
    z: float,
    x: _Vector,
) -> float: ...
def elastic_net_prox(v: _Vector, l1: float, l2: float, c: _Vector | None, x: _Vector) -> None: ...
def project_elastic_net_ball(
    v: _Vector, l1: float, l2: float, radius: float, x: _Vector
) -> float: ...
def entropy_prox(
    g: _Vector, weight: float, x0: _Vector | None, cap: float, x: _Vector
) -> float: ...
def augmented_slopes(
    loss: Loss,
    z: _Vector,
    y: _Vector,
    a: _Vector,
    kappa: float,
    b: float,
    u: _Vector,
    bent: npt.NDArray[np.int32],
) -> int: ...
def curvatures(
    loss: Loss,
    z: _Vector,
    y: _Vector,
    s: _Vector | None,
    b: float,
    h: _Vector,
    bent: npt.NDArray[np.int32],
) -> int: ...
def smoothed(
    loss: Loss,
    z: _Vector,
    y: _Vector,
    s: _Vector | None,
    mu: float,
    widths: _Vector | None,
    b: float,
    u: _Vector,
) -> tuple[float, float, float]: ...
def augmented_slope_along(
    loss: Loss,
    z: _Vector,
    y: _Vector,
    s: _Vector | None,
    a: _Vector,
    kappa: float,
    b: float,
    q: _Vector,
    rate: float,
    eta: float,
) -> tuple[float, float]: ...
def csr_gram(
    row_start: _Indices,
    column: _Columns,
    value: _Numbers,
    s: _Vector | None,
    chosen: npt.NDArray[np.int32],
    count: int,
    G: _Vector,
) -> None: ...
def movable(
    dual: DualProblem, z: _Vector, a: _Vector, margin: float, active: npt.NDArray[np.int32]
) -> int: ...
def csr_sweep(
    row_start: _Indices,
    column: _Columns,
    value: _Numbers,
    dual: DualProblem,
    a: _Vector,
    v: _Vector,
    b: float,
    offset_rate: float,
    active: npt.NDArray[np.int32],
    n_active: int,
    margin: float,
    seed: int,
) -> tuple[float, int, int, float, float]: ...
def dense_sweep(
    X: _Numbers,
    dual: DualProblem,
    a: _Vector,
    v: _Vector,
    b: float,
    offset_rate: float,
    active: npt.NDArray[np.int32],
    n_active: int,
    margin: float,
    seed: int,
) -> tuple[float, int, int, float, float]: ...
def csr_row_squares(
    row_start: _Indices,
    column: _Columns,
    value: _Numbers,
    n_columns: int,
    scale: _Vector | None,
    q: _Vector,
) -> None: ...
def dense_row_squares(X: _Numbers, scale: _Vector | None, q: _Vector) -> None: ...
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
def pairwise_hinge(
    f: _Vector,
    level: npt.NDArray[np.int32],
    s: _Vector | None,
    start: _Indices,
    cost: _Vector | None,
    g: _Vector,
) -> float: ...
def fbeta(f: _Vector, y: _Vector, beta: float, g: _Vector) -> float: ...
def smoothed_fbeta(f: _Vector, y: _Vector, beta: float, mu: float, g: _Vector) -> float: ...
def top_k(f: _Vector, y: _Vector, k: int, whole: float, g: _Vector) -> float: ...
def discounted_gain(
    f: _Vector,
    level: npt.NDArray[np.int32],
    gain: _Vector,
    start: _Indices,
    sums: _Vector,
    g: _Vector,
) -> float: ...
def reciprocal_rank(
    f: _Vector, level: npt.NDArray[np.int32], gain: _Vector, start: _Indices, g: _Vector
) -> float: ...

class SvmlightFault(enum.Enum):
    none = ...
    label_missing = ...
    label_not_a_number = ...
    several_labels = ...
    not_finite = ...
    colon_missing = ...
    index_not_a_number = ...
    index_negative = ...
    index_zero = ...
    index_too_large = ...
    index_repeated = ...
    value_missing = ...
    value_not_a_number = ...
    qid_not_a_number = ...
    qid_misplaced = ...
    qid_missing = ...
    qid_unexpected = ...
    qid_scattered = ...

class _SvmlightParser:
    def __init__(
        self,
        index_base: int | None,
        largest_index: int,
        queries: bool,
        n_threads: int,
        chunk_bytes: int,
    ) -> None: ...
    def feed(self, piece: npt.NDArray[np.uint8]) -> bool: ...
    def finish(self) -> bool: ...
    def take(self) -> tuple[_Indices, _Columns, _Vector, _Vector, _Indices]: ...
    @property
    def fault(self) -> SvmlightFault: ...
    @property
    def fault_place(self) -> tuple[int, int, bytes]: ...
    @property
    def highest(self) -> int: ...
    @property
    def highest_place(self) -> tuple[int, int, bytes]: ...
    @property
    def has_queries(self) -> bool: ...
    @property
    def index_base(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_pending(self) -> int: ...

class SvmlightParser32(_SvmlightParser): ...
class SvmlightParser64(_SvmlightParser): ...

def svmlight_text(
    row_start: _Indices,
    column: _Columns,
    value: _Vector,
    label: _Vector,
    qid: _Indices | None,
    index_base: int,
    first: int,
    last: int,
) -> bytes: ...

class Chains64:
    def __init__(
        self,
        start: _Indices,
        row_start: _Indices,
        place: npt.NDArray[np.int32],
        value: _Numbers,
        pair_start: _Indices,
        run: npt.NDArray[np.uint16],
        dense: npt.NDArray[np.int32],
        n_labels: int,
    ) -> None: ...
    def log_loss(
        self,
        y: _Indices,
        weight: _Vector | None,
        cost: _Vector | None,
        temperature: float,
        rows: _Indices | None,
        w: _Vector,
        g: _Vector,
    ) -> float: ...
    def hinge(
        self,
        y: _Indices,
        weight: _Vector | None,
        cost: _Vector | None,
        slack: bool,
        rows: _Indices | None,
        w: _Vector,
        labels: _Indices,
        g: _Vector,
    ) -> float: ...
    def marginals(self, w: _Vector, out: _Vector) -> None: ...
    def best(
        self, w: _Vector, extra: _Vector | None, scores: _Vector, labels: _Indices
    ) -> None: ...

class Chains32(Chains64): ...
