"""The names a command line can complete and refuse without importing NumPy.

Those of losses come from the table of losses. A test compares the others with the registries of
regularisers and solvers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal, get_args

from fenchel.losses.table import TABLE, Labels, Real, Row, Whole, Word
from fenchel.settings import meant

Regularizer = Literal["l2", "l1", "elastic_net", "elastic_net_ball", "entropy", "squared_p_norm"]
Solver = Literal[
    "auto",
    "newton",
    "newton-cg",
    "lbfgs",
    "column-descent",
    "block-descent",
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
    "bcfw",
    "polish",
    "pegasos",
    "agm-inf",
    "agm-1",
    "excessive-gap",
    "pdhg",
    "fista",
    "proximal-gradient",
]

# Regularisers that need more than a flag can say, and where to turn in Python.
IN_PYTHON = {
    "group_l1": "groups of columns, which flags cannot give; in Python, use "
    "fenchel.Regressor(penalty='group_l1', feature_groups=...), or another estimator",
    "quadratic": "a matrix, which flags cannot give; in Python, use "
    "fenchel.regularizers.Quadratic as the penalty of an estimator",
}

REGULARIZERS: tuple[str, ...] = get_args(Regularizer)
SOLVERS: tuple[str, ...] = get_args(Solver)

_ROWS: dict[str, Row] = {name: row for row in TABLE for name in row.command_names}
LOSSES: tuple[str, ...] = tuple(_ROWS)
if TYPE_CHECKING:
    Loss = str  # a checker cannot read names that are computed
else:
    Loss = Literal[LOSSES]


def _fitted_by(*estimators: str) -> tuple[str, ...]:
    return tuple(name for name, row in _ROWS.items() if row.estimator in estimators)


# Every option of a loss that has a flag, and the losses that take it (of which "f1" has its beta).
OPTIONS: dict[str, Real | Whole | Word] = {flag.name: flag for row in TABLE for flag in row.flags}
LOSS_OPTIONS: dict[str, tuple[str, ...]] = {
    option: tuple(row.name for row in TABLE if option in (flag.name for flag in row.flags))
    for option in OPTIONS
}

CLASSIFICATION = _fitted_by("Classifier")
TOGETHER = tuple(name for name, row in _ROWS.items() if row.labels is Labels.CLASSES)
NOVELTY = _fitted_by("NoveltyDetector")
# What the estimator calls the measure that a loss is for.
METRICS = {name: metric for row in TABLE for name, metric in row.metrics.items()}
RANKING = _fitted_by("Ranker", "Reranker")
SEQUENCES = _fitted_by("SequenceLabeler")
SETS = tuple(name for name, row in _ROWS.items() if row.labels is Labels.SETS)
VECTORS = tuple(name for name, row in _ROWS.items() if row.labels is Labels.VECTORS)
LEAVES = tuple(name for name, row in _ROWS.items() if row.labels is Labels.LEAVES)
# The losses that take what each label costs in place of another, and the options of regularisers.
COSTS = tuple(name for name, row in _ROWS.items() if "cost" in (each.name for each in row.options))
REGULARIZER_OPTIONS: dict[str, tuple[str, ...]] = {
    "l1_ratio": ("elastic_net", "elastic_net_ball"),
    "radius": ("elastic_net_ball",),
    "p": ("squared_p_norm",),
    "cap": ("entropy",),
}
POSITIVE = tuple(name for name, row in _ROWS.items() if row.labels is Labels.POSITIVE)
# Whose estimators predict exp(score), and are measured by the deviance of that.
DEVIANCES = _fitted_by("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
OF_ALL_ROWS = (*METRICS, *_fitted_by("OrdinalRegressor"), *RANKING)
# The options of losses that have a value for each row, alone.
BY_ROW = tuple(
    option for option, losses in LOSS_OPTIONS.items() if not {*losses} <= {*OF_ALL_ROWS, *SEQUENCES}
)

_HOW_MANY = Counter(row.estimator for row in TABLE)
# The loss of each estimator that has one only.
ONLY_LOSS = {
    row.estimator: row.name for row in TABLE if row.estimator and _HOW_MANY[row.estimator] == 1
}


def estimator_for(loss: str) -> str:
    """The name of the estimator that fits a loss."""
    estimator = _ROWS[loss].estimator
    assert estimator is not None
    return estimator


def nearest(name: str, names: Collection[str]) -> str:
    """'; did you mean ...?' where one of the names is close, else nothing."""
    close = meant(name, names)
    return f"; did you mean {close!r}?" if close else ""


def starting(names: Collection[str], incomplete: str) -> list[str]:
    """The names that a half-typed word can become."""
    return [name for name in names if name.startswith(incomplete)]
