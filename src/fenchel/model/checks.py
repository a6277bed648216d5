"""What the fitted attributes of a transformer from a file must be: types, shapes and ranges.

A check takes a value and the sizes that are known so far. Sizes have names: the first array in
which one occurs fixes it for all others of the same transformer; "n" is the number of columns that
it was fitted on. What passes cannot make scikit-learn's compiled loops read outside of an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

Sizes = dict[str, int]
Check = Callable[[Any, Sizes], bool]


def flag(value: Any, sizes: Sizes) -> bool:
    """True or False."""
    return type(value) is bool


def count(value: Any, sizes: Sizes) -> bool:
    """A whole number, 0 or more."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= 0)


def text(value: Any, sizes: Sizes) -> bool:
    """A string."""
    return isinstance(value, str)


def number(value: Any, sizes: Sizes) -> bool:
    """One number."""
    return not isinstance(value, bool) and isinstance(value, int | float | np.integer | np.floating)


def dtype(value: Any, sizes: Sizes) -> bool:
    """A type of numbers."""
    return isinstance(value, np.dtype)


def labels(value: Any, sizes: Sizes) -> bool:
    """An array of classes."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0


def words(value: Any, sizes: Sizes) -> bool:
    """An array of as many strings as there are columns."""
    return array("n")(value, sizes) and all(type(each) is str for each in value.tolist())


def array(*shape: str) -> Check:
    """An array of anything, of sizes by their names."""

    def check(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.ndim != len(shape):
            return False
        named = zip(shape, value.shape, strict=True)
        return all(sizes.setdefault(name, size) == size for name, size in named)

    return check


def numbers(*shape: str) -> Check:
    """An array of numbers, of sizes by their names."""
    of_shape = array(*shape)
    return lambda value, sizes: of_shape(value, sizes) and value.dtype.kind in "biuf"


def whole(*shape: str) -> Check:
    """An array of whole numbers, 0 or more."""
    of_shape = numbers(*shape)

    def check(value: Any, sizes: Sizes) -> bool:
        return of_shape(value, sizes) and value.dtype.kind in "iu" and bool((value >= 0).all())

    return check


def sparse_rows(*shape: str) -> Check:
    """A sparse matrix of numbers, of sizes by their names."""

    def check(value: Any, sizes: Sizes) -> bool:
        if not sparse.issparse(value) or value.dtype.kind not in "biuf":
            return False
        named = zip(shape, value.shape, strict=True)
        return all(sizes.setdefault(name, size) == size for name, size in named)

    return check


def columns(name: str, of: str = "n") -> Check:
    """As many places as `name` says, each of one of the `of` columns."""
    places = whole(name)
    return lambda value, sizes: places(value, sizes) and bool((value < sizes.get(of, 0)).all())


def maybe(check: Check) -> Check:
    """None, or what passes."""
    return lambda value, sizes: value is None or check(value, sizes)


def either(*checks: Check) -> Check:
    """What passes one of them."""
    return lambda value, sizes: any(check(value, sizes) for check in checks)


def each(check: Check, length: str = "") -> Check:
    """A list of what passes; of a size by its name, if it has one."""

    def of_list(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, list):
            return False
        fits = not length or sizes.setdefault(length, len(value)) == len(value)
        return fits and all(check(item, sizes) for item in value)

    return of_list


def apart(check: Check) -> Check:
    """What passes by itself: its sizes are its own."""
    return lambda value, sizes: check(value, {})


def table(keys: Check, values: Check) -> Check:
    """A dict whose keys and values pass."""
    return lambda value, sizes: (
        isinstance(value, dict)
        and all(keys(key, sizes) and values(each, sizes) for key, each in value.items())
    )


def instance(*kinds: type) -> Check:
    """An object of one of the classes."""
    return lambda value, sizes: isinstance(value, kinds)


def one_of(*known: Any) -> Check:
    """One of the values or functions."""
    return lambda value, sizes: (
        any(value is each for each in known)
        or (isinstance(value, str) and value in [each for each in known if isinstance(each, str)])
    )


def places(value: Any, sizes: Sizes) -> bool:
    """A vocabulary: text by its column, with one word for each of the columns."""
    if not isinstance(value, dict) or not all(type(word) is str for word in value):
        return False
    return sorted(value.values()) == list(range(sizes.setdefault("words", len(value))))


def plain(value: Any, sizes: Sizes) -> bool:
    """Numbers, text, types, arrays of these, and lists and dicts of all that."""
    if isinstance(value, list | tuple):
        return all(plain(item, sizes) for item in value)
    if isinstance(value, dict):
        return all(plain(item, sizes) for item in value.values())
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return all(plain(item, sizes) for item in value.tolist())
    known = (bool, int, float, str, type(None), type, slice, np.generic, np.ndarray, np.dtype)
    return isinstance(value, known)
