"""Classification of two classes by what is measured in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.utils import Tags

from fenchel.data.checked import checked_classes
from fenchel.data.classes import Targets
from fenchel.errors import InvalidData, Setting
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.classifier import check_discrete, check_weighed
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import multivariate_loss_of, multivariate_weights
from fenchel.estimators.thresholds import (
    balanced_accuracy,
    best_threshold,
    f_measure,
    top_threshold,
)
from fenchel.losses import PRBEP, ROC, FBeta, MultivariateLoss, PrecisionAtK, RecallAtK
from fenchel.losses.labeling import TopK
from fenchel.result import Result
from fenchel.risks.base import Array

METRICS: dict[str, type[MultivariateLoss]] = {
    "roc_auc": ROC,
    "f1": FBeta,
    "fbeta": FBeta,
    "precision_at_k": PrecisionAtK,
    "recall_at_k": RecallAtK,
    "break_even": PRBEP,
}


@declared
class MetricClassifier(ClassifierMixin, LinearEstimator):
    """Linear classification of two classes by a measure of all rows at once, to a certified gap.

    Minimises alpha * penalty(w) + L(Xw), L a convex bound of 1 less the measure, and then sets the
    threshold that serves the measure best on the training scores, exactly: all cuts between two
    different scores are compared. Rows whose score exceeds it are of the positive class.

    All bounds but that of "roc_auc" are loose. Scores must reach about n / k, or n over the number
    of positives, to fall below the bound at w = 0, so alpha has to be small; and where classes
    overlap much, w = 0 may be best whatever alpha is. The fit then says so in a warning.

    Parameters
    ----------
    metric : {"f1", "fbeta", "roc_auc", "precision_at_k", "recall_at_k", "break_even"}, default="f1"
        The measure. "roc_auc" does not depend on a threshold: it is the one with the best balanced
        accuracy. That of "precision_at_k" and "recall_at_k" lies below the k-th highest score, so
        that k training rows are above it, and those that equal the k-th; "break_even", where
        precision equals recall, is the same with as many rows as there are positives.
    beta : float, default=1.0
        For "fbeta": how much recall counts against precision.
    k : int, default=10
        For "precision_at_k" and "recall_at_k": how many rows are taken, of those that fit sees and
        of those that score sees.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "ls-bmrm". "bmrm", "sublbfgs", "hybrid" and others can too.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels in order; the second is the positive one.
    coef_ : ndarray of shape (1, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,)
        The offset b of the scores <x, w> + b: fitted for "f1" and "fbeta", and 0 for the others,
        whose losses do not change when all scores are shifted.
    threshold_ : float
        What a score must exceed to be positive.

    Examples
    --------
    >>> from fenchel import MetricClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], ["ham", "ham", "ham", "spam", "spam"]
    >>> model = MetricClassifier(metric="f1", alpha=1e-3).fit(X, y)
    >>> model.predict([[0.5], [3.5]])
    array(['ham', 'spam'], dtype='<U4')
    >>> model.score(X, y), model.result_.converged
    (1.0, True)
    """

    metric: str = "f1"
    beta: float = 1.0
    k: int = 10

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # Only k rows are taken for positive, however many there are.
        tags.classifier_tags.poor_score = self.metric in ("precision_at_k", "recall_at_k")
        return tags

    def _loss(self) -> MultivariateLoss:
        settings = {"k": self.k} if self.metric == "f1" else {"k": self.k, "beta": self.beta}
        return multivariate_loss_of("metric", self.metric, METRICS, settings)

    def _has_intercept(self) -> bool:
        return self._loss().intercept

    def _measure(self) -> str:
        return self.metric

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Minimises the objective over the rows of X and their labels y, and sets the threshold.

        Weights are for "roc_auc", where a pair of rows counts with the product of theirs.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        loss = self._loss()
        rows = self._rows(X, reset=True)
        classes, codes = checked_classes(self._target(y), rows.n_rows)
        check_discrete(classes)
        if len(classes) > 2:
            raise InvalidData(
                "Only binary classification is supported. The type of the target is multiclass: y "
                f"holds {len(classes)} classes; use ",
                Setting("loss", "hinge", text="fenchel.Classifier"),
            )
        targets = [Targets(np.where(codes == 1, 1.0, -1.0))]
        weights = self._weights(loss, sample_weight, rows.n_rows)
        check_weighed(weights, classes, codes)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self.classes_ = classes
            self.coef_, self.intercept_ = result.w[np.newaxis], np.array([result.intercept])
            scores = self._products_of(rows)[:, 0] + self.intercept_[0]
            self.threshold_ = _threshold(loss, scores, codes == 1, weights)

        problems = settings.problems(rows, targets, weights)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), adopt)

    def _state(self) -> State:
        return replace(super()._state(), more={"threshold": np.array([self.threshold_], "f8")})

    def _restore(self, saved: Saved) -> None:
        self.classes_ = saved.classes()
        if len(self.classes_) != 2:
            raise InvalidData(f"it has {len(self.classes_)} classes, but a measure is of two")
        self.coef_, self.intercept_ = self._restored_lines(saved, (1, self.n_features_in_))
        self.threshold_ = float(saved.numbers("threshold", 1)[0])

    def _weights(self, loss: MultivariateLoss, sample_weight: Any, n_rows: int) -> Array | None:
        return multivariate_weights(loss, sample_weight, n_rows, "metric='roc_auc'")

    def decision_function(self, X: Any) -> Array:
        """The score of each row of X less `threshold_`: positive for the second class."""
        scores = self._scores(X)[:, 0]
        return scores - self.threshold_

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row of X."""
        above = self._scores(X)[:, 0] > self.threshold_
        labels: npt.NDArray[Any] = self.classes_[above.astype(np.intp)]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure on the rows of X: of the predictions, of the scores, or of the k highest."""
        loss, scores = self._loss(), self._scores(X)[:, 0]
        right = self._positive(y, len(scores))
        weights = self._weights(loss, sample_weight, len(scores))
        if isinstance(loss, FBeta):
            taken = scores > self.threshold_
            return float(fbeta_score(right, taken, beta=loss.beta, zero_division=0.0))
        if right.all() or not right.any():
            raise InvalidData(f"y holds one class only, for which there is no {self.metric}")
        if isinstance(loss, TopK):
            return 1.0 - _missed(loss, scores, right)
        return float(roc_auc_score(right, scores, sample_weight=weights))

    def _positive(self, y: Any, n_rows: int) -> npt.NDArray[np.bool_]:
        """Which rows are positive; all labels must be known."""
        y = self._target(y)
        if len(y) != n_rows:
            raise InvalidData(f"X has {n_rows} rows but y has {len(y)} entries")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            i = int(np.argmax(unknown))
            raise InvalidData(f"y[{i}] is {y.tolist()[i]!r}, which fit has not seen")
        return np.asarray(y == self.classes_[1])


def _threshold(
    loss: MultivariateLoss, scores: Array, right: npt.NDArray[np.bool_], s: Array | None
) -> float:
    if isinstance(loss, TopK):
        return top_threshold(scores, loss.taken(int(right.sum()))[0])
    measure = f_measure(loss.beta) if isinstance(loss, FBeta) else balanced_accuracy
    return best_threshold(scores, right, measure, s)


def _missed(loss: TopK, scores: Array, right: npt.NDArray[np.bool_]) -> float:
    """1 - hits / whole for the k highest scores, of equal ones the mean over their orders."""
    k, whole = loss.taken(int(right.sum()))
    if k > len(scores):
        raise InvalidData(Setting("k"), f" is {k}, but there are {len(scores)} rows only")
    last = -np.sort(-scores)[k - 1]
    above, tied = scores > last, scores == last
    share = (k - int(above.sum())) / int(tied.sum())
    return 1.0 - float(right[above].sum() + share * right[tied].sum()) / whole
