"""Scores of an estimator at several alphas, on folds of the data: a warm-started path on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, r2_score
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from fenchel._system import blas
from fenchel.data.arrays import is_away, taken
from fenchel.data.checked import unmasked
from fenchel.errors import InvalidData
from fenchel.estimators.classifier import Classifier
from fenchel.estimators.fitting import Posed
from fenchel.estimators.protocol import Estimator
from fenchel.estimators.regressor import LinearRegressor
from fenchel.result import Result
from fenchel.risks.base import Array

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Validation:
    """The scores of each alpha on each fold, nan where an interrupt came first."""

    scores: Array  # of shape (n_alphas, n_folds)
    interrupted: bool
    n_short: int  # fits that ended short of their gap

    @property
    def means(self) -> Array:
        """The mean score of each alpha over the folds that have one, nan where none has."""
        known = np.isfinite(self.scores)
        n = known.sum(axis=1)
        return np.where(n > 0, np.sum(self.scores, axis=1, where=known) / np.maximum(n, 1), np.nan)

    @property
    def best(self) -> int:
        """Which alpha scores best; of equals the largest, which has the simplest model."""
        if not self.interrupted and np.isnan(self.means).all():
            raise InvalidData("every score is nan or inf; use fewer folds, or another scoring")
        return int(np.argmax(np.nan_to_num(self.means, nan=-np.inf)))


@blas.one_thread()  # as while a solver runs, because some go on without a driver
def validated(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    alphas: Sequence[float],
    cv: Any,
    scoring: Any,
    whole: Posed | None = None,
    **of_rows: Any,
) -> Validation:
    """Scores the model at each alpha on rows that it was not fitted to, fold by fold.

    What else rows have, `sample_weight` and `offset`, goes to the fits and to the scores. `whole`
    has the problems of all rows, of which those of the folds may use what is known.
    """
    given = {name: unmasked(name, each) for name, each in of_rows.items() if each is not None}
    X, y, *more = indexable(X, _typed(model._target(y)), *given.values())
    given = dict(zip(given, more, strict=True))
    folds = list(check_cv(cv, y, classifier=is_classifier(model)).split(X, y))
    scores, n_short = np.full((len(alphas), len(folds)), np.nan), 0
    for k, (inside, outside) in enumerate(folds):
        each = type(model)(**model.get_params(deep=False))
        with _naming(k, len(folds)):
            posed = each._posed(*_rows(inside, X, y), **_each_of(given, inside)).kept()
            if whole is not None:
                posed.part_of(whole, inside)
            X_left, y_left = _rows(outside, X, y)
            left = _Left(X_left, y_left, _each_of(given, outside))
            judge = _judge(each, posed, scoring, left)
            # Nobody sees these models: what their solver says of them is enough.
            for results in posed.along(alphas, proved=()):
                judge.see(results)
                n_short += sum(not result.converged for result in results)
            found = judge.scores()
        scores[: len(found), k] = found
        if each.status_ == "interrupted":
            return Validation(scores, True, n_short)
    return Validation(scores, False, n_short)


def _typed(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers or text in place of objects, which scikit-learn's scores refuse."""
    return np.array(y.tolist()) if y.dtype == object else y


class _Left(NamedTuple):
    """The rows that a fold leaves out, and what else they have."""

    X: Any
    y: Any
    given: dict[str, Any]


class _Judge(Protocol):
    """Scores the models of one fold."""

    def see(self, results: list[Result]) -> None:
        """Takes the next model, that of these results."""

    def scores(self) -> Sequence[float] | Array:
        """The score of each model so far, of which the estimator has become the last."""


def _judge(model: Estimator, posed: Posed, scoring: Any, left: _Left) -> _Judge:
    kind: Any = type(model)
    ours = getattr(kind, "predict", None) in (Classifier.predict, LinearRegressor.predict)
    name = _NAMES.get(kind.score) if scoring is None else scoring
    linear = ours and getattr(model, "kernel", None) is None
    measure = _MEASURES.get((kind.score, name)) if linear and isinstance(name, str) else None
    if measure is None:
        return _OneByOne(model, posed, check_scoring(model, scoring=scoring), left)
    return _Together(model, posed, measure, left)


class _OneByOne:
    """By whatever scorer there is."""

    def __init__(self, model: Estimator, posed: Posed, scorer: Any, left: _Left):
        self.model, self.posed, self.found = model, posed, list[float]()
        self.score = partial(scorer, model, left.X, left.y, **left.given)

    def see(self, results: list[Result]) -> None:
        self.model._take(self.posed, results)
        self.found.append(float(self.score()))

    def scores(self) -> Sequence[float]:
        return self.found


class _Together:
    """By a measure that is known here, for all models by one product with the rows."""

    def __init__(self, model: Any, posed: Posed, measure: Measure, left: _Left):
        self.model, self.posed, self.measure, self.left = model, posed, measure, left
        self.lines: list[tuple[Array, Any]] = []

    def see(self, results: list[Result]) -> None:
        self.last = results
        self.lines.append(self.model._lines(results))

    def scores(self) -> Array:
        model, left, n = self.model, self.left, len(self.lines)
        model._take(self.posed, self.last)
        coef = np.vstack([coef for coef, _ in self.lines])
        products = model._products_of(model._rows(left.X, reset=False), coef)
        scores = products + np.concatenate([np.ravel(b) for _, b in self.lines])
        predicted = model._predicted(scores.reshape(len(scores), n, -1))
        return self.measure(np.asarray(left.y), predicted, left.given.get("sample_weight"))


Measure = Callable[[npt.NDArray[Any], npt.NDArray[Any], Any], Array]


def _accuracies(y: npt.NDArray[Any], predicted: npt.NDArray[Any], s: Any) -> Array:
    """What ClassifierMixin.score says of each column."""
    return np.average(predicted == y[:, np.newaxis], axis=0, weights=s)


def _determinations(y: npt.NDArray[Any], predicted: npt.NDArray[Any], s: Any) -> Array:
    """What RegressorMixin.score says of each column."""
    same = np.broadcast_to(y[:, np.newaxis], predicted.shape)
    each = r2_score(same, predicted, sample_weight=s, multioutput="raw_values")
    return np.broadcast_to(each, predicted.shape[1])  # of a single row, one nan for all


def _negative_errors(y: npt.NDArray[Any], predicted: npt.NDArray[Any], s: Any) -> Array:
    """The mean squared error of each column, with a minus: the larger the better."""
    return -np.average((predicted - y[:, np.newaxis]) ** 2, axis=0, weights=s)


_NAMES = {ClassifierMixin.score: "accuracy", RegressorMixin.score: "r2"}
_MEASURES: dict[tuple[Any, str], Measure] = {  # by the method `score` of an estimator, and a name
    (ClassifierMixin.score, "accuracy"): _accuracies,
    (RegressorMixin.score, "r2"): _determinations,
    (RegressorMixin.score, "neg_mean_squared_error"): _negative_errors,
}


def _rows(rows: Rows, *arrays: Any) -> list[Any]:
    return [
        taken(array, rows) if is_away(array) else _safe_indexing(array, rows) for array in arrays
    ]


def _each_of(given: dict[str, Any], rows: Rows) -> dict[str, Any]:
    return {name: _safe_indexing(values, rows) for name, values in given.items()}


@contextmanager
def _naming(fold: int, n_folds: int) -> Iterator[None]:
    """Errors say that the rows are those of a fold: the data as a whole may be all right."""
    try:
        yield
    except InvalidData as error:
        error.args = (f"in fold {fold + 1} of {n_folds}: ", *error.args)
        raise
