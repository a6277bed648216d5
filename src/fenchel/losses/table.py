"""The table of losses: every fact about a built-in loss that is not its formula, each said once.

A row of `TABLE` names the class, the options with their ranges, the kind of labels and what fits
the loss. The registry `losses.LOSSES`, the checks in constructors, the command line's names and
flags, the tables in README and docs, and the catalogue of the tests are derived from it. It needs
no NumPy, so that `fenchel --help` need not wait for it.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fenchel.errors import InvalidData, Setting
from fenchel.settings import one_of, real, whole


class Labels(enum.Enum):
    """What a loss expects of y; the value is the phrase used in messages."""

    BINARY = "two classes"
    REAL = "real numbers"
    COUNT = "numbers >= 0"
    POSITIVE = "numbers > 0"
    NONE = "no labels"
    CLASSES = "classes"
    SETS = "sets of labels"
    LEAVES = "leaves of a taxonomy"
    VECTORS = "vectors of real numbers"
    TAGS = "a label for each token of sequences"


@dataclass(frozen=True)
class Option:
    """An option of a loss: an argument of its constructor, and of `fenchel.problem`.

    One of this class itself is a matrix, a tree or a function, for which there is no flag.
    """

    name: str
    help: str


@dataclass(frozen=True)
class Real(Option):
    """A finite number within bounds, each of which is part of the range or is not."""

    default: float
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None

    def checked(self, value: object) -> float:
        """The value as a number, if it lies in the range."""
        number = real(self.name, value)
        bounds = [(sign, bound) for sign, bound in self._bounds() if bound is not None]
        if not all(_HOLDS[sign](number, bound) for sign, bound in bounds):
            words = " and ".join(f"{sign} {bound:g}" for sign, bound in bounds)
            raise InvalidData(Setting(self.name), f" must be {words}; got {value!r}")
        return number

    def _bounds(self) -> tuple[tuple[str, float | None], ...]:
        return (">", self.above), (">=", self.least), ("<", self.below), ("<=", self.most)


_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True)
class Whole(Option):
    """A whole number that is large enough."""

    default: int
    least: int

    def checked(self, value: object) -> int:
        """The value as an int, if it is one and large enough."""
        return whole(self.name, value, self.least)


@dataclass(frozen=True)
class Word(Option):
    """An option that is one of some words."""

    default: str
    words: tuple[str, ...]

    def checked(self, value: object) -> str:
        """The value, if it is one of the words."""
        return one_of(self.name, value, self.words)


@dataclass(frozen=True)
class Row:
    """What is known of a built-in loss before its module is imported."""

    name: str
    where: str  # the module of fenchel.losses and, after a colon, the class
    labels: Labels
    estimator: str | None  # what fits it; None where only fenchel.problem does
    purpose: str
    options: tuple[Option, ...] = ()
    # Of a measure: its names on the command line, each with what MetricClassifier calls it.
    metrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The module that has its class."""
        return f"fenchel.losses.{self.where.partition(':')[0]}"

    @property
    def kind(self) -> str:
        """The name of its class."""
        return self.where.partition(":")[2]

    @property
    def command_names(self) -> tuple[str, ...]:
        """What `--loss` calls it."""
        return tuple(self.metrics) or (self.name,)

    @property
    def flags(self) -> tuple[Real | Whole | Word, ...]:
        """The options that have a flag on the command line."""
        return tuple(option for option in self.options if isinstance(option, Real | Whole | Word))


