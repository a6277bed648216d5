"""`--metric`: measures of quality by name, as scikit-learn has them.

Some take a number after an @: the level of `pinball@0.9`, the places that `ndcg@5` looks at, the
power of `tweedie_deviance@1.5`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fenchel.cli.choices import NOVELTY, RANKING, SEQUENCES, SETS, estimator_for, nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.inputs import FileRows
from fenchel.errors import InvalidData


@dataclass
class Judged:
    """A model and rows with their targets; what the model says of them is asked for once."""

    model: Any
    rows: FileRows
    at: float | None = None  # what stands after the @

    @property
    def y(self) -> Any:
        """The targets."""
        return self.rows.y

    @cached_property
    def predicted(self) -> Any:
        """What the model predicts."""
        return self.model.predict(self.rows.X, **self.rows.added)

    @cached_property
    def known(self) -> Any:
        """Which rows are of classes that the model knows, which alone have scores."""
        import numpy as np

        found = np.isin(self.y, self.model.classes_)
        if not found.any():
            raise InvalidData("no row is of a class that the model knows")
        return found

    @cached_property
    def scores(self) -> Any:
        """Of rows of known classes: one, or one for each class."""
        return self.model.decision_function(self.rows.X)[self.known]

    @cached_property
    def chances(self) -> Any:
        """Of rows of known classes: the probabilities of all classes."""
        return self.model.predict_proba(self.rows.X)[self.known]

    @property
    def positive(self) -> dict[str, Any]:
        """Of two classes the second is the positive one; of more, the mean is over all."""
        classes = self.model.classes_
        if len(classes) == 2:
            return {"labels": [classes[1]], "average": "macro", "zero_division": 0}
        return {"average": "macro", "zero_division": 0}

    @property
    def indicators(self) -> tuple[Any, Any]:
        """Sets of labels as zeros and ones: those of the rows, and those predicted."""
        return self.model._indicator(self.y), self.predicted


Compute = Callable[[Judged], float]


class Metric(NamedTuple):
    """A measure: what kind of models have it, whether more is better, and how it is computed."""

    kinds: tuple[str, ...]
    sign: int
    compute: Compute
    parameter: bool = False  # whether it takes a number after an @


def _sklearn(name: str, **options: Any) -> Compute:
    """A metric of targets and predictions, of scikit-learn."""

    def compute(judged: Judged) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(_targets(judged), judged.predicted, **options))

    return compute


def _targets(judged: Judged) -> Any:
    """As an array, also where they are a table."""
    import numpy as np

    y = judged.y
    return np.column_stack([y[name] for name in y.column_names]) if _is_table(y) else y


def _is_table(y: Any) -> bool:
    return hasattr(y, "column_names")


def _of_classes(name: str) -> Compute:
    def compute(judged: Judged) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(judged.y, judged.predicted, **judged.positive))

    return compute


def _of_sets(name: str, **options: Any) -> Compute:
    def compute(judged: Judged) -> float:
        from sklearn import metrics

        return float(getattr(metrics, name)(*judged.indicators, **options))

    return compute


def _averaged(average: str) -> Compute:
    """F1 over labels, of classes or of sets of them."""

    def compute(judged: Judged) -> float:
        from sklearn.metrics import f1_score

        sets = type(judged.model).__name__ == "MultilabelClassifier"
        pair = judged.indicators if sets else (judged.y, judged.predicted)
        return float(f1_score(*pair, average=average, zero_division=0))

    return compute


def _accuracy(judged: Judged) -> float:
    """Of sets of labels, the share that is predicted without any mistake."""
    from sklearn.metrics import accuracy_score

    sets = type(judged.model).__name__ == "MultilabelClassifier"
    pair = judged.indicators if sets else (judged.y, judged.predicted)
    return float(accuracy_score(*pair))


def roc_area(scores: Any, y: Any, classes: Any) -> float | None:
    """Of the second of two classes; of more, the mean over those that have an area."""
    from sklearn.metrics import roc_auc_score

    columns = scores.reshape(len(y), -1).T
    each = [
        roc_auc_score(y == c, column)
        for c, column in zip(classes[-len(columns) :], columns, strict=True)
        if 0 < (y == c).sum() < len(y)
    ]
    return float(sum(each) / len(each)) if each else None


def _roc_auc(judged: Judged) -> float:
    found = roc_area(judged.scores, judged.y[judged.known], judged.model.classes_)
    if found is None:
        raise InvalidData("the rows are all of one class: there is no area under a curve")
    return found


def _average_precision(judged: Judged) -> float:
    from sklearn.metrics import average_precision_score

    y, classes = judged.y[judged.known], judged.model.classes_
    columns = judged.scores.reshape(len(y), -1).T
    pairs = zip(classes[-len(columns) :], columns, strict=True)
    each = [average_precision_score(y == c, z) for c, z in pairs if (y == c).any()]
    return float(sum(each) / len(each))


def _log_loss(judged: Judged) -> float:
    from sklearn.metrics import log_loss

    y = judged.y[judged.known]
    return float(log_loss(y, judged.chances, labels=judged.model.classes_))


def _brier(judged: Judged) -> float:
    from sklearn.metrics import brier_score_loss

    y, classes = judged.y[judged.known], judged.model.classes_
    if len(classes) == 2:
        return float(brier_score_loss(y == classes[1], judged.chances[:, 1]))
    return float(((judged.chances - (y[:, None] == classes)) ** 2).sum(axis=1).mean())


def _pinball(judged: Judged) -> float:
    from sklearn.metrics import mean_pinball_loss

    level = judged.at if judged.at is not None else getattr(judged.model, "quantile", 0.5)
    return float(mean_pinball_loss(judged.y, judged.predicted, alpha=level))


def _deviance(power: float | None) -> Compute:
    def compute(judged: Judged) -> float:
        from sklearn.metrics import mean_tweedie_deviance

        chosen = power if power is not None else judged.at
        chosen = getattr(judged.model, "power", 1.5) if chosen is None else chosen
        try:
            return float(mean_tweedie_deviance(judged.y, judged.predicted, power=chosen))
        except ValueError as error:
            raise InvalidData(f"there is no deviance of these rows: {error}") from error

    return compute


def _ndcg(judged: Judged) -> float:
    from fenchel.estimators.measures import ndcg

    places = 10 if judged.at is None else int(judged.at)
    return float(ndcg(judged.predicted, judged.y, judged.rows.qid, places).mean())


def _mrr(judged: Judged) -> float:
    from fenchel.estimators.measures import reciprocal_rank

    return float(reciprocal_rank(judged.predicted, judged.y, judged.rows.qid).mean())


_CLASSES, _NUMBERS, _SETS, _QUERIES = ("classes",), ("numbers",), ("sets",), ("queries",)

METRICS: dict[str, Metric] = {
    "accuracy": Metric(("classes", "sets"), 1, _accuracy),
    "balanced_accuracy": Metric(_CLASSES, 1, _sklearn("balanced_accuracy_score")),
    "f1": Metric(_CLASSES, 1, _of_classes("f1_score")),
    "f1_macro": Metric(("classes", "sets"), 1, _averaged("macro")),
    "f1_micro": Metric(("classes", "sets"), 1, _averaged("micro")),
    "f1_weighted": Metric(("classes", "sets"), 1, _averaged("weighted")),
    "f1_samples": Metric(_SETS, 1, _averaged("samples")),
    "precision": Metric(_CLASSES, 1, _of_classes("precision_score")),
    "recall": Metric(_CLASSES, 1, _of_classes("recall_score")),
    "matthews_corrcoef": Metric(_CLASSES, 1, _sklearn("matthews_corrcoef")),
    "roc_auc": Metric(_CLASSES, 1, _roc_auc),
    "average_precision": Metric(_CLASSES, 1, _average_precision),
    "log_loss": Metric(_CLASSES, -1, _log_loss),
    "brier": Metric(_CLASSES, -1, _brier),
    "hamming_loss": Metric(_SETS, -1, _of_sets("hamming_loss")),
    "jaccard": Metric(_SETS, 1, _of_sets("jaccard_score", average="samples", zero_division=0)),
    "mae": Metric(_NUMBERS, -1, _sklearn("mean_absolute_error")),
    "mse": Metric(_NUMBERS, -1, _sklearn("mean_squared_error")),
    "rmse": Metric(_NUMBERS, -1, _sklearn("root_mean_squared_error")),
    "r2": Metric(_NUMBERS, 1, _sklearn("r2_score")),
    "mape": Metric(_NUMBERS, -1, _sklearn("mean_absolute_percentage_error")),
    "median_absolute_error": Metric(_NUMBERS, -1, _sklearn("median_absolute_error")),
    "max_error": Metric(_NUMBERS, -1, _sklearn("max_error")),
    "explained_variance": Metric(_NUMBERS, 1, _sklearn("explained_variance_score")),
    "pinball": Metric(_NUMBERS, -1, _pinball, parameter=True),
    "poisson_deviance": Metric(_NUMBERS, -1, _deviance(1.0)),
    "gamma_deviance": Metric(_NUMBERS, -1, _deviance(2.0)),
    "tweedie_deviance": Metric(_NUMBERS, -1, _deviance(None), parameter=True),
    "ndcg": Metric(_QUERIES, 1, _ndcg, parameter=True),
    "mrr": Metric(_QUERIES, 1, _mrr),
}
_ALIASES = {
    "auc": "roc_auc",
    "roc": "roc_auc",
    "logloss": "log_loss",
    "mean_absolute_error": "mae",
    "mean_squared_error": "mse",
    "root_mean_squared_error": "rmse",
    "mean_absolute_percentage_error": "mape",
    "brier_score": "brier",
    "matthews": "matthews_corrcoef",
}
_WORDS = {
    "classes": "models of classes",
    "sets": "models of sets of labels",
    "numbers": "models of numbers",
    "queries": "rankings",
}


class Wished(NamedTuple):
    """A metric as it was asked for."""

    name: str
    metric: Metric
    at: float | None

    def of(self, judged: Judged) -> float:
        """Its value."""
        judged.at = self.at
        return self.metric.compute(judged)


def asked(names: Collection[str], loss: str) -> list[Wished]:
    """The metrics of these names, all of which a model of that loss has."""
    return [_asked(name, loss) for name in names]


def _asked(given: str, loss: str) -> Wished:
    name, at, text = given.partition("@")
    name = _ALIASES.get(name.strip().replace("-", "_"), name.strip().replace("-", "_"))
    if name not in METRICS:
        close = nearest(name, [*METRICS, *_ALIASES]) or ";"
        raise UsageError(
            f"--metric: unknown metric {given!r}{close} available are {', '.join(METRICS)}"
        )
    metric, kind = METRICS[name], _kind(loss)
    if kind not in metric.kinds:
        able = [each for each, other in METRICS.items() if kind in other.kinds]
        has = f"it has {', '.join(able)}" if able else "it has none by name"
        words = " and ".join(_WORDS[each] for each in metric.kinds)
        raise UsageError(f"--metric {name} is for {words}, not for loss {loss}: {has}")
    return Wished(given, metric, _number(name, metric, text) if at else None)


def _number(name: str, metric: Metric, text: str) -> float:
    if not metric.parameter:
        raise UsageError(f"--metric {name} takes nothing after an @; got {text!r}")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    fine = {"pinball": 0 < value < 1, "ndcg": value >= 1 and value % 1 == 0}.get(name, value >= 1)
    if not fine:
        hint = {"pinball": "a level between 0 and 1", "ndcg": "a whole number >= 1"}
        wanted = hint.get(name, "a power >= 1")
        raise UsageError(f"--metric {name}@: expected {wanted}; got {text!r}")
    return value


def _kind(loss: str) -> str:
    if loss in RANKING:
        return "queries"
    if loss in SETS:
        return "sets"
    if loss in (*NOVELTY, *SEQUENCES):
        return ""
    return "classes" if "Classifier" in estimator_for(loss) or loss == "ordinal" else "numbers"


def check_able(metrics: Collection[Wished], model: Any) -> None:
    """Refuses what needs probabilities or scores of a model that has none."""
    for name, metric, _ in metrics:
        if metric.compute in (_log_loss, _brier) and not hasattr(model, "predict_proba"):
            raise UsageError(
                f"--metric {name} needs probabilities, which models of --loss logistic and softmax "
                "have"
            )
        scored = metric.compute in (_roc_auc, _average_precision)
        if scored and not hasattr(model, "decision_function"):
            raise UsageError(f"--metric {name} needs scores of classes, which this model lacks")


def measured(metrics: Collection[Wished], judged: Judged) -> dict[str, float | None]:
    """The value of each metric, by the name it was asked for."""
    import math

    found = {each.name: each.of(judged) for each in metrics}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def scorer(metric: Wished) -> tuple[str, Callable[..., float]]:
    """As scikit-learn's: larger is better, and the name of what is turned round begins with neg."""

    def score(model: Any, X: Any, y: Any, **added: Any) -> float:
        rows = FileRows(X, y, None, added.get("offset"))
        return metric.metric.sign * metric.of(Judged(model, rows))

    return metric.name if metric.metric.sign > 0 else f"neg_{metric.name}", score
