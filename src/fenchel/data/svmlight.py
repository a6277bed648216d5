"""svmlight (libsvm) text files: `label [qid:number] index:value ... [# comment]`, a row a line."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple, NoReturn, TypeVar, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel._kernels import SvmlightFault as Fault
from fenchel._system import memory
from fenchel._system.threads import checked_threads, default_threads
from fenchel.data.compression import reading, suffixes
from fenchel.errors import InvalidData, Phrase, Setting
from fenchel.settings import whole

Path = str | os.PathLike[str]
Array = npt.NDArray[np.float64]
Queries = npt.NDArray[np.int64]
T = TypeVar("T")
_Parser = _kernels.SvmlightParser32 | _kernels.SvmlightParser64

_BLOCK = 1 << 22  # bytes read at a time
_CHUNK = 1 << 18  # bytes a thread parses at a time
_WORST = 16  # bytes of memory that a byte of text may take: a label alone on each line
_LARGEST = int(np.iinfo(np.int32).max)

# What is wrong, and what to do about it.
_WORDS = {
    Fault.label_missing: (
        "the line does not begin with a label",
        "put a number before the features, 0 if there is no label",
    ),
    Fault.label_not_a_number: ("the label is not a number", "number the classes"),
    Fault.several_labels: (
        "several labels on one line",
        Phrase(
            "sets of labels are for ",
            Setting("loss", "multilabel_hinge"),
            "; in Python, sklearn.datasets.load_svmlight_file reads them",
        ),
    ),
    Fault.not_finite: (
        "the number is nan, infinite or too large",
        "remove or replace it; features left out count as 0",
    ),
    Fault.colon_missing: ("the colon of index:value is missing", "write a feature as 7:0.5"),
    Fault.index_not_a_number: ("the index is not a whole number", "write a feature as 7:0.5"),
    Fault.index_negative: ("the index is negative", "count features from 1 or 0"),
    Fault.index_zero: (
        "the index is 0 though features count from 1",
        Phrase("read the file with ", Setting("index_base", 0)),
    ),
    Fault.index_too_large: (
        "the index is too large",
        Phrase(
            f"indices beyond {_LARGEST} need ",
            Setting("n_features"),
            "; correct it if it is not meant",
        ),
    ),
    Fault.index_repeated: ("the index stands twice on this line", "keep one of the two values"),
    Fault.value_missing: ("the value is missing", "write a feature as 7:0.5"),
    Fault.value_not_a_number: ("the value is not a number", "write a feature as 7:0.5"),
    Fault.qid_not_a_number: ("the qid is not a whole number", "write it as qid:7"),
    Fault.qid_misplaced: ("the qid stands among the features", "put it right after the label"),
    Fault.qid_missing: ("the line has no qid though the ones before do", "give every line a qid"),
    Fault.qid_unexpected: ("the line has a qid though the ones before do not", "give it to all"),
    Fault.qid_scattered: (
        "the lines of this qid do not stand together",
        "sort the file by qid, or read it with qid=False",
    ),
}


class Svmlight(NamedTuple):
    """What a svmlight file holds; `qid` is None where it has none or none were asked for."""

    X: sparse.csr_array
    y: Array
    qid: Queries | None
    index_base: int


@overload
def read_svmlight(
    path: Path,
    *,
    qid: Literal[False] = False,
    n_features: int | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
) -> tuple[sparse.csr_array, Array]: ...
@overload
def read_svmlight(
    path: Path,
    *,
    qid: Literal[True],
    n_features: int | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
) -> tuple[sparse.csr_array, Array, Queries]: ...
def read_svmlight(
    path: Path,
    *,
    qid: bool = False,
    n_features: int | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
) -> Any:
    """Reads a svmlight (libsvm) file, plain or compressed by gzip, bzip2 or xz: (X, y).

    `qid=True` gives (X, y, qid), the number of each row's query. X is a `scipy.sparse.csr_array`
    of float64 with sorted indices, int32 where they fit. Numbers are what float() makes of them.

    Features are counted from 1, or from 0 if the index 0 occurs anywhere in the file;
    `index_base` says which it is. X has as many columns as the largest index asks for, or
    `n_features`: give it for test data, which may lack the last ones. Indices beyond
    2147483647 are taken for mistakes unless `n_features` is larger.

    Whatever is not of the format raises `InvalidData` with file, line, column and token.
    """
    X, y, queries, _ = parse_svmlight(
        path, qid=qid, n_features=n_features, index_base=index_base, n_threads=n_threads
    )
    if not qid:
        return X, y
    if queries is None:
        raise InvalidData(f"{os.fspath(path)}: no line has a qid; read it with qid=False")
    return X, y, queries


def parse_svmlight(
    path: Path,
    *,
    qid: bool = True,
    n_features: int | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
) -> Svmlight:
    """`read_svmlight` with all that the file tells; `qid` may be there or not."""
    size = 0 if suffixes(path)[1] else os.stat(path).st_size
    with reading(path) as file:
        return parsed(
            path,
            _blocks(file),
            size=size,
            qid=qid,
            n_features=n_features,
            index_base=index_base,
            n_threads=n_threads,
        )


def parsed(
    path: Path,
    blocks: Iterable[npt.NDArray[np.uint8] | bytes],
    *,
    size: int = 0,
    qid: bool = True,
    n_features: int | None = None,
    index_base: int | None = None,
    n_threads: int | None = None,
) -> Svmlight:
    """The rows of a file whose text comes in blocks, in all of `size` bytes where that is known."""
    if index_base not in (None, 0, 1):
        raise InvalidData(Setting("index_base"), f" must be 0, 1 or None; got {index_base!r}")
    largest = _LARGEST
    if n_features is not None:
        largest = max(largest, whole("n_features", n_features, least=1))
    kind = _kernels.SvmlightParser32 if largest == _LARGEST else _kernels.SvmlightParser64
    parser = kind(index_base, largest, qid, checked_threads(n_threads), _CHUNK)
    _feed(parser, path, blocks, size)
    _check_whole(parser, path, n_features)
    return _assembled(parser, n_features)


class SvmlightPart(NamedTuple):
    """Some rows of a file."""

    found: Svmlight
    end: int  # bytes of text that were read as whole lines by then
    n_left: int  # the last rows of these, which come with the next part


def stream_svmlight(path: Path, numbers: int, *, index_base: int) -> Iterator[SvmlightPart]:
    """The rows of a file in parts of about so many numbers, or 16 for each column seen by then.

    Whether an index 0 is still to come is not known here, and one that comes where indices count
    from 1 is an error: see `either_base`. Rows of a query are not parted. The columns of a part are
    those seen so far.
    """
    threads = default_threads()
    parser = _kernels.SvmlightParser32(index_base, _LARGEST, True, threads, _CHUNK)
    left, n_read = None, 0
    with reading(path) as file:
        for block in _blocks(file):
            n_read += len(block)
            if not parser.feed(block):
                refuse(path, parser.fault, *parser.fault_place)
            if parser.n_bytes >= 12 * max(numbers, 16 * parser.highest):
                part = _joined(left, _assembled(parser, None))
                part, left = _whole_queries(part)
                if len(part.y):
                    n_left = 0 if left is None else len(left.y)
                    yield SvmlightPart(part, n_read - parser.n_pending, n_left)
                del part  # before the next one is read
    if not parser.finish():
        refuse(path, parser.fault, *parser.fault_place)
    if parser.highest < 0:
        _check_whole(parser, path, None)
    part = _joined(left, _assembled(parser, None))
    if len(part.y):
        yield SvmlightPart(part, n_read, 0)


def svmlight_line(path: Path, row: int) -> int | None:
    """The line of a row, the first being 1, if it has so many: comments and blanks are no rows."""
    with reading(path) as file:
        lines = (k for k, line in enumerate(file, 1) if line.partition(b"#")[0].strip())
        return next(itertools.islice(lines, row, None), None)


def either_base(index_base: int | None, work: Callable[[int], T]) -> T:
    """work(index_base); if it is not known, work(1), or work(0) where an index 0 turns up."""
    try:
        return work(1 if index_base is None else index_base)
    except InvalidData as error:
        if index_base is not None or "the index is 0 though" not in str(error):
            raise
    return work(0)


def parse_lines(path: Path, file: BinaryIO, first: int, last: int, base: int) -> Svmlight:
    """The rows between two bytes of a file whose text was found to be sound."""
    parser = _kernels.SvmlightParser32(base, _LARGEST, True, 1, _CHUNK)
    file.seek(first)
    for block in _blocks(file, last - first):
        if not parser.feed(block):
            refuse(path, parser.fault, *parser.fault_place)
    if not parser.finish():
        refuse(path, parser.fault, *parser.fault_place)
    return _assembled(parser, None)


def _joined(first: Svmlight | None, second: Svmlight) -> Svmlight:
    """The rows of two parts."""
    if first is None:
        return second
    X = sparse.csr_array(
        (first.X.data, first.X.indices, first.X.indptr),
        shape=(first.X.shape[0], second.X.shape[1]),
    )
    qid = None
    if first.qid is not None and second.qid is not None:
        qid = np.concatenate([first.qid, second.qid])
    return second._replace(
        X=sparse.vstack([X, second.X], format="csr"),
        y=np.concatenate([first.y, second.y]),
        qid=qid,
    )


def _whole_queries(part: Svmlight) -> tuple[Svmlight, Svmlight | None]:
    """A part without its last query, which may go on, and that query."""
    if part.qid is None or not len(part.qid):
        return part, None
    k = int(np.flatnonzero(part.qid == part.qid[-1])[0])
    begin, end = (
        Svmlight(part.X[rows], part.y[rows], part.qid[rows], part.index_base)
        for rows in (slice(None, k), slice(k, None))
    )
    return begin, end


def _blocks(file: BinaryIO, size: float = math.inf) -> Iterator[npt.NDArray[np.uint8]]:
    """The next bytes of a file, a block at a time, in the same memory."""
    block = memoryview(bytearray(int(min(_BLOCK, size))))
    while n := file.readinto(block[: int(min(_BLOCK, size))]):  # type: ignore[attr-defined]  # BinaryIO lacks it, files have it
        size -= n
        yield np.frombuffer(block, np.uint8, n)


def _feed(
    parser: _Parser, path: Path, blocks: Iterable[npt.NDArray[np.uint8] | bytes], size: int
) -> None:
    """All of the file, block by block, as long as there is memory for what it becomes."""
    what, remedy = f"reading {os.fspath(path)}", "split the file, or use a larger machine"
    n_read = 0
    for block in blocks:
        n = len(block)
        n_read += n
        to_come = max(size - n_read, 0) * parser.n_bytes / n_read
        memory.require(_WORST * (n + parser.n_pending) + to_come, what, remedy)
        if not parser.feed(np.frombuffer(block, np.uint8)):
            refuse(path, parser.fault, *parser.fault_place)
    if not parser.finish():
        refuse(path, parser.fault, *parser.fault_place)


def refuse(path: Path, fault: Fault, line: int, column: int, token: bytes) -> NoReturn:
    """Says what is wrong in a line of a file, and what to do about it."""
    what, remedy = _WORDS[fault]
    raise InvalidData(f"{_at(path, line, column)}: {what}: {_shown(token)}; ", remedy)


def _check_whole(parser: _Parser, path: Path, n_features: int | None) -> None:
    """What only the whole file can tell."""
    if parser.n_rows == 0:
        raise InvalidData(
            f"{os.fspath(path)}: the file holds no data: it is empty or has only comments"
        )
    if n_features is None:
        if parser.highest < 0:
            raise InvalidData(
                f"{os.fspath(path)}: no line has features, only labels; give ",
                Setting("n_features"),
                " if that is meant",
            )
    elif parser.highest - parser.index_base >= n_features:
        line, column, token = parser.highest_place
        raise InvalidData(
            f"{_at(path, line, column)}: the index is too large for ",
            Setting("n_features", n_features),
            f", counted from {parser.index_base}: {_shown(token)}; give ",
            Setting("n_features"),
            f" >= {parser.highest + 1 - parser.index_base}, or leave it out",
        )


def _assembled(parser: _Parser, n_features: int | None) -> Svmlight:
    base = parser.index_base
    n_columns = max(parser.highest + 1 - base, 0) if n_features is None else n_features
    has_queries = parser.has_queries
    row_start, column, value, y, qid = parser.take()
    if len(row_start) == len(y):  # not the first part of the file
        row_start = np.concatenate([[0], row_start])
    if len(value) <= _LARGEST:
        row_start = row_start.astype(column.dtype)  # SciPy would else make both arrays int64
    X = sparse.csr_array((value, column, row_start), shape=(len(y), n_columns))
    X.has_canonical_format = True  # the parser sorts, and refuses duplicates
    return Svmlight(X, y, qid if has_queries else None, base)


def _at(path: Path, line: int, column: int) -> str:
    return f"{os.fspath(path)}:{line}:{column}"


def _shown(token: bytes) -> str:
    return repr(token.decode("utf-8", "backslashreplace"))
