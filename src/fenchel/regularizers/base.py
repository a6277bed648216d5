"""What a regulariser is: a convex function Omega(w) >= 0 that knows its conjugate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.piecewise import NO_KINKS, Slope

Array = npt.NDArray[np.float64]


class Regularizer(ABC):
    """A convex Omega(w) >= 0, mostly with Omega(0) = 0 and separable with weights c_j >= 0.

    `weights` are the c_j (None: all 1); c_j = 0 leaves coordinate j unpenalised. The conjugate
    Omega*(u) = sup over w of <u, w> - Omega(w) is then inf unless u_j = 0, and `conjugate_argmax`
    says 0 there: whoever uses it supplies the free coordinates.
    """

    def __init__(self, weights: npt.ArrayLike | None = None):
        self.weights = None if weights is None else _checked(weights)

    @property
    def c(self) -> Array | float:
        """The coordinate weights as a factor."""
        return 1.0 if self.weights is None else self.weights

    def free(self, n_features: int) -> npt.NDArray[np.intp]:
        """The indices of the unpenalised coordinates."""
        if self.weights is None:
            return np.empty(0, dtype=np.intp)
        if len(self.weights) != n_features:
            raise InvalidData(
                f"the regulariser has {len(self.weights)} weights but X has {n_features} columns; "
                "give one weight per column"
            )
        return np.flatnonzero(self.weights == 0)

    def start(self, n_features: int) -> Array:
        """A minimiser of Omega."""
        return np.zeros(n_features)

    def check(self, w: Array) -> None:
        """Raises InvalidData where Omega(w) is inf."""
        return None

    @property
    def strong_convexity(self) -> float:
        """The largest m known for which Omega - m/2 ||w||^2 is convex."""
        return 0.0

    @abstractmethod
    def value(self, w: Array) -> float:
        """Omega(w)."""

    @abstractmethod
    def subgradient(self, w: Array) -> Array:
        """One element of the subdifferential of Omega at w."""

    def support(self, w: Array, p: Array) -> Array:
        """Argsup over g in the subdifferential of Omega at w of <g, p>."""
        return self.subgradient(w)

    def slope(self, w: Array, p: Array, eta: float) -> Slope:
        """Of eta -> Omega(w + eta p), just right of eta; curved where Omega is quadratic."""
        return Slope(float(self.subgradient(w + eta * p) @ p), 0.0)

    def kinks(self, w: Array, p: Array, low: float, high: float) -> Array:
        """The kinks of the same function in (low, high]: rows (eta, jump, bend)."""
        return NO_KINKS

    @abstractmethod
    def prox(self, v: Array, step: float) -> Array:
        """Argmin over x of Omega(x) + ||x - v||^2 / (2 step)."""

    # The prox-function d of accelerated methods ([Zhang11] section 2), 1-strongly convex in a norm.

    @property
    def relative_convexity(self) -> float:
        """The largest m known for which Omega - m d is convex."""
        return self.strong_convexity

    def d(self, x: Array) -> float:
        """||x||^2 / 2."""
        return float(x @ x) / 2

    def d_gradient(self, x: Array) -> Array:
        """The gradient of d."""
        return x

    def ground(self, s: Array, c: float, weight: float) -> Array:
        """Argmin over x of weight Omega(x) + c d(x) + <s, x>."""
        return self.prox(s / -c, weight / c)

    def stretch(self, squares: Array) -> float:
        """What mean <x_i, v>^2 is at most for |v| = 1, given the columns' mean squares."""
        return float(np.sum(squares))

    @abstractmethod
    def conjugate(self, u: Array) -> float:
        """Omega*(u) = sup over w of <u, w> - Omega(w)."""

    @abstractmethod
    def reach(self, u: Array, value: float) -> float:
        """The length of a w that attains Omega*(u); else of any with Omega(w) <= value."""

    def dual_scale(self, u: Array) -> float:
        """The largest s <= 1 for which Omega*(s u) is finite."""
        return 0.0 if np.any(u[self.free(len(u))]) else 1.0

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.settings().items() if v is not None)
        return f"{type(self).__name__}({settings})"

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments and their values."""
        return {"weights": self.weights}


class StronglyConvex(Regularizer):
    """A regulariser whose conjugate is differentiable, with a Hessian that is diagonal."""

    @abstractmethod
    def conjugate_argmax(self, u: Array) -> Array:
        """The gradient of Omega* at u: the w that attains it."""

    def reach(self, u: Array, value: float) -> float:
        """The length of the gradient of Omega* at u."""
        return float(np.linalg.norm(self.conjugate_argmax(u)))

    @abstractmethod
    def shrinkage(self, n_features: int) -> tuple[Array, Array] | None:
        """(t, c) with `conjugate_argmax`(u) = c sign(u) max(0, |u| - t); None where it is u."""

    @abstractmethod
    def conjugate_curvature(self, u: Array) -> Array:
        """The diagonal of a generalised Hessian of Omega* at u."""


class Coupled(Regularizer):
    """A regulariser whose coordinates act together, without weights.

    Its conjugate is differentiable, but perhaps at 0, with a Hessian H^1/2 (I - s s') H^1/2.
    """

    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def conjugate_argmax(self, u: Array) -> Array:
        """The gradient of Omega* at u: the w that attains it."""

    def reach(self, u: Array, value: float) -> float:
        """The length of the gradient of Omega* at u."""
        return float(np.linalg.norm(self.conjugate_argmax(u)))

    @abstractmethod
    def conjugate_curvature(self, u: Array) -> Array:
        """The diagonal H at u."""

    @abstractmethod
    def conjugate_coupling(self, u: Array) -> Array:
        """The vector s at u, no longer than 1."""


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
    """Argmin over x of  sum_j c_j (l1 |x_j| + l2/2 x_j^2) + ||x - v||^2 / 2."""
    x = np.empty(len(v))
    _kernels.elastic_net_prox(np.ascontiguousarray(v), l1, l2, weights, x)
    return x


def over(numerator: Array, c: Array | float) -> Array:
    """numerator / c, and 0 where c = 0 (an unpenalised coordinate)."""
    if isinstance(c, float):
        return numerator / c
    return np.divide(numerator, c, out=np.zeros_like(numerator), where=c > 0)


def _checked(weights: npt.ArrayLike) -> Array:
    try:
        c = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"weights must be one number per column of X: {error}") from error
    if c.ndim != 1:
        raise InvalidData(f"weights must be one number per column of X; got shape {c.shape}")
    bad = ~(np.isfinite(c) & (c >= 0))
    if bad.any():
        j = int(np.argmax(bad))
        raise InvalidData(f"weights must be finite and >= 0; weights[{j}] is {c[j]}")
    c.setflags(write=False)
    return c
