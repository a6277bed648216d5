"""The steps of a saved pipeline, for people to read, and the estimators inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

_LONGEST = 160  # characters of a step's settings
_MOST = 8  # columns that are named


class SavedStep(msgspec.Struct):
    """A step, and those inside it."""

    name: str
    kind: str
    settings: str  # as scikit-learn writes them
    columns: list[str] | None  # of a ColumnTransformer's steps
    steps: list[SavedStep]


def steps_of(whole: Any, name: str = "", columns: Any = None) -> SavedStep:
    """What a pipeline, transformer or estimator is made of."""
    inner = [steps_of(*each) for each in _inside(whole)]
    settings = "" if inner or isinstance(whole, str) else _settings(whole)
    kind = whole if isinstance(whole, str) else type(whole).__name__
    return SavedStep(name, kind, settings, _named(columns), inner)


def lines(step: SavedStep, depth: int = 0) -> Iterator[str]:
    """A line for each step, those inside it below."""
    said = step.settings or step.kind
    names = "" if step.name == "" else f"{step.name}: "
    yield "  " * depth + names + said + _of(step.columns)
    for inner in step.steps:
        yield from lines(inner, depth + 1)


def estimators(whole: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The library's own fitted estimators inside, each with the way to it."""
    if hasattr(whole, "result_"):
        yield name, whole
    for each, inner, _ in _inside(whole):
        yield from estimators(each, f"{name} > {inner}" if name else inner)


def _inside(whole: Any) -> Iterator[tuple[Any, str, Any]]:
    """Object, name and columns of the parts."""
    if hasattr(whole, "transformers_"):
        yield from ((each, name, columns) for name, each, columns in whole.transformers_)
        return
    named = getattr(whole, "steps", None) or getattr(whole, "transformer_list", None) or ()
    yield from ((each, name, None) for name, each in named)
    for k, each in enumerate(_fitted_inside(whole)):
        yield each, str(k), None


def _fitted_inside(whole: Any) -> list[Any]:
    """The fitted estimators of a meta-estimator."""
    calibrated = getattr(whole, "calibrated_classifiers_", ())
    found = [*(each.estimator for each in calibrated), *getattr(whole, "estimators_", ())]
    if hasattr(whole, "regressor_"):
        found.append(whole.regressor_)
    if type(whole).__name__ == "FrozenEstimator":
        found.append(whole.estimator)
    return found


def _settings(whole: Any) -> str:
    text = " ".join(repr(whole).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _named(columns: Any) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str | int | slice):
        return [str(columns)]
    return [str(column) for column in columns]


def _of(columns: list[str] | None) -> str:
    if columns is None:
        return ""
    shown = columns if len(columns) <= _MOST else [*columns[: _MOST - 1], "...", columns[-1]]
    return f" of {', '.join(shown)}" if shown else " of no column"
