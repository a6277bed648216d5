"""Regression: real targets and quantiles."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from fenchel.data.checked import checked_labels, checked_offset, checked_weights
from fenchel.data.classes import Targets
from fenchel.engines.owners import Owners
from fenchel.estimators.base import WithIntercept
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.kernelised import WithKernel
from fenchel.estimators.protocol import Saved
from fenchel.estimators.settings import loss_of
from fenchel.estimators.summaries import WithSummary
from fenchel.losses import Labels, Loss, Quantile, ScalarLoss
from fenchel.result import Result
from fenchel.risks.base import Array


@declared
class LinearRegressor(RegressorMixin, WithSummary, WithIntercept):
    """A linear model of numbers."""

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Minimises the objective over the rows of X, their targets y and their weights.

        `eval_set` has rows that are held out, (X, y) or (X, y, sample_weight): each iterate is
        scored on them, and the fit may stop by it (`early_stopping_rounds`).

        With `Owners` for X, who have rows and targets, there is nothing else to give.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        if isinstance(X, Owners):
            return self._across(X, settings, (y, sample_weight, offset), self._adopt)
        rows = self._rows(X, reset=True)
        labels = checked_labels(self._target(y), settings.loss.labels, rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)
        added = checked_offset(offset, rows.n_rows)
        problems = settings.problems(rows, [Targets(labels)], weights, offset=added)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), self._adopt)

    def _adopt(self, results: list[Result]) -> None:
        self._learn(*self._lines(results))

    def _lines(self, results: list[Result]) -> tuple[Array, Any]:
        """The coefficients and the intercept that results stand for."""
        (result,) = results
        return result.w, result.intercept

    def _restore(self, saved: Saved) -> None:
        self._adopt_restored(*self._restored_line(saved, self.n_features_in_))

    def predict(self, X: Any) -> Array:
        """The prediction for each row of X."""
        return self._predicted(self._scores(X))

    def _predicted(self, scores: Array) -> Array:
        """What scores, in the last axis, predict."""
        return scores[..., 0]


@declared
class Regressor(WithKernel, LinearRegressor):
    """Linear regression with any convex loss, to a certified gap.

    Minimises alpha * penalty(w) + mean of loss(<x, w> + b, y), the mean weighted by sample_weight.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "epsilon_insensitive", \
            "squared_epsilon_insensitive", "quantile", "expectile"} or ScalarLoss, \
            default="squared_error"
        The loss; an instance may be of your own class, with a value and a slope.
    epsilon : float, default=0.1
        For the two epsilon-insensitive losses: errors up to it cost nothing.
    delta : float, default=1.0
        For "huber": where the loss turns from quadratic to linear.
    quantile : float, default=0.5
        For "quantile": the level.
    expectile : float, default=0.5
        For "expectile": the level.

    Examples
    --------
    >>> from fenchel import Regressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 90.0]
    >>> robust = Regressor(loss="absolute_error").fit(X, y)
    >>> robust.predict([[4.0]]).round(1)
    array([9.])
    >>> robust.status_
    'converged'
    """

    loss: str | ScalarLoss = "squared_error"
    epsilon: float = 0.1
    delta: float = 1.0
    quantile: float = 0.5
    expectile: float = 0.5

    def _loss(self) -> Loss:
        return loss_of(self.loss, (Labels.REAL,), vars(self))


@declared
class QuantileRegressor(LinearRegressor):
    """Linear model of a quantile of the target, to a certified gap.

    Minimises alpha * penalty(w) + mean of max(q (y - z), (1 - q) (z - y)) over the scores
    z = <x, w> + b, q the quantile. With penalty="l1" this is scikit-learn's QuantileRegressor.

    Parameters
    ----------
    quantile : float, default=0.5
        The level q, strictly between 0 and 1.

    Examples
    --------
    >>> from fenchel import QuantileRegressor
    >>> X, y = [[0.0]] * 10, list(range(10))
    >>> bool(7 <= QuantileRegressor(quantile=0.8).fit(X, y).predict([[0.0]])[0] <= 8)
    True
    """

    quantile: float = 0.5

    def _loss(self) -> Loss:
        return Quantile(self.quantile)
