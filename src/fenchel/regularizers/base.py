"""What a regulariser is: a convex function Omega(w) >= 0, and facts about it that solvers need."""

from __future__ import annotations

import copy
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.piecewise import NO_KINKS, Slope
from fenchel.settings import parameters_of

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

_LEAST_SCALE = 1e-100  # of a dual point: below it nothing is left


class Regularizer(ABC):
    """A convex Omega(w) >= 0, as far as it is known (docs/how-to/own-regularizer.md).

    `value` and `subgradient` must be written. All else is mathematics that some solvers need: what
    is written tells which of them can be used, and a refusal names the method that is missing. The
    four claims below are for what no method tells.
    """

    smooth: bool = False  # it has a Lipschitz continuous gradient
    quadratic: bool = False  # Omega(w) = 1/2 w'Qw: `subgradient` and `conjugate_argmax` are linear
    separable: bool = False  # Omega(w) = sum_j omega_j(w_j)
    finite: bool = True  # everywhere

    weights: Array | None = None  # of coordinates, where it has any

    @property
    def c(self) -> Array | float:
        """The coordinate weights as a factor."""
        return 1.0 if self.weights is None else self.weights

    @abstractmethod
    def value(self, w: Array) -> float:
        """Omega(w); inf where w is not allowed."""

    @abstractmethod
    def subgradient(self, w: Array) -> Array:
        """One element of the subdifferential of Omega at w."""

    def has(self, fact: str) -> bool:
        """Whether the method of that name is written, or the claim of that name made."""
        plain = getattr(Regularizer, fact)
        if isinstance(plain, bool):
            return bool(getattr(self, fact))
        return getattr(type(self), fact) is not plain

    @property
    def piecewise(self) -> bool:
        """It is piecewise quadratic along every ray, and its `slope` and `kinks` say so."""
        return self.quadratic or self.has("slope")

    @property
    def strong_convexity(self) -> float:
        """The largest m known for which Omega - m/2 ||w||^2 is convex."""
        return 0.0

    # The parameters it belongs to.

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """The indices of the unpenalised coordinates; an error if Omega has another dimension."""
        return np.empty(0, dtype=np.intp)

    def resolved(self, names: Sequence[str] | None) -> Regularizer:
        """The same for columns of these names, where it was given by names."""
        return self

    def spread(self, columns: Indices, n_columns: int) -> Regularizer:
        """The regulariser of parameters of which the j-th belongs to the column columns[j].

        -1 stands for an intercept, which is not penalised; n_columns and more for a parameter that
        belongs to no column and is penalised by itself. By default Omega is taken of all together.
        """
        if np.any(columns < 0):
            raise Incompatible(
                f"{self!r} has no unpenalised coordinates, which the intercepts of a vector loss "
                "are: use ",
                Setting("intercept", False),
                ", or l2, l1 or elastic_net",
            )
        return self

    def start(self, n_parameters: int) -> Array:
        """A minimiser of Omega."""
        return np.zeros(n_parameters)

    def check(self, w: Array) -> None:
        """Raises InvalidData where Omega(w) is inf."""
        return None

    # Descent: the subdifferential, and J along a ray.

    def support(self, w: Array, p: Array) -> Array:
        """Argsup over g in the subdifferential of Omega at w of <g, p>."""
        return self.subgradient(w)

    def along(self, w: Array, p: Array, eta: float) -> float:
        """Omega(w + eta p)."""
        return self.value(w + eta * p)

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        """Of eta -> Omega(w + eta p), just right of eta; curved where Omega is quadratic.

        To write it says that Omega is piecewise quadratic along every ray, with these `kinks`.
        """
        if not self.quadratic:
            return Slope(float(self.subgradient(w + eta * p) @ p), 0.0)
        Qp = self.subgradient(p)
        curvature = max(0.0, float(Qp @ p))
        return Slope(float(Qp @ w) + eta * curvature, curvature)

    def kinks(self, w: Array, p: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        return NO_KINKS

    def curvature(self, n_parameters: int) -> Array:
        """A rough diagonal of the Hessian; all of it where Omega is quadratic and separable."""
        return np.full(n_parameters, self.strong_convexity)

    def orthant_curvature(self, n_parameters: int) -> Array:
        """The h of Omega(w) = sum_j c_j |w_j| + h_j/2 w_j^2, for orthant-wise methods."""
        raise NotImplementedError("orthant_curvature is not written")

    # Proximal methods, and the prox-function d of [Zhang11], 1-strongly convex in a norm.

    def prox(self, v: Array, step: float) -> Array:
        """Argmin over x of Omega(x) + ||x - v||^2 / (2 step)."""
        raise NotImplementedError("prox is not written")

    def scaled_prox(self, v: Array, steps: Array) -> Array:
        """Argmin over x of Omega(x) + sum_j (x_j - v_j)^2 / (2 steps_j), of a separable Omega."""
        raise NotImplementedError("scaled_prox is not written")

    @property
    def relative_convexity(self) -> float:
        """The largest m known for which Omega - m d is convex."""
        return self.strong_convexity

    def d(self, x: Array) -> float:
        """The prox-function, ||x||^2 / 2 by default."""
        return float(x @ x) / 2

    def d_gradient(self, x: Array) -> Array:
        """The gradient of d."""
        return x

    def norm(self, x: Array) -> float:
        """The norm in which d is 1-strongly convex, Euclid's by default."""
        return float(np.linalg.norm(x))

    def ground(self, s: Array, c: float, weight: float) -> Array:
        """Argmin over x of weight Omega(x) + c d(x) + <s, x>."""
        return self.prox(s / -c, min(weight / c, sys.float_info.max))

    def stretch(self, squares: Array) -> float:
        """What mean <x_i, v>^2 is at most for |v| = 1, given the columns' mean squares."""
        return float(np.sum(squares))

    # The conjugate: lower bounds, and the duals of bundle methods.

    def conjugate(self, u: Array) -> float:
        """Omega*(u) = sup over w of <u, w> - Omega(w), or an upper bound of it.

        All that is known without it is Omega >= 0, which bounds Omega*(0).
        """
        return 0.0 if not u.any() else math.inf

    def conjugate_argmax(self, u: Array) -> Array:
        """The gradient of Omega* at u: the one w that attains it."""
        raise NotImplementedError("conjugate_argmax is not written")

    def reach(self, u: Array, value: float) -> float:
        """The length of a w that attains Omega*(u); else of any with Omega(w) <= value."""
        if self.has("conjugate_argmax"):
            return float(np.linalg.norm(self.conjugate_argmax(u)))
        return math.inf if u.any() else 0.0

    def dual_scale(self, u: Array) -> float:
        """The largest s <= 1 for which Omega*(s u) is finite, by bisection."""
        if np.isfinite(self.conjugate(u)):
            return 1.0
        low, high = 0.0, 1.0
        while high - low > 1e-12 * high and high > _LEAST_SCALE:
            s = 0.5 * (low + high)
            low, high = (s, high) if np.isfinite(self.conjugate(s * u)) else (low, s)
        return low

    def conjugate_curvature(self, u: Array) -> Array:
        """The diagonal H of a generalised Hessian H^1/2 (I - s s') H^1/2 of Omega* at u."""
        raise NotImplementedError("conjugate_curvature is not written")

    def conjugate_coupling(self, u: Array) -> Array:
        """The vector s of the same, no longer than 1; left out where it is 0."""
        raise NotImplementedError("conjugate_coupling is not written")

    def extended_argmax(self, u: Array) -> Array:
        """`conjugate_argmax` of a separable Omega, with inf or -inf where none attains Omega*."""
        return self.conjugate_argmax(u)

    def shrinkage(self, n_parameters: int) -> tuple[Array, Array] | None:
        """(t, c) with `conjugate_argmax`(u) = c sign(u) max(0, |u| - t); None where it is u."""
        raise NotImplementedError("shrinkage is not written")

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.settings().items() if v is not None)
        return f"{type(self).__name__}({settings})"

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values, as attributes of the same names."""
        names = parameters_of(type(self))
        return {name: getattr(self, name, None) for name in names}


class Weighted(Regularizer):
    """Omega(w) = sum_j c_j omega(w_j) with weights c_j >= 0.

    `weights` are the c_j (None: all 1); c_j = 0 leaves coordinate j unpenalised. The conjugate is
    then inf unless u_j = 0, and `conjugate_argmax` says 0 there: whoever uses it supplies the free
    coordinates.
    """

    separable = True

    def __init__(self, weights: npt.ArrayLike | None = None):
        self.weights = None if weights is None else checked_weights("weights", weights)

    @property
    def least_weight(self) -> float:
        """The smallest c_j."""
        return 1.0 if self.weights is None else float(np.min(self.weights))

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """Where c_j = 0."""
        if self.weights is None:
            return np.empty(0, dtype=np.intp)
        if len(self.weights) != n_parameters:
            raise InvalidData(
                f"the regulariser has {len(self.weights)} weights but X has {n_parameters} "
                "columns; give one weight per column"
            )
        return np.flatnonzero(self.weights == 0)

    def spread(self, columns: Indices, n_columns: int) -> Regularizer:
        """A column's weight for each of its parameters, 0 for intercepts, 1 for all others."""
        if self.weights is None and not np.any(columns < 0):
            return self
        each = np.append(np.broadcast_to(self.c, n_columns), [1.0, 0.0])
        spread = copy.copy(self)
        spread.weights = each[np.minimum(columns, n_columns)]
        spread.weights.setflags(write=False)
        return spread

    def dual_scale(self, u: Array) -> float:
        """0 where an unpenalised coordinate has a slope."""
        return 0.0 if np.any(u[self.free(len(u))]) else 1.0


