"""Labels as losses take them: numbers, codes or indicators, with the classes they stand for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.data import frames
from fenchel.data.checked import LARGEST, as_array, checked_classes, checked_labels, floating
from fenchel.errors import InvalidData
from fenchel.losses import Labels, Loss, Taxonomy
from fenchel.losses.hierarchy import Hierarchical


class Targets(NamedTuple):
    """What the kernels read, and what it means: score k of a row is that of classes[k]."""

    y: npt.NDArray[Any]
    classes: npt.NDArray[Any] = np.empty(0)  # none for numbers, and for two classes, -1 and +1


def checked_targets(y: Any, loss: Loss, n_rows: int) -> Targets:
    """The labels as the loss takes them."""
    if loss.labels in (Labels.CLASSES, Labels.TAGS):
        return checked_codes(y, n_rows)
    if loss.labels is Labels.SETS:
        return checked_sets(y, n_rows)
    if loss.labels is Labels.VECTORS:
        return checked_vectors(y, n_rows)
    if isinstance(loss, Hierarchical):
        return checked_leaves(y, loss.taxonomy, n_rows)
    return Targets(checked_labels(y, loss.labels, n_rows))


def checked_codes(y: Any, n_rows: int) -> Targets:
    """One class a row, of any values that can be sorted: codes 0 .. K-1 into the sorted classes."""
    if y is None:
        raise InvalidData("y is missing: the loss needs classes, one for each row of X")
    classes, codes = checked_classes(y, n_rows)
    return Targets(np.ascontiguousarray(codes, dtype=np.int64), classes)


def checked_leaves(y: Any, taxonomy: Taxonomy | None, n_rows: int) -> Targets:
    """A leaf of the taxonomy a row: codes into its sorted leaves, and the names of its nodes.

    Without a taxonomy all classes are leaves, and there are no other nodes.
    """
    codes, labels = checked_codes(y, n_rows)
    if taxonomy is None:
        return Targets(codes, labels)
    return Targets(taxonomy.codes(labels, codes), taxonomy.names)


def checked_vectors(y: Any, n_rows: int) -> Targets:
    """K real numbers for each row; the scores are numbered 0 .. K-1."""
    if y is None:
        raise InvalidData("y is missing: the loss needs a vector of numbers for each row of X")
    given = frames.columns(y)[0] if frames.is_frame(y) else as_array("y", y)
    values = np.ascontiguousarray(floating("y", given), dtype=np.float64)
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidData(
            f"y must have two dimensions, rows and targets; got shape {values.shape}. For a single "
            "target use y.reshape(-1, 1), or the loss squared_error"
        )
    if len(values) != n_rows:
        raise InvalidData(f"X has {n_rows} rows but y has {len(values)}")
    bad = ~(np.abs(values) <= LARGEST)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        raise InvalidData(
            f"y must hold finite numbers, of at most {LARGEST:g}; y[{i}, {k}] is {values[i, k]}"
        )
    return Targets(values, np.arange(values.shape[1]))


def checked_sets(y: Any, n_rows: int) -> Targets:
    """A set of labels a row, as an indicator matrix of zeros and ones or as collections of labels.

    Arrays of two dimensions, dense or sparse, are indicators, their classes 0 .. K-1; a list (or
    any other sequence) has a collection of labels for each row.
    """
    if y is None:
        raise InvalidData("y is missing: the loss needs sets of labels, one for each row of X")
    if sparse.issparse(y) or getattr(y, "ndim", None) == 2:
        return _indicator(y, n_rows)
    return _collections(y, n_rows)


def _indicator(y: Any, n_rows: int) -> Targets:
    values = y.toarray() if sparse.issparse(y) else as_array("y", y)
    if len(values) != n_rows:
        raise InvalidData(f"X has {n_rows} rows but y has {len(values)}")
    with np.errstate(invalid="ignore"):
        bad = (values != 0) & (values != 1)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        raise InvalidData(f"an indicator holds 0 and 1 only, but y[{i}, {k}] is {values[i, k]!r}")
    return _two_labels(values.astype(np.uint8, order="C"), np.arange(values.shape[1]))


def _collections(y: Any, n_rows: int) -> Targets:
    try:
        sets = list(y)
    except TypeError as error:
        raise InvalidData(f"y must hold a collection of labels for each row: {error}") from error
    if len(sets) != n_rows:
        raise InvalidData(f"X has {n_rows} rows but y has {len(sets)}")
    for i, labels in enumerate(sets):
        if isinstance(labels, str | bytes) or not isinstance(labels, Collection | np.ndarray):
            raise InvalidData(
                f"y[{i}] is {labels!r}, not a collection of labels; a row with one label is "
                f"[{labels!r}], and an indicator of zeros and ones must be an array"
            )
    lengths = [len(labels) for labels in sets]
    if not sum(lengths):
        raise InvalidData("y holds no label at all")
    rows = np.repeat(np.arange(n_rows), lengths)
    flat = np.array([label for labels in sets for label in labels])
    if flat.ndim != 1:
        raise InvalidData("y holds labels that are collections themselves")
    _check_finite(flat)
    classes, codes = _sorted(flat, "y")
    indicator = np.zeros((n_rows, len(classes)), dtype=np.uint8)
    indicator[rows, codes] = 1
    return _two_labels(indicator, classes)


def _two_labels(indicator: npt.NDArray[np.uint8], classes: npt.NDArray[Any]) -> Targets:
    if len(classes) < 2:
        named = f", {classes.tolist()[0]!r}" if len(classes) else ""
        raise InvalidData(f"y knows {len(classes)} label{named}; a multilabel loss needs two")
    return Targets(indicator, classes)


def _sorted(values: npt.NDArray[Any], name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise InvalidData(f"{name} mixes types that cannot be compared: {error}") from error
    return classes, codes.reshape(-1)


def _check_finite(values: npt.NDArray[Any]) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        i = int(np.argmax(~np.isfinite(values)))
        raise InvalidData(f"y holds nan or inf; the first is y[{i}] = {values[i]}")
