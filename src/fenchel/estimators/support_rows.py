"""The support rows of a kernel model as plain arrays, and back: numbers, texts or graphs.

Texts are the bytes of UTF-8, one after the other, with the place where each begins. A graph has
its edges likewise, and the labels of its nodes as texts, "i" before a whole number and "s" before a
text. Nothing of a file is believed: what does not belong together is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.errors import InvalidData
from fenchel.estimators.protocol import Saved
from fenchel.features.choosing import KernelSettings
from fenchel.features.objects import WeisfeilerLehman

Arrays = dict[str, npt.NDArray[Any]]

_SHAPE = "kernel.shape"  # n_support, n_rows, and up to four lengths of what follows


class SupportRows(NamedTuple):
    """What a file says of the rows that have a weight."""

    support: npt.NDArray[np.intp]
    n_rows: int
    rows: Any  # None where the kernel was precomputed
    gamma: float


def stored_rows(support: npt.NDArray[np.intp], n_rows: int, rows: Any, gamma: float) -> Arrays:
    """The arrays that hold them."""
    arrays, lengths = _stored(rows)
    sizes = [len(support), n_rows, *lengths]
    return {
        _SHAPE: np.array(sizes + [0] * (6 - len(sizes)), dtype=np.int64),
        "kernel.support": support.astype(np.int64),
        "kernel.gamma": np.array([gamma]),
        **arrays,
    }


def _stored(rows: Any) -> tuple[Arrays, list[int]]:
    if rows is None:
        return {}, []
    if sparse.issparse(rows):
        start, column = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        parts = {"start": start, "column": column, "value": rows.data.astype(np.float64)}
        return {f"kernel.{name}": part for name, part in parts.items()}, [1, len(column)]
    if isinstance(rows, np.ndarray):
        return {"kernel.vectors": np.ascontiguousarray(rows, dtype=np.float64)}, [0]
    if all(isinstance(row, str) for row in rows):
        return _stored_texts("text", rows)
    return _stored_graphs(rows)


def _stored_texts(name: str, texts: Sequence[str]) -> tuple[Arrays, list[int]]:
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    content = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return {f"kernel.{name}": content, f"kernel.{name}_start": ends}, [len(content), len(parts)]


def _stored_graphs(graphs: Sequence[Any]) -> tuple[Arrays, list[int]]:
    edges = [np.array(each, dtype=np.int64).reshape(-1, 2) for each, _ in graphs]
    labels = [list(each) for _, each in graphs]
    marked = [
        f"s{label}" if isinstance(label, str) else f"i{label}" for each in labels for label in each
    ]
    texts, lengths = _stored_texts("label", marked)
    arrays = {
        "kernel.edges": np.concatenate([np.empty((0, 2), dtype=np.int64), *edges]),
        "kernel.edge_start": np.cumsum([0, *map(len, edges)], dtype=np.int64),
        "kernel.node_start": np.cumsum([0, *map(len, labels)], dtype=np.int64),
        **texts,
    }
    return arrays, [*lengths, int(sum(map(len, edges)))]


def restored_rows(saved: Saved, settings: KernelSettings, n_columns: int) -> SupportRows:
    """The rows, taken out of a file."""
    shape = saved.array(_SHAPE, np.int64, (6,)).tolist()
    n, n_rows, *lengths = shape
    if min(shape) < 0 or n > n_rows:
        raise InvalidData(f"its support rows cannot be {n} of {n_rows}")
    support = saved.array("kernel.support", np.int64, (n,)).astype(np.intp)
    if len(support) and not (support[0] >= 0 and support[-1] < n_rows and _rise(support)):
        raise InvalidData("its support rows are none of those that were fitted")
    gamma = float(saved.numbers("kernel.gamma", 1)[0])
    if not gamma > 0:
        raise InvalidData(f"its gamma is {gamma}, which no kernel has")
    rows = None if settings.is_precomputed else _restored(saved, settings, n, lengths, n_columns)
    return SupportRows(support, n_rows, rows, gamma)


def _rise(places: npt.NDArray[Any]) -> bool:
    return bool(np.all(np.diff(places) > 0))


def _restored(
    saved: Saved, settings: KernelSettings, n: int, lengths: list[int], n_columns: int
) -> Any:
    kind = settings.of_objects
    if isinstance(kind, WeisfeilerLehman):
        return _restored_graphs(saved, n, lengths[0], lengths[1], lengths[2])
    if kind is not None:
        return _restored_texts(saved, "text", lengths[0], lengths[1], n)
    if lengths[0] == 1:
        return _restored_sparse(saved, n, lengths[1], n_columns)
    return _finite(saved.array("kernel.vectors", np.float64, (n, n_columns)))


def _finite(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not np.isfinite(values).all():
        raise InvalidData("its support rows hold nan or inf")
    return values


def _restored_sparse(saved: Saved, n: int, size: int, n_columns: int) -> sparse.csr_array:
    start = _starts(saved, "kernel.start", n, size)
    column = saved.array("kernel.column", np.int64, (size,))
    value = _finite(saved.array("kernel.value", np.float64, (size,)))
    if size and not (0 <= column.min() and column.max() < n_columns):
        raise InvalidData("its support rows name columns that there are not")
    return sparse.csr_array((value, column, start), shape=(n, n_columns))


def _starts(saved: Saved, name: str, n: int, size: int) -> npt.NDArray[np.int64]:
    """Where each of n things begins, and the last ends."""
    start = saved.array(name, np.int64, (n + 1,))
    if start[0] != 0 or start[-1] != size or np.any(np.diff(start) < 0):
        raise InvalidData(f"its {name} does not say where things begin")
    return start


def _restored_texts(saved: Saved, name: str, size: int, n: int, wanted: int) -> list[str]:
    if n != wanted:
        raise InvalidData(f"it has {n} texts where {wanted} belong")
    start = _starts(saved, f"kernel.{name}_start", n, size)
    content = saved.array(f"kernel.{name}", np.uint8, (size,)).tobytes()
    try:
        return [
            content[a:b].decode("utf-8", "surrogatepass")
            for a, b in zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise InvalidData(f"its texts are no Unicode: {error}") from error


def _restored_graphs(saved: Saved, n: int, size: int, n_nodes: int, n_edges: int) -> list[Any]:
    marked = _restored_texts(saved, "label", size, n_nodes, n_nodes)
    edges = saved.array("kernel.edges", np.int64, (n_edges, 2))
    edge_start = _starts(saved, "kernel.edge_start", n, n_edges)
    node_start = _starts(saved, "kernel.node_start", n, n_nodes)
    labels = [_label(text) for text in marked]
    return [
        (
            [tuple(edge) for edge in edges[edge_start[i] : edge_start[i + 1]].tolist()],
            labels[node_start[i] : node_start[i + 1]],
        )
        for i in range(n)
    ]


def _label(text: str) -> str | int:
    if text.startswith("s"):
        return text[1:]
    try:
        return int(text.removeprefix("i")[:20])
    except ValueError as error:
        raise InvalidData(f"{text!r:.40} is no label of a node") from error
