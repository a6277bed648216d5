"""The names a command line can complete and refuse without importing NumPy.

A test compares them with the registries of losses, regularisers and solvers.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Literal, get_args

Loss = Literal[
    "hinge",
    "squared_hinge",
    "smoothed_hinge",
    "logistic",
    "exponential",
    "perceptron",
    "squared_perceptron",
    "nu_hinge",
    "softmax",
    "multiclass_hinge",
    "squared_error",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
    "poisson",
    "novelty",
    "nu_novelty",
    "roc",
    "f1",
    "fbeta",
    "precision_at_k",
    "recall_at_k",
    "prbep",
    "ordinal",
    "rank_hinge",
    "ndcg",
    "mrr",
    "eru",
    "multilabel_hinge",
    "multivariate_squared",
    "hierarchical_hinge",
    "hierarchical_softmax",
    "rerank_likelihood",
    "rerank_margin",
    "crf",
    "m3n",
    "soft_m3n",
]
Pairs = Literal["observed", "all"]
Rescaling = Literal["margin", "slack"]
Regularizer = Literal["l2", "l1", "elastic_net", "elastic_net_ball", "entropy", "squared_p_norm"]
Solver = Literal[
    "auto",
    "newton",
    "lbfgs",
    "owlqn",
    "owlqn-star",
    "kt-split",
    "bmrm",
    "ls-bmrm",
    "bmrm-noqp",
    "sublbfgs",
    "subbfgs",
    "hybrid",
    "subgd",
    "gd",
    "sdca",
    "polish",
    "pegasos",
    "agm-inf",
    "agm-1",
    "excessive-gap",
    "fista",
    "proximal-gradient",
]

LOSSES: tuple[str, ...] = get_args(Loss)
REGULARIZERS: tuple[str, ...] = get_args(Regularizer)
SOLVERS: tuple[str, ...] = get_args(Solver)

# Which losses take an option; the costs of multiclass_hinge are a matrix, which is no flag.
LOSS_OPTIONS: dict[str, tuple[str, ...]] = {
    "quantile": ("quantile",),
    "epsilon": ("epsilon_insensitive", "squared_epsilon_insensitive"),
    "delta": ("huber",),
    "mu": ("smoothed_hinge",),
    "nu": ("nu_hinge", "nu_novelty"),
    "rho": ("novelty",),
    "beta": ("fbeta",),
    "k": ("precision_at_k", "recall_at_k", "ndcg"),
    "half_life": ("eru",),
    "rescaling": ("m3n",),
    "temperature": ("soft_m3n",),
    "pairs": ("crf", "m3n", "soft_m3n"),
}

CLASSIFICATION = LOSSES[:10]
NOVELTY = ("novelty", "nu_novelty")
TOGETHER = ("softmax", "multiclass_hinge")  # all classes in one problem
# What the estimator calls the measure that a loss is for.
METRICS = {
    "roc": "roc_auc",
    "f1": "f1",
    "fbeta": "fbeta",
    "precision_at_k": "precision_at_k",
    "recall_at_k": "recall_at_k",
    "prbep": "break_even",
}
RERANKING = ("rerank_likelihood", "rerank_margin")
RANKING = ("rank_hinge", "ndcg", "mrr", "eru", *RERANKING)
SEQUENCES = ("crf", "m3n", "soft_m3n")
OF_ALL_ROWS = (*METRICS, "ordinal", *RANKING)
_ESTIMATORS = {
    "quantile": "QuantileRegressor",
    "poisson": "PoissonRegressor",
    "novelty": "NoveltyDetector",
    "nu_novelty": "NoveltyDetector",
    **dict.fromkeys(METRICS, "MetricClassifier"),
    "ordinal": "OrdinalRegressor",
    **dict.fromkeys(RANKING, "Ranker"),
    **dict.fromkeys(RERANKING, "Reranker"),
    **dict.fromkeys(SEQUENCES, "SequenceLabeler"),
    "multilabel_hinge": "MultilabelClassifier",
    "hierarchical_hinge": "HierarchicalClassifier",
    "hierarchical_softmax": "HierarchicalClassifier",
}
# What these losses need, which files cannot give yet, and where to turn in Python.
BEYOND_FILES = {
    "multilabel_hinge": ("a set of labels for each row", "fenchel.MultilabelClassifier"),
    "multivariate_squared": ("several numbers for each row", "fenchel.problem"),
    "hierarchical_hinge": ("a taxonomy", "fenchel.HierarchicalClassifier"),
    "hierarchical_softmax": ("a taxonomy", "fenchel.HierarchicalClassifier"),
}


def estimator_for(loss: str) -> str:
    """The name of the estimator that fits a loss."""
    return _ESTIMATORS.get(loss, "Classifier" if loss in CLASSIFICATION else "Regressor")


def nearest(name: str, names: Collection[str]) -> str:
    """'; did you mean ...?' where one of the names is close, else nothing."""
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def starting(names: Collection[str], incomplete: str) -> list[str]:
    """The names that a half-typed word can become."""
    return [name for name in names if name.startswith(incomplete)]
