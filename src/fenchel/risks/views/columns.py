"""A linear risk seen column by column, as coordinate descent takes it.

Sparse models have few columns: a solver that works on those few, and looks at all others now and
then, reads little of X. What it asks of a risk is here: scores from the columns that are not 0;
the slopes and curvatures of the rows; products of columns with slopes; the least of the risk's
quadratic model on some columns (kernels/column_descent.hpp); and the cut that slopes make.

Dual variables are alpha_i = s_i/S a_i, with a_i a slope of row i's loss. A cut is one for all w and
b only if the columns that have no penalty, and the column of ones where there is an intercept, are
orthogonal to alpha. At a minimum they are; anywhere else alpha is moved to where they are, and
what that costs is what the cut proves less.

Where columns are many, a copy of X is made in which they are contiguous: as many numbers and row
indices as X has, kept as long as the risk is. Of at most `FEW` columns there is no copy: they are
all seen through their Gram matrix.
"""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.losses import SquaredError
from fenchel.losses.scalar_rows import built_in
from fenchel.risks.base import Array, Cut, Risk
from fenchel.risks.intercept import Offset
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.risks.views.balance import are_orthogonal, orthogonal
from fenchel.risks.views.column_storage import StoredColumns
from fenchel.risks.views.grams import (
    Gram,
    Penalty,
    Which,
    bent_and_flat,
    column_gram,
    dense_gram,
    row_gram,
)
from fenchel.risks.views.newton import Hessian
from fenchel.risks.zero_sum import even
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Bracket, Witness

FEW = 300  # columns that are seen through their Gram matrix
MOST_FREE = 1000  # unpenalised columns, of which a dense copy is made
_MOST_ROWS = 2**31 - 1
_EPOCHS = 1000  # in one descent
_LEAST_EPOCHS = 20  # in one that may be left for a Gram matrix
_SMALL = 10**8  # products of a Gram matrix, up to which it is not worth BLAS
_NEWTON_STEPS = 100
_TIGHT = 0.01  # of the tolerance, where a Gram matrix makes it cheap
_GRAM_SPARSE, _GRAM_DENSE = 48, 400  # columns of a working set up to which its Gram matrix pays
_GRAM_SLOW = 2000  # the same where descent without it is slow
_GRAM_WORK = 12  # products of a Gram matrix in the time in which descent reads a number of X
_ALIKE = 0.2  # change of curvatures, relative to their sum, that a Gram matrix outlives


class RowState(NamedTuple):
    """The rows at some scores: their offset, mean loss, dual variables and curvatures."""

    z: Array
    b: float
    value: float
    alpha: Array
    h: Array | None  # None: each row's share, as for the squared error


