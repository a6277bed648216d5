"""svmlight files with a set of labels for each row: `1,3,7 index:value ...`, as LIBSVM has them.

A row without labels begins with a blank, or with its first feature. The labels are taken off each
line and the parser of single labels sees a 0 of the same width in their place, so that what it says
of a line stands in the right column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from fenchel._kernels import SvmlightFault as Fault
from fenchel.data.compression import reading
from fenchel.data.svmlight import Path, Svmlight, parsed, refuse

Sets = list[tuple[float, ...]]

_BLOCK = 1 << 22  # bytes read at a time
_BLANKS = b" \t\r\n\x0b\x0c"


class LabelSets(NamedTuple):
    """What a file holds: the rows, and the labels of each."""

    rows: Svmlight
    sets: Sets


def read_sets(
    path: Path, *, n_features: int | None = None, index_base: int | None = None
) -> LabelSets:
    """The rows of a file and their sets of labels, which are numbers."""
    sets: Sets = []
    rows = parsed(path, _texts(path, sets), n_features=n_features, index_base=index_base)
    return LabelSets(rows, sets)


def _texts(path: Path, sets: Sets) -> Iterator[bytes]:
    """The text, block by block, with a label of 0 in each line; its labels go to `sets`."""
    number = 0
    with reading(path) as file:
        while lines := file.readlines(_BLOCK):
            yield b"".join(_single(path, number + k, line, sets) for k, line in enumerate(lines, 1))
            number += len(lines)


def _single(path: Path, number: int, line: bytes, sets: Sets) -> bytes:
    content = line.partition(b"#")[0]
    if number == 1:
        content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip(_BLANKS):
        return b"\n"
    first, *_ = content.split(None, 1)
    if content[:1] in (b" ", b"\t") or b":" in first:
        sets.append(())
        return b"0 " + content.rstrip(_BLANKS) + b"\n"
    sets.append(_labels(path, number, first))
    return b"0" * len(first) + content[len(first) :].rstrip(_BLANKS) + b"\n"


def _labels(path: Path, number: int, token: bytes) -> tuple[float, ...]:
    """The labels between commas, each once; a comma at the end is none."""
    found = []
    for part in token.removesuffix(b",").split(b","):
        try:
            value = float(part)
        except ValueError:
            refuse(path, Fault.label_not_a_number, number, 1, token)
        if not math.isfinite(value):
            refuse(path, Fault.not_finite, number, 1, token)
        found.append(value)
    return tuple(dict.fromkeys(found))
