"""NumPy archives: X under SciPy's own keys, or as "X" if dense, with y, qid and names beside it.

Nothing is unpickled, and no array is allocated before its size was compared with the file's.
"""

from __future__ import annotations

import math
import os
import zipfile
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel._system.files import replacing
from fenchel._system.memory import require
from fenchel.data.checked import checked_matrix
from fenchel.data.dataset import Dataset
from fenchel.data.rows import DenseRows
from fenchel.errors import FenchelError, InvalidData

_FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array}
_Arrays = dict[str, npt.NDArray[Any]]


def read_npz(path: str | os.PathLike[str]) -> Dataset:
    """The data set of an archive that `write_npz`, `scipy.sparse.save_npz` or NumPy wrote."""
    with open(path, "rb") as file:
        try:
            return _dataset(_arrays(file))
        except FenchelError as error:
            raise InvalidData(f"{os.fspath(path)}: ", *error.args) from error
        except MemoryError:
            raise
        except Exception as error:  # zipfile and NumPy fail on hostile bytes in many ways
            raise InvalidData(
                f"{os.fspath(path)}: this is no .npz archive, or a damaged one ({error})"
            ) from error


def write_npz(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Uncompressed, so that it is read at the speed of the disk."""
    arrays: _Arrays = {}
    if sparse.issparse(dataset.X):
        X = cast(sparse.csr_array, dataset.X)
        arrays |= {"indices": X.indices, "indptr": X.indptr, "data": X.data}
        arrays |= {"format": np.array(b"csr"), "shape": np.array(X.shape), "_is_array": np.array(1)}
    else:
        arrays["X"] = np.asarray(dataset.X)
    optional = {
        "y": dataset.y,
        "qid": dataset.qid,
        "feature_names": dataset.feature_names,
        "index_base": dataset.index_base,
    }
    arrays |= {name: np.asarray(part) for name, part in optional.items() if part is not None}
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def _arrays(file: BinaryIO) -> _Arrays:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        require(sum(info.file_size for info in members.values()), "the arrays of the archive")
        return {name: _array(archive, name, info) for name, info in members.items()}


def _array(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(info) as member:
        shape, _, kind = _header(cast(BinaryIO, member))
        declared = math.prod(shape) * kind.itemsize
        held = info.file_size - member.tell()
    if kind.hasobject:
        raise InvalidData(f"its array {name!r} holds pickled objects, which are never loaded")
    if declared != held:
        raise InvalidData(f"its array {name!r} says it has {declared} bytes but holds {held}")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _header(member: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    if np.lib.format.read_magic(member) == (1, 0):
        return np.lib.format.read_array_header_1_0(member)
    return np.lib.format.read_array_header_2_0(member)


def _dataset(arrays: _Arrays) -> Dataset:
    names, base = arrays.get("feature_names"), arrays.get("index_base")
    return Dataset(
        X=_checked(_matrix(arrays)),
        y=arrays.get("y"),
        qid=arrays.get("qid"),
        feature_names=None if names is None else _text(names),
        index_base=None if base is None else int(base),
    )


def _matrix(arrays: _Arrays) -> Any:
    if "format" not in arrays:
        if "X" not in arrays:
            raise InvalidData(
                f"it holds {', '.join(map(repr, arrays)) or 'nothing'}, but neither a sparse "
                "matrix of scipy.sparse.save_npz nor a dense one named 'X'"
            )
        return arrays["X"]
    kind = arrays["format"].item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    shape = tuple(int(size) for size in arrays["shape"])
    require(8 * max(shape), f"a matrix of shape {shape}")
    if kind == "coo":
        return sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=shape)
    if kind not in _FORMATS:
        raise InvalidData(f"its matrix is stored as {kind!r}; save X.tocsr() instead")
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return _FORMATS[kind](parts, shape=shape)


def _checked(matrix: Any) -> Any:
    rows = checked_matrix(matrix)
    if isinstance(rows, DenseRows):
        return rows.matrix()
    start = rows.row_start  # SciPy widens the columns to the type of the pointers
    if start[-1] <= np.iinfo(rows.column.dtype).max:
        start = start.astype(rows.column.dtype)
    shape = rows.n_rows, rows.n_columns
    return sparse.csr_array((rows.value, rows.column, start), shape=shape)


def _text(names: npt.NDArray[Any]) -> tuple[str, ...]:
    if names.dtype.kind != "U" or names.ndim != 1:
        raise InvalidData("its feature_names are not a list of text")
    return tuple(names.tolist())
