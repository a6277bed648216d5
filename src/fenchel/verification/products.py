"""Products with the rows, by NumPy and SciPy, one shard at a time.

Rows in this process's memory are taken from there, whatever engine holds copies of them: what it
would answer is what is to be verified. Rows that are kept elsewhere, in files or with workers, do
not come here: their engine runs these functions where they are. Those on a device are copied to its
host: what the device computed is to be verified too.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel._system import memory
from fenchel._system.threads import shared
from fenchel.data.blocks import KeptRows
from fenchel.data.rows import Rows, WithOnes, filled
from fenchel.data.shards import NUMBERS_PER_SHARD, Shard
from fenchel.tolerances import EPSILON, ROUND_OFF
from fenchel.verification.duals import RowCut

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Copied:
    """What products ask of an engine whose rows are in this host's memory."""

    shards: tuple[Shard, ...]
    n_threads: int


def at_hand(engine: Any) -> Any:
    """The engine; if its rows are on a device, a copy of them in this host's memory.

    Where that is too small for them, every product copies them anew, block by block.
    """
    if not engine.on_device:
        return engine
    have, needed = memory.available(), 16 * sum(shard.rows.n_numbers for shard in engine.shards)
    if have is not None and needed > have:  # of the 16 bytes 8 are for the work
        return engine
    copies = (replace(shard, rows=_copied(shard)) for shard in engine.shards)
    return Copied(tuple(copies), engine.n_threads)


def _copied(shard: Shard) -> Rows:
    rows = _inner(shard)
    assert isinstance(rows, KeptRows)
    with rows.opened() as here:
        return WithOnes(here) if isinstance(shard.rows, WithOnes) else here


def are_here(shards: Sequence[Shard]) -> bool:
    """Whether all rows are in this process's memory."""
    return not any(isinstance(_inner(shard), KeptRows) for shard in shards)


def _inner(shard: Shard) -> Rows:
    """The rows without the ones of an intercept."""
    return shard.rows.rows if isinstance(shard.rows, WithOnes) else shard.rows


@contextlib.contextmanager
def _matrix(shard: Shard) -> Iterator[Any]:
    """The rows as a matrix, for as long as they are needed: not a copy."""
    rows = _inner(shard)
    if isinstance(rows, KeptRows):
        with rows.opened() as here:
            yield here.matrix()
    else:
        yield rows.matrix()


def by_rows(engine: Any, product: Callable[[Shard, Array], Array], W: Array) -> Array:
    """The products of all shards and W, one below the other."""
    if are_here(engine.shards):
        parts = _each(engine, product, [(shard, W) for shard in engine.shards])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    return np.concatenate(list(engine.map(product, W)))


def by_columns(engine: Any, product: Callable[[Shard, Array], Array], a: Array) -> Array:
    """The sum over shards of the products with their own rows of a."""
    if len(engine.shards) == 1 and are_here(engine.shards):
        return product(engine.shards[0], a)
    if are_here(engine.shards):
        ends = np.cumsum([shard.rows.n_rows for shard in engine.shards])
        calls = zip(engine.shards, np.split(a, ends[:-1]), strict=True)
        parts = _each(engine, product, list(calls))
    else:
        first, *others = engine.map(product, engine.scatter(a))
        parts = [np.array(first), *others]  # what was sent may be read-only
    return _total(iter(parts))


def _each(
    engine: Any, product: Callable[[Shard, Array], Array], calls: list[tuple[Shard, Array]]
) -> list[Array]:
    """The products of shards, in as many threads as the engine's work: each by one of them.

    Of few numbers in one thread: chunks are then so small that threads wait for Python's lock.
    """
    numbers = sum(shard.rows.n_numbers for shard in engine.shards)
    return shared(engine.n_threads if numbers >= NUMBERS_PER_SHARD else 1, product, calls)


