"""Scores of an estimator at several alphas, on folds of the data: a warm-started path on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from fenchel.errors import InvalidData
from fenchel.estimators.protocol import Estimator
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


def validated(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    alphas: Sequence[float],
    cv: Any,
    scoring: Any,
    **of_rows: Any,
) -> Validation:
    """Scores the model at each alpha on rows that it was not fitted to, fold by fold.

    What else rows have, `sample_weight` and `offset`, goes to the fits and to the scores.
    """
    given = {name: values for name, values in of_rows.items() if values is not None}
    X, y, *more = indexable(X, _typed(model._target(y)), *given.values())
    given = dict(zip(given, more, strict=True))
    folds = list(check_cv(cv, y, classifier=is_classifier(model)).split(X, y))
    scores, n_short = np.full((len(alphas), len(folds)), np.nan), 0
    for k, (inside, outside) in enumerate(folds):
        each = type(model)(**model.get_params(deep=False))
        score = _scored(each, X, y, given, outside, scoring)
        with _naming(k, len(folds)):
            posed = each._posed(*_rows(inside, X, y), **_each_of(given, inside)).kept()
            for i, results in enumerate(each._along(posed, alphas)):
                scores[i, k] = score()
                n_short += sum(not result.converged for result in results)
        if each.status_ == "interrupted":
            return Validation(scores, True, n_short)
    return Validation(scores, False, n_short)


def _typed(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers or text in place of objects, which scikit-learn's scores refuse."""
    return np.array(y.tolist()) if y.dtype == object else y


def _scored(
    model: Estimator,
    X: Any,
    y: Any,
    given: dict[str, Any],
    rows: Rows,
    scoring: Any,
) -> Callable[[], float]:
    scorer, more = check_scoring(model, scoring=scoring), _each_of(given, rows)
    X, y = _rows(rows, X, y)
    return lambda: float(scorer(model, X, y, **more))


def _rows(rows: Rows, *arrays: Any) -> list[Any]:
    return [_safe_indexing(array, rows) for array in arrays]


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
