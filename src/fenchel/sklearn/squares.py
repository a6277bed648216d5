"""scikit-learn's least squares: ridge, lasso and elastic net, of one target or of several.

The elastic net's F is our J: mean of squares / 2, the mean weighted, plus alpha Omega; f = 1. That
of ridge regression is sum_i s_i r_i^2 + alpha ||w||^2: f = 2 S, p = 2 alpha, strength = alpha / S.
Several targets are minimisations of their own, which share X.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.linear_model import ElasticNet as BaseElasticNet
from sklearn.linear_model import Lasso as BaseLasso
from sklearn.linear_model import Ridge as BaseRidge

from fenchel.data.checked import unmasked
from fenchel.data.frames import is_frame
from fenchel.errors import InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.regressor import Regressor
from fenchel.risks.base import Array
from fenchel.sklearn.core import (
    LEAST_GAP,
    NEARLY_ZERO,
    DropIn,
    Task,
    penalty_of,
    total,
    weights_of,
    with_our_solvers,
)
from fenchel.sklearn.files import Found


class Squares(DropIn):
    """A drop-in of squared errors, of one target or of several."""

    fit_intercept: bool
    positive: bool

    def _each(
        self, y: Any, s: Array | None, strengths: Any, factor: float, l1_ratio: float
    ) -> list[Task]:
        """A task for each column of y, at the strength of that column or of all."""
        columns = columns_of(y)
        self._flat = columns is None
        each = [y] if columns is None else list(columns.T)
        strengths = np.ravel(strengths)
        if len(strengths) not in (1, len(each)):
            raise InvalidData(
                "Number of targets and number of penalties do not correspond: "
                f"{len(strengths)} != {len(each)}"
            )
        return [
            Task(self._model(k, float(strength), l1_ratio), target, s, factor)
            for k, (target, strength) in enumerate(
                zip(each, np.broadcast_to(strengths, len(each)), strict=True)
            )
        ]

    def _model(self, k: int, strength: float, l1_ratio: float) -> LinearEstimator:
        if strength == 0 and self.positive:
            strength = NEARLY_ZERO
        settings, share = self._common(), l1_ratio if strength else 0.0
        smooth = share == 0 and not self.positive
        # scikit-learn's ridge regression is direct at any tol; other penalties gain nothing below.
        nearest = min if smooth else max
        settings["tol"] = nearest(settings["tol"], LEAST_GAP)
        settings["solver"] = self._method(settings["solver"], smooth)
        model = Regressor(
            penalty=penalty_of(share),
            l1_ratio=l1_ratio,
            alpha=strength,
            lower=0.0 if self.positive else None,
            fit_intercept=self.fit_intercept,
            **settings,
        )
        return self._warmed(model, slice(k, k + 1))

    def _method(self, solver: Any, smooth: bool) -> Any:
        """The solver: what the user says, else what suits squares."""
        if solver != "auto" or smooth:
            return solver
        return "proximal-gradient" if self.positive else "column-descent"


class ElasticNet(Squares, BaseElasticNet):
    """scikit-learn's ElasticNet, to a certified gap.

    `precompute`, `selection`, `random_state` and `copy_X` have no effect; X is never changed.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Minimises scikit-learn's objective to a certified gap; X and y are always checked."""
        return self._minimise(X, self._tasks(X, y, weights_of(X, sample_weight)))

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        return self._each(y, s, self.alpha, 1.0, float(self.l1_ratio))

    def _adopt(self, found: Found) -> None:
        one = len(found.coef) == 1
        self.coef_ = found.coef[0] if one else found.coef
        self.dual_gap_ = float(found.gaps[0]) if one else found.gaps
        self.n_iter_ = found.n_iter[0] if one else found.n_iter
        self.intercept_ = _intercept(self, found.intercept)


class Lasso(ElasticNet, BaseLasso):
    """scikit-learn's Lasso, to a certified gap.

    `precompute`, `selection`, `random_state` and `copy_X` have no effect; X is never changed.
    """


class Ridge(Squares, BaseRidge):
    """scikit-learn's Ridge, to a certified gap; `copy_X` and `random_state` have no effect."""

    _parameter_constraints = with_our_solvers(BaseRidge._parameter_constraints)

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        S = total(X, s)
        return self._each(y, s, np.asarray(self.alpha, dtype=np.float64) / S, 2 * S, 0.0)

    def _adopt(self, found: Found) -> None:
        self.coef_ = found.coef[0] if len(found.coef) == 1 else found.coef
        self.intercept_ = _intercept(self, found.intercept)
        self.n_iter_ = np.array(found.n_iter, dtype=np.int32)


def columns_of(y: Any) -> Array | None:
    """The targets in columns, if there are columns."""
    if is_frame(y):
        y = y.to_numpy()
    y = np.asarray(y) if isinstance(y, list | tuple) else unmasked("y", y)
    return y if isinstance(y, np.ndarray) and y.ndim == 2 else None


def _intercept(self: Any, intercept: Array) -> Any:
    if not self.fit_intercept:
        return 0.0
    return intercept[0] if self._flat else intercept
