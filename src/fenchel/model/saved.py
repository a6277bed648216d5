"""The state of a fit as it comes out of a file: taken part by part, and nothing of it believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel._system.container import Arrays, take
from fenchel.errors import InvalidData
from fenchel.model import coefficients, labels, runs
from fenchel.result import OLD_FIELDS, Record, Result
from fenchel.risks.base import Array


class SavedState:
    """The arrays and runs of a file for an estimator's `_restore`, see estimators/protocol.py."""

    def __init__(self, arrays: Arrays, label_type: labels.Kind | None, runs: Sequence[runs.Run]):
        self._arrays, self._label_type, self._runs = arrays, label_type, runs

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def array(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Any array of that type and shape."""
        return take(self._arrays, name, dtype, shape)

    def numbers(self, name: str, length: int) -> Array:
        """An array of finite numbers."""
        numbers = self.array(name, np.float64, (length,))
        if not np.isfinite(numbers).all():
            raise InvalidData(f"its {name} is nan or inf")
        return numbers

    def classes(self) -> npt.NDArray[Any]:
        """The labels: two or more, all different."""
        if self._label_type is None:
            raise InvalidData("it has no labels, and its estimator does not do without")
        kind, self._label_type = self._label_type, None
        return labels.restored(kind, self._arrays)

    def coef(self, shape: tuple[int, int]) -> Array:
        """The coefficients, all of them finite."""
        return coefficients.restored(self._arrays, shape)

    def results(self, weights: Sequence[Array], intercept: Array) -> list[Result]:
        """A result for each of the weights; `intercept` is that of weights in several lines."""
        if len(self._runs) != len(weights):
            raise InvalidData(f"it has {len(self._runs)} runs for {len(weights)} problems")
        ends = np.cumsum([0, *(run.records for run in self._runs)], dtype=object)
        table = self.array("history", np.float64, (ends[-1], self._width))
        return [
            runs.result_of(run, w, intercept, runs.records(table[start:end]))
            for run, w, start, end in zip(self._runs, weights, ends[:-1], ends[1:], strict=True)
        ]

    @property
    def _width(self) -> int:
        """How many fields the records of the file have: those of earlier versions had fewer."""
        history = self._arrays.get("history")
        old = history is not None and history.shape[1:] == (OLD_FIELDS,)
        return OLD_FIELDS if old else len(Record._fields)

    def check_taken(self, estimator: str) -> None:
        """Refuses what the estimator did not ask for."""
        if self._label_type is not None:
            raise InvalidData(f"its labels, {self._label_type}, are none for a {estimator}")
        if self._arrays:
            raise InvalidData(f"it holds arrays that no model has: {sorted(self._arrays)!r:.200}")
