"""Sums and maxima over the labellings of linear chains, in plain NumPy.

Tokens of all sequences stand one after the other: Z has a row of L scores for each, T the scores of
transitions, and sequence i is the tokens starts[i] .. starts[i + 1] - 1. Each step takes the t-th
tokens of all sequences at once. `verify` and the tests rely on these; solvers run on the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Over = Callable[..., Any]  # logsumexp or np.max


class Expected(NamedTuple):
    """log Z of each sequence; how probable labels are at tokens, and how many transitions.

    Both as often as a token counts.
    """

    total: Array
    labels: Array
    transitions: Array


def gold_scores(Z: Array, T: Array, starts: Indices, y: Indices) -> Array:
    """s(y) of each sequence."""
    each = Z[np.arange(len(y)), y]
    inner = _inner(starts)
    each[inner] += T[y[inner - 1], y[inner]]
    return np.add.reduceat(each, starts[:-1])


def forward(Z: Array, T: Array, starts: Indices, over: Over) -> Array:
    """For each token and label, `over` all labels of the tokens before it."""
    alpha = Z.copy()
    for now in _steps(starts):
        alpha[now] += over(alpha[now - 1][:, :, np.newaxis] + T, axis=1)
    return alpha


def expected(Z: Array, T: Array, starts: Indices, weights: Array) -> Expected:
    """By forward-backward, of logarithms. Tokens of a sequence have the same weight."""
    alpha, beta = forward(Z, T, starts, logsumexp), np.zeros_like(Z)
    total = np.asarray(logsumexp(alpha[starts[1:] - 1], axis=1))
    each = np.repeat(total, np.diff(starts))[:, np.newaxis]
    transitions, weights = np.zeros_like(T), weights[:, np.newaxis]
    for now in reversed(list(_steps(starts))):
        after = T + (Z + beta)[now][:, np.newaxis, :]
        beta[now - 1] = logsumexp(after, axis=2)
        pairs = np.exp(alpha[now - 1][:, :, np.newaxis] + after - each[now, :, None])
        transitions += np.sum(weights[now, :, None] * pairs, axis=0)
    return Expected(total, weights * np.exp(alpha + beta - each), transitions)


def best(Z: Array, T: Array, starts: Indices) -> tuple[Array, Indices]:
    """The largest score of each sequence, and labels that have it; of equal ones the first."""
    alpha, labels = forward(Z, T, starts, np.max), np.zeros(len(Z), dtype=np.int64)
    last = starts[1:] - 1
    labels[last] = np.argmax(alpha[last], axis=1)
    for now in reversed(list(_steps(starts))):
        labels[now - 1] = np.argmax(alpha[now - 1] + T[:, labels[now]].T, axis=1)
    return np.max(alpha[last], axis=1), labels


def most_violating(Z: Array, T: Array, y: Indices) -> tuple[float, Indices]:
    """Of one sequence, max over y' of c (1 + s(y') - s(y)) with c wrong labels in y'; and that y'.

    alpha[t, c, j] is the best score of t + 1 labels that end in j, c of which are wrong.
    """
    n, L = Z.shape
    wrong = np.arange(L) != y[:, np.newaxis]
    alpha = np.full((n, n + 2, L), -np.inf)
    alpha[0, wrong[0].astype(int), np.arange(L)] = Z[0]
    for t in range(1, n):
        longer = Z[t] + np.max(alpha[t - 1][:, :, np.newaxis] + T, axis=1)
        alpha[t] = np.where(wrong[t], np.roll(longer, 1, axis=0), longer)
    right = float(gold_scores(Z, T, np.array([0, n]), y)[0])
    values = np.arange(n + 1) * (1 + np.max(alpha[-1, : n + 1], axis=1) - right)
    values[0] = 0.0
    c, labels = int(np.argmax(values)), y.copy()
    value = float(values[c])
    for t in reversed(range(n if c else 0)):
        towards = T[:, labels[t + 1]] if t + 1 < n else 0.0
        labels[t] = np.argmax(alpha[t, c] + towards)
        c -= int(wrong[t, labels[t]])
    return value, labels


def counted(labels: Indices, starts: Indices, weights: Array, L: int) -> tuple[Array, Array]:
    """The labels of tokens, as rows with a single weight, and the weights of their transitions.

    Tokens of a sequence have the same weight.
    """
    inner, transitions = _inner(starts), np.zeros((L, L))
    np.add.at(transitions, (labels[inner - 1], labels[inner]), weights[inner])
    return weights[:, np.newaxis] * np.eye(L)[labels], transitions


def _inner(starts: Indices) -> Indices:
    """All tokens but the first of each sequence."""
    return np.setdiff1d(np.arange(starts[-1]), starts[:-1])


def _steps(starts: Indices) -> Iterator[Indices]:
    """The second tokens of all sequences, their third, and so on."""
    lengths = np.diff(starts)
    for t in range(1, int(lengths.max(initial=0))):
        yield starts[:-1][lengths > t] + t
