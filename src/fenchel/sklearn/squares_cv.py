"""scikit-learn's lasso and elastic net whose alpha is chosen by cross-validation.

The folds are fitted as those of `fenchel.RegressorCV` are: a path of fits on each, which use what
is known of all rows. The model at the best alpha is one of squares.py.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNetCV as BaseElasticNetCV
from sklearn.linear_model import LassoCV as BaseLassoCV
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import check_scalar

from fenchel.callers import users_line
from fenchel.estimators.fitting import Posed
from fenchel.estimators.validation import Validation, validated
from fenchel.risks.base import Array
from fenchel.sklearn.core import DropIn, weights_of
from fenchel.sklearn.routing import of_splitter
from fenchel.sklearn.squares import ElasticNet, Lasso

_SMALLEST = float(np.finfo(np.float64).resolution)  # scikit-learn's alphas where w = 0 is best


class SquaresCV(DropIn):
    """What chooses alpha, and the share of L1 where there is one."""

    alphas: Any
    cv: Any
    eps: float
    positive: bool

    def _get_estimator(self) -> ElasticNet:
        """The estimator of one alpha."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Finds the alpha with the least mean squared error, then the model of it on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows, in fits and in errors.
        **params : dict
            What goes to the splitter, if the routing of metadata is enabled.

        Returns
        -------
        self
            The fitted estimator.
        """
        more = of_splitter(self, sample_weight, params)
        s, (X, y) = weights_of(X, sample_weight), indexable(X, y)
        folds = list(check_cv(self.cv).split(X, y, **more))
        ratios = np.atleast_1d(getattr(self, "l1_ratio", 1.0)).tolist()
        grids, found = zip(*[self._tried(ratio, X, y, s, folds) for ratio in ratios], strict=True)
        errors = np.stack([-each.scores for each in found])  # ratios, alphas, folds
        best = np.unravel_index(np.argmin(errors.mean(axis=2)), errors.shape[:2])
        self.mse_path_ = np.squeeze(errors)
        several = len(ratios) > 1 and isinstance(self.alphas, numbers.Integral)
        self.alphas_ = np.array(grids) if several else grids[0]
        self._become(self._at(float(grids[best[0]][best[1]]), ratios[best[0]]).fit(X, y, s))
        n_short = sum(each.n_short for each in found)
        if n_short:
            text = f"{n_short} of the fits that chose alpha stopped short of tol"
            warnings.warn(text, ConvergenceWarning, stacklevel=users_line())
        return self

    def _tried(
        self, ratio: float, X: Any, y: Any, s: Array | None, folds: Sequence[Any]
    ) -> tuple[Array, Validation]:
        """The alphas of a share of L1, and their negative errors on the folds."""
        model = self._at(1.0, ratio)._model(0, 1.0, ratio)
        whole = model._posed(X, y, sample_weight=s).kept()
        alphas = self._grid(whole, ratio)
        tried, which = np.unique(-alphas, return_inverse=True)
        found = validated(
            model,
            X,
            y,
            alphas=(-tried).tolist(),
            cv=folds,
            scoring="neg_mean_squared_error",
            whole=whole,
            sample_weight=s,
        )
        return alphas, Validation(found.scores[which], found.interrupted, found.n_short)

    def _grid(self, whole: Posed, ratio: float) -> Array:
        """The alphas to try, the largest first."""
        if isinstance(self.alphas, numbers.Integral):
            (problem,) = whole.problems
            largest = _vanishing(problem, self.positive, ratio)
            if largest <= _SMALLEST:
                return np.full(int(self.alphas), _SMALLEST)
            return np.geomspace(largest, largest * self.eps, num=int(self.alphas))
        for k, alpha in enumerate(self.alphas):
            check_scalar(alpha, f"alphas[{k}]", numbers.Real, min_val=0.0)
        return np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]

    def _at(self, alpha: float, ratio: float) -> ElasticNet:
        """The estimator of one alpha, with all settings that it shares with this one."""
        model = self._get_estimator()
        names = set(model.get_params()) & set(vars(self)) - {"precompute"}
        model.set_params(**{name: vars(self)[name] for name in names})
        chosen = {"alpha": alpha, "l1_ratio": ratio}
        model.set_params(**{k: v for k, v in chosen.items() if k in model.get_params()})
        return model

    def _become(self, model: ElasticNet) -> None:
        vars(self).pop("feature_names_in_", None)
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.best_estimator_, self.alpha_ = model, model.alpha
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = model.l1_ratio


class ElasticNetCV(SquaresCV, BaseElasticNetCV):
    """scikit-learn's ElasticNetCV, the chosen model to a certified gap."""

    def _get_estimator(self) -> ElasticNet:
        return ElasticNet()


class LassoCV(SquaresCV, BaseLassoCV):
    """scikit-learn's LassoCV, the chosen model to a certified gap."""

    def _get_estimator(self) -> ElasticNet:
        return Lasso()


def _vanishing(problem: Any, positive: bool, ratio: float) -> float:
    """The least alpha at which w = 0 is best, by the slopes of the risk there."""
    if ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    a = problem.risk.at(np.zeros(problem.risk.n_parameters)).subgradient
    return float(max(0.0, np.max(-a if positive else np.abs(a)))) / ratio
