"""Sums whose parts nobody sees: fixed-point numbers, and masks that cancel.

Owners k and l share a secret key, which gives them the same stream of integers for a context (who
takes part, the w that is asked about, value or gradient). Owner k sends its number plus the streams
it shares with owners after it and minus those with owners before it, all modulo 2^128. In the sum
over all owners every stream appears once with each sign; in that of fewer, streams are left over
that look random to anyone without the keys. The context holds w: owners who were asked about
different points have different streams, so that only sums of all owners at one w come out. A stream
never covers two different numbers, as the context says which number it is of which data; with noise
it may, and their difference is one of noise alone.

Numbers are integers times 2^-64. Those below 2^62 / K in magnitude, for K owners, are converted
with an error below 2^-64 each and added exactly, in any order; `error` bounds the sum's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData

Array = npt.NDArray[np.float64]
Fixed = npt.NDArray[np.uint64]  # n x 2: the low and the high words of integers modulo 2^128

BYTES = 16
_UNIT = 2.0**-64


def largest(n_owners: int) -> float:
    """What a number must stay below in magnitude, so that the sum of all owners' has room."""
    return 2.0**62 / n_owners


def error(n_owners: int) -> float:
    """A bound of the error of each number of a sum."""
    return n_owners * _UNIT


def fixed(numbers: Array) -> Fixed:
    """Numbers below 2^63 in magnitude, towards 0 to multiples of 2^-64."""
    magnitude = np.abs(numbers)
    whole = np.floor(magnitude)
    words = np.empty((len(numbers), 2), dtype=np.uint64)
    words[:, 0] = ((magnitude - whole) * 2.0**64).astype(np.uint64)  # the difference is exact
    words[:, 1] = whole.astype(np.uint64)
    negative = numbers < 0
    words[negative] = _negated(words[negative])
    return words


def floats(words: Fixed) -> Array:
    """The nearest numbers, up to two roundings."""
    negative = words[:, 1] >> np.uint64(63) == 1
    magnitude = np.where(negative[:, np.newaxis], _negated(words), words)
    numbers: Array = magnitude[:, 1].astype(np.float64) + magnitude[:, 0] * _UNIT
    return np.where(negative, -numbers, numbers)


def added(parts: Iterable[Fixed]) -> Fixed:
    """The sum modulo 2^128."""
    total: Fixed | None = None
    for part in parts:
        total = part.copy() if total is None else _sum(total, part)
    if total is None:
        raise InvalidData("there is nothing to add")
    return total


def masked(numbers: Array, mine: int, keys: Sequence[bytes], context: bytes) -> bytes:
    """The numbers under the masks of owner `mine`; keys[k] is shared with owner k."""
    words = fixed(numbers)
    for other, key in enumerate(keys):
        if other != mine:
            mask = _stream(key, context, len(numbers))
            words = _sum(words, mask if mine < other else _negated(mask))
    return words.astype("<u8").tobytes()


def unpacked(name: str, content: bytes, n: int) -> Fixed:
    """n integers from bytes."""
    if len(content) != BYTES * n:
        raise InvalidData(
            f"{name} must hold {n} masked numbers, {BYTES * n} bytes; it has {len(content)}"
        )
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(n, 2)


def _stream(key: bytes, context: bytes, n: int) -> Fixed:
    digest = hashlib.shake_256(key + context).digest(BYTES * n)
    return np.frombuffer(digest, "<u8").astype(np.uint64).reshape(n, 2)


def _sum(a: Fixed, b: Fixed) -> Fixed:
    low = a[:, 0] + b[:, 0]
    high = a[:, 1] + b[:, 1] + (low < a[:, 0])  # the carry
    return np.column_stack([low, high])


def _negated(a: Fixed) -> Fixed:
    low = ~a[:, 0] + np.uint64(1)
    return np.column_stack([low, ~a[:, 1] + (a[:, 0] == 0)])
