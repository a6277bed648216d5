"""Sizes of the data sets, for the papers' tables of them."""

from __future__ import annotations

from typing import Any


def counted(data: str, rows: int | None = None) -> dict[str, Any]:
    """Rows, columns, the share of entries that are not 0 (before scaling), and classes."""
    import numpy as np
    from scipy import sparse

    from reproduction.data import SETS, _path, _random, _read, load

    wanted = SETS[data]
    path = _path(wanted)
    read = _read(path, wanted, rows) if path else _random(wanted, rows or 100)
    X = read.X
    entries = X.nnz if sparse.issparse(X) else int(np.count_nonzero(X))
    y = load(data, rows).y
    labels = {label for row in y for label in row} if isinstance(y, list) else set(np.unique(y))
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "density": round(100 * entries / (X.shape[0] * X.shape[1]), 2),
        "classes": len(labels),
    }
