"""Bounds on coefficients: any separable regulariser within a box.

    Omega(w) = sum_j omega_j(w_j)  where  lower_j <= w_j <= upper_j  for all j,  else inf

Each coordinate is a convex function of one variable on an interval, whose minimiser there is that
on the whole line, clipped. Hence the prox is inner's prox, clipped, and the sup of u_j t -
omega_j(t) is attained at inner's own argmax, clipped. That may be inf or -inf where omega_j grows
no faster than u_j t: |u_j| > c_j under L1, u_j != 0 in an unpenalised coordinate. A finite bound
then takes its place, and where there is none the conjugate is inf.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.regularizers.base import Array, Indices, Regularizer
from fenchel.tolerances import DOMAIN_EDGE, EPSILON


class Boxed(Regularizer):
    """`inner` where lower <= w <= upper, else inf; numbers, or one for each column."""

    separable = True
    finite = False

    def __init__(
        self,
        inner: Regularizer,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ):
        if not inner.separable:
            raise Incompatible(
                f"bounds on coefficients need a separable regulariser, such as l2, l1 or "
                f"elastic_net; {type(inner).__name__} is none"
            )
        self.inner = inner
        self.lower, self.upper = _bounds("lower", lower, -np.inf), _bounds("upper", upper, np.inf)
        if self.lower.ndim and self.upper.ndim and len(self.lower) != len(self.upper):
            raise InvalidData(
                f"lower has {len(self.lower)} bounds and upper {len(self.upper)}; give one for "
                "each column, or a number"
            )
        if np.any(self.lower > self.upper):
            j = int(np.argmax(np.atleast_1d(self.lower > self.upper)))
            raise InvalidData(f"lower must be <= upper; it is larger in column {j}")

    def has(self, fact: str) -> bool:
        """What inner has, as far as the bounds leave it."""
        if fact == "conjugate":
            return self.inner.has("extended_argmax") or self.inner.has("conjugate_argmax")
        if fact in ("conjugate_argmax", "conjugate_curvature"):
            return self.inner.has(fact) and not self._has_corners
        if fact in ("prox", "scaled_prox"):
            return self.inner.has(fact)
        return super().has(fact)

    @property
    def _has_corners(self) -> bool:
        """An unpenalised coordinate is bounded: Omega* is not differentiable there."""
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        if self.inner.weights is not None:
            return bool(np.any(bounded & (self.inner.weights == 0)))
        return bool(bounded.ndim and np.any(bounded[self.inner.free(len(bounded))]))

    @property
    def strong_convexity(self) -> float:
        return self.inner.strong_convexity

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """Those that inner leaves unpenalised and that have no bound."""
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound.ndim and len(bound) != n_parameters:
                raise InvalidData(
                    f"{name} has {len(bound)} bounds but X has {n_parameters} columns; give one "
                    "for each column, or a number"
                )
        free = self.inner.free(n_parameters)
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        return free[~np.broadcast_to(bounded, n_parameters)[free]]

    def half_open(self, n_parameters: int) -> Indices:
        """The unpenalised coordinates with one bound only.

        Omega* is finite on one side of u_j = 0 there, and where that bound does not hold at the
        minimum no dual point but u_j = 0 exactly proves anything.
        """
        one = np.isfinite(self.lower) != np.isfinite(self.upper)
        free = self.inner.free(n_parameters)
        return np.asarray(free[np.broadcast_to(one, n_parameters)[free]])

    def resolved(self, names: Sequence[str] | None) -> Regularizer:
        return self._around(self.inner.resolved(names), self.lower, self.upper)

    def spread(self, columns: Indices, n_columns: int) -> Regularizer:
        """A column's bounds for each of its parameters, none for others."""
        place = np.where(columns < 0, n_columns, np.minimum(columns, n_columns))
        lower = np.append(np.broadcast_to(self.lower, n_columns), -np.inf)[place]
        upper = np.append(np.broadcast_to(self.upper, n_columns), np.inf)[place]
        return self._around(self.inner.spread(columns, n_columns), lower, upper)

    def _around(self, inner: Regularizer, lower: Array, upper: Array) -> Boxed:
        boxed = copy.copy(self)
        boxed.inner, boxed.lower, boxed.upper = inner, lower, upper
        return boxed

    def _clipped(self, w: Array) -> Array:
        return np.asarray(np.clip(w, self.lower, self.upper))

    def start(self, n_parameters: int) -> Array:
        return self._clipped(self.inner.start(n_parameters))

    def check(self, w: Array) -> None:
        """The weights are in the box."""
        self.inner.check(w)
        outside = np.abs(w - self._clipped(w)) > DOMAIN_EDGE * np.abs(self._clipped(w))
        if outside.any():
            j = int(np.argmax(outside))
            which = f"[{j}] = {w[j]} does not"
            raise InvalidData(Setting("w0"), " must lie within the bounds; ", Setting("w0"), which)

    def value(self, w: Array) -> float:
        """Inner's, inf outside the box."""
        inside = self._clipped(w)
        if np.any(np.abs(w - inside) > DOMAIN_EDGE * np.abs(inside)):
            return math.inf
        return self.inner.value(w)

    def subgradient(self, w: Array) -> Array:
        """Inner's: 0 is normal to a bound."""
        return self.inner.subgradient(w)

    def prox(self, v: Array, step: float) -> Array:
        """That of inner, clipped: right because inner is a sum over coordinates."""
        return self._clipped(self.inner.prox(v, step))

    def scaled_prox(self, v: Array, steps: Array) -> Array:
        return self._clipped(self.inner.scaled_prox(v, steps))

    def conjugate(self, u: Array) -> float:
        """<u, w> - Omega(w) at the argmax, and what round-off may have taken from it."""
        if not self.has("conjugate"):
            return super().conjugate(u)
        w = self._clipped(self.inner.extended_argmax(u))
        if not np.isfinite(w).all():
            return math.inf
        value = self.inner.value(w)
        doubt = 4 * EPSILON * (float(np.abs(u) @ np.abs(w)) + value)
        return float(u @ w) - value + doubt

    def conjugate_argmax(self, u: Array) -> Array:
        """That of inner, clipped: a concave function of one number is best at the nearest end."""
        return self._clipped(self.inner.conjugate_argmax(u))

    def conjugate_curvature(self, u: Array) -> Array:
        """Inner's where no bound holds, else 0."""
        w = self.inner.conjugate_argmax(u)
        moves = (self.lower < w) & (w < self.upper)
        return np.where(moves, self.inner.conjugate_curvature(u), 0.0)

    def reach(self, u: Array, value: float) -> float:
        """Of the argmax; where that is not unique, what inner's value or the box allows."""
        if not self.has("conjugate"):
            return super().reach(u, value)
        furthest = np.maximum(np.abs(self.lower), np.abs(self.upper)) * np.ones(len(u))
        furthest[self.free(len(u))] = 0.0  # u is 0 there
        corner = self.inner.free(len(u))
        held = float(np.linalg.norm(furthest[corner]))
        furthest[corner] = 0.0
        if self.inner.has("conjugate_argmax"):
            w = self.conjugate_argmax(u)
            w[corner] = 0.0
            return math.hypot(float(np.linalg.norm(w)), held)
        # What is proved may exceed the cut's constant where the box excludes 0.
        reach = self.inner.reach(u, abs(value) + max(0.0, -self.conjugate(u)))
        return math.hypot(min(reach, float(np.linalg.norm(furthest))), held)

    def dual_scale(self, u: Array) -> float:
        """That of inner in the coordinates where no bound keeps the argmax finite."""
        if not self.has("conjugate"):
            return super().dual_scale(u)
        far = ~np.isfinite(self._clipped(self.inner.extended_argmax(u)))
        return self.inner.dual_scale(np.where(far, u, 0.0)) if far.any() else 1.0

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"inner": self.inner, "lower": self.lower, "upper": self.upper}


def _bounds(name: str, given: npt.ArrayLike | None, none: float) -> Array:
    try:
        bounds = np.array(none if given is None else given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{name} must be a number, or one for each column: {error}") from error
    if bounds.ndim > 1 or np.any(np.isnan(bounds)) or np.any(bounds == -none):
        raise InvalidData(
            f"{name} must be a number, or one for each column, not nan or {-none}; got {given!r}"
        )
    bounds.setflags(write=False)
    return bounds
