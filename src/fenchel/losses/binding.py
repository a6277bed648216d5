"""Where a loss meets its rows: the one place that chooses between C++ and the Python formula."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fenchel.errors import Incompatible
from fenchel.losses.base import Array, Loss, ScalarLoss
from fenchel.losses.row_loss import RowLoss
from fenchel.losses.scalar_rows import NativeScalarRows, ScalarRows, is_built_in
from fenchel.losses.vector import VectorLoss
from fenchel.losses.vector_rows import LEAVES, NATIVE, LeafRows, NativeVectorRows, VectorRows


def bound(
    loss: Loss, y: npt.NDArray[Any], s: Array | None = None, offset: Array | None = None
) -> RowLoss:
    """The loss of rows with labels y, weights s (None: all 1) and offsets (None: all 0).

    C++ answers where the loss is built in, by its exact type, and its Python formula otherwise. A
    row's offset is a fixed number that is added to its score, of scalar losses only.
    """
    if isinstance(loss, ScalarLoss):
        return (NativeScalarRows if is_built_in(loss) else ScalarRows)(loss, y, s, offset)
    if offset is not None:
        raise Incompatible(f"{type(loss).__name__} takes no offset: it is no loss of one score")
    if type(loss) in LEAVES:
        return LeafRows(loss, y, s)
    if isinstance(loss, VectorLoss):
        return (NativeVectorRows if type(loss) in NATIVE else VectorRows)(loss, y, s)
    raise Incompatible(f"{type(loss).__name__} is no loss of single rows")
