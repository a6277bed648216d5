"""How long an owner's rows are, and which stand out."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fenchel.data.rows import WithOnes
from fenchel.data.shards import Shard
from fenchel.risks.base import Array
from fenchel.risks.linear import LinearRisk

_LARGE = 4.0  # times the mean magnitude, from where on an entry counts for more


def lengths(risk: LinearRisk) -> Array:
    """The length of each row."""
    return risk.engine.gather(risk.engine.map(_lengths))


def nonzero(risk: LinearRisk) -> Array:
    """The number of nonzeros of each column, without one of ones."""
    total: Array = risk.engine.total(risk.engine.map(_nonzero))
    return total


def reach(risk: LinearRisk, kept: npt.NDArray[np.bool_]) -> Array:
    """How much larger the entries of each row are than those of others; 1 but for outliers.

    The largest of |x_ij| / (`_LARGE` m_j) over the columns that are `kept`, with m_j the mean
    magnitude of the column's nonzeros, or 1. With equal slopes a row is refused whose entries are
    more than `_LARGE` sqrt(n) times others': a sum of n rows tells of none to better than about
    a quarter of its length.
    """
    engine = risk.engine
    sums, counts = engine.total(engine.map(_magnitudes)), nonzero(risk)
    inverse = np.divide(counts, sums, out=np.zeros_like(sums), where=sums > 0)
    return engine.gather(engine.map(_reach, inverse * kept[: len(inverse)] / _LARGE))


def rounded(length: float) -> float:
    """Up to two digits: one row more or less, or longer or shorter, is not seen as a rule."""
    if length == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(length)) - 1)
    return math.ceil(length / unit) * unit


def _lengths(shard: Shard) -> Array:
    X = shard.rows.matrix()
    squares = np.asarray((X * X).sum(axis=1), dtype=np.float64).ravel()
    roots: Array = np.sqrt(squares + isinstance(shard.rows, WithOnes))
    return roots


def _nonzero(shard: Shard) -> Array:
    return np.asarray((shard.rows.matrix() != 0).sum(axis=0), dtype=np.float64).ravel()


def _magnitudes(shard: Shard) -> Array:
    return np.asarray(abs(shard.rows.matrix()).sum(axis=0), dtype=np.float64).ravel()


def _reach(shard: Shard, inverse: Array) -> Array:
    X = abs(shard.rows.matrix())
    if isinstance(X, np.ndarray):
        scaled: Array = np.max(X * inverse, axis=1, initial=1.0)
        return scaled
    largest: Array = X.multiply(inverse[np.newaxis]).max(axis=1).toarray().ravel()
    return np.maximum(largest, 1.0)