def absolute_slope(w: Array, p: Array, c: Array | float, eta: float) -> Slope:
    """Of eta -> sum_j c_j |w_j + eta p_j|."""
    sign = np.where(_sign_changes(w, p) <= eta, np.sign(p), -np.sign(p))
    return Slope(float((c * sign) @ p), 0.0)


def absolute_kinks(w: Array, p: Array, c: Array | float, low: float, high: float) -> Array:
    """The kinks of the same function."""
    steps = _sign_changes(w, p)
    ahead = (steps > low) & (steps <= high)
    jumps = (2 * c * np.abs(p))[ahead]
    return np.column_stack([steps[ahead], jumps, np.zeros_like(jumps)])


def squared_slope(w: Array, p: Array, c: Array | float, eta: float) -> Slope:
    """Of eta -> 1/2 sum_j c_j (w_j + eta p_j)^2."""
    weighted = p if isinstance(c, float) and c == 1 else c * p  # a line search asks often
    curvature = float(weighted @ p)
    return Slope(float(weighted @ w) + eta * curvature, curvature)


def _sign_changes(w: Array, p: Array) -> Array:
    """The steps at which w + eta p changes its sign; -inf where it never does."""
    return np.divide(-w, p, out=np.full_like(w, -np.inf), where=p != 0)


