"""Regression of several real targets at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from fenchel.data.checked import checked_weights
from fenchel.data.classes import checked_vectors
from fenchel.errors import InvalidData
from fenchel.estimators.base import WithIntercept
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import loss_of
from fenchel.losses import Labels, Loss, VectorLoss
from fenchel.posing import column_names
from fenchel.result import Result
from fenchel.risks.base import Array


@declared
class MultivariateRegressor(RegressorMixin, WithIntercept):
    """Linear regression of several targets at once, to a certified gap.

    Minimises alpha * penalty(W) + mean of 1/2 (W x + b - y)' M (W x + b - y), the mean weighted by
    sample_weight: a line of W for each target. With M the identity and penalty="l2" this is ridge
    regression of each target; M, the inverse covariance of their noise, lets targets that are known
    better count for more.

    Parameters
    ----------
    loss : "multivariate_squared" or VectorLoss, default="multivariate_squared"
        The loss; an instance may be of your own class, with a value, a slope and
        `labels = Labels.VECTORS`.
    M : array-like of shape (n_targets, n_targets), default=None
        A positive semidefinite matrix; None for the identity.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many targets and columns.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        The weights W.
    intercept_ : ndarray of shape (n_targets,)
        The offsets b.
    target_names_ : ndarray of str
        The names of the targets, only if y was a table.

    Examples
    --------
    >>> from fenchel import MultivariateRegressor
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1.0, 0.0], [3.0, -1.0], [5.0, -2.0], [7.0, -3.0]]
    >>> model = MultivariateRegressor(alpha=1e-6).fit(X, Y)
    >>> model.predict([[4.0]]).round(2)
    array([[ 9., -4.]])
    >>> model.coef_.shape, model.result_.converged
    ((2, 1), True)
    """

    loss: str | VectorLoss = "multivariate_squared"
    M: npt.ArrayLike | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _loss(self) -> Loss:
        return loss_of(self.loss, (Labels.VECTORS,), {"M": self.M})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimises the objective over the rows of X, their targets and their weights.

        y has a row for each of X and a column for each target.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight))

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        rows = self._rows(X, reset=True)
        targets = checked_vectors(self._target(y), rows.n_rows)
        names = column_names(y)
        weights = checked_weights(sample_weight, rows.n_rows)
        problems = settings.problems(rows, [targets], weights)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self.coef_, self.intercept_ = result.w, np.asarray(result.intercept)
            if names is not None:
                self.target_names_ = np.array(names, dtype=object)
            elif hasattr(self, "target_names_"):
                del self.target_names_

        starts = self._starts((targets.y.shape[1], rows.n_columns))
        start = None if starts[0] is None else np.asarray(starts)
        return Posed(settings, problems, [start], adopt)

    def _target(self, y: Any) -> Any:
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        return y

    def _state(self) -> State:
        """With the names of two or more targets in the place of classes."""
        names = getattr(self, "target_names_", np.empty(0, dtype=object))
        named = len(names) > 1 and len(set(names)) == len(names)
        n_targets = {"n_targets": np.array([len(self.coef_)], dtype=np.int64)}
        return replace(super()._state(), classes=names if named else None, more=n_targets)

    def _restore(self, saved: Saved) -> None:
        n_targets = int(saved.array("n_targets", np.int64, (1,))[0])
        if "classes" in saved:
            self.target_names_ = saved.classes()
            if self.target_names_.dtype.kind != "O" or len(self.target_names_) != n_targets:
                raise InvalidData(f"it has no names for its {n_targets} targets")
        shape = max(n_targets, 0), self.n_features_in_
        self.coef_, self.intercept_ = self._restored_lines(saved, shape, together=True)

    def predict(self, X: Any) -> Array:
        """The predictions for each row of X, in a column for each target."""
        return self._scores(X)
