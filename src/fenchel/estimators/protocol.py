"""What files, cross-validation and the command line ask of an estimator, besides scikit-learn's.

The names begin with an underscore because they are none of a user's business. Every linear
estimator has all of them, with these signatures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from fenchel.estimators.fitting import Fit, Posed
from fenchel.losses import Loss
from fenchel.result import Result
from fenchel.risks.base import Array


@dataclass(frozen=True)
class State:
    """A fit in plain arrays and values: all that predicts, and all that was proved."""

    coef: Array  # a line for each score
    intercept: Array  # a number for each line
    results: Sequence[Result]
    classes: npt.NDArray[Any] | None
    more: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)  # of one estimator


class Saved(Protocol):
    """A state that comes back: each part is asked for once, by the type and shape it must have.

    It comes from a file, of which nothing is believed: what is missing or has another shape raises
    InvalidData, and so does a part that nobody has asked for in the end.
    """

    def classes(self) -> npt.NDArray[Any]:
        """The labels: two or more, all different."""

    def coef(self, shape: tuple[int, int]) -> Array:
        """The coefficients, all of them finite."""

    def results(self, weights: Sequence[Array], intercept: Array) -> list[Result]:
        """A result for each of the weights; `intercept` is that of weights in several lines."""

    def numbers(self, name: str, length: int) -> Array:
        """An array of finite numbers."""

    def array(self, name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """The array of that name, refused if its type or shape is another."""

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of that name."""


class Estimator(Protocol):
    """What the command line, paths and model files ask of a linear estimator."""

    alpha: float
    tol: float
    n_features_in_: int
    _takes_offset: ClassVar[bool]  # rows may have a number that is added to their score
    result_: Result | list[Result]  # one, or one for each class against the rest
    status_: str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn has it."""

    def set_params(self, **settings: Any) -> Self:
        """Changes settings, as scikit-learn has it."""

    def _loss(self) -> Loss:
        """The loss that the settings ask for."""

    def _settings(self) -> Fit:
        """All settings, checked before the data are touched."""

    def _target(self, y: Any) -> Any:
        """The targets as arrays; refused if there are none."""

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

    def _along(
        self, posed: Posed, alphas: Sequence[float], proved: Collection[float] | None = None
    ) -> Iterator[list[Result]]:
        """Becomes the model of one alpha after the other; ends early if it is interrupted."""

    def _take(self, posed: Posed, results: list[Result]) -> None:
        """Becomes the model of these results."""

    def _check(self) -> None:
        """Raises what `fit` would say of the settings, for as many columns as the model has."""

    def _column_names(self, given: Sequence[str] | None) -> Sequence[str] | None:
        """The names of the columns: those given, else those that `fit` saw, if it saw any."""

    def _state(self) -> State:
        """What `fit` found, as plain values and arrays from which `_restore` makes it again."""

    def _restore(self, saved: Saved) -> None:
        """Becomes what was saved, of settings and columns that are its own already."""
