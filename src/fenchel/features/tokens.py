"""Features of tokens by name, and the vocabulary, or the hash, that gives names a column.

Tokens are dicts of features, as for sklearn-crfsuite, lists of names, or columns of text to which
templates are applied; or else rows of numbers, whose columns have no names.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import murmurhash3_32

from fenchel.data.checked import LARGEST
from fenchel.data.conll import Tokens
from fenchel.data.rows import SparseRows
from fenchel.errors import InvalidData
from fenchel.features.templates import Template, applied

Codes = npt.NDArray[np.int64]

_HASHES = (1 << 31) - 1


class Named(NamedTuple):
    """Tokens in compressed rows, whose columns have names."""

    row_start: Codes
    column: Codes
    value: npt.NDArray[Any]
    names: list[str]
    starts: Codes  # of sequences

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self.row_start) - 1


class Numbered(NamedTuple):
    """Tokens as rows of numbers, whose columns are the features."""

    rows: SparseRows
    starts: Codes  # of sequences

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return self.rows.n_rows

    def using(self, used: npt.NDArray[np.bool_]) -> SparseRows:
        """The rows without columns that are not used: these have no weights."""
        columns = np.where(used, np.arange(len(used)), -1).astype(np.int32)
        return _rows(self.rows, columns, len(used))


@dataclass(frozen=True)
class Vocabulary:
    """The names of features, those that occur most often first: their weights share the cache."""

    names: list[str]

    @classmethod
    def of(cls, tokens: Named, min_count: int) -> Vocabulary:
        """The features that occur at least so often."""
        counts = np.bincount(tokens.column, minlength=len(tokens.names))
        order = np.argsort(-counts, kind="stable")
        kept = order[counts[order] >= min_count]
        return cls([tokens.names[k] for k in kept])

    def rows(self, tokens: Named) -> SparseRows:
        """The tokens in these columns; features that are not in the vocabulary are left out."""
        place = {name: k for k, name in enumerate(self.names)}
        columns = np.array([place.get(name, -1) for name in tokens.names], dtype=np.int32)
        return _rows(tokens, columns, max(1, len(self.names)))


@dataclass(frozen=True)
class Hashed:
    """So many columns, of which a name's hash says its own; names that meet share a weight.

    Columns that are not `used`, if that is known, have no weights and are left out.
    """

    n_columns: int
    used: npt.NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.n_columns > _HASHES:
            raise InvalidData(f"hashes fill {_HASHES} columns at most; got {self.n_columns}")

    def rows(self, tokens: Named) -> SparseRows:
        """The tokens in these columns."""
        hashes = [murmurhash3_32(name, positive=True) for name in tokens.names]
        columns = (np.array(hashes, dtype=np.int64) % self.n_columns).astype(np.int32)
        if self.used is not None:
            columns[~self.used[columns]] = -1
        return _rows(tokens, columns, self.n_columns)


def _rows(tokens: Named | SparseRows, columns: npt.NDArray[np.int32], n_columns: int) -> SparseRows:
    """The tokens with their features in these columns, without those in column -1."""
    column = columns[tokens.column] if len(columns) else np.empty(0, dtype=np.int32)
    known = column >= 0
    kept = np.concatenate([[0], np.cumsum(known)])
    value = tokens.value if known.all() else tokens.value[known]
    start = kept[tokens.row_start].astype(np.int64)
    return SparseRows(start, column[known], value, n_columns)


def from_columns(tokens: Tokens, templates: Sequence[Template]) -> Named:
    """Tokens by what templates make of their columns."""
    found = applied(templates, tokens)
    offsets = np.cumsum([0, *(len(each.names) for each in found)])
    column = np.stack([each.codes + k for each, k in zip(found, offsets, strict=False)], axis=1)
    n, k = column.shape
    names = [name for each in found for name in each.names]
    value = np.ones(column.size, dtype=np.float32)
    start = np.arange(n + 1, dtype=np.int64) * k
    return _distinct(Named(start, column.ravel(), value, names, tokens.starts))


def _distinct(tokens: Named) -> Named:
    """Equal names share a column: two templates may be the same line."""
    place: dict[str, int] = {}
    to = np.array([place.setdefault(name, len(place)) for name in tokens.names], dtype=np.int64)
    if len(place) == len(tokens.names):
        return tokens
    return tokens._replace(column=to[tokens.column], names=list(place))


def from_dicts(sequences: Sequence[Sequence[Any]]) -> Named:
    """Tokens as dicts of features or lists of names."""
    place: dict[str, int] = {}
    start, column, value = [0], [], []
    for i, sequence in enumerate(sequences):
        for t, token in enumerate(sequence):
            for name, number in _features(token, f"token {t} of sequence {i}"):
                column.append(place.setdefault(name, len(place)))
                value.append(number)
            start.append(len(column))
    values = np.array(value, dtype=np.float64)
    with np.errstate(over="ignore"):  # what does not come back stays as it is
        single = values.astype(np.float32)
    lengths = [len(sequence) for sequence in sequences]
    return Named(
        np.array(start, dtype=np.int64),
        np.array(column, dtype=np.int64),
        single if np.array_equal(single, values) else values,
        list(place),
        np.cumsum([0, *lengths]).astype(np.int64),
    )


def _features(token: Any, where: str) -> Iterator[tuple[str, float]]:
    """The names and values of one token; text becomes part of the name, as in crfsuite."""
    if isinstance(token, Mapping):
        for key, value in token.items():
            if not isinstance(key, str):
                raise InvalidData(f"{where}: names of features are text; got {key!r}")
            yield from _feature(key, value, where)
    elif is_collection(token):
        for name in token:
            if not isinstance(name, str):
                raise InvalidData(f"{where}: a list of features holds text; got {name!r}")
            yield name, 1.0
    else:
        raise InvalidData(
            f"{where} must be a dict of features or a list of their names; got {token!r:.80}. For "
            "columns of text give a template"
        )


def _feature(key: str, value: Any, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, str):
        yield f"{key}:{value}", 1.0
    elif isinstance(value, numbers.Real | np.bool_):
        yield key, _number(key, value, where)
    elif is_collection(value):
        for inner, number in _features(value, where):
            yield f"{key}:{inner}", number
    else:
        raise InvalidData(
            f"{where}: feature {key!r} must be text, a number, a truth value, or a collection of "
            f"text; got {value!r:.80}"
        )


def is_collection(value: Any) -> bool:
    """Not text, nor an array without dimensions, which has nothing to iterate over."""
    none = isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return isinstance(value, Collection) and not none


def _number(key: str, value: Any, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not abs(number) <= LARGEST:
        raise InvalidData(
            f"{where}: feature {key!r} is {number:g}; values must be numbers from {-LARGEST:g} to "
            f"{LARGEST:g}"
        )
    return number
