"""Losses and regularisers in long double, from their definitions: enumeration where that is easy.

Nothing here runs code of fenchel; only the settings of losses and regularisers are read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import losses, regularizers
from fenchel.losses.nu import NuHinge, NuNovelty

Long = npt.NDArray[np.longdouble]


class Rows(NamedTuple):
    """Labels, weights and where groups start."""

    y: Any
    s: Long
    starts: npt.NDArray[np.int64]

    @property
    def share(self) -> Long:
        """s_i / S."""
        return self.s / np.sum(self.s)


def is_log_link(loss: Any) -> bool:
    """Whether the loss is a sum of terms of both signs."""
    return isinstance(loss, losses.Poisson | losses.Gamma | losses.Tweedie)


def steepness(loss: Any, risk: Any) -> float:
    """How fast the loss of a row or of a list can change with its scores, at most."""
    cost = getattr(loss, "cost", None)
    largest = 1.0
    if isinstance(cost, str):
        largest = float(np.max(risk.loss.tree.distances))
    elif cost is not None:
        largest = max(1.0, float(np.max(cost)))
    longest = 5.0 if getattr(loss, "rescaling", "margin") == "slack" else 1.0
    return 4.0 * largest * longest


def rowwise(loss: Any, z: Long, y: Any) -> Long:
    """l(z, y) of each row."""
    if isinstance(loss, losses.VectorLoss):
        return _vector(loss, z, y)
    with np.errstate(all="ignore"):
        labels = loss.labels.name
        return (_of_margin if labels == "BINARY" else _of_target)(loss, z, y)


def _of_margin(loss: Any, z: Long, y: Any) -> Long:
    u = y * z
    short = np.maximum(1 - u, 0)
    match type(loss).__name__:
        case "Hinge":
            return short
        case "SquaredHinge":
            return short**2 / 2
        case "SmoothedHinge":
            mu = np.longdouble(loss.mu)
            return np.where(short < mu, short**2 / (2 * mu), short - mu / 2)
        case "Logistic":
            return np.maximum(-u, 0) + np.log1p(np.exp(-np.abs(u)))
        case "Exponential":
            return np.exp(-u)
        case "Perceptron":
            return np.maximum(-u, 0)
        case "SquaredPerceptron":
            return np.maximum(-u, 0) ** 2 / 2
    raise NotImplementedError(repr(loss))  # of a loss that draws.py has and this file has not


def _of_target(loss: Any, z: Long, y: Any) -> Long:
    r = z - y
    match type(loss).__name__:
        case "SquaredError":
            return r**2 / 2
        case "AbsoluteError":
            return np.abs(r)
        case "Huber":
            far = np.abs(r)
            delta = np.longdouble(loss.delta)
            return np.where(far <= delta, r**2 / 2, delta * (far - delta / 2))
        case "EpsilonInsensitive":
            return np.maximum(np.abs(r) - loss.epsilon, 0)
        case "SquaredEpsilonInsensitive":
            return np.maximum(np.abs(r) - loss.epsilon, 0) ** 2 / 2
        case "Quantile":
            q = np.longdouble(loss.quantile)
            return np.where(r > 0, (1 - q) * r, -q * r)
        case "Expectile":
            q = np.longdouble(loss.expectile)
            return np.where(r > 0, 1 - q, q) * r**2 / 2
        case "Novelty":
            return np.maximum(loss.rho - z, 0)
        case "Poisson":
            return np.exp(z) - y * z + _xlogx(y) - y
        case "Gamma":
            return y * np.exp(-z) + z - 1 - np.log(y.astype(np.longdouble))
        case "Tweedie":
            return _tweedie(np.longdouble(loss.power), z, y)
    raise NotImplementedError(repr(loss))  # of a loss that draws.py has and this file has not


def _tweedie(p: np.longdouble, z: Long, y: Any) -> Long:
    """With y = 0 nothing is left but exp(b z) / b."""
    a, b = p - 1, 2 - p
    level = np.where(y > 0, y.astype(np.longdouble) ** b, 0)
    return (np.exp(b * z) - level) / b + np.where(y > 0, (y * np.exp(-a * z) - level) / a, 0)


def _xlogx(y: Any) -> Long:
    y = np.asarray(y).astype(np.longdouble)
    return np.where(y > 0, y * np.log(np.where(y > 0, y, 1)), 0)


def _vector(loss: Any, Z: Long, y: Any) -> Long:
    K, rows = Z.shape[1], np.arange(len(Z))
    if isinstance(loss, losses.MultivariateSquared):
        F = np.eye(K) if loss.factor is None else loss.factor
        return np.sum(((Z - y) @ F.astype(np.longdouble)) ** 2, axis=1) / 2
    if isinstance(loss, losses.HierarchicalHinge | losses.HierarchicalSoftmax):
        Z = Z @ loss.tree.paths.T.astype(np.longdouble)
        if isinstance(loss, losses.HierarchicalSoftmax):
            return _log_sum(Z) - Z[rows, y]
        loss = loss.of_leaves
    if isinstance(loss, losses.Softmax):
        return _log_sum(Z) - Z[rows, y]
    costs = loss.costs(Z.shape[1])
    if isinstance(loss, losses.MultilabelHinge):
        gaps = costs + Z[:, :, np.newaxis] - Z[:, np.newaxis, :]
        pairs = (y[:, :, np.newaxis] == 0) & (y[:, np.newaxis, :] != 0)
        return np.maximum(np.max(np.where(pairs, gaps, -np.inf), axis=(1, 2)), 0)
    gaps = Z - Z[rows, y][:, np.newaxis]
    each = costs.T[y]
    return np.max(each * (1 + gaps) if loss.rescaling == "slack" else each + gaps, axis=1)


def _log_sum(Z: Long) -> Any:
    top = np.max(Z, axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.sum(np.exp(Z - top), axis=-1))


def joint_value(loss: Any, z: Long, rows: Rows, *more: Any) -> np.longdouble:
    """L of all scores at once; `more` is (intercept, b) or the transitions of chains."""
    if isinstance(loss, NuHinge | NuNovelty):
        return _nu(loss, z, rows, *more)
    if isinstance(loss, losses.ChainLoss):
        from lists import chains

        return chains(loss, z, rows, *more)
    from lists import multivariate

    return multivariate(loss, z, rows)


def _nu(loss: Any, z: Long, rows: Rows, intercept: bool, b: Any) -> np.longdouble:
    """The least over rho of mean max(0, rho - u) - nu rho, which bends at the margins only."""
    novelty = isinstance(loss, NuNovelty)
    u = (z - np.longdouble(b)) if novelty else rows.y * z  # novelty's b is -rho, no part of u
    at = np.concatenate([u[rows.share > 0], [np.longdouble(0)]])
    short = np.maximum(at[:, np.newaxis] - u, 0)
    value: np.longdouble = np.min(short @ rows.share - np.longdouble(loss.nu) * at)
    return value


def penalty(omega: Any, w: Long) -> tuple[np.longdouble, np.longdouble]:
    """(Omega(w), the magnitude of what was added up to it beyond itself)."""
    zero = np.longdouble(0)
    if isinstance(omega, regularizers.Boxed):
        return penalty(omega.inner, w)
    if isinstance(omega, regularizers.ElasticNetBall):
        return zero, zero
    if isinstance(omega, regularizers.Entropy):
        terms = w * np.log(np.where(w > 0, len(w) * w, 1))
        return np.sum(terms), np.sum(np.abs(terms)) + np.sum(w)
    if isinstance(omega, regularizers.SquaredPNorm):
        top = np.max(np.abs(w), initial=zero)
        p = np.longdouble(omega.p)
        if top == 0:
            return zero, zero
        value = (top * np.sum((np.abs(w) / top) ** p) ** (1 / p)) ** 2 / 2
        return value, value
    if isinstance(omega, regularizers.GroupL1):
        norms = [
            c * np.sqrt(np.sum(w[omega.groups == g] ** 2)) for g, c in enumerate(omega.penalties)
        ]
        return np.sum(norms, dtype=np.longdouble), zero
    if isinstance(omega, regularizers.Quadratic):
        W = w.reshape(len(omega.Q), -1)
        size = np.sum(np.abs(W) * (np.abs(omega.Q) @ np.abs(W))) / 2
        return np.sum(W * (omega.Q @ W)) / 2, size
    c = np.asarray(omega.c)
    ratios = {"L1": 1.0, "L2": 0.0}
    rho = np.longdouble(ratios.get(type(omega).__name__, getattr(omega, "l1_ratio", 0.0)))
    return np.sum(c * (rho * np.abs(w) + (1 - rho) * w**2 / 2)), zero
