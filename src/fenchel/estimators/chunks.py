"""How well tags agree: by token, and by chunk as conlleval counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Chunk(NamedTuple):
    """Tokens first .. last of a sequence, and what they are together."""

    first: int
    last: int
    kind: str


class Agreement(NamedTuple):
    """Counts over all sequences."""

    tokens: int
    right_tokens: int
    chunks: int
    found: int
    right_chunks: int

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag."""
        return self.right_tokens / self.tokens

    @property
    def precision(self) -> float:
        """The share of chunks found that are right; 0 where none is found."""
        return self.right_chunks / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of chunks that are found; 0 where there are none."""
        return self.right_chunks / self.chunks if self.chunks else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def agreement(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Agreement:
    """Of the tags of sequences with those predicted."""
    tokens = right = chunks = found = both = 0
    for ours, theirs in zip(gold, predicted, strict=True):
        tokens += len(ours)
        right += sum(a == b for a, b in zip(ours, theirs, strict=True))
        ours_in, theirs_in = set(chunks_of(ours)), set(chunks_of(theirs))
        chunks, found = chunks + len(ours_in), found + len(theirs_in)
        both += len(ours_in & theirs_in)
    return Agreement(tokens, right, chunks, found, both)


def chunks_of(tags: Sequence[str]) -> Iterator[Chunk]:
    """The chunks of one sequence, by the rules of conlleval: B-, I- and E- tags of one kind.

    A chunk need not begin with B: an I of another kind than the tag before it begins one too.
    """
    first, before, kind = -1, "O", ""
    for t, tag in enumerate([*tags, "O"]):
        mark, _, of = str(tag).partition("-")
        if first >= 0 and _ends(before, mark, kind != of):
            yield Chunk(first, t - 1, kind)
            first = -1
        if _begins(before, mark, kind != of):
            first = t
        before, kind = mark, of


def _ends(before: str, mark: str, differ: bool) -> bool:
    after = {"B": "BO", "I": "BO", "E": "EIO"}.get(before, "")
    return mark in tuple(after) or (before not in ("O", ".") and differ)


def _begins(before: str, mark: str, differ: bool) -> bool:
    after = {"B": "B", "I": "B", "O": "BIE", "E": "EI"}.get(before, "")
    return mark in tuple(after) or (mark not in ("O", ".") and differ)
