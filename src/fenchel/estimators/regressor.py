"""Regression: real targets and quantiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

from sklearn.base import RegressorMixin

from fenchel.data.checked import checked_labels, checked_offset, checked_weights
from fenchel.data.classes import Targets
from fenchel.engines.owners import Owners
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.fitting import Posed
from fenchel.estimators.settings import loss_of
from fenchel.losses import Labels, Loss, Quantile, ScalarLoss
from fenchel.regularizers import Regularizer
from fenchel.result import Record, Result
from fenchel.risks.base import Array
from fenchel.solvers import Solver


class LinearRegressor(RegressorMixin, LinearEstimator):
    """A linear model of numbers."""

    fit_intercept: bool

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimises the objective over the rows of X, their targets y and their weights.

        With `Owners` for X, who have rows and targets, there is nothing else to give.
        """
        return self._fit(self._posed(X, y, sample_weight))

    def _posed(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> Posed:
        settings = self._settings(fit_intercept=self.fit_intercept)
        if isinstance(X, Owners):
            return self._across(X, settings, (y, sample_weight, offset), self._adopt)
        rows = self._rows(X, reset=True)
        labels = checked_labels(self._target(y), settings.loss.labels, rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)
        added = checked_offset(offset, rows.n_rows)
        problems = settings.problems(rows, [Targets(labels)], weights, offset=added)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), self._adopt)

    def _adopt(self, results: list[Result]) -> None:
        (result,) = results
        self.coef_, self.intercept_ = result.w, result.intercept

    def predict(self, X: Any) -> Array:
        """The prediction for each row of X."""
        return self._scores(X)[:, 0]


class Regressor(LinearRegressor):
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
    penalty : {"l2", "l1", "elastic_net"} or Regularizer, default="l2"
        The regulariser; "elasticnet" is understood too.
    alpha : float, default=1e-4
        Its strength, against the mean (not the sum) of the losses.
    l1_ratio : float, default=0.5
        For the elastic net: the share of L1, from 0 (all L2) to 1 (all L1).
    fit_intercept : bool, default=True
        Whether the model has an intercept; it is never penalised.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses by loss and penalty. The names are those of
        `fenchel.minimize`: "lbfgs", "owlqn", "ls-bmrm", "sublbfgs", "hybrid" and others.
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
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : float
        The offset b.
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
    >>> from fenchel import Regressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [1.0, 3.0, 5.0, 7.0, 90.0]
    >>> robust = Regressor(loss="absolute_error").fit(X, y)
    >>> robust.predict([[4.0]]).round(1)
    array([9.])
    >>> robust.status_
    'converged'
    """

    def __init__(
        self,
        *,
        loss: str | ScalarLoss = "squared_error",
        epsilon: float = 0.1,
        delta: float = 1.0,
        quantile: float = 0.5,
        expectile: float = 0.5,
        penalty: str | Regularizer = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
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
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.quantile = quantile
        self.expectile = expectile
        self.fit_intercept = fit_intercept

    def _loss(self) -> Loss:
        return loss_of(self.loss, (Labels.REAL,), self.get_params(deep=False))


class QuantileRegressor(LinearRegressor):
    """Linear model of a quantile of the target, to a certified gap.

    Minimises alpha * penalty(w) + mean of max(q (y - z), (1 - q) (z - y)) over the scores
    z = <x, w> + b, q the quantile. With penalty="l1" this is scikit-learn's QuantileRegressor.

    Parameters
    ----------
    quantile : float, default=0.5
        The level q, strictly between 0 and 1.
    penalty : {"l2", "l1", "elastic_net"} or Regularizer, default="l2"
        The regulariser; "elasticnet" is understood too.
    alpha : float, default=1e-4
        Its strength, against the mean (not the sum) of the losses.
    l1_ratio : float, default=0.5
        For the elastic net: the share of L1, from 0 (all L2) to 1 (all L1).
    fit_intercept : bool, default=True
        Whether the model has an intercept; it is never penalised.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses by loss and penalty. The names are those of
        `fenchel.minimize`: "lbfgs", "owlqn", "ls-bmrm", "sublbfgs", "hybrid" and others.
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
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : float
        The offset b.
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
    >>> from fenchel import QuantileRegressor
    >>> X, y = [[0.0]] * 10, list(range(10))
    >>> bool(7 <= QuantileRegressor(quantile=0.8).fit(X, y).predict([[0.0]])[0] <= 8)
    True
    """

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        penalty: str | Regularizer = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
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
        self.quantile = quantile
        self.fit_intercept = fit_intercept

    def _loss(self) -> Loss:
        return Quantile(self.quantile)
