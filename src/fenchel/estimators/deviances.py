"""Regression by a deviance: counts, positive numbers, and sums of them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from fenchel.estimators.regressor import LinearRegressor
from fenchel.losses import Gamma, Loss, Poisson, Tweedie
from fenchel.regularizers import Regularizer
from fenchel.result import Record
from fenchel.risks.base import Array
from fenchel.solvers import Solver


class LogLinkRegressor(LinearRegressor):
    """A linear model of the logarithm of what is predicted, fitted by a deviance."""

    def __init__(
        self,
        *,
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
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @abstractmethod
    def _deviance_power(self) -> float:
        """The power of the mean to which the variance is proportional; it names the deviance."""

    def predict(self, X: Any) -> Array:
        """The expected target for each row of X."""
        return np.exp(super().predict(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the deviance that is explained: D^2, 1 at best."""
        power = self._deviance_power()
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power))


class PoissonRegressor(LogLinkRegressor):
    """Linear model of the logarithm of a rate, for counts, to a certified gap.

    Minimises alpha * penalty(w) + mean of half the Poisson deviance of exp(<x, w> + b) from y. With
    penalty="l2" this is scikit-learn's PoissonRegressor.

    Parameters
    ----------
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
    >>> from fenchel import PoissonRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 2, 4, 8]
    >>> model = PoissonRegressor(tol=1e-6).fit(X, y)
    >>> model.predict([[4.0]]).round()
    array([16.])
    """

    def _loss(self) -> Loss:
        return Poisson()

    def _deviance_power(self) -> float:
        return 1.0


class GammaRegressor(LogLinkRegressor):
    """Linear model of the logarithm of positive numbers that spread with their size.

    Minimises alpha * penalty(w) + mean of half the gamma deviance of exp(<x, w> + b) from y > 0, to
    a certified gap. With penalty="l2" this is scikit-learn's GammaRegressor.

    Parameters
    ----------
    penalty, alpha, l1_ratio, fit_intercept, solver, tol, max_iter, max_seconds, warm_start, \
            n_jobs, callback, checkpoint
        As in `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, objective_, lower_bound_, gap_, status_, n_iter_, solver_, result_, \
            n_features_in_, feature_names_in_
        As in `PoissonRegressor`.

    Examples
    --------
    >>> from fenchel import GammaRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 4.0, 8.0]
    >>> model = GammaRegressor(alpha=1e-6, tol=1e-6).fit(X, y)
    >>> model.predict([[4.0]]).round(1)
    array([16.])
    """

    def _loss(self) -> Loss:
        return Gamma()

    def _deviance_power(self) -> float:
        return 2.0


class TweedieRegressor(LogLinkRegressor):
    """Linear model of the logarithm of a mean, for sums of a few positive numbers, many of them 0.

    Minimises alpha * penalty(w) + mean of half the Tweedie deviance of exp(<x, w> + b) from y >= 0,
    to a certified gap. With penalty="l2" this is scikit-learn's TweedieRegressor with its log link.

    Parameters
    ----------
    power : float, default=1.5
        The power of the mean to which the variance is proportional, strictly between 1, which is
        `PoissonRegressor`, and 2, which is `GammaRegressor`.
    penalty, alpha, l1_ratio, fit_intercept, solver, tol, max_iter, max_seconds, warm_start, \
            n_jobs, callback, checkpoint
        As in `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, objective_, lower_bound_, gap_, status_, n_iter_, solver_, result_, \
            n_features_in_, feature_names_in_
        As in `PoissonRegressor`.

    Examples
    --------
    >>> from fenchel import TweedieRegressor
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]], [0.0, 2.0, 3.0, 5.0]
    >>> model = TweedieRegressor(alpha=1e-6, tol=1e-6).fit(X, y)
    >>> model.predict([[0.0], [1.0]]).round(1)
    array([1., 4.])
    """

    def __init__(
        self,
        *,
        power: float = 1.5,
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
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_seconds=max_seconds,
            warm_start=warm_start,
            n_jobs=n_jobs,
            callback=callback,
            checkpoint=checkpoint,
        )
        self.power = power

    def _loss(self) -> Loss:
        return Tweedie(self.power)

    def _deviance_power(self) -> float:
        return self.power
