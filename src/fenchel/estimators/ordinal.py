"""Ordinal regression: labels in an order, by one score and thresholds between the levels."""

from __future__ import annotations

import os
from collections.abc import Callable
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
from fenchel.estimators.fitting import Posed
from fenchel.estimators.thresholds import ordinal_thresholds
from fenchel.losses import Ordinal
from fenchel.regularizers import Regularizer
from fenchel.result import Record, Result
from fenchel.risks.base import Array
from fenchel.solvers import Solver


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
    penalty : {"l2", "l1", "elastic_net"} or Regularizer, default="l2"
        The regulariser; "elasticnet" is understood too.
    alpha : float, default=1e-4
        Its strength, against a loss that is a mean.
    l1_ratio : float, default=0.5
        For the elastic net: the share of L1, from 0 (all L2) to 1 (all L1).
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "ls-bmrm". "bmrm", "sublbfgs", "hybrid" and others can too.
    tol : float, default=1e-4
        Stop when (objective - lower bound) / objective is certified to be at most this.
    max_iter : int, default=10_000
        The most iterations.
    max_seconds : float, default=None
        The most seconds; None for no limit.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many columns.
    n_jobs : int, default=None
        Threads. None: FENCHEL_NUM_THREADS or OMP_NUM_THREADS, else all cores; -1: all cores. The
        result does not depend on it.
    callback : callable, default=None
        Sees a `fenchel.Record` after each iteration; a true return value stops the fit.
    checkpoint : path, default=None
        A file from which an interrupted fit goes on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_levels,)
        The labels in order.
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : float
        0: the thresholds say where scores are cut.
    thresholds_ : ndarray of shape (n_levels - 1,)
        In rising order; a row has the level of the number of thresholds that its score exceeds.
        Where two are equal, no row is taken for the level between them.
    objective_, lower_bound_ : float
        Bounds of the least objective; objective_ is attained.
    gap_ : float
        (objective_ - lower_bound_) / objective_.
    status_ : str
        How the fit ended: "converged", or why not.
    n_iter_ : int
        Iterations.
    solver_ : str
        The solver that was used.
    result_ : fenchel.Result
        All that is known of the minimisation; `fenchel.verify` checks its proof.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The columns seen by fit; their names only if they all had one.

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

    def __init__(
        self,
        *,
        cost: Any = None,
        penalty: str | Regularizer = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.5,
        solver: str | Solver = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        callback: Callable[[Record], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ):
        super().__init__(
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_seconds=max_seconds,
            warm_start=warm_start,
            n_jobs=n_jobs,
            callback=callback,
            checkpoint=checkpoint,
        )
        self.cost = cost

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # for classes that have no order
        return tags

    def _loss(self) -> Ordinal:
        return Ordinal(self.cost)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimises the objective over the rows of X, their labels and weights; sets thresholds.

        A pair of rows counts with the product of their weights.
        """
        return self._fit(self._posed(X, y, sample_weight))

    def _posed(self, X: Any, y: Any, sample_weight: Any) -> Posed:
        settings = self._settings(fit_intercept=False)
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
