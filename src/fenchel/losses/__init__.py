"""Losses: what is minimised on each row."""

from __future__ import annotations

from typing import Any

from fenchel.losses.base import Conjugable, Labels, Loss, Pieces, ScalarLoss
from fenchel.losses.margin import (
    Exponential,
    Hinge,
    Logistic,
    Perceptron,
    SmoothedHinge,
    SquaredHinge,
    SquaredPerceptron,
)
from fenchel.losses.multiclass import MulticlassHinge, Softmax
from fenchel.losses.multilabel import MultilabelHinge
from fenchel.losses.nu import NuHinge, NuLoss, NuNovelty
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
from fenchel.losses.vector import ConjugableVector, VectorLoss
from fenchel.naming import construct, instance

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "Conjugable",
    "ConjugableVector",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Labels",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "MultilabelHinge",
    "Novelty",
    "NuHinge",
    "NuLoss",
    "NuNovelty",
    "Perceptron",
    "Pieces",
    "Poisson",
    "Quantile",
    "ScalarLoss",
    "SmoothedHinge",
    "Softmax",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "SquaredPerceptron",
    "VectorLoss",
    "named",
]

LOSSES: dict[str, type[Loss]] = {
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
    "multiclass_hinge": MulticlassHinge,
    "softmax": Softmax,
    "nu_hinge": NuHinge,
    "nu_novelty": NuNovelty,
    "multilabel_hinge": MultilabelHinge,
}


def named(loss: str | Loss, options: dict[str, Any]) -> Loss:
    """The loss of that name with its options, or the instance itself."""
    if isinstance(loss, Loss):
        return instance(loss, options)
    return construct("loss", loss, LOSSES, options)