def soft_threshold(v: Array, threshold: Array | float) -> Array:
    """sign(v) max(0, |v| - threshold)."""
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def elastic_net_prox(v: Array, l1: float, l2: float, weights: Array | None) -> Array:
    """Argmin over x of  sum_j c_j (l1 |x_j| + l2/2 x_j^2) + ||x - v||^2 / 2, with c = weights."""
    x = np.empty(len(v))
    _kernels.elastic_net_prox(np.ascontiguousarray(v), l1, l2, weights, x)
    return x


def over(numerator: Array, c: Array | float, end: float = 0.0) -> Array:
    """numerator / c, and end * sign(numerator) where c = 0 (an unpenalised coordinate)."""
    if isinstance(c, float):
        return numerator / c
    ends = np.zeros_like(numerator)
    if end != 0:
        ends = np.where(numerator == 0, 0.0, np.copysign(end, numerator))
    return np.divide(numerator, c, out=ends, where=c > 0)


def checked_weights(name: str, weights: npt.ArrayLike, each: str = "column of X") -> Array:
    """Numbers >= 0, one for each of something."""
    try:
        c = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"{name} must be one number per {each}: {error}") from error
    if c.ndim != 1:
        raise InvalidData(f"{name} must be one number per {each}; got shape {c.shape}")
    bad = ~(np.isfinite(c) & (c >= 0))
    if bad.any():
        j = int(np.argmax(bad))
        raise InvalidData(f"{name} must be finite and >= 0; {name}[{j}] is {c[j]}")
    c.setflags(write=False)
    return c
