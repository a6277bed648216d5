"""Regression by a deviance: counts, positive numbers, and sums of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from fenchel.data.checked import checked_offset
from fenchel.estimators.declared import declared
from fenchel.estimators.regressor import LinearRegressor
from fenchel.losses import Gamma, Loss, Poisson, Tweedie
from fenchel.risks.base import Array


@declared
class LogLinkRegressor(LinearRegressor):
    """A linear model of the logarithm of what is predicted, fitted by a deviance.

    Where rows were watched for longer or shorter, `offset` of fit, predict and score takes the
    logarithm of each row's exposure: what is expected is then exposure * exp(<x, w> + b).
    """

    _takes_offset: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @abstractmethod
    def _deviance_power(self) -> float:
        """The power of the mean to which the variance is proportional; it names the deviance."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        eval_set: Any = None,
    ) -> Self:
        """Minimises the objective over the rows of X, their targets y, weights and offsets.

        `eval_set` has rows that are held out, (X, y), (X, y, sample_weight) or with a dict of both,
        {"offset": ...}: each iterate is scored on them, and the fit may stop by it.

        With `Owners` for X, who have rows and targets, there is nothing else to give.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight, offset=offset), eval_set)

    def predict(self, X: Any, offset: Any = None) -> Array:
        """The expected target for each row of X, with the offsets of these rows."""
        scores = super().predict(X)
        added = checked_offset(offset, len(scores))
        return np.exp(scores if added is None else scores + added)

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """The share of the deviance that is explained: D^2, 1 at best."""
        means, power = self.predict(X, offset), self._deviance_power()
        return float(d2_tweedie_score(y, means, sample_weight=sample_weight, power=power))


@declared
class PoissonRegressor(LogLinkRegressor):
    """Linear model of the logarithm of a rate, for counts, to a certified gap.

    Minimises alpha * penalty(w) + mean of half the Poisson deviance of exp(<x, w> + b) from y. With
    penalty="l2" this is scikit-learn's PoissonRegressor. Where rows were watched for longer or
    shorter, `offset` of fit, predict and score takes the logarithm of each row's exposure: the
    expected count is then exposure * exp(<x, w> + b).

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


@declared
class GammaRegressor(LogLinkRegressor):
    """Linear model of the logarithm of positive numbers that spread with their size.

    Minimises alpha * penalty(w) + mean of half the gamma deviance of exp(<x, w> + b) from y > 0, to
    a certified gap. With penalty="l2" this is scikit-learn's GammaRegressor. An `offset` of fit,
    predict and score is added to each row's score, as in `PoissonRegressor`.

    Examples
    --------
    >>> from fenchel import GammaRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 4.0, 8.0]
    >>> model = GammaRegressor(alpha=1e-6, tol=1e-4).fit(X, y)
    >>> model.predict([[4.0]]).round(1)
    array([16.])
    """

    def _loss(self) -> Loss:
        return Gamma()

    def _deviance_power(self) -> float:
        return 2.0


@declared
class TweedieRegressor(LogLinkRegressor):
    """Linear model of the logarithm of a mean, for sums of a few positive numbers, many of them 0.

    Minimises alpha * penalty(w) + mean of half the Tweedie deviance of exp(<x, w> + b) from y >= 0,
    to a certified gap. With penalty="l2" this is scikit-learn's TweedieRegressor with its log link.
    An `offset` of fit, predict and score is added to each row's score, as in `PoissonRegressor`.

    Parameters
    ----------
    power : float, default=1.5
        The power of the mean to which the variance is proportional, strictly between 1, which is
        `PoissonRegressor`, and 2, which is `GammaRegressor`.

    Examples
    --------
    >>> from fenchel import TweedieRegressor
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]], [0.0, 2.0, 3.0, 5.0]
    >>> model = TweedieRegressor(alpha=1e-6, tol=1e-4).fit(X, y)
    >>> model.predict([[0.0], [1.0]]).round(1)
    array([1., 4.])
    """

    power: float = 1.5

    def _loss(self) -> Loss:
        return Tweedie(self.power)

    def _deviance_power(self) -> float:
        return self.power
