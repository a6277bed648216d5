"""The inputs of an ONNX graph: one matrix, or one for each column of a table.

A ColumnTransformer at the beginning takes the columns of a table by their names, so each is an
input of its own: of text where an encoder of categories, an imputer of text or a vectorizer begins,
of whole numbers where the categories are whole numbers, and of the graph's own type elsewhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
from skl2onnx.common.data_types import Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline

from fenchel.errors import Incompatible
from fenchel.model.onnx_steps import kind_of

_TYPES = {"text": StringTensorType, "whole": Int64TensorType}


# What Python's \w\w+ is in RE2, whose \w is of ASCII; and letters are made small as Unicode has it.
_TEXT = {"tokenexp": r"[\p{L}\p{N}_][\p{L}\p{N}_]+", "locale": "C.UTF-8"}
TEXT_OPTIONS = {CountVectorizer: _TEXT, TfidfVectorizer: _TEXT}


def counts_words(estimator: Any) -> bool:
    """Whether a step counts words; refused if it finds others than ONNX's tokenizer would."""
    found = [step for step in _leaves(estimator) if isinstance(step, CountVectorizer)]
    pattern = inspect.signature(CountVectorizer).parameters["token_pattern"].default
    for step in found:
        same = step.analyzer == "word" and step.token_pattern == pattern
        single = step.stop_words is None or tuple(step.ngram_range) == (1, 1)
        if not same or not single or step.strip_accents is not None:
            raise Incompatible(
                f"cannot write {step!r:.300} as ONNX: its tokenizer finds words as the default "
                "token_pattern does, keeps accents, and has no stop words between words"
            )
    return bool(found)


def _leaves(estimator: Any) -> Iterator[Any]:
    """All steps that are not made of steps."""
    lists = ("steps", "transformers_", "transformer_list")
    steps = [step for name in lists for step in getattr(estimator, name, ())]
    if not steps:
        yield estimator
    for step in steps:
        yield from _leaves(step[1])


def inputs_of(estimator: Any, tensor: type) -> list[tuple[str, Any]]:
    """Names and types of the inputs; `tensor` is the type of numbers."""
    first = _first(estimator)
    names = getattr(first, "feature_names_in_", None)
    if isinstance(first, ColumnTransformer) and names is not None:
        kinds = _kinds(first)
        return [
            (name, _TYPES.get(kinds[name], tensor)([None, 1])) for name in names if name in kinds
        ]
    if isinstance(first, CountVectorizer | HashingVectorizer):
        return [("X", StringTensorType([None, 1]))]
    kind = {_kind(first, j) for j in range(first.n_features_in_)}
    if len(kind) > 1:
        raise Incompatible(
            "the columns of X are of several types, but X is one input; fit on a data frame, with "
            "a ColumnTransformer that takes its columns by name"
        )
    return [("X", _TYPES.get(kind.pop(), tensor)([None, first.n_features_in_]))]


def _first(estimator: Any) -> Any:
    """The step that takes the rows."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[0][1]
    return estimator


def _kinds(transformer: ColumnTransformer) -> dict[str, str]:
    """The kind of each column that is taken."""
    found: dict[str, str] = {}
    for name, kind in _uses(transformer):
        if found.setdefault(name, kind) != kind:
            raise Incompatible(
                f"the column {name!r} is used as {found[name]} by one step and as {kind} by another"
            )
    return found


def _uses(transformer: ColumnTransformer) -> Iterator[tuple[str, str]]:
    names = transformer.feature_names_in_
    for name, step, _ in transformer.transformers_:
        if isinstance(step, str) and step == "drop":
            continue
        for j, k in enumerate(transformer._transformer_to_input_indices[name]):
            yield names[k], _kind(step, j)


def _kind(step: Any, j: int) -> str:
    """What a step takes its column j for."""
    first = _first(step)
    if isinstance(first, CountVectorizer | HashingVectorizer):
        return "text"
    if hasattr(first, "categories_"):
        return kind_of(first.categories_[j])
    if np.dtype(getattr(first, "_fit_dtype", np.float64)).kind in "OU":  # an imputer
        return "text"
    return "number"
