"""Rows on a device of their own, such as a GPU: an array of the array API standard.

Products run where the rows are, in float64; of other numbers one block at a time is converted,
never all of X. Vectors travel: w and slopes to the device, scores and gradients back. Rows come
here for what is no product: to be verified by other code than that which fitted them, and for
solvers that take them one by one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.data.arrays import namespace, to_host
from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.checked import LARGEST, check_shape, nonfinite, too_large, unreal
from fenchel.data.rows import Array, DenseRows, in_two_sweeps
from fenchel.errors import InvalidData

# A block has so many numbers, 128 MB in float64, and so many rows at least: each product sends and
# fetches a vector, and starts work on the device, which smaller blocks would not be worth.
NUMBERS_PER_DEVICE_BLOCK, LEAST_ROWS = 1 << 24, 256


class Link:
    """The way to a device and back, with the bytes that went it; all blocks of an X have one."""

    def __init__(self, X: Any):
        self.xp, self.device = namespace(X), X.device
        self.sent, self.fetched = 0, 0  # bytes, to the device and from it
        self._counting = threading.Lock()  # threads share the blocks

    def send(self, values: npt.NDArray[Any]) -> Any:
        """A copy on the device."""
        own = np.array(values, order="C")  # PyTorch warns of arrays that cannot be written to
        with self._counting:
            self.sent += own.nbytes
        return self.xp.asarray(own, device=self.device)

    def fetch(self, values: Any) -> npt.NDArray[Any]:
        """A copy on this host, in C order."""
        found = np.asarray(to_host(values), order="C")
        with self._counting:
            self.fetched += found.nbytes
        return found


class DeviceRows(KeptRows):
    """Consecutive rows of an array on a device."""

    def __init__(self, X: Any, first: int, last: int, link: Link):
        self.X, self.first, self.last, self.link = X, first, last, link
        self.n_rows, self.n_columns = last - first, int(X.shape[1])
        self.n_numbers = self.n_rows * self.n_columns

    @contextmanager
    def opened(self) -> Iterator[DenseRows]:
        """A copy of the rows in this host's memory."""
        yield self._copied(self._values)

    def scores(self, w: Array) -> Array:
        """z = X w."""
        return self._answer(self.link.xp.matmul(self._wide(self._values), self.link.send(w)))

    def adjoint(self, a: Array) -> Array:
        """g = X' a."""
        return self._answer(self.link.xp.matmul(self._wide(self._values).T, self.link.send(a)))

    def evaluate(
        self, loss: _kernels.Loss, y: Array, s: Array | None, w: Array
    ) -> tuple[float, Array, Array]:
        """(sum_i s_i l(z_i, y_i), sum_i s_i l'(z_i, y_i) x_i, z); the losses are this host's."""
        return in_two_sweeps(self, loss, y, s, w)

    def squares(self, s: Array | None) -> Array:
        """g_j = sum_i s_i x_ij^2."""
        xp, X = self.link.xp, self._wide(self._values)
        total = xp.sum(X * X, axis=0) if s is None else xp.matmul((X * X).T, self.link.send(s))
        return self._answer(total)

    def take(self, rows: npt.NDArray[np.intp]) -> DenseRows:
        """A copy of some rows in this host's memory; no others come along."""
        return self._copied(self.link.xp.take(self._values, self.link.send(rows), axis=0))

    def largest(self) -> float:
        """The largest magnitude; nan or inf if there is one."""
        xp = self.link.xp
        return float(self.link.fetch(xp.max(xp.abs(self._values))))

    def n_nonfinite(self) -> int:
        """How many values are nan or inf."""
        xp = self.link.xp
        bad = xp.logical_not(xp.isfinite(self._values))
        return int(self.link.fetch(xp.sum(xp.astype(bad, xp.int64))))

    @property
    def _values(self) -> Any:
        """The rows as they are; sliced anew each time, as slices of JAX are copies."""
        return self.X if self.n_rows == self.X.shape[0] else self.X[self.first : self.last, :]

    def _wide(self, values: Any) -> Any:
        """Numbers of X in float64."""
        xp = self.link.xp
        return values if self.X.dtype == xp.float64 else xp.astype(values, xp.float64)

    def _copied(self, values: Any) -> DenseRows:
        """Rows of X in this host's memory, in float32 or float64, which kernels read."""
        narrow = self.X.dtype == self.link.xp.float32
        return DenseRows(self.link.fetch(values if narrow else self._wide(values)))

    def _answer(self, values: Any) -> Array:
        """What a product gives, as an array that may be written to."""
        return np.array(self.link.fetch(values), dtype=np.float64)


def checked_device(X: Any) -> Blocks:
    """An array on a device as blocks of rows, checked where they are."""
    n_rows, n_columns = check_shape(tuple(X.shape))
    link = Link(X)
    _check_type(X, link)
    edges = _edges(n_rows, n_columns)
    parts = [DeviceRows(X, first, last, link) for first, last in itertools.pairwise(edges)]
    if not link.xp.isdtype(X.dtype, ("bool", "integral")):
        _check_range(parts)
    return Blocks(parts, n_columns)


def _edges(n_rows: int, n_columns: int) -> list[int]:
    """Where blocks begin and end, all of about the same size."""
    size = max(NUMBERS_PER_DEVICE_BLOCK, LEAST_ROWS * n_columns)
    n = min(n_rows, max(1, round(n_rows * n_columns / size)))
    return [n_rows * k // n for k in range(n + 1)]


def _check_type(X: Any, link: Link) -> None:
    if link.xp.isdtype(X.dtype, "complex floating"):
        raise unreal("X", str(X.dtype).rpartition(".")[2])
    info = link.xp.__array_namespace_info__()
    if "float64" not in info.dtypes(device=link.device, kind="real floating"):
        raise InvalidData(
            f"X is on {link.device}, which has no float64, and without that nothing can be "
            "certified. Give X in this host's memory, such as X.cpu() of PyTorch; JAX has float64 "
            "after jax.config.update('jax_enable_x64', True)"
        )


def _check_range(parts: Sequence[DeviceRows]) -> None:
    """Looks for values that cannot be used; the block of the first comes here to be named."""
    sizes = [part.largest() for part in parts]
    if all(size <= LARGEST for size in sizes):
        return
    bad = [part for part, size in zip(parts, sizes, strict=True) if not size < np.inf]
    if not bad:
        raise too_large(max(sizes))
    count = sum(part.n_nonfinite() for part in bad)
    with bad[0].opened() as rows:
        _, i, j, _ = _kernels.scan(rows.values)
        raise nonfinite(count, rows.values[i, j], bad[0].first + i, j)
