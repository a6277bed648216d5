"""Sequences of tokens, and the pairs of features and labels that have a weight."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import NUMBERS_PER_SHARD, Shard
from fenchel.errors import InvalidData, Setting

Indices = npt.NDArray[np.int64]

MOST_LABELS = 1 << 15
MOST_PAIRS = (1 << 31) - 1  # whose places have 32 bits
_WORTH_A_ROW = 4  # a quarter of all labels: adding four numbers at once costs as one


@dataclass(frozen=True)
class Pairs:
    """The pairs of feature f are start[f] .. start[f + 1] - 1, sorted by label.

    The labels before are features too, the last n_labels of them: their pairs are transitions.
    """

    start: Indices
    label: npt.NDArray[np.uint16]
    n_labels: int

    def __post_init__(self) -> None:
        _check_number(len(self.label))

    @property
    def n_features(self) -> int:
        """How many features tokens can have, without the labels before."""
        return len(self.start) - 1 - self.n_labels

    @property
    def n_states(self) -> int:
        """Pairs that are not transitions; they come first."""
        return int(self.start[self.n_features])

    @property
    def feature(self) -> Indices:
        """The feature of each pair."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @functools.cached_property
    def dense(self) -> npt.NDArray[np.int32]:
        """The features that are worth a row for all labels (see chains.hpp)."""
        counts = np.diff(self.start[: self.n_features + 1])
        return np.flatnonzero(counts * _WORTH_A_ROW >= self.n_labels).astype(np.int32)

    @functools.cached_property
    def run(self) -> npt.NDArray[np.uint16]:
        """The labels, the last of each feature marked."""
        run = self.label.copy()
        run[self.start[1:][np.diff(self.start) > 0] - 1] |= np.uint16(MOST_LABELS)
        return run

    def places(self, column: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Where the numbers of features are: dense row r as r, pairs from k on as ~k."""
        place = ~self.start[:-1].astype(np.int32)
        place[self.dense] = np.arange(len(self.dense))
        return place[column]

    def states(self, w: npt.NDArray[np.float64]) -> sparse.csr_array:
        """Numbers of pairs, such as weights, as a matrix of features and labels."""
        n, end = self.n_features, self.n_states
        parts = (w[:end], self.label[:end].astype(np.int32), self.start[: n + 1])
        return sparse.csr_array(parts, shape=(n, self.n_labels))

    def transitions(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Those of labels before and labels, 0 where there is no pair."""
        T, before = np.zeros((self.n_labels, self.n_labels)), self.feature[self.n_states :]
        T[before - self.n_features, self.label[self.n_states :]] = w[self.n_states :]
        return T

    def gathered(
        self, states: npt.NDArray[np.float64], transitions: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Matrices of features and labels, and of transitions, at the pairs."""
        features, n = self.feature, self.n_states
        return np.concatenate(
            [
                np.asarray(states)[features[:n], self.label[:n]],
                transitions[features[n:] - self.n_features, self.label[n:]],
            ]
        )


@dataclass(frozen=True)
class Sequences(Shard):
    """Tokens with their labels; sequence i is the rows starts[i] .. starts[i + 1] - 1.

    Sample weights are those of the sequences.
    """

    starts: Indices
    pairs: Pairs
    place: npt.NDArray[np.int32]  # of all columns of all shards

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the columns of others, as their rows are."""
        assert isinstance(self.rows, SparseRows)
        first, last = self.rows.row_start[[0, -1]]
        place = self.place[first:last]
        return Sequences, (self.rows, self.y, self.s, self.starts, self.pairs, place)

    @property
    def n_sequences(self) -> int:
        """How many sequences there are."""
        return len(self.starts) - 1

    @property
    def weight(self) -> float:
        """The sum of the sample weights."""
        return float(self.n_sequences if self.s is None else np.sum(self.s))

    def of_tokens(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """For each token what its sequence has."""
        return np.repeat(values, np.diff(self.starts))

    @property
    def chains(self) -> _kernels.Chains32 | _kernels.Chains64:
        """The kernel's view of them."""
        rows, pairs = self.rows, self.pairs
        assert isinstance(rows, SparseRows)
        kind: Any = _kernels.Chains32 if rows.value.dtype == np.float32 else _kernels.Chains64
        arrays = (self.starts, rows.row_start, self.place, rows.value)
        return kind(*arrays, pairs.start, pairs.run, pairs.dense, pairs.n_labels)  # type: ignore[no-any-return]  # of one shape


def all_pairs(n_features: int, n_labels: int) -> Pairs:
    """Every feature with every label."""
    n = n_features + n_labels
    _check_number(n * n_labels)  # before they are made
    label = np.tile(np.arange(n_labels, dtype=np.uint16), n)
    return Pairs(np.arange(n + 1, dtype=np.int64) * n_labels, label, n_labels)


def _check_number(n_pairs: int) -> None:
    if n_pairs > MOST_PAIRS:
        raise InvalidData(
            f"chains take up to {MOST_PAIRS:,} weights, for pairs of features and labels; got "
            f"{n_pairs:,}. Leave out rare features, or take ",
            Setting("pairs", "observed"),
        )


def observed_pairs(rows: SparseRows, y: Indices, starts: Indices, n_labels: int) -> Pairs:
    """The pairs of a feature and a label, and of two labels in a row, that occur in the data."""
    first, last = rows.row_start[0], rows.row_start[-1]
    of_token = np.repeat(y, np.diff(rows.row_start))
    keys = rows.column[first:last].astype(np.int64) * n_labels + of_token
    states = _distinct(keys, rows.n_columns * n_labels)
    inner = np.ones(len(y), dtype=bool)
    inner[starts[:-1]] = False
    now = np.flatnonzero(inner)
    steps = np.unique((rows.n_columns + y[now - 1]) * n_labels + y[now])
    places = np.concatenate([states, steps])
    edges = np.arange(rows.n_columns + n_labels + 1, dtype=np.int64) * n_labels
    start = np.searchsorted(places, edges).astype(np.int64)
    return Pairs(start, (places % n_labels).astype(np.uint16), n_labels)


def _distinct(keys: Indices, bound: int) -> Indices:
    """The different keys in order, all of them below a bound: marked where memory allows it."""
    if bound > 64 * (len(keys) + 1):
        return np.unique(keys)
    marks = np.zeros(bound, dtype=bool)
    marks[keys] = True
    return np.flatnonzero(marks)


def compressed(rows: SparseRows | DenseRows) -> SparseRows:
    """Rows as the kernels of chains take them: compressed, with columns of 32 bits."""
    if isinstance(rows, DenseRows):
        X = sparse.csr_array(rows.matrix())
        rows = SparseRows(X.indptr.astype(np.int64), X.indices, X.data, rows.n_columns)
    if rows.n_columns >= 1 << 31:
        raise InvalidData(f"chains take less than 2^31 features; got {rows.n_columns}")
    column = rows.column.astype(np.int32, copy=False)
    return SparseRows(rows.row_start, column, rows.value, rows.n_columns)


def cut_sequences(
    rows: SparseRows,
    y: Indices,
    s: npt.NDArray[np.float64] | None,
    starts: Indices,
    pairs: Pairs,
) -> tuple[Sequences, ...]:
    """The sequences in shards of about equal work; views, never copies.

    The work on a token goes with its numbers times labels, and with the square of these. A shard
    has its own gradient, which must not cost more than its work; small data stay whole.
    """
    L = pairs.n_labels
    tokens = np.arange(rows.n_rows + 1) * L * L
    work = (tokens + (rows.row_start - rows.row_start[0]) * L)[starts]
    size, total = max(4 * NUMBERS_PER_SHARD, 64 * len(pairs.label)), int(work[-1])
    n_shards = 1 if total < size // 4 else min(len(starts) - 1, 2 * max(1, round(total / size / 2)))
    inner = np.searchsorted(work, work[-1] * np.arange(1, n_shards) / n_shards)
    edges = np.unique(np.concatenate([[0], inner, [len(starts) - 1]]))
    whole = Sequences(rows, y, s, starts, pairs, pairs.places(rows.column))
    return tuple(_slice(whole, i, j) for i, j in itertools.pairwise(edges.tolist()))


def _slice(whole: Sequences, i: int, j: int) -> Sequences:
    """Sequences i .. j - 1."""
    starts, rows = whole.starts[i : j + 1], whole.rows
    assert isinstance(rows, SparseRows)
    first, last = int(starts[0]), int(starts[-1])
    part = SparseRows(rows.row_start[first : last + 1], rows.column, rows.value, rows.n_columns)
    y, s = whole.y[first:last], None if whole.s is None else whole.s[i:j]
    return dataclasses.replace(whole, rows=part, y=y, s=s, starts=starts - first)
