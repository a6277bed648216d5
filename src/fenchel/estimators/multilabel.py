"""Multilabel classification: a set of labels for each row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags

from fenchel.data.checked import checked_weights, unmasked
from fenchel.data.classes import Targets, checked_sets
from fenchel.errors import InvalidData
from fenchel.estimators import thresholds
from fenchel.estimators.base import WithIntercept
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import loss_of
from fenchel.losses import Labels, Loss, VectorLoss
from fenchel.losses.vector import Cost
from fenchel.result import Result
from fenchel.risks.base import Array

Indicator = npt.NDArray[np.int64]


@declared
class MultilabelClassifier(ClassifierMixin, WithIntercept):
    """Linear multilabel classification by the scores of all labels at once, to a certified gap.

    Minimises alpha * penalty(W) + mean of loss(W x + b, Y), the mean weighted by sample_weight. The
    loss ranks: every label of a row should score higher than every other label, by the cost of
    mistaking one for the other. A row has those labels whose scores exceed `threshold_`, one number
    for all labels. One is enough: the loss sees differences of scores alone, so with
    penalty="l2" the weights of all labels sum to zero, and the scores of every row are centred.

    Parameters
    ----------
    loss : "multilabel_hinge" or VectorLoss, default="multilabel_hinge"
        The loss; an instance may be of your own class, with a value, a slope and
        `labels = Labels.SETS`.
    cost : float, array of shape (n_labels, n_labels) or callable, default=None
        What it costs to rank label z above label y of the row, in row z and column y or as a
        function of z and y; a number, or None for 1, if all mistakes are alike.
    fit_intercept : bool, default=True
        Whether each label has an intercept; they are never penalised. On a handful of rows the fit
        may then end short of `tol`, with a warning; without intercepts it does not.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses by loss and penalty. The names are those of
        `fenchel.minimize`: "bmrm", "ls-bmrm" and others.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many labels and columns.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels in order; of an indicator, the numbers of its columns.
    coef_ : ndarray of shape (n_labels, n_features)
        The weights W.
    intercept_ : ndarray of shape (n_labels,)
        The offsets b.
    threshold_ : float
        The score above which a row has a label: the one of the largest micro-averaged F1 on the
        training data.

    Examples
    --------
    >>> from fenchel import MultilabelClassifier
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> Y = [["dry"], ["dry", "warm"], ["wet"], ["warm", "wet"]]
    >>> model = MultilabelClassifier(alpha=1e-3).fit(X, Y)
    >>> model.classes_
    array(['dry', 'warm', 'wet'], dtype='<U4')
    >>> model.predict([[1.0, 1.0], [0.0, 0.0]])
    array([[0, 1, 1],
           [1, 0, 0]])
    """

    loss: str | VectorLoss = "multilabel_hinge"
    cost: Cost = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def _loss(self) -> Loss:
        return loss_of(self.loss, (Labels.SETS,), {"cost": self.cost})

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Minimises the objective over the rows of X, their sets of labels and their weights.

        y is an indicator array of zeros and ones, dense or sparse, with a column for each label; or
        a list with a collection of labels for each row.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        rows = self._rows(X, reset=True)
        targets = checked_sets(self._target(y), rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self.classes_ = targets.classes
            self.coef_, self.intercept_ = result.w, np.asarray(result.intercept)
            scores = self._products_of(rows) + self.intercept_
            self.threshold_ = best_threshold(scores, targets.y, weights)

        problems = settings.problems(rows, [targets], weights)
        return Posed(settings, problems, [self._start(targets, rows.n_columns)], adopt)

    def _state(self) -> State:
        return replace(super()._state(), more={"threshold": np.array([self.threshold_], "f8")})

    def _restore(self, saved: Saved) -> None:
        self.classes_ = saved.classes()
        shape = len(self.classes_), self.n_features_in_
        self.coef_, self.intercept_ = self._restored_lines(saved, shape, together=True)
        self.threshold_ = float(saved.numbers("threshold", 1)[0])

    def _target(self, y: Any) -> Any:
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = unmasked("y", y)
        return np.asarray(y) if hasattr(y, "__array__") and not sparse.issparse(y) else y

    def _start(self, targets: Targets, n_columns: int) -> Array | None:
        if not np.array_equal(getattr(self, "classes_", targets.classes), targets.classes):
            return None
        starts = self._starts((len(targets.classes), n_columns))
        return None if starts[0] is None else np.asarray(starts)

    def decision_function(self, X: Any) -> Array:
        """The scores of each row of X less `threshold_`, in a column for each label."""
        return self._scores(X) - self.threshold_

    def predict(self, X: Any) -> Indicator:
        """1 for each label that a row of X has, else 0, in a column for each label."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose sets of labels are predicted without any mistake."""
        if not (sparse.issparse(y) or getattr(y, "ndim", None) == 2):
            y = self._indicator(y)
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _indicator(self, sets: Any) -> Indicator:
        """Collections of labels, all of which the model must know, as zeros and ones."""
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        indicator = np.zeros((len(sets), len(places)), dtype=np.int64)
        for i, labels in enumerate(sets):
            unknown = [label for label in labels if label not in places]
            if unknown:
                raise InvalidData(f"y[{i}] has the label {unknown[0]!r}, which fit has not seen")
            indicator[i, [places[label] for label in labels]] = 1
        return indicator


def best_threshold(scores: Array, y: npt.NDArray[np.uint8], s: Array | None) -> float:
    """The number whose excess by the scores gives the largest micro-averaged F1."""
    weights = None if s is None else np.repeat(s, y.shape[1])
    return thresholds.best_threshold(scores.ravel(), y.ravel(), thresholds.f_measure(1.0), weights)
