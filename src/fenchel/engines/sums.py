"""Sums over shards in one fixed order: a binary tree over their numbers.

Its left subtrees have a power of two of shards, so that a host of consecutive shards can add up
whole subtrees before it answers, and the bits do not depend on who added what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Span = tuple[int, int]  # first shard, and one after the last


def total(values: Sequence[T]) -> T:
    """The sum of numbers or arrays."""
    leaves = {(i, i + 1): value for i, value in enumerate(values)}
    added: T = _added(leaves, 0, len(values))
    return added


def subtotals(values: Sequence[Any], first: int, n_shards: int) -> dict[Span, Any]:
    """The sums over the largest subtrees that lie within the shards from `first` on."""
    leaves = {(first + i, first + i + 1): value for i, value in enumerate(values)}
    spans = _within(first, first + len(values), 0, n_shards)
    return {span: _added(leaves, *span) for span in spans}


def merged(parts: Mapping[Span, Any], n_shards: int) -> dict[Span, Any]:
    """Subtotals of consecutive shards, as far as they can be added up."""
    first = min((low for low, _ in parts), default=0)
    last = max((high for _, high in parts), default=0)
    return {span: _added(parts, *span) for span in _within(first, last, 0, n_shards)}


def combined(parts: Mapping[Span, Any], n_shards: int) -> Any:
    """The sum over all shards, from subtotals that cover them."""
    return _added(parts, 0, n_shards)


def _added(parts: Mapping[Span, Any], first: int, last: int) -> Any:
    if (first, last) in parts:
        return parts[first, last]
    middle = _middle(first, last)
    left, right = _added(parts, first, middle), _added(parts, middle, last)
    if isinstance(left, np.ndarray) and (first, middle) not in parts:
        left += right  # an array of this sum's own
        return left
    return left + right


def _within(first: int, last: int, low: int, high: int) -> list[Span]:
    """The largest subtrees of the one over [low, high) that lie within [first, last)."""
    if low >= last or high <= first:
        return []
    if first <= low and high <= last:
        return [(low, high)]
    middle = _middle(low, high)
    return _within(first, last, low, middle) + _within(first, last, middle, high)


def _middle(low: int, high: int) -> int:
    return low + (1 << ((high - low - 1).bit_length() - 1))
