"""Ordinal regression: labels in an order, by one score and thresholds between the levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from fenchel.data.checked import checked_classes, checked_weights
from fenchel.data.classes import Targets
from fenchel.errors import InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.classifier import check_weighed
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.thresholds import ordinal_thresholds
from fenchel.losses import Ordinal
from fenchel.result import Result
from fenchel.risks.base import Array


@declared
class OrdinalRegressor(ClassifierMixin, LinearEstimator):
    """Linear ordinal regression, to a certified gap, with thresholds that are the best there are.

    Minimises alpha * penalty(w) + mean over pairs of rows with y_i < y_j of
    cost(y_i, y_j) max(0, 1 + <x_i, w> - <x_j, w>), and then cuts the training scores into levels
    so that mistakes cost the least, exactly, by a dynamic programme.

    Labels are whatever can be sorted: whole numbers, halves, or text, which is sorted by its
    letters. In scikit-learn's terms this is a classifier.

    Parameters
    ----------
    cost : array of shape (n_levels, n_levels), default=None
        What it costs to take level l for level m, in row l and column m, levels counted from 0; its
        upper triangle also weighs the pairs. None: |l - m| levels, and all pairs weigh the same.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "ls-bmrm". "bmrm", "sublbfgs", "hybrid" and others can too.

    Attributes
    ----------
    classes_ : ndarray of shape (n_levels,)
        The labels in order.
    intercept_ : float
        0: the thresholds say where scores are cut.
    thresholds_ : ndarray of shape (n_levels - 1,)
        In rising order; a row has the level of the number of thresholds that its score exceeds.
        Where two are equal, no row is taken for the level between them.

    Examples
    --------
    >>> from fenchel import OrdinalRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, 2, 2, 3, 3]
    >>> model = OrdinalRegressor(alpha=1e-3).fit(X, y)
    >>> model.predict([[0.4], [2.5], [6.0]])
    array([1, 2, 3])
    >>> model.score(X, y), model.result_.converged
    (0.0, True)
    """

    cost: Any = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # for classes that have no order
        return tags

    def _loss(self) -> Ordinal:
        return Ordinal(self.cost)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Minimises the objective over the rows of X, their labels and weights; sets thresholds.

        A pair of rows counts with the product of their weights.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        rows = self._rows(X, reset=True)
        classes, codes = checked_classes(self._target(y), rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)
        check_weighed(weights, classes, codes)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self.classes_ = classes
            self.coef_, self.intercept_ = result.w, 0.0
            scores = self._products_of(rows)[:, 0]
            self.thresholds_ = ordinal_thresholds(scores, codes, self._costs(), weights)

        problems = settings.problems(rows, [Targets(codes.astype(np.float64))], weights)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), adopt)

    def _state(self) -> State:
        return replace(super()._state(), more={"thresholds": np.asarray(self.thresholds_, "f8")})

    def _restore(self, saved: Saved) -> None:
        self.coef_, self.intercept_ = self._restored_line(saved, self.n_features_in_)
        self.classes_ = saved.classes()
        self.thresholds_ = saved.numbers("thresholds", len(self.classes_) - 1)
        if (np.diff(self.thresholds_) < 0).any():
            raise InvalidData("its thresholds do not rise")

    def _costs(self) -> Array:
        """What each mistake costs."""
        cost, level = self._loss().cost, np.arange(len(self.classes_), dtype=np.float64)
        return np.abs(np.subtract.outer(level, level)) if cost is None else cost

    def score_samples(self, X: Any) -> Array:
        """<x, w> for each row of X: the larger, the higher the level."""
        return self._products(X)[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row of X."""
        level = self._levels(X)
        labels: npt.NDArray[Any] = self.classes_[level]
        return labels

    def _levels(self, X: Any) -> npt.NDArray[np.intp]:
        scores = self.score_samples(X)
        return np.searchsorted(self.thresholds_, scores, side="left")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean cost of the predictions: without costs, minus the mean error in levels."""
        taken = self._levels(X)
        y = self._target(y)
        if len(y) != len(taken):
            raise InvalidData(f"X has {len(taken)} rows but y has {len(y)} entries")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            i = int(np.argmax(unknown))
            raise InvalidData(f"y[{i}] is {y.tolist()[i]!r}, which fit has not seen")
        each = self._costs()[np.searchsorted(self.classes_, y), taken]
        return 0.0 - float(np.average(each, weights=checked_weights(sample_weight, len(y))))