def chunks(shard: Shard) -> list[slice]:
    """A shard's rows in up to 32 chunks, of about 1024 rows or 16384 numbers if that is less.

    Sums of sums are rounded less, and what is copied of the rows is a chunk of them. A chunk has
    sixteen numbers for each column at least: its sums, which are as many as columns, would cost as
    much as its products otherwise.
    """
    n, numbers = shard.rows.n_rows, shard.rows.n_numbers
    most = min(32, max(1, numbers // (16 * max(shard.rows.n_columns, 1))))
    number = min(most, max(n // 1024, numbers // 16384, 1))
    step = max(-(-n // number), 1)
    return [slice(k, min(k + step, n)) for k in range(0, max(n, 1), step)]


def rounding(shards: Sequence[Shard]) -> float:
    """How far `adjoint` may be off, relative to `magnitude`."""
    return _rounding([rows for shard in shards for rows in chunks(shard)])


def _rounding(parts: Sequence[slice]) -> float:
    """The same of sums of these parts.

    A sum of m products, in whatever order, is off by m/2 epsilon of their magnitudes at most, and
    one of parts by their number; twice that makes up for what is rounded in this.
    """
    longest: int = max(rows.stop - rows.start for rows in parts)
    return EPSILON * (longest + len(parts) + 8)


def adjoint_and_error(shard: Shard, a: Array) -> tuple[Array, Array]:
    """X' a of rows in this memory, and by how much it may be off."""
    X, size, parts = shard.rows.matrix(), np.abs(a), chunks(shard)
    total, sizes = np.zeros((2, X.shape[1], *a.shape[1:]))
    for rows, part in _transposes(X, parts):
        total += part @ a[rows]
        sizes += _magnitudes(part) @ size[rows]
    return total, _rounding(parts) * sizes


def scores(shard: Shard, W: Array) -> Array:
    """X W."""
    with _matrix(shard) as X:
        return np.asarray(X @ W, dtype=np.float64)


def sizes(shard: Shard, W: Array) -> Array:
    """|X| |W|."""
    W = np.abs(W)
    with _matrix(shard) as X:
        parts = [_magnitudes(_part(X, rows)) @ W for rows in chunks(shard)]
        return np.asarray(np.concatenate(parts), dtype=np.float64)


def adjoint(shard: Shard, a: Array) -> Array:
    """X' a."""
    with _matrix(shard) as X:
        return _total(part @ a[rows] for rows, part in _transposes(X, chunks(shard)))


def magnitude(shard: Shard, a: Array) -> Array:
    """|X|' |a|."""
    a = np.abs(a)
    with _matrix(shard) as X:
        parts = _transposes(X, chunks(shard))
        return _total(_magnitudes(part) @ a[rows] for rows, part in parts)


def error_length(shards: Sequence[Shard], line: RowCut) -> float:
    """The length of the error of all of X'a, or more, without a pass of as many columns as a has.

    |x_i| |a_i|', a matrix of rank 1, is as long as the product of both lengths, and their sum is no
    longer than these together. inf where it is not known: rows are elsewhere, or a is in doubt.
    """
    if np.any(line.alpha_error) or not are_here(shards):
        return np.inf
    lengths = np.concatenate([row_lengths(shard) for shard in shards]) * lengths_of(line.alpha)
    return rounding(shards) * float(np.sum(lengths)) * (1 + ROUND_OFF)


def row_lengths(shard: Shard) -> Array:
    """The length of each row of X, or more."""
    with _matrix(shard) as X:
        if not sparse.issparse(X):
            return np.concatenate([lengths_of(X[rows]) for rows in chunks(shard)])
        squares = np.square(X.data, dtype=np.float64)
        return _length(sparse.csr_array((squares, X.indices, X.indptr), shape=X.shape).sum(axis=1))


def lengths_of(a: Array) -> Array:
    """The length of each row of an array, or more."""
    return _length(np.sum(np.square(a, dtype=np.float64), axis=1))


def _length(square: Array) -> Array:
    """The root of sums of squares or more, of up to 1e9 that are rounded or lost by underflow."""
    return np.asarray(np.sqrt(square) * (1 + 1e-6) + 1e-149)


GRAM_ROWS = 256  # whose products are added up one after the other


def gram(shard: Shard, h: Array) -> Array:
    """[X 1]' diag(h) [X 1], in chunks of rows whose sums are added up by pairs."""
    sums: list[tuple[int, Array]] = []  # of 1, 2, 4 ... chunks, the largest first
    for rows, A in chunks_with_ones(shard, GRAM_ROWS):
        level, total = 0, A.T @ (h[rows, np.newaxis] * A)
        while sums and sums[-1][0] == level:
            level, total = level + 1, sums.pop()[1] + total
        sums.append((level, total))
    return sum((part for _, part in reversed(sums)), np.zeros((1, 1)))


def lengths(shard: Shard, W: Array) -> Array:
    """The length of each row of [X 1] W."""
    parts = [np.linalg.norm(A @ W, axis=1) for _, A in chunks_with_ones(shard, 4 * GRAM_ROWS)]
    return np.concatenate([*parts, np.empty(0)])


def chunks_with_ones(shard: Shard, most: int) -> Iterator[tuple[slice, Array]]:
    """Some rows after the others, as an array with a last column of ones."""
    with _matrix(shard) as X:
        for first in range(0, X.shape[0], most):
            rows = slice(first, min(first + most, X.shape[0]))
            part = _part(X, rows)
            part = part.toarray() if sparse.issparse(part) else part
            yield rows, np.hstack([part, np.ones((len(part), 1))], dtype=np.float64)


def _part(X: Any, rows: slice) -> Any:
    """Some rows: of a SciPy matrix, too, no copy."""
    if not sparse.issparse(X):
        return X[rows]
    return _with_rows(sparse.csr_array, (rows.stop - rows.start, X.shape[1]), X, rows)


def _transposes(X: Any, parts: Sequence[slice]) -> Iterator[tuple[slice, Any]]:
    """The transposes of parts of the rows, one after the other, no copies."""
    for rows in parts:
        if sparse.issparse(X):
            yield rows, _with_rows(sparse.csc_array, (X.shape[1], rows.stop - rows.start), X, rows)
        else:
            yield rows, X[rows].T


def _with_rows(kind: type, shape: tuple[int, int], X: Any, rows: slice) -> Any:
    """A matrix of this shape with the numbers of some rows."""
    first, last = X.indptr[rows.start], X.indptr[rows.stop]
    start = X.indptr[rows.start : rows.stop + 1] - first
    part = copy.copy(_empty(kind, shape))
    return filled(part, X.data[first:last], X.indices[first:last], start)


@functools.lru_cache(maxsize=8)
def _empty(kind: type, shape: tuple[int, int]) -> Any:
    """To be copied: a constructor takes as long as the products of a chunk."""
    return kind(shape)


def _magnitudes(X: Any) -> Any:
    """|X|; of a SciPy matrix, which was made for this, the numbers are exchanged."""
    if not sparse.issparse(X):
        return np.abs(X)
    X.data = np.abs(X.data)
    return X


def _total(parts: Iterator[Array]) -> Array:
    total = np.asarray(next(parts), dtype=np.float64)
    for part in parts:
        total += part
    return total
