"""Measures of rankings, query by query; tied scores count as the mean over their orders."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.risks.base import Array

Groups = npt.NDArray[np.int64]


def ndcg(z: Array, y: Array, groups: Groups, k: int | None) -> Array:
    """NDCG@k of each query with a relevant document, gains 2^y - 1; k=None is all places."""
    query, start = _queries(groups)
    gain = np.exp2(y) - 1.0

    def summed(key: Array) -> Array:
        order = np.lexsort((-key, query))
        place = np.arange(len(z)) - start[query]
        worth = 1.0 / np.log2(place + 2.0)
        if k is not None:
            worth = np.where(place < k, worth, 0.0)
        tie = np.cumsum(_new(query, key[order])) - 1
        mean = np.bincount(tie, weights=worth) / np.bincount(tie)
        return np.asarray(np.bincount(query, weights=mean[tie] * gain[order]), dtype=np.float64)

    best = summed(y)
    return summed(z)[best > 0] / best[best > 0]


def reciprocal_rank(z: Array, y: Array, groups: Groups) -> Array:
    """1 / the place of the first document with y > 0, of each query that has one.

    Of t tied documents behind b others, r of them relevant, the first relevant one is j-th with
    probability C(t - j, r - 1) / C(t, r).
    """
    query, start = _queries(groups)
    order = np.lexsort((-z, query))
    tie = np.cumsum(_new(query, z[order])) - 1
    size = np.bincount(tie)
    relevant = np.bincount(tie, weights=y[order] > 0).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    held = np.flatnonzero(relevant)
    of, chosen = np.unique(query[first[held]], return_index=True)
    held, before = held[chosen], first[held[chosen]] - start[of]
    ranks = zip(before.tolist(), size[held].tolist(), relevant[held].tolist(), strict=True)
    return np.array([_expected(*each) for each in ranks])


def _expected(before: int, size: int, relevant: int) -> float:
    chance, total = relevant / size, 0.0
    for j in range(1, size - relevant + 2):
        total += chance / (before + j)
        chance *= (size - j - relevant + 1) / (size - j) if j < size else 0.0
    return total


def _queries(groups: Groups) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(each row's query, from 0; each query's first row)."""
    new = np.concatenate([[True], groups[1:] != groups[:-1]])
    return np.cumsum(new) - 1, np.flatnonzero(new)


def _new(query: npt.NDArray[np.intp], key: Array) -> npt.NDArray[np.bool_]:
    """Where a run of equal keys of one query starts."""
    return np.concatenate([[True], (key[1:] != key[:-1]) | (query[1:] != query[:-1])])
