"""What the estimators share: settings, data that are looked at once, and what a fit found out."""

from __future__ import annotations

import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from fenchel.callers import users_line
from fenchel.data.arrays import is_away
from fenchel.data.blocks import Blocks
from fenchel.data.checked import as_array, checked_matrix, unmasked
from fenchel.data.device_rows import checked_device
from fenchel.data.frames import is_frame, is_series, series
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import products
from fenchel.engines.owners import Owners
from fenchel.errors import Incompatible, InvalidData
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import (
    bounded,
    checkpoint_of,
    engine_of,
    flag,
    in_these_words,
    penalty_of,
    solver_of,
    strength_of,
)
from fenchel.estimators.shortcomings import nothing, shortfall, worst
from fenchel.estimators.steering import CallbackSupportMixin, check_watchers, steered, watched
from fenchel.losses import Loss
from fenchel.posing import column_names
from fenchel.regularizers import Regularizer
from fenchel.result import Record, Result
from fenchel.risks.base import Array
from fenchel.settings import nonnegative, positive, whole
from fenchel.solvers import Solver


@declared
class LinearEstimator(CallbackSupportMixin, BaseEstimator, ABC):
    """A linear model, with scores <x, w> + b; a subclass says which loss it minimises.

    Parameters
    ----------
    penalty : {"l2", "l1", "elastic_net", "group_l1"} or Regularizer or None, default="l2"
        The regulariser; "elasticnet" is understood too. None: nothing is penalised, whatever alpha;
        smooth losses of up to 3000 columns are certified so (docs/how-to/from-statsmodels.md).
    alpha : float, default=1e-4
        Its strength, against the mean (not the sum) of the losses.
    l1_ratio : float, default=0.5
        For the elastic net: the share of L1, from 0 (all L2) to 1 (all L1).
    feature_groups : array-like of int or list of lists of str, default=None
        For "group_l1": the number of each column's group, 0, 1, 2 ...; or groups of column names,
        where X is a table. A column that is in no list is a group of its own.
    lower : float or array-like of shape (n_features,), default=None
        The least that coefficients may be: a number for all columns, or one for each, -inf for
        none. Several scores have the same bounds; intercepts have none.
    upper : float or array-like of shape (n_features,), default=None
        The most that they may be, likewise.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses by loss and penalty. The names are those of
        `fenchel.minimize`: "lbfgs", "owlqn", "ls-bmrm", "sublbfgs", "hybrid" and others.
    tol : float, default=1e-4
        Stop when (objective - lower bound) / objective is certified to be at most this.
    atol : float, default=0.0
        Or when objective - lower bound is at most this, where the objective may be 0 at best.
    max_iter : int, default=10_000
        The most iterations.
    max_seconds : float, default=None
        The most seconds; None for no limit.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many columns and they are
        within the bounds.
    n_jobs : int, default=None
        Threads. None: FENCHEL_NUM_THREADS or OMP_NUM_THREADS, else all cores; -1: all cores. The
        result does not depend on it.
    callback : callable, default=None
        Sees a `fenchel.Record` after each iteration; a true return value stops the fit.
    verbose : bool, default=False
        Whether to print a line whenever the iterations have doubled.
    early_stopping_rounds : int, default=None
        With `eval_set` of fit: stop after so many iterations without a better score on those rows,
        and keep the iterate with the best one. None runs to `tol` and only notes the scores.
    eval_metric : str or callable, default=None
        The score on `eval_set`, larger is better, as scikit-learn's `scoring` has it; None for the
        method `score`.
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
    """

    penalty: str | Regularizer | None = "l2"
    alpha: float = 1e-4
    l1_ratio: float = 0.5
    feature_groups: npt.ArrayLike | Sequence[Sequence[str]] | None = None
    lower: npt.ArrayLike | None = None
    upper: npt.ArrayLike | None = None
    solver: str | Solver = "auto"
    tol: float = 1e-4
    atol: float = 0.0
    max_iter: int = 10_000
    max_seconds: float | None = None
    warm_start: bool = False
    n_jobs: int | None = None
    callback: Callable[[Record], Any] | None = None
    verbose: bool | int = False
    early_stopping_rounds: int | None = None
    eval_metric: str | Callable[..., float] | None = None
    checkpoint: str | os.PathLike[str] | None = None

    _grouped: ClassVar[bool] = False  # rows belong together, to queries or lists
    _takes_offset: ClassVar[bool] = False  # rows may have a number that is added to their score

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, from the settings that it takes."""

    def _has_intercept(self) -> bool:
        return False

    @in_these_words()
    def _settings(self) -> Fit:
        """All settings, checked before the data are touched."""
        flag("warm_start", self.warm_start)
        if self.callback is not None and not callable(self.callback):
            raise Incompatible(f"callback must be callable or None; got {self.callback!r}")
        check_watchers(self.verbose, self.early_stopping_rounds, self.eval_metric)
        return Fit(
            loss=self._loss(),
            regularizer=bounded(
                penalty_of(self.penalty, self.l1_ratio, self.feature_groups),
                self.lower,
                self.upper,
            ),
            strength=strength_of(self.alpha, self.penalty),
            intercept=self._has_intercept(),
            engine=engine_of(self.n_jobs),
            solver=solver_of(self.solver),
            tol=positive("gap", self.tol),
            atol=nonnegative("atol", self.atol),
            max_iter=whole("max_iterations", self.max_iter, least=1),
            max_seconds=(
                math.inf if self.max_seconds is None else positive("max_seconds", self.max_seconds)
            ),
            callback=self.callback,
            checkpoint=checkpoint_of(self.checkpoint),
        )

    def _rows(self, X: Any, *, reset: bool) -> SparseRows | DenseRows | Blocks:
        """X with its shape and column names checked by scikit-learn, its values by us: once."""
        X = checked_device(X) if is_away(X) else X
        if isinstance(X, Blocks):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if reset and _is_plain(X):  # whose columns have no names; the rest is checked below
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return checked_matrix(X)
        X = validate_data(
            self,
            as_array("X", X) if isinstance(X, list | tuple) else unmasked("X", X),
            reset=reset,
            skip_check_array=is_frame(X) or _is_plain(X),
            accept_sparse=True,
            ensure_all_finite=False,
        )
        return checked_matrix(X, distinct=reset)

    def _target(self, y: Any) -> npt.NDArray[Any]:
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        values = series("y", y) if is_series(y) else unmasked("y", y)
        if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biufUS":
            return values
        target: npt.NDArray[Any] = column_or_1d(values, warn=True)
        return target

    def _posed(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        offset: Any = None,
    ) -> Posed:
        """The problems of a fit, all that was given checked, and what to make of their results."""
        settings = self._settings()
        if groups is not None and not self._grouped:
            raise Incompatible(f"{type(self).__name__} has no groups of rows: leave them out")
        if offset is not None and not self._takes_offset:
            raise Incompatible(f"{type(self).__name__} has no offsets of rows: leave them out")
        names = X.shapes[0].feature_names if isinstance(X, Owners) else column_names(X)
        posed = self._pose(settings.resolved(names), X, y, sample_weight, groups, offset)
        return replace(posed, given=(X, y))

    @abstractmethod
    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        """The same, with the settings checked; what rows of this estimator do not have is None."""

    def _across(
        self,
        owners: Owners,
        fit: Fit,
        given: Sequence[Any],
        adopt: Callable[[list[Result]], None],
    ) -> Posed:
        """The problem of rows that stay with their owners; what needs them here is refused."""
        if any(each is not None for each in given):
            raise Incompatible(
                "y, sample_weight and class_weight are a matter of rows, which stay with their "
                "owners: leave them out"
            )
        problem = fit.across(owners)
        self.n_features_in_ = owners.shape[1]
        names = owners.shapes[0].feature_names
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return Posed(fit, [problem], self._starts((1, self.n_features_in_)), adopt)

    @watched
    def _fit(self, posed: Posed, eval_set: Any = None) -> Self:
        """Keeps what the fit found out, and warns if that is less than was hoped for."""
        with in_these_words():
            results = steered(self, posed, eval_set)
        self._take(posed, results)
        warning = nothing(type(self).__name__, posed.fit.loss, self._measure(), results)
        if warning is not None:
            warnings.warn(warning, stacklevel=users_line())
        elif self.status_ not in ("converged", "early_stopped"):
            warnings.warn(self._shortfall(results), ConvergenceWarning, stacklevel=users_line())
        return self

    def _along(
        self, posed: Posed, alphas: Sequence[float], proved: Collection[float] | None = None
    ) -> Iterator[list[Result]]:
        """Becomes the model of one alpha after the other; ends early if it is interrupted."""
        for results in posed.along(alphas, proved):
            self._take(posed, results)
            yield results

    def _take(self, posed: Posed, results: list[Result]) -> None:
        self._keep(results)
        posed.adopt(results)

    def _measure(self) -> str:
        """What the loss bounds from above, where it is a bound of a measure of all rows."""
        return ""

    def _keep(self, results: list[Result]) -> None:
        """What the results prove, as attributes."""
        last = worst(results)
        self.result_ = results[0] if len(results) == 1 else results
        self.objective_ = sum(result.objective for result in results)
        self.lower_bound_ = sum(result.lower_bound for result in results)
        self.gap_ = max(result.gap for result in results)
        self.status_ = last.status.name.lower()
        self.n_iter_ = max(result.iterations for result in results)
        self.solver_ = last.solver

    def _shortfall(self, results: list[Result]) -> str:
        return shortfall(type(self).__name__, results, self.tol)

    def _starts(self, shape: tuple[int, int]) -> list[Array | None]:
        """Where to start: the last coefficients, with warm_start and if they fit."""
        last = getattr(self, "coef_", None) if self.warm_start else None
        if last is None or np.atleast_2d(last).shape != shape:
            return [None] * shape[0]
        return list(np.atleast_2d(last))

    def _learn(self, coef: Array, intercept: Any) -> None:
        """Becomes the model of these coefficients."""
        self.coef_, self.intercept_ = coef, intercept

    def _adopt_restored(self, coef: Array, intercept: Any) -> None:
        """The same of those that come from a file."""
        self._learn(coef, intercept)

    def _products(self, X: Any) -> Array:
        """<x, w> of each row of X, in a column for each w."""
        check_is_fitted(self)
        return self._products_of(self._rows(X, reset=False))

    def _products_of(
        self, rows: SparseRows | DenseRows | Blocks, coef: Array | None = None
    ) -> Array:
        coef = np.atleast_2d(self.coef_ if coef is None else coef)
        if len(coef) == 1:
            return rows.scores(coef[0])[:, np.newaxis]
        return products(rows, np.ascontiguousarray(coef.T))

    def _scores(self, X: Any) -> Array:
        """<x, w> + b of each row of X, in a column for each w."""
        scores: Array = self._products(X) + self.intercept_
        return scores

    # In a file and back.

    def _check(self) -> None:
        """Raises what `fit` would say of the settings, for as many columns as the model has."""
        names: Sequence[str] | None = getattr(self, "feature_names_in_", None)
        self._settings().resolved(names).regularizer.free(self.n_features_in_)

    def _column_names(self, given: Sequence[str] | None) -> Sequence[str] | None:
        """The names of the columns: those given, else those that `fit` saw, if it saw any."""
        return getattr(self, "feature_names_in_", None) if given is None else given

    def _state(self) -> State:
        """What was fitted; a subclass adds what only it has."""
        return State(
            coef=np.atleast_2d(np.asarray(self.coef_, dtype=np.float64)),
            intercept=np.array(self.intercept_, dtype=np.float64).reshape(-1),
            results=self.result_ if isinstance(self.result_, list) else [self.result_],
            classes=getattr(self, "classes_", None),
        )

    @abstractmethod
    def _restore(self, saved: Saved) -> None:
        """Becomes what was saved, of settings and columns that are its own already."""

    def _restored_line(self, saved: Saved, length: int) -> tuple[Array, float]:
        """The coefficients and the intercept of a model of one score; keeps what was proved."""
        coef, intercept = self._restored_lines(saved, (1, length))
        return coef[0], float(intercept[0])

    def _restored_lines(
        self, saved: Saved, shape: tuple[int, int], *, together: bool = False
    ) -> tuple[Array, Array]:
        """The same of several, found together or each line in a run of its own."""
        coef, intercept = saved.coef(shape), saved.numbers("intercept", shape[0])
        self._keep(saved.results([coef] if together else list(coef), intercept))
        return coef, intercept


@declared
class WithIntercept(LinearEstimator):
    """A linear model whose offsets b are fitted too, unless that is not wanted.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has an intercept; it is never penalised.
    """

    fit_intercept: bool = True

    def _has_intercept(self) -> bool:
        return flag("fit_intercept", self.fit_intercept)


def _is_plain(X: Any) -> bool:
    """An array of numbers in rows and columns, of which scikit-learn's check says nothing new.

    Values and sizes are checked by ours, in a tenth of its time.
    """
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind == "f" and X.size > 0
