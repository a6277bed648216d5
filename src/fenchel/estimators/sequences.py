"""Sequences of tokens as estimators take them: checked, and brought into columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.data.checked import checked_matrix
from fenchel.data.conll import Tokens
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.sequences import compressed
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.features.templates import parsed
from fenchel.features.tokens import Named, Numbered, from_columns, from_dicts, is_collection

Codes = npt.NDArray[np.int64]


def tokens_of(X: Any, template: str | None) -> Named | Numbered:
    """Tokens as rows of numbers, or by their features."""
    if isinstance(X, Tokens):
        return named_tokens(X, template)
    sequences = _checked(X)
    if not _are_numbers(sequences):
        return named_tokens(sequences, template)
    if template is not None:
        remedy = " is for columns of text: with arrays of numbers, leave it out"
        raise Incompatible(Setting("template"), remedy)
    return _numbered(sequences)


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


def _checked(X: Any) -> list[Any]:
    if isinstance(X, str | bytes) or sparse.issparse(X) or not isinstance(X, Iterable):
        raise InvalidData(f"X must be a list of sequences; got {X!r:.80}")
    sequences = list(X)
    if not sequences:
        raise InvalidData("X has no sequences; at least one is needed")
    for i, sequence in enumerate(sequences):
        listed = isinstance(sequence, Sequence | np.ndarray) and not isinstance(
            sequence, str | bytes
        )
        if not (listed or sparse.issparse(sequence)):
            raise InvalidData(f"sequence {i} must be a list of tokens; got {sequence!r:.80}")
        if _length(sequence) == 0:
            raise InvalidData(f"sequence {i} is empty; drop it, or give it a token")
    return sequences


def _length(sequence: Any) -> int:
    """Arrays of no dimension count as one token, and are refused for what they hold."""
    shape = getattr(sequence, "shape", None)
    return len(sequence) if shape is None else (*shape, 1)[0]


def _are_numbers(sequences: list[Any]) -> bool:
    """Whether all are arrays of numbers, or none is."""
    numbers = [_is_array_of_numbers(sequence) for sequence in sequences]
    if len(set(numbers)) > 1:
        i = numbers.index(not numbers[0])
        kinds = ("an array of numbers", "a list of tokens")
        this, first = kinds if numbers[i] else kinds[::-1]
        raise InvalidData(f"sequence {i} is {this}, the first one is {first}: give all alike")
    return numbers[0]


def _is_array_of_numbers(sequence: Any) -> bool:
    dense = isinstance(sequence, np.ndarray) and sequence.dtype.kind in "biufc"
    return dense or sparse.issparse(sequence)


def _numbered(sequences: list[Any]) -> Numbered:
    """Arrays with a row for each token, one below the other."""
    parts = [_checked_rows(sequence, i) for i, sequence in enumerate(sequences)]
    for i, part in enumerate(parts):
        if part.n_columns != parts[0].n_columns:
            raise InvalidData(
                f"sequence {i} has {part.n_columns} columns, the first one has {parts[0].n_columns}"
            )
    starts = np.cumsum([0, *(part.n_rows for part in parts)]).astype(np.int64)
    return Numbered(compressed(_stacked(parts)), starts)


def _checked_rows(sequence: Any, i: int) -> SparseRows | DenseRows:
    try:
        return checked_matrix(sequence, distinct=False)
    except InvalidData as error:
        token = "" if error.row is None else f"token {error.row} of "
        raise InvalidData(f"{token}sequence {i}: {error}") from error


def _stacked(parts: list[SparseRows | DenseRows]) -> SparseRows | DenseRows:
    dense = [part.values for part in parts if isinstance(part, DenseRows)]
    if len(dense) == len(parts):
        return DenseRows(np.concatenate(dense))
    X = sparse.vstack([sparse.csr_array(part.matrix()) for part in parts], format="csr")
    return SparseRows(X.indptr.astype(np.int64), X.indices, X.data, X.shape[1])


def _columns(sequences: Sequence[Sequence[Any]]) -> Tokens:
    """Tokens as tuples of text, or text for a single column."""
    tokens: list[tuple[str, ...]] = []
    for i, sequence in enumerate(sequences):
        for t, token in enumerate(sequence):
            columns = (token,) if isinstance(token, str) else _in_order(token)
            if columns is None or not all(isinstance(part, str) for part in columns):
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


def _in_order(token: Any) -> tuple[Any, ...] | None:
    """The columns of a token; None if it has none, or none in an order."""
    unordered = isinstance(token, Mapping | Set)
    return None if unordered or not is_collection(token) else tuple(token)
