"""A shard: a block of rows with its labels and sample weights, sized by the data alone."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided
from scipy import sparse

from fenchel.data.blocks import Blocks
from fenchel.data.device_rows import DeviceRows
from fenchel.data.rows import Array, DenseRows, Rows, SparseRows, WithOnes
from fenchel.errors import InvalidData
from fenchel.losses.base import Loss
from fenchel.losses.binding import bound
from fenchel.losses.row_loss import RowLoss

# Larger shards gain nothing more; data of fewer numbers than a quarter of one stay whole.
NUMBERS_PER_SHARD = 1 << 20


@dataclass(frozen=True)
class Shard:
    """Rows of X with their labels y and sample weights s (None: all 1).

    A fixed `offset` is added to the score of each row (None: to none).
    """

    rows: Rows
    y: npt.NDArray[Any]
    s: Array | None
    offset: Array | None = field(default=None, kw_only=True)
    _last: RowLoss | None = field(default=None, init=False, repr=False, compare=False)

    def bound(self, loss: Loss) -> RowLoss:
        """The loss of these rows; made once, as long as it is asked for with the same loss."""
        last = self._last
        if last is None or last.loss is not loss:
            last = bound(loss, self.y, self.s, self.offset)
            object.__setattr__(self, "_last", last)
        return last

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the loss that was bound last."""
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def take(self, rows: npt.NDArray[np.intp]) -> Shard:
        """A copy of some rows, with all that belongs to them."""
        s, offset = (None if each is None else each[rows] for each in (self.s, self.offset))
        return Shard(self.rows.take(rows), self.y[rows], s, offset=offset)


def fingerprint(shard: Shard) -> bytes:
    """A digest of rows, labels, weights and offsets."""
    digest, X = hashlib.blake2b(digest_size=16), shard.rows.matrix()
    rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for array in (*rows, shard.y, shard.s):
        if array is not None:
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    if shard.offset is not None:
        digest.update(b"offset" + np.ascontiguousarray(shard.offset).data)
    return digest.digest()


def cut(
    rows: SparseRows | DenseRows | Blocks,
    y: npt.NDArray[Any],
    s: Array | None,
    starts: npt.NDArray[np.int64] | None = None,
    *,
    offset: Array | None = None,
) -> tuple[Shard, ...]:
    """The rows in shards of about equal work; views, never copies. Blocks are shards as they are.

    Groups of rows that begin at `starts` are never parted.

    The number of shards depends on the data only, so that sums over shards have the same bits
    whatever runs them; it is even, to be shared by two.
    """
    if isinstance(rows, Blocks):
        return _blockwise(rows, y, s, starts, offset)
    total = rows.n_numbers
    if total < NUMBERS_PER_SHARD // 4:
        return (Shard(rows, y, s, offset=offset),)
    ends, pairs = _ends(rows), round(total / size(rows.n_columns) / 2)
    n_shards = min(rows.n_rows, 2 * max(1, pairs))
    targets = ends[0] + (ends[-1] - ends[0]) * np.arange(1, n_shards) / n_shards
    inner = np.searchsorted(ends, targets)
    if starts is not None:
        inner = starts[np.searchsorted(starts, inner)]
    edges = np.unique(np.concatenate([[0], inner, [rows.n_rows]]))
    return tuple(
        Shard(_slice(rows, i, j), y[i:j], _part(s, i, j), offset=_part(offset, i, j))
        for i, j in itertools.pairwise(edges)
    )


def _part(values: Array | None, i: int, j: int) -> Array | None:
    return None if values is None else values[i:j]


def size(n_columns: int) -> int:
    """The numbers that make a shard.

    A shard's gradient has n_columns entries: with at least sixteen numbers of X for each, adding
    them up costs little beside the products.
    """
    return max(NUMBERS_PER_SHARD, 16 * n_columns)


def _blockwise(
    blocks: Blocks,
    y: npt.NDArray[Any],
    s: Array | None,
    starts: npt.NDArray[np.int64] | None,
    offset: Array | None,
) -> tuple[Shard, ...]:
    edges = np.cumsum([0, *(part.n_rows for part in blocks.parts)])
    parted = np.empty(0) if starts is None else np.setdiff1d(edges, starts)
    if len(parted):
        raise InvalidData(
            f"a block of X ends at row {parted[0]}, within a group: rows of a group must be in one "
            "block"
        )
    return tuple(
        Shard(part, y[i:j], _part(s, i, j), offset=_part(offset, i, j))
        for part, (i, j) in zip(blocks.parts, itertools.pairwise(edges), strict=True)
        if j > i  # a shard has a row at least, so that its largest number is one
    )


def products(rows: SparseRows | DenseRows | Blocks, W: Array) -> Array:
    """X W; in shards, because a product of float32 with float64 copies what it multiplies."""
    shards = cut(rows, np.empty(rows.n_rows), None)
    return np.concatenate([_product(shard.rows, W) for shard in shards])


def _product(rows: Rows, W: Array) -> Array:
    found: Array = rows.scores(W) if isinstance(rows, DeviceRows) else rows.matrix() @ W
    return found


def _ends(rows: SparseRows | DenseRows) -> npt.NDArray[np.int64]:
    """The count of numbers before each row."""
    if isinstance(rows, SparseRows):
        return rows.row_start
    return np.arange(rows.n_rows + 1, dtype=np.int64) * rows.n_columns


def _slice(rows: SparseRows | DenseRows, i: int, j: int) -> Rows:
    if isinstance(rows, SparseRows):
        return replace(rows, row_start=rows.row_start[i : j + 1])
    return DenseRows(rows.values[i:j])


def are_small(shards: Sequence[Shard]) -> bool:
    """Whether kernels may take all rows as one shard: one, or about as many numbers as in one."""
    if not all(isinstance(shard.rows, SparseRows | DenseRows) for shard in shards):
        return False
    return len(shards) == 1 or sum(shard.rows.n_numbers for shard in shards) <= NUMBERS_PER_SHARD


def joined(shards: Sequence[Shard]) -> Shard:
    """The shards of `cut` as one; no row is copied."""
    if len(shards) == 1:
        return shards[0]
    return stacked(shards, _joined_rows([shard.rows for shard in shards]))


def stacked(shards: Sequence[Shard], rows: Rows) -> Shard:
    """All rows of the shards, which are known as one block, with all that belongs to them."""
    y = np.concatenate([shard.y for shard in shards])
    s = _concatenated([shard.s for shard in shards])
    return Shard(rows, y, s, offset=_concatenated([shard.offset for shard in shards]))


def _concatenated(parts: Sequence[Array | None]) -> Array | None:
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given else None


def _joined_rows(parts: Sequence[Rows]) -> Rows:
    first = parts[0]
    if isinstance(first, WithOnes):
        return WithOnes(_joined_rows([cast(WithOnes, part).rows for part in parts]))
    if isinstance(first, SparseRows):
        starts = [part.row_start[:-1] for part in parts if isinstance(part, SparseRows)]
        last = cast(SparseRows, parts[-1]).row_start[-1:]
        row_start = np.concatenate([*starts, last])
        return replace(first, row_start=row_start)
    # Slices of one array that follow each other: the first, made longer, is all of them.
    values = cast(DenseRows, first).values
    shape = sum(part.n_rows for part in parts), first.n_columns
    return DenseRows(as_strided(values, shape, values.strides, writeable=False))
