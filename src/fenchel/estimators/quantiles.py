"""Several quantiles at once that do not cross, and prediction intervals.

Let u in [0, 1]^p be the columns scaled by their least and largest values in training. An affine
function f(u) = c + sum_j g_j u_j is >= 0 on that box if and only if it is >= 0 at its worst corner,
c - sum_j max(0, -g_j) >= 0; that is, if and only if it is

    f(u) = r + sum_j p_j u_j + sum_j m_j (1 - u_j)    with r, p_j, m_j >= 0

(take p_j = max(0, g_j), m_j = max(0, -g_j), r what is left). So the lowest quantile as any affine
function, and each further one as the one below it plus such an f, are all families of affine
functions that do not cross on the box, and no others: the constraints of Bondell, Reich & Wang
(2010). What they are as a problem is one of rows, each repeated for every level with the columns of
all increments up to it, under bounds >= 0; one problem, one certificate.

Intervals between two quantiles cover what they say only as far as the model is right. Conformalized
(Romano, Patterson & Candes 2019) they do so whatever the model: with E_i = max(low_i - y_i, y_i -
high_i) of n other rows, and e the k-th least of them, k = ceil((n + 1) coverage), a new row that is
exchangeable with these n lies in [low - e, high + e] with a probability of at least the coverage.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score

from fenchel.data.blocks import Blocks
from fenchel.data.checked import checked_labels, checked_weights
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows
from fenchel.errors import Incompatible, InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.losses import Labels, Loss, Quantile
from fenchel.losses.levels import QuantileLevels
from fenchel.regularizers import Boxed
from fenchel.result import Result
from fenchel.risks.base import Array


@declared
class MultiQuantileRegressor(RegressorMixin, LinearEstimator):
    """Linear models of several quantiles of the target, which do not cross, to a certified gap.

    One problem has them all: over the box of the columns' values in training the model of a higher
    level is nowhere below that of a lower one, and of all such models these have the least mean of
    the quantile losses, plus alpha times the penalty. That is one of the coefficients of the lowest
    quantile and of the increments from each to the next, for columns scaled to [0, 1] and a target
    scaled by its mean distance from its mean. Beyond the box predictions are put in order.

    `predict` gives a column for each quantile, `predict_interval` the first and the last of them,
    which `conformalize` widens or narrows to what they say they cover.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.05, 0.5, 0.95)
        Two or more levels, rising, strictly between 0 and 1.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "bmrm".
    lower : None
        Not for this estimator: the increments are bounded already.
    upper : None
        Not for this estimator.
    warm_start : bool, default=False
        Without effect here: fits start from the same place.

    Attributes
    ----------
    coef_ : ndarray of shape (n_quantiles, n_features)
        The weights of each quantile's model.
    intercept_ : ndarray of shape (n_quantiles,)
        Their offsets.
    box_ : ndarray of shape (2, n_features)
        The least and the largest value of each column in training.
    margin_ : float
        By how much `conformalize` moved the ends of intervals outwards; 0 before.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import MultiQuantileRegressor
    >>> x = np.linspace(0, 1, 200)
    >>> y = x * np.resize([-1.0, -0.5, 0.0, 0.5, 1.0], 200)
    >>> model = MultiQuantileRegressor(quantiles=(0.1, 0.5, 0.9), alpha=1e-6).fit(x[:, None], y)
    >>> bool((np.diff(model.predict(x[:, None]), axis=1) >= 0).all())
    True
    >>> model.predict_interval([[1.0]]).round(1)
    array([[-1.,  1.]])
    """

    quantiles: Sequence[float] = (0.05, 0.5, 0.95)

    def _loss(self) -> Loss:
        return Quantile(self._levels()[0])

    def _levels(self) -> list[float]:
        """The levels, each checked, and that they rise."""
        if isinstance(self.quantiles, str) or not hasattr(self.quantiles, "__len__"):
            raise InvalidData(f"quantiles must be a sequence of levels; got {self.quantiles!r}")
        levels = [Quantile(level).quantile for level in self.quantiles]
        if len(levels) < 2 or any(a >= b for a, b in itertools.pairwise(levels)):
            raise InvalidData(
                f"quantiles must be two or more levels that rise; got {self.quantiles!r}"
            )
        return levels

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Minimises the objective over the rows of X, their targets y and their weights."""
        return self._fit(self._posed(X, y, sample_weight=sample_weight))

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        if isinstance(settings.regularizer, Boxed):
            raise Incompatible(
                "the increments between quantiles are bounded already: leave lower and upper out"
            )
        levels, rows = self._levels(), self._rows(X, reset=True)
        if isinstance(rows, Blocks):
            raise Incompatible("quantiles together need all rows in memory: give X as an array")
        target = checked_labels(self._target(y), Labels.REAL, rows.n_rows)
        weights = checked_weights(sample_weight, rows.n_rows)
        values = _dense(rows.matrix())
        counted = values if weights is None else values[weights > 0]
        box = np.array([counted.min(axis=0), counted.max(axis=0)])
        span = np.where(box[1] > box[0], box[1] - box[0], 1.0)
        n, m, p = rows.n_rows, len(levels), rows.n_columns
        stacked = dataclasses.replace(
            settings,
            loss=QuantileLevels(np.tile(target, m), np.repeat(levels, n)),
            regularizer=Boxed(settings.regularizer, lower=_lowest(p, m)),
            strength=settings.strength / _scale(target, weights),
            intercept=True,
        )

        def adopt(results: list[Result]) -> None:
            lines = _lines(results[0].w, float(results[0].intercept), p, m)
            self.coef_ = lines[:, 1:] / span
            self.intercept_ = lines[:, 0] - self.coef_ @ box[0]
            self.box_, self.margin_ = box, 0.0

        problems = stacked.problems(
            DenseRows(stacked_rows((values - box[0]) / span, m)),
            [Targets(np.arange(n * m, dtype=np.float64))],
            None if weights is None else np.tile(weights, m),
        )
        return Posed(stacked, problems, [None], adopt)

    def predict(self, X: Any) -> Array:
        """The quantiles for each row of X, in a column for each level."""
        return np.sort(self._scores(X), axis=1)

    def predict_interval(self, X: Any) -> Array:
        """From the lowest to the highest quantile for each row of X, and what conformalize adds."""
        return self._widened(self.predict(X), self.margin_)

    def _widened(self, quantiles: Array, margin: float) -> Array:
        low, high = quantiles[:, 0], quantiles[:, -1]
        middle = (low + high) / 2  # no end goes beyond it, whatever is taken off
        return np.column_stack(
            [np.minimum(low - margin, middle), np.maximum(high + margin, middle)]
        )

    def conformalize(self, X: Any, y: Any, coverage: float | None = None) -> Self:
        """Makes intervals cover new rows with the probability `coverage`, at least.

        By default that is what lies between the outer levels. The rows of X and y must not have
        been fitted; they and new ones must be exchangeable, as draws from one population are.
        """
        levels = self._levels()
        wanted = levels[-1] - levels[0] if coverage is None else coverage
        if not (isinstance(wanted, float) and 0 < wanted < 1):
            raise InvalidData(f"coverage must be between 0 and 1; got {coverage!r}")
        quantiles = self.predict(X)
        target = checked_labels(self._target(y), Labels.REAL, len(quantiles))
        missed = np.maximum(quantiles[:, 0] - target, target - quantiles[:, -1])
        n = len(target)
        k = math.ceil((n + 1) * wanted * (1 - 1e-12))  # 0.9 * 10 is not quite 9
        if k > n:
            least = math.ceil(wanted / (1 - wanted) * (1 - 1e-12))
            raise InvalidData(
                f"{n} rows cannot tell what {wanted:g} of all rows are: give {least} or more"
            )
        self.margin_ = float(np.partition(missed, k - 1)[k - 1])
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the quantile losses that is explained, the mean over the levels."""
        quantiles, target = self.predict(X), self._target(y)
        each = [
            d2_pinball_score(target, quantiles[:, k], alpha=level, sample_weight=sample_weight)
            for k, level in enumerate(self._levels())
        ]
        return float(np.mean(each))

    def _state(self) -> State:
        """Of the result, which is one of increments, the lines that they add up to."""
        (result,) = super()._state().results
        shown = dataclasses.replace(result, w=self.coef_, intercept=self.intercept_)
        more = {"box": np.asarray(self.box_, "f8").ravel(), "margin": np.array([self.margin_])}
        return dataclasses.replace(super()._state(), results=[shown], more=more)

    def _restore(self, saved: Saved) -> None:
        shape = len(self._levels()), self.n_features_in_
        self.coef_, self.intercept_ = self._restored_lines(saved, shape, together=True)
        self.box_ = saved.numbers("box", 2 * self.n_features_in_).reshape(2, -1)
        self.margin_ = float(saved.numbers("margin", 1)[0])


def _dense(matrix: Any) -> Array:
    """A matrix as an array of float64."""
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return np.asarray(dense, dtype=np.float64)


def stacked_rows(U: Array, m: int) -> Array:
    """The rows of all levels, one level after the other: see the top of the file.

    The columns are those of the lowest quantile, then 1, u and 1 - u for each increment.
    """
    n, p = U.shape
    width = 2 * p + 1
    stacked = np.zeros((m, n, p + (m - 1) * width))
    stacked[:, :, :p] = U
    for k in range(1, m):
        start = p + (k - 1) * width
        stacked[k:, :, start] = 1.0
        stacked[k:, :, start + 1 : start + 1 + p] = U
        stacked[k:, :, start + 1 + p : start + width] = 1.0 - U
    return stacked.reshape(m * n, -1)


def _lowest(p: int, m: int) -> Array:
    """-inf for the lowest quantile, 0 for increments."""
    return np.append(np.full(p, -np.inf), np.zeros((m - 1) * (2 * p + 1)))


def _lines(w: Array, b: float, p: int, m: int) -> Array:
    """(offset, weights of u) of each quantile, from the lowest and the increments."""
    lines = [np.append(b, w[:p])]
    for each in w[p:].reshape(m - 1, -1):
        rest, up, down = np.split(each, [1, p + 1])
        lines.append(lines[-1] + np.append(rest[0] + down.sum(), up - down))
    return np.array(lines)


def _scale(target: Array, weights: Array | None) -> float:
    """The mean distance of the targets from their mean; 1 if they are all the same."""
    far = np.abs(target - np.average(target, weights=weights))
    return float(np.average(far, weights=weights)) or 1.0
