"""Problems on which something was once wrong, or would be first: every campaign begins with them.

The seed -k stands for the k-th of them. What they have in common with random problems is how they
are judged: by all solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rows import TREE

from fenchel import losses, regularizers

Given = dict[str, Any]  # X, y, loss, and what differs from the plainest problem
_NORMAL = np.random.default_rng


def _signs(n: int, d: int, seed: int, strength: float, loss: Any, **more: Any) -> Given:
    """Normal rows, and labels that X separates in part."""
    rng = _NORMAL(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return {"X": X, "y": y, "loss": loss, "strength": strength, **more}


def _any_labels(seed: int) -> Given:
    """Square X, which separates rows of any labels."""
    given = _signs(8, 8, seed, 7.3e-10, losses.Hinge(), gap=1e-6)
    return given | {"y": np.where(_NORMAL(100 + seed).random(8) < 0.5, 1.0, -1.0)}


def _real(n: int, d: int, seed: int, strength: float, loss: Any, **more: Any) -> Given:
    rng = _NORMAL(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)
    return {"X": X, "y": y, "loss": loss, "strength": strength, **more}


def _codes(n: int, d: int, seed: int, strength: float, loss: Any, **more: Any) -> Given:
    rng = _NORMAL(seed)
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, 3)) + 0.3 * rng.normal(size=(n, 3)), axis=1)
    y[:3] = np.arange(min(3, n))
    return {"X": X, "y": y, "loss": loss, "strength": strength, **more}


def _far_ordinal() -> Given:
    """Columns of mean 1.4e4 and weights over eight decades: sums that cancel."""
    rng = _NORMAL(0)
    X = rng.normal(size=(20, 4)) + 1.4e4
    y = np.digitize(rng.normal(size=20), [-0.5, 0.7]).astype(float)
    weights = 10.0 ** rng.uniform(-4, 4, size=20)
    return {"X": X, "y": y, "loss": losses.Ordinal(), "sample_weight": weights, "strength": 1e-3}


def _scaled(loss: Any, penalty: Any, seed: int = 0) -> Given:
    """Columns from 1e-8 to 1e8."""
    given = _real(12, 4, seed, 1e-6, loss, regularizer=penalty)
    return given | {"X": given["X"] * 10.0 ** np.array([-8.0, -3.0, 2.0, 8.0])}


def _lists(loss: Any, strength: float, seed: int = 0) -> Given:
    rng = _NORMAL(seed)
    groups = np.repeat(np.arange(4), 4)
    y = rng.integers(0, 3, size=16).astype(float)
    y[::4] += 1.0
    X = rng.normal(size=(16, 3))
    return {"X": X, "y": y, "loss": loss, "groups": groups, "strength": strength}


def _tokens(loss: Any, n: int, strength: float, seed: int = 0) -> Given:
    rng = _NORMAL(seed)
    groups = np.repeat(np.arange(n), 3)[:n]
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 3, size=n)
    y[: min(3, n)] = np.arange(min(3, n))
    return {"X": X, "y": y, "loss": loss, "groups": groups, "strength": strength}


def _one(x: float, y: float, loss: Any, penalty: Any, strength: float, **more: Any) -> Given:
    """One row, one column."""
    rows = {"X": np.array([[x]]), "y": np.array([y])}
    return {**rows, "loss": loss, "regularizer": penalty, "strength": strength, **more}


def _singular(X: list[list[float]], y: list[float], loss: Any, strength: float) -> Given:
    """A quadratic form that is 0 in some direction, where its terms cancel."""
    A = np.array([[-2.0, 0.0, 2.0, 0.0, -1.0, 1.0, -1.0], [-2, 1, 2, 0, -1, 0, 1]]).T
    rows = {"X": np.array(X), "y": np.array(y), "loss": loss}
    return {**rows, "regularizer": regularizers.Quadratic(A @ A.T), "strength": strength}


def _small_and_free() -> Given:
    """Unpenalised columns of small numbers: multipliers that take the same step for ever."""
    given = _tokens(losses.SoftM3N(0.005, pairs="all"), 9, 4e-7, seed=1)
    X = _NORMAL(1).normal(size=(9, 8)) * ([1e-6] * 6 + [1e3, 1.0])
    penalty = regularizers.ElasticNet(0.001, [0.0] * 6 + [1e-2, 1e2])
    return given | {"X": X, "regularizer": penalty, "gap": 1e-9}


_L2, _L1 = regularizers.L2(), regularizers.L1()

KNOWN: dict[str, Callable[[], Given]] = {
    # Rows at a kink, whose slope is another one than the cut's constant was computed with.
    "hinge 8 x 8": lambda: _signs(8, 8, 24, 7.3e-10, losses.Hinge(), gap=1e-6),
    "hinge 8 x 8, any labels": lambda: _any_labels(9),
    "hinge 8 x 8, bounds that cross": lambda: _any_labels(10),
    "wide hinge": lambda: _signs(6, 12, 1, 1e-4, losses.Hinge(), gap=1e-6),
    "wide hinge, weak": lambda: _signs(6, 12, 2, 1e-8, losses.Hinge(), gap=1e-6),
    "wide absolute": lambda: _real(6, 12, 3, 1e-6, losses.AbsoluteError(), gap=1e-6),
    "wide quantile": lambda: _real(6, 12, 4, 1e-5, losses.Quantile(0.3), gap=1e-6),
    "absolute with intercept": lambda: {
        "X": np.array([[0.0, 1.0], [1.0, -3.0]]),
        "y": np.array([0.87, 2.2]),
        "loss": losses.AbsoluteError(),
        "strength": 0.09086909469778769,
        "intercept": True,
        "gap": 2e-3,
    },
    "multiclass hinge": lambda: _codes(8, 8, 5, 1e-6, losses.MulticlassHinge(), gap=1e-6),
    "multiclass slack": lambda: _codes(
        8, 4, 6, 1e-4, losses.MulticlassHinge(2.0, "slack"), gap=1e-6
    ),
    "multilabel hinge": lambda: {
        "X": _NORMAL(7).normal(size=(8, 6)),
        "y": (_NORMAL(8).normal(size=(8, 3)) > 0).astype(np.uint8),
        "loss": losses.MultilabelHinge(),
        "strength": 1e-5,
        "gap": 1e-6,
    },
    "taxonomy": lambda: {
        "X": _NORMAL(9).normal(size=(8, 6)),
        "y": np.array(["cat", "dog", "fern", "cat", "dog", "fern", "cat", "cat"]),
        "loss": losses.HierarchicalHinge(TREE),
        "strength": 1e-5,
        "gap": 1e-6,
    },
    # Sums that cancel, and scales far apart.
    "ordinal far from 0": _far_ordinal,
    "squared error, scales": lambda: _scaled(losses.SquaredError(), _L2),
    "huber, l1, scales": lambda: _scaled(losses.Huber(), _L1),
    "unpenalised coordinates": lambda: _scaled(
        losses.Huber(), regularizers.L1([1.0, 0.0, 1.0, 0.0]), 1
    ),
    # Divisions by nothing, and numbers beyond floating point.
    "an empty column": lambda: _one(0.0, -0.18, losses.AbsoluteError(), _L2, 2e-12),
    "two empty rows": lambda: {
        "X": np.zeros((2, 1)),
        "y": np.array([-1.0, 1.0]),
        "loss": losses.Logistic(),
        "strength": 20.0,
    },
    "a prox beyond its bracket": lambda: {
        "X": np.array([[0.00059, -2.1e7]]),
        "y": np.array([1001.0]),
        "loss": losses.Expectile(0.27),
        "regularizer": regularizers.SquaredPNorm(1.5),
        "strength": 4e-9,
    },
    "a gradient that overflows": lambda: {
        "X": np.array([[3.2e4], [6.4e4]]),
        "y": np.array([1.0, -1.0]),
        "loss": losses.Exponential(),
        "regularizer": regularizers.ElasticNetBall(41.66, 0.9),
        "strength": 1e-11,
    },
    "tweedie at nan": lambda: _one(
        36000.0, 8.0, losses.Tweedie(), regularizers.Quadratic([[7.47]]), 2e-9
    ),
    "poisson, p-norm": lambda: _one(
        3e4, 8.0, losses.Poisson(), regularizers.SquaredPNorm(1.05), 1e-9
    ),
    "exponential, p-norm": lambda: _signs(
        6, 3, 10, 1e-6, losses.Exponential(), regularizer=regularizers.SquaredPNorm(1.05)
    ),
    "entropy, 4 x 3": lambda: _real(
        4, 3, 11, 1e-3, losses.SquaredError(), regularizer=regularizers.Entropy(), gap=1e-6
    ),
    "25 x 1": lambda: _codes(25, 1, 12, 1e-6, losses.Softmax()),
    # Structures.
    "crf, 3 x 3": lambda: _tokens(losses.CRF(), 3, 1e-9),
    "soft m3n, cold": lambda: _tokens(losses.SoftM3N(0.004, pairs="all"), 4, 3e-13, seed=1),
    "m3n, slack": lambda: _tokens(losses.M3N(rescaling="slack"), 9, 1e-5),
    "candidates, l1": lambda: (
        _lists(losses.RerankLikelihood(), 1e-4) | {"regularizer": _L1, "gap": 1e-8}
    ),
    "candidates, margin": lambda: _lists(losses.RerankMargin(), 1e-5),
    # J as verify computes it is below the bound that it proves, by round-off.
    "pairs, J rounded down": lambda: {
        "X": np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 2.0], [1.0, 0.0]]),
        "y": np.array([1.0, -1.0, -1.0, 1.0]),
        "loss": losses.ROC(),
        "sample_weight": np.array(
            [1.7456340832679957, 2.05415718272155, 0.9322647426917743, 2.451141320515979]
        ),
        "strength": 3.042871769231117e-05,
        "gap": 3e-4,
    },
    "lists, J rounded below 0": lambda: {
        "X": np.array([[1.2, 0.61], [-0.37, 0.67], [0.8, 0.25], [0.86, 1.3]]),
        "y": np.array([2.0, 1.0, 1.0, 2.0]),
        "loss": losses.RankHinge(),
        "sample_weight": np.array(
            [2.3755260888045555, 0.9948725700467116, 2.9609385490968876, 2.313502372060182]
        ),
        "groups": np.array([1, 2, 2, 2]),
        "regularizer": regularizers.ElasticNet(0.5, [0.0, 0.5968428679111297]),
        "strength": 3e-4,
        "gap": 4e-6,
    },
    "a singular form": lambda: (
        _singular([[0.0, -1, 1, 1, 2, -1, 0]], [-4.0], losses.Expectile(0.5), 8e-5) | {"gap": 2e-8}
    ),
    # Evidence of nothing at all, of which nothing but 0 is known in unpenalised coordinates.
    "no tangents, and a slope": lambda: {
        "X": np.array([[3.5e5, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        "y": np.array([-5.0, -3.0]),
        "loss": losses.Quantile(0.1559552093225605),
        "regularizer": regularizers.L2([0.0, 0.0031192671437229474, 700.1677898991695]),
        "strength": 2.1314561399840491e-4,
        "gap": 4e-3,
    },
    "errors that underflow": lambda: {
        "X": np.array([[1.0, -1.0, 1.0, 0.0, -1.0, -1.0], [-1.0, -1.0, -2.0, 1.0, -1.0, -1.0]]),
        "y": np.array([1, 0]),
        "loss": losses.M3N(4.6816879618506135),
        "groups": np.array([1, 1]),
        "regularizer": regularizers.Boxed(
            regularizers.L1([2.25, 0.0, 0.0, 1.86, 0.0, 0.78]), lower=0.0
        ),
        "strength": 0.03,
        "gap": 8e-8,
    },
    "small and free": _small_and_free,
    # Minima that are reached at once, or never.
    "separable, strength 0": lambda: _signs(6, 8, 13, 0.0, losses.Hinge()),
    "separable logistic, strength 0": lambda: _signs(6, 8, 14, 0.0, losses.Logistic()),
    "perceptron at its minimum": lambda: _signs(40, 5, 15, 1e-3, losses.Perceptron(), gap=1e-8),
    "columns of 1e8": lambda: _signs(30, 3, 16, 1e-6, losses.Hinge()) | {"scale": 1e8},
}


def known(name: str) -> Given:
    """The problem of that name, complete: X, y, gap and what fenchel.problem takes."""
    given = KNOWN[name]()
    given["X"] = given["X"] * given.pop("scale", 1.0)
    plain = {"regularizer": regularizers.L2(), "intercept": False, "engine": "serial", "gap": 1e-4}
    return {**plain, **given}
