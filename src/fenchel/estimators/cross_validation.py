"""Estimators that choose alpha by cross-validation, then fit all rows at the best one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fenchel._system import blas
from fenchel.callers import users_line
from fenchel.engines.owners import Owners
from fenchel.errors import Incompatible
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.classifier import Classifier
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Posed
from fenchel.estimators.regressor import Regressor
from fenchel.estimators.validation import Validation, validated
from fenchel.paths import Strengths, decreasing
from fenchel.result import Result

_SETTINGS = ("alphas", "cv", "scoring")  # that only cross-validation has


@declared
class CrossValidated(LinearEstimator):
    """Chooses alpha; the rest is done by the estimator of one alpha, whose settings it shares.

    Parameters
    ----------
    alphas : int or array-like, default=30
        What to try. A number asks for so many, evenly spaced on a log scale: down to a thousandth
        of one at which all weights are 0, under L1 and the elastic net, else from 1e-1 to 1e-6.
    cv : int, splitter or iterable of splits, default=None
        The folds as scikit-learn knows them; None for five, classes in proportion.
    scoring : str or callable, default=None
        What to maximise, as scikit-learn knows it; None for the method `score`. It is given
        sample_weight if fit is.
    max_iter : int, default=10_000
        The most iterations of each fit, at one alpha on one fold.
    max_seconds : float, default=None
        The most seconds of each fit, at one alpha on one fold; None for no limit.

    Attributes
    ----------
    alpha_ : float
        The one of `alphas_` with the largest mean score; of equals the largest. After an interrupt,
        the one that the model belongs to.
    alphas_ : ndarray of shape (n_alphas,)
        What was tried, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        The score of each alpha on the rows left out; nan where an interrupt came first.
    mean_scores_ : ndarray of shape (n_alphas,)
        Their means over the folds.
    best_estimator_ : fenchel.Classifier or fenchel.Regressor
        The same model as an estimator of one alpha; this is what `fenchel.save` writes.
    """

    alphas: Strengths = 30
    cv: Any = None
    scoring: Any = None
    # Settings of an estimator of one alpha, which make no sense here.
    alpha: float = field(default=1e-4, init=False)
    warm_start: bool = field(default=False, init=False)
    verbose: bool | int = field(default=False, init=False)
    early_stopping_rounds: int | None = field(default=None, init=False)
    eval_metric: str | Callable[..., float] | None = field(default=None, init=False)
    checkpoint: str | os.PathLike[str] | None = field(default=None, init=False)

    _at_one_alpha: ClassVar[type[LinearEstimator]]

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Finds the alpha that scores best, then the model at that alpha on all rows."""
        if eval_set is not None:
            raise Incompatible("cross-validation holds out rows of its own: leave out eval_set")
        if self.penalty is None:
            raise Incompatible("without a penalty there is no alpha to choose: give one")
        if isinstance(X, Owners):
            raise Incompatible("cross-validation leaves rows out, which owners do not do")
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in _SETTINGS}
        model = self._at_one_alpha(**shared)
        posed = model._posed(X, y, sample_weight=sample_weight).kept()
        alphas = decreasing("alphas", self.alphas, tuple(posed.problems))
        validation = validated(
            model,
            X,
            y,
            alphas=alphas,
            cv=self.cv,
            scoring=self.scoring,
            whole=posed,
            sample_weight=sample_weight,
        )
        alpha, results = _at_best(model, posed, alphas, validation)
        self._become(model.set_params(alpha=alpha))
        self.alphas_ = np.array(alphas)
        self.scores_, self.mean_scores_ = validation.scores, validation.means
        if self.status_ != "converged":
            warnings.warn(self._shortfall(results), ConvergenceWarning, stacklevel=users_line())
        elif validation.n_short:
            warnings.warn(
                f"{type(self).__name__} is at its minimum for the best alpha, but "
                f"{validation.n_short} of the fits that chose it stopped short of tol",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return self

    def _become(self, model: LinearEstimator) -> None:
        for name, value in vars(model).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.best_estimator_, self.alpha_ = model, model.alpha


@blas.one_thread()
def _at_best(
    model: LinearEstimator, posed: Posed, alphas: Sequence[float], found: Validation
) -> tuple[float, list[Result]]:
    """Makes the model that of the best alpha, or of the one that an interrupt came to."""
    if found.interrupted:
        results = posed.glimpsed(alphas[found.best])
        model._take(posed, results)
        return alphas[found.best], results
    down = alphas[: found.best + 1]
    *_, last = zip(down, model._along(posed, down, proved=down[-1:]), strict=False)
    return last


@declared
class ClassifierCV(CrossValidated, Classifier):
    """A `Classifier` whose alpha is chosen by cross-validation.

    Each fold has a path of fits from the largest alpha down, each started from the last; so has the
    fit on all rows, which ends at the best alpha. All of them run to a certified gap, which for the
    last one is proved by other code than the solver's.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import ClassifierCV
    >>> X = np.linspace(-1, 1, 40)[:, np.newaxis]
    >>> y = X[:, 0] > 0.1
    >>> model = ClassifierCV(loss="logistic", alphas=[1.0, 1e-3, 1e-2], cv=4).fit(X, y)
    >>> model.alphas_, model.scores_.shape
    (array([1.   , 0.01 , 0.001]), (3, 4))
    >>> bool(model.alpha_ == model.alphas_[model.mean_scores_.argmax()])
    True
    >>> model.result_.converged
    True
    """

    _at_one_alpha = Classifier


@declared
class RegressorCV(CrossValidated, Regressor):
    """A `Regressor` whose alpha is chosen by cross-validation.

    Each fold has a path of fits from the largest alpha down, each started from the last; so has the
    fit on all rows, which ends at the best alpha. All of them run to a certified gap, which for the
    last one is proved by other code than the solver's.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import RegressorCV
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = X @ [3.0, 0.0, 0.0] + 1
    >>> model = RegressorCV(penalty="l1", alphas=[1.0, 0.1, 0.01]).fit(X, y)
    >>> model.alpha_, model.coef_.round(1)
    (0.01, array([3., 0., 0.]))
    """

    _at_one_alpha = Regressor