MU = Real("mu", "the width of its bend", 1.0, above=0)
NU = Real("nu", "the share within the margin, or novel", 0.5, above=0, most=1)
EPSILON = Real("epsilon", "errors that are free", 0.1, least=0)
DELTA = Real("delta", "the error from which it is linear", 1.0, above=0)
QUANTILE = Real("quantile", "which one, 0 to 1", 0.5, above=0, below=1)
EXPECTILE = Real("expectile", "which one, 0 to 1", 0.5, above=0, below=1)
POWER = Real("power", "of the mean, to which the variance is proportional", 1.5, above=1, below=2)
RHO = Real("rho", "the score that rows should reach", 1.0, above=0)
BETA = Real("beta", "what recall counts against precision", 1.0, above=0)
K = Whole("k", "the first k", 10, least=1)
HALF_LIFE = Real("half_life", "the place that is worth half", 5.0, above=1)
TEMPERATURE = Real("temperature", "how soft its margin is", 1.0, above=0)
RESCALING = Word("rescaling", "costs in the margin, or of slack", "margin", ("margin", "slack"))
PAIRS = Word("pairs", "weights, observed or all", "observed", ("observed", "all"))
COST = Option("cost", "what one class costs in place of another")
TAXONOMY = Option("taxonomy", "the tree of the classes")
M = Option("M", "the matrix of a quadratic form")

_MACHINES = "two classes, support vector machines"
_PROBABILITIES = "two classes, probabilities"
_PERCEPTRONS = "two classes (under a regulariser alone w = 0 is best)"
_TOGETHER = "several classes at once: a w and an intercept for each"
_ROBUST = "regression, robust regression"
_TUBES = "support vector regression"
_MEASURES = "two classes by that measure of all rows, with the threshold that serves it best"
_QUERIES = "the order of the documents of each query"
_CANDIDATES = "the right candidate of each list"
_LEAVES = "leaves of a taxonomy: a w for each node"
_TOKENS = "tags of tokens, in sequences"

_BINARY, _REAL, _NONE, _CLASSES = Labels.BINARY, Labels.REAL, Labels.NONE, Labels.CLASSES
_COUNT, _TAGS = Labels.COUNT, Labels.TAGS

