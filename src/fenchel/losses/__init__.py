"""Losses: what is minimised on each row."""

from __future__ import annotations

from typing import Any

from fenchel.losses.base import Conjugable, Labels, Pieces, ScalarLoss
from fenchel.losses.margin import (
    Exponential,
    Hinge,
    Logistic,
    Perceptron,
    SmoothedHinge,
    SquaredHinge,
    SquaredPerceptron,
)
from fenchel.losses.residual import (
    AbsoluteError,
    EpsilonInsensitive,
    Huber,
    Novelty,
    Poisson,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredError,
)
from fenchel.naming import construct, instance

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "Conjugable",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Labels",
    "Logistic",
    "Novelty",
    "Perceptron",
    "Pieces",
    "Poisson",
    "Quantile",
    "ScalarLoss",
    "SmoothedHinge",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "SquaredPerceptron",
    "named",
]

LOSSES: dict[str, type[ScalarLoss]] = {
    "perceptron": Perceptron,
    "squared_perceptron": SquaredPerceptron,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "exponential": Exponential,
    "logistic": Logistic,
    "novelty": Novelty,
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
    "poisson": Poisson,
}


def named(loss: str | ScalarLoss, options: dict[str, Any]) -> ScalarLoss:
    """The loss of that name with its options, or the instance itself."""
    if isinstance(loss, ScalarLoss):
        return instance(loss, options)
    return construct("loss", loss, LOSSES, options)
