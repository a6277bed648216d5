"""Dask arrays and dataframes: rows that the workers of a cluster keep."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.callers import users_line
from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.checked import checked_matrix
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.errors import FenchelWarning, InvalidData

if TYPE_CHECKING:
    from distributed import Client, Future


class DaskRows(KeptRows):
    """A block that a worker keeps; where it is wanted here, it is copied."""

    def __init__(self, future: Future, shape: tuple[int, int, int]):
        self.future = future
        self.n_rows, self.n_columns, self.n_numbers = shape

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled without the rows: their future goes to Dask beside it."""
        return _Shape, ((self.n_rows, self.n_columns, self.n_numbers),)

    @contextmanager
    def opened(self) -> Iterator[SparseRows | DenseRows]:
        """The rows, copied from the worker that keeps them."""
        yield self.future.result()


class _Shape(KeptRows):
    """What is left of a block when it is pickled."""

    def __init__(self, shape: tuple[int, int, int]):
        self.n_rows, self.n_columns, self.n_numbers = shape

    @contextmanager
    def opened(self) -> Iterator[SparseRows | DenseRows]:
        """Refuses: a pickled block has left its rows behind."""
        raise InvalidData("these rows are with the workers of another process's cluster")


def is_dask(values: Any) -> bool:
    """Whether this is one of Dask's collections."""
    return type(values).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(
        values, "dask"
    )


def checked_collection(X: Any, client: Client) -> Blocks:
    """A Dask array or dataframe as blocks of rows, each checked where it is.

    Blocks of an array that has several along its columns are put together.
    """
    if X.ndim != 2:
        raise InvalidData(f"X must have two dimensions, rows and columns; got {X.ndim}")
    if hasattr(X, "rechunk") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    blocks = client.compute(list(np.ravel(X.to_delayed())))
    checked = [client.submit(_checked, block, pure=False) for block in blocks]
    shapes = client.gather([client.submit(_shape, rows, pure=False) for rows in checked])
    found = [pair for pair in zip(checked, shapes, strict=True) if pair[1][0]]
    if not found:
        raise InvalidData("X has no rows; at least 1 is needed")
    if len(found) < len(shapes):
        n_empty = len(shapes) - len(found)
        warnings.warn(
            f"{n_empty} of the {len(shapes)} blocks of X have no rows, and count for nothing",
            FenchelWarning,
            stacklevel=users_line(),
        )
    widths = {shape[1] for _, shape in found}
    if len(widths) > 1:
        raise InvalidData(f"the blocks of X have {sorted(widths)} columns; they must be the same")
    return Blocks([DaskRows(*pair) for pair in found], widths.pop())


def _checked(block: Any) -> SparseRows | DenseRows | None:
    """The rows of a block; a partition may have none."""
    return checked_matrix(block) if len(block) else None


def _shape(rows: SparseRows | DenseRows | None) -> tuple[int, int, int]:
    return (0, 0, 0) if rows is None else (rows.n_rows, rows.n_columns, rows.n_numbers)
