"""Novelty detection: what lies on the origin's side of the data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin

from fenchel.data.checked import checked_labels, checked_weights
from fenchel.data.classes import Targets
from fenchel.engines.owners import Owners
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved
from fenchel.losses import Loss, Novelty, NuNovelty
from fenchel.result import Result
from fenchel.risks.base import Array


@declared
class NoveltyDetector(OutlierMixin, LinearEstimator):
    """Linear novelty detection, to a certified gap: rows with a score below rho are novel.

    Minimises alpha * penalty(w) + mean of max(0, rho - <x, w>): a hyperplane with the data on one
    side and the origin on the other. Data around the origin have none: give features that are not
    negative, or map the data first (`sklearn.kernel_approximation.Nystroem`, `RBFSampler`). There
    is no intercept, because a large one would explain every row.

    The larger alpha, the more of the training data are novel; rho sets the scale of the scores.
    Or give nu in place of rho: the one-class support vector machine, which chooses rho so that at
    most a share nu of the training data is novel, and minimises alpha * penalty(w) + mean of
    max(0, rho - <x, w>) - nu rho. Then alpha sets the scale: 1 / n_samples gives the scores of
    `sklearn.svm.OneClassSVM(kernel="linear", nu=nu)`. Rows on the hyperplane itself, as the
    support vectors are, may fall on either side of it.

    Parameters
    ----------
    rho : float, default=1.0
        The score below which a row is novel; without effect if nu is given.
    nu : float, default=None
        In (0, 1]: the share of the training data that may be novel. None keeps to rho. It needs a
        penalty with a share of L2.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights w.
    intercept_ : ndarray of shape (1,)
        -rho.
    offset_ : float
        rho, given or found: decision_function is score_samples less this.

    Examples
    --------
    >>> from fenchel import NoveltyDetector
    >>> X = [[1.0, 1.2], [1.1, 0.9], [0.9, 1.1], [1.3, 1.0]]
    >>> detector = NoveltyDetector(alpha=1e-3).fit(X)
    >>> detector.predict([[1.2, 1.2], [0.1, 0.2]])
    array([ 1, -1])

    The threshold found for a share of the rows that may be novel:

    >>> detector = NoveltyDetector(nu=0.5, alpha=1 / 4).fit(X)
    >>> round(detector.offset_, 3), detector.coef_.round(3)
    (4.0, array([[2., 2.]]))
    """

    rho: float = 1.0
    nu: float | None = None

    def _loss(self) -> Loss:
        return Novelty(self.rho) if self.nu is None else NuNovelty(self.nu)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Minimises the objective over the rows of X and their weights; y is ignored."""
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        if isinstance(X, Owners):
            return self._across(X, settings, (sample_weight,), self._adopt)
        rows = self._rows(X, reset=True)
        labels = checked_labels(None, settings.loss.labels, rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)
        problems = settings.problems(rows, [Targets(labels)], weights)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), self._adopt)

    def _adopt(self, results: list[Result]) -> None:
        (result,) = results
        self.offset_ = float(self.rho) if self.nu is None else -float(result.intercept)
        self.coef_, self.intercept_ = result.w[np.newaxis], np.array([-self.offset_])

    def _restore(self, saved: Saved) -> None:
        self.coef_, self.intercept_ = self._restored_lines(saved, (1, self.n_features_in_))
        self.offset_ = -float(self.intercept_[0])

    def score_samples(self, X: Any) -> Array:
        """<x, w> for each row of X: the lower, the more novel."""
        return self._products(X)[:, 0]

    def decision_function(self, X: Any) -> Array:
        """<x, w> - rho for each row of X: negative for the novel ones."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """-1 for each row of X that is novel, else 1."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
