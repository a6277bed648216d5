"""Dual variables on a grid, where sums are exact: t = k 2^e with whole numbers k.

Where a model has an intercept without a penalty, a bound holds only if the dual variables t_i add
up to 0 exactly, over all rows and, of a vector loss, for each class; and each row of most vector
losses has t's that add up to 0 exactly. A float that is a sum is rounded; whole numbers are not.
So t is rounded to multiples of 2^e, |k| <= 2^52, towards 0, which keeps it in its domain (all
domains are convex and hold 0); then rows with room are moved by whole numbers until all sums are 0.
Any t inside its domain with the right sums proves a bound, so nothing is taken on trust here, and
what is lost is first tried to be lost by rows that have room on both sides: where t is optimal, the
bound does not change with these to first order.

Vector losses of a set R of right classes (one, of multiclass losses): t >= 0 on wrong classes,
t <= 0 on right ones, with sum 0 and with positive parts that add up to at most s. Of rescaled
slacks each wrong class's part counts 1/Delta: sum_k t_k / Delta_k <= s.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.verification.intervals import Array, down, up

Whole = npt.NDArray[np.int64]

_BITS = 52
_ROUNDS = 100  # for each class, after which sums are given up
_LARGEST = 1 << 53  # all whole numbers up to here are floats


class Grid(NamedTuple):
    """Multiples of 2^exponent."""

    exponent: int

    def units(self, t: Array) -> Whole:
        """Rounded towards 0; at most 2^53, for bounds that are farther away or infinite."""
        with np.errstate(over="ignore"):
            scaled = np.trunc(np.ldexp(t, -self.exponent))
        return np.minimum(np.maximum(scaled, -_LARGEST), _LARGEST).astype(np.int64)

    def numbers(self, k: Whole) -> Array:
        """The multiples, which are floats."""
        return np.ldexp(k.astype(np.float64), self.exponent)


def grid_of(t: Array) -> Grid:
    """As fine as 52 bits of the largest allow."""
    top = int(np.frexp(np.max(np.abs(t), initial=0.0))[1])
    return Grid(max(top - _BITS, -1074))


def balanced(t: Array, lowest: Array, highest: Array) -> Array:
    """Dual variables of one score a row, with the sum 0; lowest <= 0 <= highest.

    The last axis is that of the rows; of several vectors each has its own sum.
    """
    if t.ndim > 1:
        return _balanced_each(t, lowest, highest)
    grid = grid_of(t)
    k, least, most = grid.units(np.stack([t, lowest, highest]))  # which keeps least <= k <= most
    surplus = _sum(k)
    room = k - least if surplus > 0 else most - k
    back = most - k if surplus > 0 else k - least
    return grid.numbers(k - np.sign(surplus) * _spread(abs(surplus), room, back))


def _balanced_each(t: Array, lowest: Array, highest: Array) -> Array:
    """The same for each line of t: at once where one row of it has room for all of its surplus.

    On a grid for each, of at least 2^-1000 so that its unit has an inverse; rounding towards 0
    keeps within the bounds. A surplus of less than 2^52 is added up without a carry from its two
    parts, and made up for by the row that is farthest from its bounds.
    """
    top = np.frexp(np.abs(t).max(axis=-1, keepdims=True, initial=0.0))[1]
    unit = np.ldexp(1.0, np.maximum(top - _BITS, -1000))
    k = (t * (1 / unit)).astype(np.int64)  # which rounds towards 0
    high, low = (k >> 26).sum(axis=-1), (k & ((1 << 26) - 1)).sum(axis=-1)
    small = np.abs(high) < 1 << 26
    surplus = np.where(small, (high << 26) + low, 0)
    best = np.arange(len(k)), np.minimum(t - lowest, highest - t).argmax(axis=-1)
    moved = k[best] - surplus
    k[best] = moved
    found: Array = k * unit
    within = (lowest[best] <= found[best]) & (found[best] <= highest[best])
    done = small & within & (np.abs(moved) <= _LARGEST)
    if not done.all():
        for i in np.flatnonzero(~done):
            found[i] = balanced(t[i], lowest[i], highest[i])
    return found


def balanced_columns(t: Array) -> Array:
    """Dual variables without bounds, each column with the sum 0."""
    unbounded = np.full(len(t), np.inf)
    columns = [balanced(column, -unbounded, unbounded) for column in t.T]
    return np.stack(columns, axis=1)


def _sum(k: Whole) -> int:
    """The sum of whole numbers, which may be larger than they can be: in two parts."""
    if len(k) <= 1 << 9:  # each is at most 2^53
        return int(k.sum())
    return (int(np.sum(k >> 26)) << 26) + int(np.sum(k & ((1 << 26) - 1)))


def _column_sums(k: Whole) -> list[int]:
    """The sums of columns, likewise."""
    high, low = np.sum(k >> 26, axis=0), np.sum(k & ((1 << 26) - 1), axis=0)
    return [(h << 26) + rest for h, rest in zip(high.tolist(), low.tolist(), strict=True)]


def _spread(total: int, room: Whole, back: Whole) -> Whole:
    """How far each row moves, at most its room, to make up the total; all of them if it is short.

    Rows that could move back as far come first.
    """
    moved, left = np.zeros_like(room), total
    if left == 0:
        return moved
    best = int(np.argmax(np.minimum(room, back)))
    if room[best] >= left:  # as it is after all but the last units were spread
        moved[best] = left
        return moved
    order = np.lexsort((-room, -np.minimum(room, back)))
    for i in order.tolist():
        moved[i] = min(int(room[i]), left)
        left -= int(moved[i])
        if left == 0:
            break
    return moved


class SignedRows:
    """The dual variables of a vector loss with right and wrong classes, as whole numbers."""

    def __init__(
        self, t: Array, right: npt.NDArray[np.bool_], s: Array, costs: Array | None = None
    ):
        self.grid, self.right, self.costs = grid_of(np.append(np.abs(t).ravel(), s)), right, costs
        self.s, self.capacity = s, self.grid.units(s)
        k = self.grid.units(t)
        k = np.where(right, np.minimum(k, 0), np.maximum(k, 0))
        if costs is not None:
            k = np.where(~right & (costs == 0), 0, k)
        self.k = self._within_capacity(self._even(k))

    def _even(self, k: Whole) -> Whole:
        """Rows with the sum 0: the larger side gives way, from its largest; or the whole row."""
        excess = np.sum(k, axis=1)
        rows = np.arange(len(k))
        for side in (np.argmax(k, axis=1), np.argmin(k, axis=1)):
            has = np.where(excess > 0, k[rows, side], -k[rows, side])
            gives = np.sign(excess) * np.minimum(np.abs(excess), np.maximum(has, 0))
            k[rows, side] -= gives
            excess -= gives
        return np.where(excess[:, np.newaxis] == 0, k, 0)

    def _within_capacity(self, k: Whole) -> Whole:
        """Rows whose parts add up to too much give up the few units it takes, or shrink."""
        over = self._room(k) < 0
        if self.costs is None and over.any():
            spare = np.sum(np.maximum(k[over], 0), axis=1) - self.capacity[over]
            k[over] = self._even(_without(k[over], spare))
        for less in (2.0**-45, 2.0**-30, 1.0):
            over = self._room(k) < 0
            if not over.any():
                break
            k[over] = self._even(np.trunc(k[over] * (1 - less)).astype(np.int64))
        return k

    def _room(self, k: Whole, rows: Any = slice(None)) -> Array:
        """How many units the positive part of such rows may still grow by, or fewer."""
        if self.costs is None:
            spare = self.capacity[rows] - np.sum(np.maximum(k, 0), axis=1)
            return np.asarray(spare, dtype=np.float64)
        costs, parts = self.costs[rows], np.zeros(k.shape)
        np.divide(np.maximum(k, 0), costs, out=parts, where=(k > 0) & (costs > 0))
        # A sum of K quotients, each rounded: off by K + 1 units of round-off at most.
        total = np.sum(up(parts), axis=1) * (1 + (k.shape[1] + 1) * 2.0**-52)
        return down(np.ldexp(self.s[rows], -self.grid.exponent) - up(total))

    def _transfer(self, a: int, b: int) -> Whole:
        """How many units each row may take off class a and add to class b."""
        k, room = self.k, self.room
        right_a, right_b = self.right[:, a], self.right[:, b]
        grows = room.astype(np.int64)
        between = np.maximum(k[:, a], 0)
        if self.costs is not None:
            cost_a, cost_b = self.costs[:, a], self.costs[:, b]
            grows = np.trunc(down(room * cost_b)).clip(0).astype(np.int64)
            between = np.where(cost_b >= cost_a, between, np.minimum(between, grows))
            between = np.where(cost_b > 0, between, 0)
        from_right = np.where(right_b, np.maximum(-k[:, b], 0), grows)
        to_right = np.minimum(np.maximum(k[:, a], 0), np.maximum(-k[:, b], 0))
        return np.where(right_a, from_right, np.where(right_b, to_right, between))

    def balance(self) -> bool:
        """Makes every class's sum 0; False if there is no room for that."""
        sums = _column_sums(self.k)
        if not any(sums) or self._in_one_row(sums):
            return True
        self.room = np.maximum(self._room(self.k), 0.0)
        for _ in range(_ROUNDS * len(sums)):
            a, b = sums.index(max(sums)), sums.index(min(sums))
            total = min(sums[a], -sums[b])
            if total == 0:
                return True
            if not self._move(a, b, total, sums):
                way = self._way(a, b)
                if way is None:
                    return False
                for here, there in itertools.pairwise(way):
                    self._move(here, there, total, sums)
        return False

    def _in_one_row(self, sums: list[int]) -> bool:
        """Whether the row farthest from all its bounds has room for all sums, which it then gets.

        As every row has the sum 0, so have the sums, and the row keeps its own.
        """
        if max(map(abs, sums)) >= _LARGEST:
            return False
        best = int(np.argmax(np.minimum(np.min(np.abs(self.k), axis=1), self._room(self.k))))
        row = [best]
        k = self.k[row] - np.array(sums)
        signed = np.where(self.right[row], k <= 0, k >= 0) & (np.abs(k) <= _LARGEST)
        if not signed.all() or self._room(k, row)[0] < 0:
            return False
        self.k[row] = k
        return True

    def _move(self, a: int, b: int, total: int, sums: list[int]) -> bool:
        """Takes up to so many units off class a and adds them to class b; False if none can be."""
        moved = _spread(total, self._transfer(a, b), self._transfer(b, a))
        rows = np.flatnonzero(moved)
        self.k[rows, a] -= moved[rows]
        self.k[rows, b] += moved[rows]
        self.room[rows] = np.maximum(self._room(self.k[rows], rows), 0.0)
        sums[a] -= _sum(moved[rows])
        sums[b] += _sum(moved[rows])
        return len(rows) > 0

    def _way(self, a: int, b: int) -> list[int] | None:
        """Classes from a to b, as few as possible, between which units can be moved."""
        ways, reached = {a: [a]}, [a]
        for here in reached:
            for k in set(range(self.k.shape[1])) - set(ways):
                if self._transfer(here, k).any():
                    ways[k] = [*ways[here], k]
                    reached.append(k)
            if b in ways:
                break
        return ways.get(b)

    @property
    def numbers(self) -> Array:
        """The dual variables."""
        return self.grid.numbers(self.k)


def _without(k: Whole, spare: Whole) -> Whole:
    """Rows whose largest positive and most negative entries give up so many units."""
    rows, less = np.arange(len(k)), k.copy()
    for side, sign in ((np.argmax(k, axis=1), 1), (np.argmin(k, axis=1), -1)):
        less[rows, side] -= sign * np.minimum(spare, np.abs(k[rows, side]))
    return less
