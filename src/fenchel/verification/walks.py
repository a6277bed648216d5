"""Distributions over the labellings of chains, in whole numbers.

For every distribution mu over the labellings y' of a sequence, and every tau > 0,

    tau log sum_y' exp(g(y') / tau) >= E_mu g + tau H(mu)

(Gibbs' variational principle), with equality for the mu that is proportional to exp(g / tau). With
g(y') = Delta(y', y) + <phi(y') - phi(y), v> the left side is the loss of `crf` (no Delta, tau = 1)
or `soft_m3n` at v, and the right side a cut of it: linear in v, with slope E_mu phi - phi(y) and
constant E_mu Delta + tau H(mu). So *any* mu proves a bound, and round-off in it makes the bound
lower, not false, if the expectations and the entropy are those of the mu that it led to.

mu is a Markov chain here, and what it gives to labels and to pairs of labels are multiples of one
unit: a sequence of weight s has a whole number of units that add up to s or a little less (its
loss is not negative). Token after token, what label j has, N(j) units, is parted among the labels k
of the next token, in proportion to P(k | j) computed in floating point at the tangency,

    E(j, k) = the whole part of N(j) P(k | j), and all that is left over to the k of the largest P,

so that sum_k E(j, k) = N(j), and the next token has N'(k) = sum_j E(j, k). Numbers up to 2^53 are
floats, and their sums are exact. What is left over is not below 0 but for N(j) > 2^53 / (L + 2),
by (L + 2) N(j) 2^-53 at most then, as P is off by its round-off: far less than E of the largest P
has, which is N(j) / L. The entropy of mu is that of each step given the label before,

    s H(mu) = sum over tokens, j and k of E(j, k) log(N(j) / E(j, k)),

the first token being parted from a single label. tables.py's log is off by LOG (1 + |log|), the
quotient and the product by u each, sums of L terms and again of L by 2 L u, all terms being >= 0;
so of each token's sum H' the true one is not below H' - (LOG + u) sum_j N(j) - (LOG + (2 L + 2) u)
H', up to second order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.verification import tables
from fenchel.verification.intervals import Array, Interval, exact, sum_below

Indices = npt.NDArray[np.int64]

_NUMBERS = 1 << 22  # of all P of a batch: 32 MB
_SEQUENCES = 1 << 10  # of a batch: sums of so many numbers up to 2^52 are whole numbers of 64 bits
_HALF = 26


class WholeSums(NamedTuple):
    """WholeSums of whole numbers, which may have more bits than a float: high 2^26 + low."""

    high: Indices
    low: Indices

    def minus(self, other: WholeSums) -> WholeSums:
        """Differences."""
        return WholeSums(self.high - other.high, self.low - other.low)

    @property
    def numbers(self) -> Interval:
        """As numbers."""
        high = np.ldexp(self.high.astype(np.float64), _HALF)
        return exact(high).plus(exact(self.low.astype(np.float64)))


class Walks(NamedTuple):
    """What all sequences together have, in units."""

    labels: Array  # N for each token
    transitions: WholeSums  # of E over all tokens but the first of each sequence
    entropy: float  # no more than that of all


def walks(Z: Array, T: Array, starts: Indices, units: Array) -> Walks:
    """The distributions proportional to exp of these scores, of so many units each."""
    L = len(T)
    labels, total = np.zeros_like(Z), WholeSums(*np.zeros((2, L, L), dtype=np.int64))
    entropies = [np.zeros(1)]
    for order, steps in batches(starts, L):
        before = units[order][:, np.newaxis]
        for now, P in zip(steps, _laws(Z, T, steps), strict=True):
            before = before[: len(now)]
            E = parted(before, P)
            entropies.append(_entropies(before, E))
            if now is not steps[0]:
                both = np.sum(E.astype(np.int64), axis=0)
                total = WholeSums(
                    total.high + (both >> _HALF), total.low + (both & (1 << _HALF) - 1)
                )
            labels[now] = before = np.sum(E, axis=1)
    return Walks(labels, total, sum_below(np.concatenate(entropies)))


def paths(labels: Indices, starts: Indices, units: Array, L: int) -> WholeSums:
    """The transitions of one labelling of each sequence."""
    inner = np.ones(len(labels), dtype=bool)
    inner[starts[:-1]] = False
    now = np.flatnonzero(inner)
    each = np.repeat(units, np.diff(starts))[now].astype(np.int64)
    found = WholeSums(*np.zeros((2, L, L), dtype=np.int64))
    for total, part in zip(found, (each >> _HALF, each & (1 << _HALF) - 1), strict=True):
        np.add.at(total, (labels[now - 1], labels[now]), part)
    return found


def batches(starts: Indices, L: int) -> Iterator[tuple[Indices, list[Indices]]]:
    """Sequences of similar length, the longest first, with their t-th tokens for each t.

    Those that have a t-th token are the first ones.
    """
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        longest = int(lengths[order[0]])
        most = max(1, min(_SEQUENCES, _NUMBERS // (longest * L**2)))
        some, order = order[:most], order[most:]
        yield some, [starts[some[lengths[some] > t]] + t for t in range(longest)]


def _laws(Z: Array, T: Array, steps: list[Indices]) -> list[Array]:
    """P(k | j) of all steps, from the last to the first: what follows k counts for it.

    The first has one j.
    """
    after, laws = np.zeros((len(steps[0]), len(T))), []
    for now in reversed(steps):
        scores = (Z[now] + after[: len(now)])[:, np.newaxis, :]
        P, after[: len(now)] = _law(scores if now is steps[0] else scores + T)
        laws.append(P)
    return laws[::-1]


def _law(scores: Array) -> tuple[Array, Array]:
    """The distribution proportional to exp, and log sum exp; all 0 where scores are no numbers."""
    with np.errstate(all="ignore"):
        top = np.max(scores, axis=2, keepdims=True)
        P = np.exp(scores - top)
        total = np.sum(P, axis=2, keepdims=True)
        P /= total
        logs = (top + np.log(total))[:, :, 0]
    if not np.isfinite(logs).all():
        P, logs = np.where(np.isfinite(P), P, 0.0), np.where(np.isfinite(logs), logs, 0.0)
    return P, logs


def parted(units: Array, P: Array) -> Array:
    """What each of the units goes to: E."""
    E = np.floor(units[:, :, np.newaxis] * P)
    left = units - np.sum(E, axis=2)
    most = np.argmax(P, axis=2)[:, :, np.newaxis]
    np.put_along_axis(E, most, np.take_along_axis(E, most, 2) + left[:, :, np.newaxis], 2)
    return E


def _entropies(units: Array, E: Array) -> Array:
    """No more than sum_jk E log(units / E) of each sequence."""
    share = E / np.maximum(units, 1.0)[:, :, np.newaxis]
    share[E == 0] = 1.0
    found = np.sum(np.sum(-E * tables.log(share), axis=2), axis=1)
    u, of_sums = tables.UNIT, 2 * E.shape[2] + 8
    error = 2 * tables.LOG * np.sum(units, axis=1) + (2 * tables.LOG + of_sums * u) * found
    return np.asarray(np.maximum(found - error, 0.0))