# In the order in which they are listed. The first of its kind of labels names the estimator that
# a loss of somebody's own with such labels is sent to.
TABLE: tuple[Row, ...] = (
    Row("hinge", "margin:Hinge", _BINARY, "Classifier", _MACHINES),
    Row("squared_hinge", "margin:SquaredHinge", _BINARY, "Classifier", _MACHINES),
    Row("smoothed_hinge", "margin:SmoothedHinge", _BINARY, "Classifier", _MACHINES, (MU,)),
    Row("logistic", "margin:Logistic", _BINARY, "Classifier", _PROBABILITIES),
    Row("exponential", "margin:Exponential", _BINARY, "Classifier", _PROBABILITIES),
    Row("perceptron", "margin:Perceptron", _BINARY, "Classifier", _PERCEPTRONS),
    Row("squared_perceptron", "margin:SquaredPerceptron", _BINARY, "Classifier", _PERCEPTRONS),
    Row(
        "nu_hinge",
        "nu:NuHinge",
        _BINARY,
        "Classifier",
        "two classes, with a share nu of the rows within the margin; needs some L2",
        (NU,),
    ),
    Row("softmax", "multiclass:Softmax", _CLASSES, "Classifier", _TOGETHER),
    Row(
        "multiclass_hinge",
        "multiclass:MulticlassHinge",
        _CLASSES,
        "Classifier",
        _TOGETHER,
        (COST, RESCALING),
    ),
    Row("squared_error", "residual:SquaredError", _REAL, "Regressor", _ROBUST),
    Row("absolute_error", "residual:AbsoluteError", _REAL, "Regressor", _ROBUST),
    Row("huber", "residual:Huber", _REAL, "Regressor", _ROBUST, (DELTA,)),
    Row(
        "epsilon_insensitive",
        "residual:EpsilonInsensitive",
        _REAL,
        "Regressor",
        _TUBES,
        (EPSILON,),
    ),
    Row(
        "squared_epsilon_insensitive",
        "residual:SquaredEpsilonInsensitive",
        _REAL,
        "Regressor",
        _TUBES,
        (EPSILON,),
    ),
    Row("quantile", "residual:Quantile", _REAL, "QuantileRegressor", "a quantile", (QUANTILE,)),
    Row("expectile", "residual:Expectile", _REAL, "Regressor", "an expectile", (EXPECTILE,)),
    Row("poisson", "log_link:Poisson", _COUNT, "PoissonRegressor", "counts and rates, log link"),
    Row(
        "gamma",
        "log_link:Gamma",
        Labels.POSITIVE,
        "GammaRegressor",
        "positive numbers that spread with their size: costs, times; log link",
    ),
    Row(
        "tweedie",
        "log_link:Tweedie",
        Labels.COUNT,
        "TweedieRegressor",
        "sums of a few such numbers, often 0: claims, rain; log link",
        (POWER,),
    ),
    Row(
        "novelty",
        "residual:Novelty",
        _NONE,
        "NoveltyDetector",
        "what is unlike the data; uses no labels",
        (RHO,),
    ),
    Row(
        "nu_novelty",
        "nu:NuNovelty",
        _NONE,
        "NoveltyDetector",
        "the same, for a share nu of the rows that may be novel; needs some L2",
        (NU,),
    ),
    Row(
        "roc",
        "ordinal:ROC",
        _BINARY,
        "MetricClassifier",
        _MEASURES,
        metrics={"roc": "roc_auc"},
    ),
    Row(
        "fbeta",
        "labeling:FBeta",
        _BINARY,
        "MetricClassifier",
        _MEASURES,
        (BETA,),
        metrics={"f1": "f1", "fbeta": "fbeta"},
    ),
    Row(
        "precision_at_k",
        "labeling:PrecisionAtK",
        _BINARY,
        "MetricClassifier",
        _MEASURES,
        (K,),
        metrics={"precision_at_k": "precision_at_k"},
    ),
    Row(
        "recall_at_k",
        "labeling:RecallAtK",
        _BINARY,
        "MetricClassifier",
        _MEASURES,
        (K,),
        metrics={"recall_at_k": "recall_at_k"},
    ),
    Row(
        "prbep",
        "labeling:PRBEP",
        _BINARY,
        "MetricClassifier",
        _MEASURES,
        metrics={"prbep": "break_even"},
    ),
    Row("ordinal", "ordinal:Ordinal", _REAL, "OrdinalRegressor", "levels in an order", (COST,)),
    Row("rank_hinge", "ranking:RankHinge", _REAL, "Ranker", _QUERIES),
    Row("ndcg", "ranking:NDCG", _COUNT, "Ranker", _QUERIES, (K,)),
    Row("mrr", "ranking:MRR", _COUNT, "Ranker", _QUERIES),
    Row("eru", "ranking:ERU", _COUNT, "Ranker", _QUERIES, (HALF_LIFE,)),
    Row("rerank_likelihood", "reranking:RerankLikelihood", _COUNT, "Reranker", _CANDIDATES),
    Row("rerank_margin", "reranking:RerankMargin", _COUNT, "Reranker", _CANDIDATES),
    Row(
        "multilabel_hinge",
        "multilabel:MultilabelHinge",
        Labels.SETS,
        "MultilabelClassifier",
        "a set of labels for each row",
        (COST,),
    ),
    Row(
        "multivariate_squared",
        "multioutput:MultivariateSquared",
        Labels.VECTORS,
        "MultivariateRegressor",
        "several real targets",
        (M,),
    ),
    Row(
        "hierarchical_hinge",
        "hierarchy:HierarchicalHinge",
        Labels.LEAVES,
        "HierarchicalClassifier",
        _LEAVES,
        (TAXONOMY, COST),
    ),
    Row(
        "hierarchical_softmax",
        "hierarchy:HierarchicalSoftmax",
        Labels.LEAVES,
        "HierarchicalClassifier",
        _LEAVES,
        (TAXONOMY,),
    ),
    Row("crf", "chains:CRF", _TAGS, "SequenceLabeler", _TOKENS, (PAIRS,)),
    Row("m3n", "chains:M3N", _TAGS, "SequenceLabeler", _TOKENS, (COST, RESCALING, PAIRS)),
    Row(
        "soft_m3n",
        "chains:SoftM3N",
        _TAGS,
        "SequenceLabeler",
        _TOKENS,
        (TEMPERATURE, COST, PAIRS),
    ),
)
