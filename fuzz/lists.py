"""Losses of lists, rankings and sequences in long double, by enumeration of what they maximise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from formulas import Long, Rows

from fenchel import losses


def multivariate(loss: Any, z: Long, rows: Rows) -> np.longdouble:
    """L(z), a mean over lists where there are any."""
    lists = list(itertools.pairwise(rows.starts))
    if isinstance(loss, losses.FBeta):
        return _fbeta(loss, z, rows.y)
    if isinstance(loss, losses.PrecisionAtK | losses.RecallAtK | losses.PRBEP):
        return _top(loss, z, rows.y)
    if isinstance(loss, losses.ROC | losses.Ordinal | losses.RankHinge):
        parts = [_pairs(z[i:k], rows.y[i:k], rows.s[i:k]) for i, k in lists]
        return np.sum(parts, dtype=np.longdouble) / len(lists)
    if isinstance(loss, losses.RerankLikelihood | losses.RerankMargin):
        s = rows.s[rows.starts[:-1]]
        parts = [_list(loss, z[i:k], rows.y[i:k]) for i, k in lists]
        return np.longdouble(s @ np.array(parts) / np.sum(s))
    parts = [_ranking(loss, z[i:k], rows.y[i:k]) for i, k in lists]
    return np.sum(parts, dtype=np.longdouble) / len(lists)


def _pairs(z: Long, y: Any, s: Long) -> np.longdouble:
    """The weighted mean hinge of pairs y_i < y_j."""
    weight = np.where(y[:, np.newaxis] < y, s[:, np.newaxis] * s, 0)
    hinge = np.maximum(1 + z[:, np.newaxis] - z, 0)
    total = np.sum(weight)
    return np.sum(weight * hinge) / total if total > 0 else np.longdouble(0)


def _fbeta(loss: Any, z: Long, y: Any) -> np.longdouble:
    """The worst labelling loses the b lowest positives and finds the c highest negatives."""
    low, high = np.sort(z[y > 0]), np.sort(z[y <= 0])[::-1]
    loss_of, gain = (np.concatenate([[0], np.cumsum(part)]) for part in (low, high))
    b, c = np.arange(len(loss_of))[:, np.newaxis], np.arange(len(gain))
    square, a = np.longdouble(loss.beta) ** 2, len(low) - b
    delta = 1 - (1 + square) * a / (square * len(low) + a + c)
    return np.max(delta + 2 * (gain - loss_of[:, np.newaxis]) / np.longdouble(len(z)))


def _top(loss: Any, z: Long, y: Any) -> np.longdouble:
    """The worst k rows have the a highest positives and the k - a highest negatives."""
    right, wrong = np.sort(z[y > 0])[::-1], np.sort(z[y <= 0])[::-1]
    k = len(right) if isinstance(loss, losses.PRBEP) else loss.k
    whole = k if isinstance(loss, losses.PrecisionAtK) else len(right)
    sums = [np.concatenate([[0], np.cumsum(part)]) for part in (right, wrong)]
    a = np.arange(max(0, k - len(wrong)), min(k, len(right)) + 1)
    step = 2 / np.longdouble(len(z))
    most = np.max(1 - a / np.longdouble(whole) + step * (sums[0][a] + sums[1][k - a]))
    best = min(np.longdouble(1), np.longdouble(k) / len(right)) * sums[0][-1]
    best += np.longdouble(max(0, k - len(right))) / len(wrong) * sums[1][-1]
    return most - step * best


def _list(loss: Any, z: Long, y: Any) -> np.longdouble:
    gold = np.mean(z[y == np.max(y)])
    if isinstance(loss, losses.RerankLikelihood):
        top = np.max(z)
        return top + np.log(np.sum(np.exp(z - top))) - gold
    return np.max(np.max(y) - y + z) - gold


def _ranking(loss: Any, z: Long, y: Any) -> np.longdouble:
    """A sum over thresholds of relevance: t irrelevant documents before the relevant ones."""
    m, places = len(z), np.arange(1, len(z) + 1).astype(np.longdouble)
    if isinstance(loss, losses.MRR):
        y, worth = (y > 0).astype(float), None
        gains = y.astype(np.longdouble)
    else:
        worth, gains = _worths(loss, places, y)
        total = worth @ np.sort(gains)[::-1]
        gains = gains / total if total > 0 else gains
    value, levels = np.longdouble(0), np.unique(y)
    for below, level in itertools.pairwise(levels):
        weight = gains[y == level][0] - gains[y == below][0]
        high, low = np.sort(z[y < level])[::-1], np.sort(z[y >= level])
        n = len(low)
        t = np.arange(min(n, m - n) + 1)
        rise = np.concatenate([[0], np.cumsum(high[: t[-1]] - low[: t[-1]])])
        if worth is None:
            whole, lost = np.longdouble(1), 1 - 1 / np.where(t < n, t + 1, m - n + 1)
        else:
            sums = np.concatenate([[0], np.cumsum(worth)])
            whole, lost = sums[n], sums[t] - (sums[m] - sums[m - t])
        value += weight * np.max(lost + whole / n * rise)
    return value


def _worths(loss: Any, places: Long, y: Any) -> tuple[Long, Long]:
    """(what places are worth, what documents bring)."""
    if isinstance(loss, losses.ERU):
        return np.exp2((1 - places) / (np.longdouble(loss.half_life) - 1)), y.astype(np.longdouble)
    worth = 1 / np.log2(1 + places)
    if loss.k is not None:
        worth = np.where(places <= loss.k, worth, 0)
    return worth, np.exp2(y.astype(np.longdouble)) - 1


def chains(loss: Any, Z: Long, rows: Rows, T: Long) -> np.longdouble:
    """The mean over sequences, each by all of its labellings."""
    s = rows.s[rows.starts[:-1]]
    parts = [_sequence(loss, Z[i:k], rows.y[i:k], T) for i, k in itertools.pairwise(rows.starts)]
    return np.longdouble(s @ np.array(parts) / np.sum(s))


def _sequence(loss: Any, Z: Long, y: Any, T: Long) -> np.longdouble:
    n, K = Z.shape
    labels = np.array(list(itertools.product(range(K), repeat=n)))
    score = np.sum(Z[np.arange(n), labels], axis=1) + np.sum(
        T[labels[:, :-1], labels[:, 1:]], axis=1
    )
    score = score - (np.sum(Z[np.arange(n), y]) + np.sum(T[y[:-1], y[1:]]))
    if isinstance(loss, losses.CRF):
        return _soft(score, np.longdouble(1))
    cost = np.sum(loss.costs(K)[labels, y], axis=1)
    if isinstance(loss, losses.SoftM3N):
        return _soft(cost + score, np.longdouble(loss.temperature))
    return np.max(cost * (1 + score) if loss.rescaling == "slack" else cost + score)


def _soft(x: Long, tau: np.longdouble) -> np.longdouble:
    top = np.max(x)
    return top + tau * np.log(np.sum(np.exp((x - top) / tau)))
