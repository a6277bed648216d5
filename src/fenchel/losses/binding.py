"""Where a loss meets its rows."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fenchel.errors import Incompatible
from fenchel.losses.base import Array, Loss, ScalarLoss
from fenchel.losses.hierarchy import HierarchicalHinge, HierarchicalSoftmax
from fenchel.losses.row_loss import RowLoss
from fenchel.losses.scalar_rows import NativeScalarRows, ScalarRows, is_built_in
from fenchel.losses.vector import VectorLoss
from fenchel.losses.vector_rows import NATIVE, LeafRows, NativeVectorRows, VectorRows


def bound(loss: Loss, y: npt.NDArray[Any], s: Array | None = None) -> RowLoss:
    """The loss of rows with labels y and weights s (None: all 1).

    C++ answers where the loss is built in, by its exact type, and its Python formula otherwise.
    """
    if isinstance(loss, ScalarLoss):
        return (NativeScalarRows if is_built_in(loss) else ScalarRows)(loss, y, s)
    if type(loss) in (HierarchicalHinge, HierarchicalSoftmax):
        return LeafRows(loss, y, s)
    if isinstance(loss, VectorLoss):
        return (NativeVectorRows if type(loss) in NATIVE else VectorRows)(loss, y, s)
    raise Incompatible(f"{type(loss).__name__} is no loss of single rows")
