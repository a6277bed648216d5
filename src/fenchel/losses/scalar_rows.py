"""Scalar losses that have met their rows: native where they are built in, else by their formula."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses import LOSSES
from fenchel.losses.base import Array, Loss, Pieces, ScalarLoss
from fenchel.losses.row_loss import Indices, RowLoss
from fenchel.settings import parameters_of

_NAMES: dict[type[Loss], str] = {
    kind: name for name, kind in LOSSES.items() if issubclass(kind, ScalarLoss)
}


def is_built_in(loss: Loss) -> bool:
    """It has a twin in C++, by its exact type: a subclass may have changed the formula."""
    return type(loss) in _NAMES


def twin(loss: Loss) -> _kernels.Loss:
    """The native loss of a built-in one.

    It is given all options of the loss, in the order of its constructor. The kernels take one
    number: a loss with two options is a TypeError here until they can take both.
    """
    options = [getattr(loss, name) for name in parameters_of(type(loss))]
    return _kernels.Loss(_NAMES[type(loss)], *(options or [0.0]))


class SlopeRange(NamedTuple):
    """The slopes on the two sides of a kink, and all between them."""

    lowest: Array
    highest: Array
    blur: Array  # how far from z the kink is at most

    def towards(self, q: Array) -> Array:
        """For each row the slope a with the largest a q."""
        return np.where(q > 0, self.highest, self.lowest)

    @property
    def shortfalls(self) -> Array:
        """(highest - lowest) blur.

        Let the kink be at u, a a slope there and g one at z. By convexity l(u) >= l(z) + g (u - z),
        so that the line of slope a through l(u) is at z at least l(z) - (g - a) (z - u); and both
        slopes are between the lowest and the highest.
        """
        return (self.highest - self.lowest) * self.blur


class ScalarRows(RowLoss):
    """A loss of one score a row, by its Python formula.

    Where rows have an offset o, their loss is l(z + o, y) as a function of z. All that is said of
    scores holds at z + o, and the conjugate of l(. + o) is, with t = z + o,

        sup over z of a z - l(z + o) = sup over t of a (t - o) - l(t) = l*(a) - a o.
    """

    loss: ScalarLoss

    def __init__(
        self,
        loss: Loss,
        y: npt.NDArray[Any],
        s: Array | None = None,
        offset: Array | None = None,
    ):
        super().__init__(loss, y, s)
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the native loss, which is made anew."""
        return type(self), (self.loss, self.y, self.s, self.offset)

    def take(self, rows: Indices) -> Self:
        """The loss of some of the rows."""
        taken = super().take(rows)
        return taken if self.offset is None else taken._with(offset=self.offset[rows])

    def _at(self, z: Array) -> Array:
        """Where the loss is asked at the scores z."""
        return z if self.offset is None else z + self.offset

    def _conjugate(self, a: Array) -> Array:
        each = super()._conjugate(a)
        return each if self.offset is None else each - a * self.offset

    def slopes(self, z: Array, b: float = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i l'(z_i + b, y_i))."""
        at = self._at(z) + b
        value, slope = np.asarray(self.loss.value(at, self.y)), self.loss.slope(at, self.y)
        if value.shape != z.shape or np.shape(slope) != z.shape:
            raise InvalidData(
                f"{self.loss!r} must give a value and a slope for each score; for {len(z)} scores "
                f"it gave shapes {value.shape} and {np.shape(slope)}"
            )
        if self.s is not None:
            value, slope = (self.s * np.where(self.s > 0, part, 0.0) for part in (value, slope))
        return float(np.sum(value)), np.ascontiguousarray(slope, dtype=np.float64)

    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i), and its slope, just right of eta."""
        pieces, steps = self._crossed(z, q)
        at = self._at(z) + eta * q
        slope, curvature = pieces.start + pieces.curvature * at, pieces.curvature.copy()
        right = np.where(q > 0, steps <= eta, steps > eta)
        slope += np.sum(right * (pieces.jump + pieces.bend * (at - pieces.at)), axis=0)
        curvature += np.sum(right * pieces.bend, axis=0)
        weighted = q if self.s is None else self.s * q
        return float(weighted @ slope), float(weighted @ (curvature * q))

    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        pieces, steps = self._crossed(z, q)
        k, i = np.nonzero((steps > low) & (steps <= high))
        weight = np.abs(q[i]) if self.s is None else self.s[i] * np.abs(q[i])
        return np.column_stack(
            [steps[k, i], weight * pieces.jump[k, i], weight * q[i] * pieces.bend[k, i]]
        )

    def _crossed(self, z: Array, q: Array) -> tuple[Pieces, Array]:
        """The loss's pieces and the steps at which its breaks are crossed; nan where never."""
        pieces = self.loss.pieces(self.y)
        assert pieces is not None
        with np.errstate(all="ignore"):
            steps = np.where(q == 0, np.nan, (pieces.at - self._at(z)) / q)
        return pieces, steps

    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows whose score lies on a kink."""
        z, tied = self._at(z), np.zeros(len(z), dtype=bool)
        for kink in self.loss.kinks(self.y):
            tied |= np.abs(z - kink) <= tolerance * (1 + np.abs(z))
        return np.flatnonzero(tied)

    def choices(self, z: Array, tolerance: float) -> SlopeRange:
        """Between the slopes on the two sides, which are met a little further off than a tie."""
        nearby = 2 * tolerance * (1 + np.abs(self._at(z)))
        each = self.unweighted()
        return SlopeRange(each.slopes(z - nearby)[1], each.slopes(z + nearby)[1], nearby)

    def nearest_kinks(self, b: float) -> Array:
        """How far the score b of each row is from the nearest kink of its loss."""
        at = self._at(np.full(len(self.y), b))
        distances: Array = np.min(np.abs(self.loss.kinks(self.y) - at), axis=0)
        return distances


class NativeScalarRows(ScalarRows):
    """A built-in loss of one score a row, in C++."""

    def __init__(
        self,
        loss: Loss,
        y: npt.NDArray[Any],
        s: Array | None = None,
        offset: Array | None = None,
    ):
        super().__init__(loss, y, s, offset)
        self.native = twin(loss)
        self.fused = self.native if offset is None else None

    def slopes(self, z: Array, b: float = 0.0) -> tuple[float, Array]:
        """(sum_i s_i l(z_i + b, y_i), the array of s_i l'(z_i + b, y_i))."""
        a = np.empty_like(z)
        return _kernels.slopes(self.native, self._at(z), self.y, self.s, b, a), a

    def sums(self, z: Array, b: float) -> tuple[float, float]:
        """(sum_i s_i l(z_i + b, y_i), its slope in b)."""
        return _kernels.sums(self.native, self._at(z), self.y, self.s, b)

    def best_offset(
        self, z: Array, total: float, near: float
    ) -> tuple[float, float, float, float, float, float, float]:
        """What minimises sum_i s_i l(z_i + b, y_i) / total over b: see kernels/offset.hpp."""
        return _kernels.best_offset(self.native, self._at(z), self.y, self.s, total, near)

    def step_along(
        self, z: Array, q: Array, eta: float, total: float, near: float
    ) -> tuple[Array, Array, tuple[float, float, float, float, float, float, float], float]:
        """(z + eta q, the slopes a there, at the best offset, that offset, sum_i a_i q_i)."""
        moved, a = np.empty_like(z), np.empty_like(z)
        rows = self.y, self.s, self.offset
        found = _kernels.step_along(self.native, z, q, *rows, eta, total, near, moved, a)
        return moved, a, *found

    def slope_along(self, z: Array, q: Array, eta: float) -> tuple[float, float]:
        """The slope of eta -> sum_i s_i l(z_i + eta q_i, y_i), and its slope, just right of eta."""
        return _kernels.slope_along(self.native, self._at(z), q, self.y, self.s, eta)

    def kinks_along(self, z: Array, q: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        return _kernels.kinks_along(self.native, self._at(z), q, self.y, self.s, low, high)

    def tied(self, z: Array, tolerance: float) -> Indices:
        """The rows whose score lies on a kink; most often none, which C++ finds out sooner."""
        if not _kernels.near_kinks(self.native, self._at(z), self.y, tolerance):
            return np.empty(0, dtype=np.intp)
        return super().tied(z, tolerance)

    def smoothed(
        self, z: Array, mu: float, widths: Array | None, b: float
    ) -> tuple[float, float, float, Array]:
        """(sum_i s_i l_mu(z_i + b, y_i), its slope in b, how fast that rises, slopes without s).

        l_mu is the loss's Moreau envelope, of the parameter mu widths_i for row i.
        """
        u = np.empty_like(z)
        return *_kernels.smoothed(self.native, self._at(z), self.y, self.s, mu, widths, b, u), u

    def smoothed_offset(
        self, z: Array, mu: float, widths: Array | None, total: float, near: float
    ) -> tuple[float, float, Array]:
        """(The b that minimises sum_i s_i l_mu(z_i + b, y_i) / total, that, slopes without s)."""
        u, rows = np.empty_like(z), (self._at(z), self.y, self.s)
        found = _kernels.smoothed_offset(self.native, *rows, mu, widths, total, near, u)
        return *found, u

    def saddle_step(
        self,
        at: tuple[Array, Array, Array, Array],
        z: Array,
        step: tuple[float, float, float, float],
    ) -> tuple[tuple[float, float, float], tuple[Array, Array, Array, Array]]:
        """A primal-dual method's step on the slopes of all rows: see kernels/saddle.hpp.

        `at` are scores, slopes and the means of both, z the next scores, `step` the two offsets,
        kappa and the share of the next point in the means. Gives the sums over rows, and the next.
        """
        a, mean_z, mean_a = np.empty_like(z), np.empty_like(z), np.empty_like(z)
        rows = self.native, self.y, self.s, self.offset
        return _kernels.saddle_step(*rows, *at, z, *step, a, mean_z, mean_a), (z, a, mean_z, mean_a)

    def curvatures(self, z: Array, b: float) -> tuple[Array, npt.NDArray[np.int32]]:
        """(the array of s_i l''(z_i + b, y_i), the rows where it is not 0)."""
        h, bent = np.empty_like(z), np.empty(len(z), dtype=np.int32)
        n = _kernels.curvatures(self.native, self._at(z), self.y, self.s, b, h, bent)
        return h, bent[:n]

    def augmented_slopes(
        self, z: Array, a: Array, kappa: float, b: float
    ) -> tuple[Array, npt.NDArray[np.int32]]:
        """Slopes of the augmented loss in z_i, without s, and the rows on a kink.

        That loss is the least l(t, y_i) + a_i (z_i + b - t) + (z_i + b - t)^2 / (2 kappa) over t.
        """
        u, bent = np.empty_like(z), np.empty(len(z), dtype=np.int32)
        n = _kernels.augmented_slopes(self.native, self._at(z), self.y, a, kappa, b, u, bent)
        return u, bent[:n]

    def augmented_slope_along(
        self, z: Array, a: Array, kappa: float, b: float, q: Array, rate: float, eta: float
    ) -> tuple[float, float]:
        """The slope of its sum at (z + eta q, b + eta rate) in eta, and its slope."""
        return _kernels.augmented_slope_along(
            self.native, self._at(z), self.y, self.s, a, kappa, b, q, rate, eta
        )

    def newton_terms(self, diagonal: Array, total: float, intercept: bool) -> _kernels.NewtonTerms:
        """What Newton's method takes beside X: see kernels/newton.hpp."""
        rows = self.y, self.s, self.offset
        return _kernels.NewtonTerms(self.native, *rows, diagonal, total, intercept)

    def dual_problem(
        self, rate: Array, kappa: Array, threshold: Array | None, scale: Array | None
    ) -> _kernels.DualProblem:
        """What sweeps of dual ascent take: see kernels/dual_ascent.hpp."""
        return _kernels.DualProblem(self.native, self.y, rate, kappa, threshold, scale, self.offset)


def built_in(rows: RowLoss) -> NativeScalarRows:
    """Rows whose loss is known to be a built-in scalar loss."""
    assert isinstance(rows, NativeScalarRows)
    return rows
