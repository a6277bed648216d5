"""From svmlight text of any length to a store, in the memory of a chunk."""

from __future__ import annotations

import os

from fenchel.data.rows import SparseRows
from fenchel.data.shards import NUMBERS_PER_SHARD
from fenchel.data.store import Piece, write_pieces
from fenchel.data.svmlight import Svmlight, stream_svmlight
from fenchel.errors import InvalidData

Path = str | os.PathLike[str]


def svmlight_to_store(
    source: Path, path: Path, *, index_base: int | None = None, numbers: int = NUMBERS_PER_SHARD
) -> int:
    """Writes the rows of a svmlight file as a store, and says how many there were."""
    try:
        return _converted(source, path, 1 if index_base is None else index_base, numbers)
    except InvalidData as error:
        if index_base is not None or "the index is 0 though" not in str(error):
            raise
    return _converted(source, path, 0, numbers)  # an index 0 turned up: all count from 0


def _converted(source: Path, path: Path, base: int, numbers: int) -> int:
    seen = _Seen()
    write_pieces(
        (seen.piece(part) for part in stream_svmlight(source, numbers, index_base=base)),
        path,
        lambda: (seen.n_columns, None, base),
    )
    return seen.n_rows


class _Seen:
    """What the parts add up to."""

    n_rows = n_columns = 0

    def piece(self, part: Svmlight) -> Piece:
        self.n_rows += part.X.shape[0]
        self.n_columns = max(self.n_columns, part.X.shape[1])
        X = part.X
        rows = SparseRows(X.indptr.astype("int64"), X.indices, X.data, X.shape[1])
        return Piece(rows, part.y, part.qid)
