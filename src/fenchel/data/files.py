"""Data sets in files, read and written by what the name of the file says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from fenchel.data.blocks import Blocks
from fenchel.data.compression import reading, suffixes
from fenchel.data.dataset import Dataset
from fenchel.errors import InvalidData

BINARY = {".parquet": "Parquet", ".npz": "a NumPy archive", ".store": "a store"}
DELIMITED = (".csv", ".tsv")
_SVMLIGHT = (".svm", ".svmlight", ".libsvm")

# How files of other formats begin.
_BEGINNINGS = {
    b"PAR1": "Parquet; name it .parquet",
    b"PK\x03\x04": "a zip archive; a NumPy archive is to be named .npz",
    b"\x93NUMPY": "a NumPy array; save X and y with numpy.savez in an .npz",
    b"ARROW1": "Feather; write it as .parquet",
    b"\x89HDF": "HDF5; write it as .parquet or .npz",
    b"SQLite format 3": "an SQLite database; write a table of it as .csv",
    b"\x80\x04": "a Python pickle, which is never loaded; write it as .parquet or .npz",
    b"\x80\x05": "a Python pickle, which is never loaded; write it as .parquet or .npz",
    b"\x1f\x8b": "a file compressed by gzip; add .gz to its name",
    b"BZh": "a file compressed by bzip2; add .bz2 to its name",
    b"\xfd7zXZ": "a file compressed by xz; add .xz to its name",
    b"\xff\xfe": "UTF-16; write it as UTF-8",
    b"\xfe\xff": "UTF-16; write it as UTF-8",
}
_WORDS = {
    b"@relation": "ARFF; write it as .csv",
    b"<": "XML or HTML",
    b"{": "JSON; write it as .csv or .parquet",
    b"[": "JSON; write it as .csv or .parquet",
}


def read(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    features: Sequence[str] | None = None,
    n_features: int | None = None,
    index_base: int | None = None,
    stream: bool = False,
    check: bool = True,
    offset: str | None = None,
) -> Dataset:
    """The data set in a file: .csv, .tsv, .parquet, .npz, .store, or else svmlight.

    Text formats may be compressed: .gz, .bz2, .xz. For tables, `target` is the name of the target
    column or its number from 0; `features` picks columns by name, which files without names take
    in their order; without either see `fenchel.data.tables`. `offset` is the column of numbers that
    are added to scores, and no feature. `n_features` and `index_base` are known of the data
    beforehand, from a model for instance.

    With `stream` the rows of svmlight and Parquet stay in the file, as those of a store always do:
    X is then `Blocks`, which are read again for each thing that is done with them. Those of Parquet
    are read once beforehand, unless `check=False` leaves it to their first readers to find faults.
    """
    suffix, _ = suffixes(path)
    check_able(path, stream=stream, offset=offset)
    wanted: dict[str, Any] = {
        "target": target,
        "features": features,
        "n_features": n_features,
        "offset": offset,
    }
    if suffix == ".parquet":
        from fenchel.data.parquet_rows import stream_parquet
        from fenchel.data.tables import read_parquet

        if stream:
            return stream_parquet(path, check=check, **wanted)
        return read_parquet(path, **wanted)
    if suffix == ".store":
        from fenchel.data.store import read_store

        return read_store(path, n_features=len(features) if features else n_features)
    if suffix == ".npz":
        return _narrowed(path, _read_npz(path), features, n_features)
    first_line(path)
    if is_delimited(path):
        from fenchel.data.delimited import read_delimited

        return read_delimited(path, **wanted)
    if features is not None and n_features is None:
        n_features = len(features)
    if stream:
        from fenchel.data.svmlight_rows import stream_rows

        return stream_rows(path, n_features=n_features, index_base=index_base)
    return _read_svmlight(path, n_features, index_base)


def check_able(
    path: str | os.PathLike[str], *, stream: bool = False, offset: str | None = None
) -> None:
    """Refuses what is asked of a file that its format does not have."""
    suffix, compression = suffixes(path)
    if suffix in BINARY and compression:
        raise InvalidData(f"{os.fspath(path)}: {BINARY[suffix]} is read without {compression}")
    if offset is not None and suffix not in (".parquet", *DELIMITED):
        raise InvalidData(
            f"{os.fspath(path)}: offsets are a column of a table, {offset!r}, and only .csv, .tsv "
            "and .parquet have columns with names"
        )
    if stream and (suffix == ".npz" or is_delimited(path)):
        kind = suffix if suffix in (".npz", *DELIMITED) else "CSV"
        raise InvalidData(
            f"{os.fspath(path)}: {kind} files cannot be streamed; svmlight, .parquet and .store "
            "can, and fenchel convert makes these"
        )


def streamable(path: str | os.PathLike[str]) -> bool:
    """Whether the rows of a file can stay there: those of svmlight, Parquet and stores."""
    suffix, compression = suffixes(path)
    return not compression and suffix != ".npz" and not is_delimited(path)


def is_delimited(path: str | os.PathLike[str]) -> bool:
    """Whether a file is CSV or TSV, by its name, or by its first line if the name says nothing."""
    suffix, _ = suffixes(path)
    if suffix in DELIMITED or suffix in BINARY or suffix in _SVMLIGHT or not os.path.isfile(path):
        return suffix in DELIMITED
    first = first_line(path)
    return (b"," in first or b";" in first) and b":" not in first


def line_of(path: str | os.PathLike[str], row: int) -> int | None:
    """The line that a row stands in, the first being 1; None in files without lines."""
    suffix, _ = suffixes(path)
    if suffix in BINARY:
        return None
    if is_delimited(path):
        from fenchel.data.delimited import delimited_line

        return delimited_line(path, row)
    from fenchel.data.svmlight import svmlight_line

    return svmlight_line(path, row)


def write(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Writes a data set by what the name of the file says; the file is old or new, never half.

    svmlight has no names of features, and writes 0 where there is no target; tables have no base
    of indices.
    """
    suffix, compression = suffixes(path)
    if suffix in BINARY and compression:
        raise InvalidData(f"{os.fspath(path)}: {BINARY[suffix]} is written without {compression}")
    if isinstance(dataset.X, Blocks) and suffix != ".store":
        dataset = replace(dataset, X=dataset.X.matrix())
    if suffix == ".parquet":
        from fenchel.data.tables import write_parquet

        write_parquet(dataset, path)
    elif suffix == ".store":
        from fenchel.data.store import write_store

        write_store(dataset, path)
    elif suffix == ".npz":
        from fenchel.data.npz import write_npz

        write_npz(dataset, path)
    elif suffix in DELIMITED:
        from fenchel.data.delimited import write_delimited

        write_delimited(dataset, path)
    else:
        _write_svmlight(dataset, path)


