"""Small problems at the ends of what numbers can say: an honest end, whatever comes in."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard
from fenchel.data.store import Piece, read_store, write_pieces
from fenchel.engines import Serial
from fenchel.risks.linear import LinearRisk


def _piece(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    return Piece(DenseRows(X), np.where(X[:, 0] > 0, 1.0, -1.0), None)


def test_only_empty_shards(tmp_path):
    path = tmp_path / "empty.store"
    write_pieces([_piece(0), _piece(0)], path, lambda: (3, None, None))
    with pytest.raises(fenchel.InvalidData, match=r"empty\.store: X has no rows"):
        read_store(path)
    shards = [Shard(_piece(0).rows, np.zeros(0), None)] * 2
    with pytest.raises(fenchel.InvalidData, match="all shards are empty"):
        LinearRisk(losses.Hinge(), Serial().place(shards))


@pytest.mark.parametrize("loss", ["hinge", "squared_error", "softmax", "ordinal"])
def test_empty_blocks_among_others_change_nothing(tmp_path, loss):
    problems = []
    for name, sizes in [("with", [0, 9, 0, 0, 6, 0]), ("without", [9, 6])]:
        write_pieces(map(_piece, sizes), tmp_path / name, lambda: (3, None, None))
        data = read_store(tmp_path / name)
        problems.append(fenchel.problem(data.X, data.y, loss=loss, strength=0.1))
    for solver in ("auto", "bmrm", "lbfgs", "agm-inf", "hybrid"):
        try:
            found = [fenchel.minimize(each, solver, gap=1e-6) for each in problems]
        except fenchel.Incompatible:
            continue
        assert np.array_equal(found[0].w, found[1].w)
