"""What a fitted model says of rows, as plain values: for files, JSON and services alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Said:
    """Predictions, and where they were asked for or the model has them, scores and probabilities.

    `columns` are the labels or targets of predictions that have one for each; `classes` those of
    the probabilities, and of scores that have a column for each class.
    """

    predictions: Array
    columns: list[Any] | None
    scores: Array | None
    probabilities: Array | None
    classes: list[Any] | None

    def listed(self) -> list[Any]:
        """A value for each row: a class, a number, a list of numbers, or a list of labels."""
        if self.classes is None:
            values: list[Any] = self.predictions.tolist()
            return values
        if self.columns is None:
            return [plain(value) for value in self.predictions.tolist()]
        names = [plain(each) for each in self.columns]
        return [[names[k] for k in np.flatnonzero(row)] for row in self.predictions]

    def table(self) -> dict[str, Array]:
        """The columns of a table: predictions, probabilities, scores."""
        found: dict[str, Array] = {}
        if self.predictions.ndim == 1:
            found["prediction"] = self.predictions
        else:
            for name, column in zip(self.columns or (), self.predictions.T, strict=True):
                found[_free(str(plain(name)), found)] = column
        found |= _each("probability", self.probabilities, self.classes)
        return found | _each("score", self.scores, self.classes)


def answer(
    model: Any, X: Any, *, scores: bool = False, probabilities: bool = False, **added: Any
) -> Said:
    """What the model says of the rows of X; `added` are their offsets.

    Scores and probabilities are left out where the model has none.
    """
    predictions = np.asarray(model.predict(X, **added))
    columns = None
    if predictions.ndim > 1:
        columns = _columns(model, predictions.shape[1])
    classes = getattr(model, "classes_", None)
    return Said(
        predictions,
        columns,
        scores_of(model, X) if scores else None,
        np.asarray(model.predict_proba(X)) if probabilities and has_chances(model) else None,
        None if classes is None else classes.tolist(),
    )


def has_chances(model: Any) -> bool:
    """Whether the model gives probabilities."""
    return hasattr(model, "predict_proba")


def scores_of(model: Any, X: Any) -> Array | None:
    """The scores of rows: one, or one for each class; None where predictions are the scores."""
    for method in ("decision_function", "score_samples"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    return None


def _columns(model: Any, n: int) -> list[Any]:
    names = getattr(model, "classes_", getattr(model, "target_names_", None))
    return [f"prediction_{k}" for k in range(n)] if names is None else names.tolist()


def _each(what: str, values: Array | None, classes: list[Any] | None) -> dict[str, Array]:
    """A column, or one for each class."""
    if values is None:
        return {}
    if values.ndim == 1 or values.shape[1] == 1:
        return {what: values.reshape(-1)}
    names = classes or list(range(values.shape[1]))
    return {f"{what}_{plain(name)}": column for name, column in zip(names, values.T, strict=True)}


def _free(name: str, taken: dict[str, Array]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def plain(value: Any) -> Any:
    """A class as people write it: 1, not 1.0; other numbers and text as they are."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    return value