def _read_npz(path: str | os.PathLike[str]) -> Dataset:
    from fenchel.data.npz import read_npz

    return read_npz(path)


def _read_svmlight(
    path: str | os.PathLike[str], n_features: int | None, index_base: int | None
) -> Dataset:
    from fenchel.data.svmlight import parse_svmlight

    found = parse_svmlight(path, n_features=n_features, index_base=index_base)
    return Dataset(found.X, found.y, found.qid, None, found.index_base)


def _write_svmlight(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    from fenchel.data.svmlight_writing import write_svmlight

    y = np.zeros(dataset.X.shape[0]) if dataset.y is None else dataset.y
    if y.dtype.kind == "U":
        raise InvalidData(
            f"svmlight files hold numbers for targets, not text such as {str(y[0])!r}; "
            "write .csv, .parquet or .npz, or number the classes"
        )
    base = 1 if dataset.index_base is None else dataset.index_base
    write_svmlight(path, sparse.csr_array(dataset.X), y, dataset.qid, index_base=base)


def _narrowed(
    path: str | os.PathLike[str],
    found: Dataset,
    features: Sequence[str] | None,
    n_features: int | None,
) -> Dataset:
    """The columns asked for, by name where there are names."""
    X: Any = found.X
    if features is not None and found.feature_names is not None:
        from fenchel.data.tables import roles

        used = roles(found.feature_names, target=None, features=features, n_features=None).features
        return replace(found, X=X[:, list(used)], feature_names=tuple(features))
    expected = n_features if features is None else len(features)
    if expected is not None and X.shape[1] != expected:
        raise InvalidData(f"{os.fspath(path)}: X has {X.shape[1]} columns; {expected} are expected")
    return found


def first_line(path: str | os.PathLike[str]) -> bytes:
    """The first line of a text file, which must not look like another format."""
    with reading(path) as file:
        head = file.read(4096)
    for beginning, kind in _BEGINNINGS.items():
        if head.startswith(beginning):
            raise InvalidData(f"{os.fspath(path)}: this looks like {kind}")
    lines = [line.strip().lower() for line in head.splitlines()]
    first = next((line for line in lines if line and line[:1] not in b"%#"), b"")
    for word, kind in _WORDS.items():
        if first.startswith(word):
            raise InvalidData(f"{os.fspath(path)}: this looks like {kind}")
    return first
