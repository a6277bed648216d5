"""From svmlight text of any length to a store, in the memory of a chunk."""

from __future__ import annotations

import os

from fenchel.data.shards import NUMBERS_PER_SHARD
from fenchel.data.store import Piece, write_pieces
from fenchel.data.svmlight import Svmlight, either_base, stream_svmlight
from fenchel.data.svmlight_rows import sparse_rows

Path = str | os.PathLike[str]


def svmlight_to_store(
    source: Path, path: Path, *, index_base: int | None = None, numbers: int = NUMBERS_PER_SHARD
) -> int:
    """Writes the rows of a svmlight file as a store, and says how many there were."""
    return either_base(index_base, lambda base: _converted(source, path, base, numbers))


def _converted(source: Path, path: Path, base: int, numbers: int) -> int:
    seen = _Seen()
    write_pieces(
        (seen.piece(part.found) for part in stream_svmlight(source, numbers, index_base=base)),
        path,
        lambda: (seen.n_columns, None, base),
    )
    return seen.n_rows


class _Seen:
    """How many rows and columns the parts written so far add up to."""

    n_rows = n_columns = 0

    def piece(self, part: Svmlight) -> Piece:
        self.n_rows += part.X.shape[0]
        self.n_columns = max(self.n_columns, part.X.shape[1])
        return Piece(sparse_rows(part, part.X.shape[1]), part.y, part.qid)
