"""Sequences of tokens as estimators take them: checked, and brought into columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.features.templates import Tokens, parsed
from fenchel.features.tokens import Named, from_columns, from_dicts

Codes = npt.NDArray[np.int64]


def named_tokens(X: Any, template: str | None) -> Named:
    """Tokens by their features: dicts, lists of names, or columns with a template."""
    if template is None:
        if isinstance(X, Tokens):
            raise InvalidData("X holds columns of text, and the model has no template for them")
        sequences = _checked(X)
        return from_dicts(sequences)
    if not isinstance(template, str):
        raise InvalidData(f"template must be text, or None; got {template!r:.80}")
    templates = parsed(template)
    return from_columns(X if isinstance(X, Tokens) else _columns(_checked(X)), templates)


def flat_labels(y: Any, starts: Codes) -> npt.NDArray[Any]:
    """The labels of all tokens, from a list of labels for each sequence."""
    if y is None:
        raise InvalidData("y is missing: SequenceLabeler needs a list of labels for each sequence")
    lengths, n = np.diff(starts), len(starts) - 1
    given = [_listed(labels, f"y[{i}]") for i, labels in enumerate(_listed(y, "y"))]
    if len(given) != n:
        raise InvalidData(f"X has {n} sequences but y has {len(given)}")
    for i, (labels, length) in enumerate(zip(given, lengths.tolist(), strict=True)):
        if len(labels) != length:
            raise InvalidData(
                f"sequence {i} has {length} tokens but y[{i}] has {len(labels)} labels"
            )
    _check_labels(given)
    return np.array([label for labels in given for label in labels])


def _listed(labels: Any, name: str) -> list[Any]:
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidData(f"{name} must be a list of labels; got {labels!r:.80}")
    return list(labels)


def _check_labels(given: list[list[Any]]) -> None:
    """All text or all numbers: an array would make text of numbers that are beside it."""
    text = isinstance(given[0][0], str)
    for i, labels in enumerate(given):
        for t, label in enumerate(labels):
            if not (isinstance(label, str) if text else _is_number(label)):
                raise InvalidData(
                    f"token {t} of sequence {i} has the label {label!r:.80}; labels must be text, "
                    "or finite numbers, for all tokens alike"
                )


def _is_number(label: Any) -> bool:
    real = isinstance(label, numbers.Real | np.bool_)
    return real and -math.inf < label < math.inf


def split(values: Any, starts: Codes) -> list[list[Any]]:
    """What belongs to tokens, sequence by sequence."""
    return [part.tolist() for part in np.split(np.asarray(values), starts[1:-1])]


def _checked(X: Any) -> Sequence[Sequence[Any]]:
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise InvalidData(f"X must be a list of sequences; got {X!r:.80}")
    sequences = list(X)
    if not sequences:
        raise InvalidData("X has no sequences; at least one is needed")
    for i, sequence in enumerate(sequences):
        if isinstance(sequence, str | bytes) or not isinstance(sequence, Sequence | np.ndarray):
            raise InvalidData(f"sequence {i} must be a list of tokens; got {sequence!r:.80}")
        if len(sequence) == 0:
            raise InvalidData(f"sequence {i} is empty; drop it, or give it a token")
    return sequences


def _columns(sequences: Sequence[Sequence[Any]]) -> Tokens:
    """Tokens as tuples of text, or text for a single column."""
    tokens: list[tuple[str, ...]] = []
    for i, sequence in enumerate(sequences):
        for t, token in enumerate(sequence):
            columns = (token,) if isinstance(token, str) else tuple(token)
            if not all(isinstance(part, str) for part in columns):
                raise InvalidData(
                    f"token {t} of sequence {i} must be text, or columns of text, for a template; "
                    f"got {token!r:.80}"
                )
            if tokens and len(columns) != len(tokens[0]):
                raise InvalidData(
                    f"token {t} of sequence {i} has {len(columns)} columns, the first one has "
                    f"{len(tokens[0])}"
                )
            tokens.append(columns)
    lengths = [len(sequence) for sequence in sequences]
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    return Tokens(list(zip(*tokens, strict=True)), starts)
