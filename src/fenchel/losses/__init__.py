"""Losses: what is minimised on each row, or on all of them at once."""

from __future__ import annotations

from typing import Any

from fenchel.losses.base import Conjugable, Labels, Loss, Pieces, ScalarLoss
from fenchel.losses.chains import CRF, M3N, ChainLoss, SoftM3N
from fenchel.losses.hierarchy import HierarchicalHinge, HierarchicalSoftmax
from fenchel.losses.labeling import PRBEP, FBeta, PrecisionAtK, RecallAtK, SmoothedFBeta
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
from fenchel.losses.multioutput import MultivariateSquared
from fenchel.losses.multivariate import MultivariateLoss, Sample, Tangent
from fenchel.losses.nu import NuHinge, NuLoss, NuNovelty
from fenchel.losses.ordinal import ROC, Ordinal
from fenchel.losses.ranking import ERU, MRR, NDCG, RankHinge
from fenchel.losses.reranking import RerankLikelihood, RerankMargin
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
from fenchel.losses.taxonomy import Taxonomy
from fenchel.losses.vector import ConjugableVector, VectorLoss
from fenchel.settings import construct, instance

__all__ = [
    "CRF",
    "ERU",
    "LOSSES",
    "M3N",
    "MRR",
    "NDCG",
    "PRBEP",
    "ROC",
    "AbsoluteError",
    "ChainLoss",
    "Conjugable",
    "ConjugableVector",
    "EpsilonInsensitive",
    "Exponential",
    "FBeta",
    "HierarchicalHinge",
    "HierarchicalSoftmax",
    "Hinge",
    "Huber",
    "Labels",
    "Logistic",
    "Loss",
    "MulticlassHinge",
    "MultilabelHinge",
    "MultivariateLoss",
    "MultivariateSquared",
    "Novelty",
    "NuHinge",
    "NuLoss",
    "NuNovelty",
    "Ordinal",
    "Perceptron",
    "Pieces",
    "Poisson",
    "PrecisionAtK",
    "Quantile",
    "RankHinge",
    "RecallAtK",
    "RerankLikelihood",
    "RerankMargin",
    "Sample",
    "ScalarLoss",
    "SmoothedFBeta",
    "SmoothedHinge",
    "SoftM3N",
    "Softmax",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "SquaredPerceptron",
    "Tangent",
    "Taxonomy",
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
    "roc": ROC,
    "fbeta": FBeta,
    "precision_at_k": PrecisionAtK,
    "recall_at_k": RecallAtK,
    "prbep": PRBEP,
    "ordinal": Ordinal,
    "ndcg": NDCG,
    "mrr": MRR,
    "eru": ERU,
    "rank_hinge": RankHinge,
    "multivariate_squared": MultivariateSquared,
    "hierarchical_hinge": HierarchicalHinge,
    "hierarchical_softmax": HierarchicalSoftmax,
    "rerank_likelihood": RerankLikelihood,
    "rerank_margin": RerankMargin,
    "crf": CRF,
    "m3n": M3N,
    "soft_m3n": SoftM3N,
}


def named(loss: str | Loss, options: dict[str, Any]) -> Loss:
    """The loss of that name with its options, or the instance itself."""
    if isinstance(loss, Loss):
        return instance(loss, options)
    return construct("loss", loss, LOSSES, options)
