"""The pairs of a SequenceLabeler in a file, and back: nothing of them is believed.

pairs.counts    how many labels each feature has a weight for, and each label before another
pairs.labels    those labels, by their places among the classes
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.data.sequences import MOST_LABELS, Pairs
from fenchel.errors import InvalidData
from fenchel.estimators.protocol import Saved


def stored(pairs: Pairs) -> dict[str, npt.NDArray[np.uint8]]:
    """The arrays that hold the pairs."""
    return {
        "pairs.counts": np.diff(pairs.start).astype("<u2").view(np.uint8),
        "pairs.labels": pairs.label.astype("<u2").view(np.uint8),
    }


def restored(saved: Saved, n_features: int, n_labels: int, *, named: bool = True) -> Pairs:
    """The pairs that were saved, in rising order.

    Features that are named have at least one each.
    """
    counts = _numbers(saved, "pairs.counts", n_features + n_labels)
    if n_labels > MOST_LABELS or (named and (counts[:n_features] == 0).any()):
        raise InvalidData("its features have no labels, or too many")
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    label = _numbers(saved, "pairs.labels", int(start[-1]))
    rises = np.ones(len(label), dtype=bool)
    rises[1:] = np.diff(label) > 0
    rises[start[:-1][counts > 0]] = True
    if not (rises.all() and (label < n_labels).all()):
        raise InvalidData("its pairs of features and labels are not in order")
    return Pairs(start, label.astype(np.uint16), n_labels)


def _numbers(saved: Saved, name: str, length: int) -> npt.NDArray[np.int64]:
    """Whole numbers of two bytes each."""
    return saved.array(name, np.uint8, (2 * length,)).view("<u2").astype(np.int64)