class Columns(StoredColumns):
    """The columns of a linear risk; see `columns_of`."""

    _last_gram: Gram | None = None
    _slow = False  # the last descent read so much of X that a Gram matrix would have been cheaper

    def __init__(self, risk: LinearRisk):
        shard = risk.engine.joined()
        self.loss, self.rows = built_in(shard.bound(risk.loss)), shard.rows
        self.y, self.offset, self.weight = shard.y, shard.offset, risk.weight
        self.n_rows, self.n_columns = shard.rows.n_rows, shard.rows.n_columns
        self.n_numbers = shard.rows.n_numbers
        self.s = shard.s
        self.share: Array | float = 1 / risk.weight if shard.s is None else shard.s / risk.weight
        self.has_intercept = risk.facts.has_intercept
        self.quadratic = type(risk.loss) is SquaredError
        self.smoothness = float(risk.loss.smoothness)
        self.few = self.n_columns <= FEW
        # Working sets may come to hold more columns than a Gram matrix is made of.
        self.outgrow = isinstance(self.rows, SparseRows) and self.n_columns > _GRAM_SLOW
        self.risk = ref(risk)
        self.unpaid = 0.0  # passes that were not yet counted
        self.all_count = False  # rows whose curvature is far below the mean, too
        self.outworn = True  # the last Gram matrix has served as long as it could

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """All columns must be at hand, and the loss's curvature known."""
        found = Hessian.obstacle(risk)
        if found is not None:
            return found
        if not risk.facts.in_one_memory:
            return "it needs all rows in one memory (owlqn does not)"
        return None if risk.n_rows <= _MOST_ROWS else f"it takes at most {_MOST_ROWS} rows"

    # Rows.

    def scores(self, w: Array) -> Array:
        """X w, from the columns that are not 0."""
        if self.few:
            self.unpaid += 1
            return self.rows.scores(w)
        which, z = np.flatnonzero(w).astype(np.int32), np.zeros(self.n_rows)
        if len(which):
            self.native.combine(which, w[which], z)
            self.unpaid += self._count(which)
        return z

    def at(self, z: Array, near: float) -> RowState:
        """The rows at the scores z and the best offset, which is sought from one nearby."""
        b = self._settled(z, near) if self.has_intercept else 0.0
        value, a = self.loss.slopes(z, b)
        a /= self.weight
        h = None if self.quadratic else self.loss.curvatures(z, b)[0] / self.weight
        return RowState(z, b, value / self.weight, a, h)

    def value(self, z: Array, b: float) -> float:
        """The mean loss at scores and an offset."""
        return self.loss.sums(z, b)[0] / self.weight

    def _settled(self, z: Array, b: float) -> float:
        """The offset at which slopes add up to 0 but for round-off: Newton's steps, then brackets.

        A step that does not halve the slope is not worth another one.
        """
        slope, last = math.inf, b
        for _ in range(20):
            a = self.loss.slopes(z, b)[1]
            here = float(a.sum())
            if not abs(here) <= 0.5 * abs(slope):
                break
            slope, last = here, b
            if abs(here) <= ROUND_OFF * float(np.abs(a).sum()):
                return b
            curvature = self.weight if self.quadratic else np.sum(self.loss.curvatures(z, b)[0])
            if not curvature > 0:
                break
            b -= here / float(curvature)
        if abs(slope) <= 1e-9 * self.weight:  # `balanced` does the rest
            return last
        _, _, _, _, best, _, _ = self.loss.best_offset(z, self.weight, last)
        return best

    # Columns.

    def _count(self, which: Which) -> float:
        """The share of X's numbers that some columns have."""
        if self.few:
            return 1.0  # row by row
        start = self.stored[1]
        numbers = np.sum(start[which + 1] - start[which])
        return float(numbers) / max(self.n_numbers, 1)

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha."""
        self.unpaid += 1
        return self.rows.adjoint(alpha)

    def products(self, which: Which, alpha: Array) -> Array:
        """X'alpha in some columns."""
        if self.few:
            return self.adjoint(alpha)[which]
        v = np.empty(len(which))
        self.native.chosen_products(which, alpha, v)
        self.unpaid += self._count(which)
        return v

    def moved(self, which: Which, steps: Array) -> Array:
        """X times steps on some columns."""
        if self.few:
            full = np.zeros(self.n_columns)
            full[which] = steps
            return self.scores(full)
        z = np.zeros(self.n_rows)
        self.native.combine(which, steps, z)
        self.unpaid += self._count(which)
        return z

    # The risk itself, of few columns.

    @property
    def small(self) -> bool:
        """Whether all of a proximal Newton step takes less time than Python's part of it."""
        return self.few and self.n_rows * self.n_columns**2 <= _SMALL

    def newton(self, rows: RowState, w: Array, penalty: Penalty, tolerance: float) -> RowState:
        """Proximal Newton steps on all columns, until none violates its optimality; w changes."""
        smoothness = self.smoothness if math.isfinite(self.smoothness) else 0.0
        z = rows.z.copy() if self.offset is None else rows.z + self.offset
        data = self.loss.native, self.loss.y, self.s, self.weight, smoothness, self.has_intercept
        b, steps = self.native.newton(*data, z, rows.b, w, *penalty, tolerance, _NEWTON_STEPS)
        self.unpaid += 4 * steps  # X'alpha, a Gram matrix, X p
        return self.at(self.scores(w), b)

    # The quadratic model.

    def descend(
        self, which: Which, rows: RowState, v: Array, w: Array, penalty: Penalty, tolerance: float
    ) -> tuple[float, Array | None]:
        """Lowers the risk's model and the penalty on some columns; w changes.

        v is X'alpha in those columns. The offset's step, and the curvatures that the model has.
        """
        if not self._by_gram(len(which)):
            return self._descend_rows(which, rows, w, penalty, tolerance), rows.h
        gram, start = self.gram(which, rows.h), w.copy()
        offset = -float(np.sum(rows.alpha)) / gram.total if self.has_intercept else 0.0
        g = v + (offset * gram.total) * gram.mean
        if rows.h is None or self.few:
            tolerance *= _TIGHT
        _kernels.descend_gram(gram.G, 0.0, g, w, *penalty, tolerance, 100 * _EPOCHS)
        return offset - float(gram.mean @ (w - start)), gram.h

    def _descend_rows(
        self, which: Which, rows: RowState, w: Array, penalty: Penalty, tolerance: float
    ) -> float:
        h = rows.h
        if h is None and self.s is not None:
            h = self.s / self.weight
        total = 0.0
        if self.has_intercept:
            total = 1.0 if h is None else float(np.sum(h))
        u, settings = rows.alpha.copy(), (which, h, 1 / self.weight, total, 0.0)
        size, epochs, enough = len(which), _EPOCHS, math.inf
        if size <= _GRAM_SLOW:
            enough = self.n_rows * size * size / _GRAM_WORK
            epoch = 2 * self._count(which) * self.n_numbers
            epochs = min(epochs, _LEAST_EPOCHS + int(enough / max(epoch, 1.0)))
        step, _, _, work = self.native.descend(*settings, u, w, *penalty, tolerance, epochs)
        self.unpaid += work / max(self.n_numbers, 1)
        self._slow = work > enough
        return step

    def _by_gram(self, size: int) -> bool:
        if self.few:
            return True
        cheap = _GRAM_SPARSE if isinstance(self.rows, SparseRows) else _GRAM_DENSE
        return size <= cheap or (self._slow and size <= _GRAM_SLOW)

    def gram(self, which: Which, h: Array | None) -> Gram:
        """The Gram matrix in some columns, with the curvatures h as weights.

        The last one is as good where curvatures are the same, as for the squared error, or nearly:
        a step more makes up for that, unless it is `outworn`.
        """
        last = self._last_gram
        if last is not None and np.array_equal(last.which, which):
            if h is last.h or (not self.outworn and h is not None and self._alike(h, last)):
                return last
        flat = None
        if h is not None and isinstance(self.rows, SparseRows) and not self.all_count:
            h, flat = bent_and_flat(h)
        G, mean = self._weighted_gram(which, h)
        if flat is not None and flat.any():
            G.flat[:: len(G) + 1] += self._squares(which, flat)
        total = 1.0 if h is None else float(np.sum(h))
        mean /= total
        if self.has_intercept:
            G -= np.multiply.outer(total * mean, mean)
        else:
            mean[:] = 0.0
        self._last_gram = Gram(which, h, G, mean, total)
        return self._last_gram

    def _squares(self, which: Which, h: Array) -> Array:
        self.unpaid += self._count(which)
        if self.few:
            return self.rows.squares(h)[which]
        mean, square = np.empty((2, len(which)))
        self.native.chosen_moments(which, h, 0.0, mean, square)
        return square

    def _alike(self, h: Array, last: Gram) -> bool:
        return last.h is not None and float(np.sum(np.abs(h - last.h))) <= _ALIKE * last.total

    def _weighted_gram(self, which: Which, h: Array | None) -> tuple[Array, Array]:
        self.unpaid += 2 * self._count(which)
        if isinstance(self.rows, DenseRows):
            return dense_gram(self.rows.values, which, self.share if h is None else h)
        weights = np.array(np.broadcast_to(self.share, self.n_rows)) if h is None else h
        assert isinstance(self.rows, SparseRows)
        if self.few:
            return row_gram(self.rows, which, weights)
        if len(which) > _GRAM_SPARSE:
            bent, X = np.flatnonzero(weights), self.rows.matrix()
            X = X[:, which] if len(bent) == self.n_rows else X[bent][:, which]
            return dense_gram(X, np.arange(len(which), dtype=np.int32), weights[bent])
        return column_gram(self.native, which, weights)

    # The cut.

    def balanced(self, rows: RowState, free: npt.NDArray[np.intp]) -> Array | None:
        """alpha, moved to where it is orthogonal to the unpenalised columns; None if it cannot be.

        Along curvatures times those columns, which is a step of Newton's on them; for an intercept
        alone, the slopes of the sign that outweighs the other are shrunk, which is always possible.
        """
        alpha = rows.alpha
        if len(free):
            h = self.share if rows.h is None else rows.h
            moved = orthogonal(alpha, h, self._basis(free))
            return None if moved is None else self._inside(moved, free)
        return even(alpha) if self.has_intercept else alpha

    def _inside(self, alpha: Array, free: npt.NDArray[np.intp]) -> Array | None:
        """alpha in the conjugate's domain and still orthogonal, or None."""
        a = self.loss.feasible(self.slopes(alpha))
        alpha = self.share * a
        return alpha if are_orthogonal(alpha, self._basis(free)) else None

    def _basis(self, free: npt.NDArray[np.intp]) -> Array:
        """The unpenalised columns as rows, with one of ones where there is an intercept."""
        key = free.tobytes()
        if self._kept_basis[0] != key:
            X = self.rows.matrix()[:, free]
            X = (X.toarray() if isinstance(self.rows, SparseRows) else X).T.astype(np.float64)
            ones = np.ones((int(self.has_intercept), self.n_rows))
            self._kept_basis = key, np.ascontiguousarray(np.vstack([ones, X]))
        return self._kept_basis[1]

    _kept_basis: tuple[bytes, Array] = (b"", np.empty((0, 0)))

    def slopes(self, alpha: Array) -> Array:
        """The a_i of alpha_i = s_i/S a_i; 0 where s_i = 0."""
        if self.s is None:
            return alpha * self.weight
        return np.divide(alpha * self.weight, self.s, out=np.zeros_like(alpha), where=self.s > 0)

    def cut(self, alpha: Array, v: Array, scale: float) -> Cut:
        """The cut that scale * alpha makes, given v = X'alpha."""
        alpha = scale * alpha
        a = self.slopes(alpha)
        total, size = self.loss.conjugates(a)
        if not math.isfinite(total):  # a slope at the end of its range, and a unit beyond it
            near = self.loss.feasible(a)
            if np.all(np.abs(near - a) <= ROUND_OFF * np.abs(a)):
                alpha, (total, size) = self.share * near, self.loss.conjugates(near)
        slopes = float(np.linalg.norm(alpha)) * math.sqrt(self.n_rows)
        sizes = (
            float(np.linalg.norm(self.norms)) * slopes,
            size / self.weight + float(np.abs(alpha) @ np.abs(self.y)),
        )
        return Cut(scale * v, -total / self.weight, sizes, lambda: Witness(alpha=alpha))


_KEPT: WeakKeyDictionary[LinearRisk, Columns] = WeakKeyDictionary()


def columns_of(risk: Risk) -> Columns:
    """The columns of a risk; the same for all fits on it, as along a path."""
    assert isinstance(risk, LinearRisk)
    found = _KEPT.get(risk)
    if found is None:
        found = _KEPT[risk] = Columns(risk)
    return found


def point_at(risk: Risk, w: Array, rows: RowState) -> LinearPoint:
    """The risk at w, whose scores and offset are known."""
    assert isinstance(risk, LinearRisk)
    point = LinearPoint(risk, w, risk.engine.scatter(rows.z), rows.b)
    point.offset = Offset(Bracket(rows.b, rows.b), rows.b, rows.value, rows.value)
    return point
