"""Kernels of texts and graphs, which have no columns.

Spectrum, mismatch and Weisfeiler-Lehman kernels count parts that two things share, so that their
features are counts, sparse and explicit (`Counted`): a product of two rows. Counts of parts that no
training row has cannot be shared, but they are part of a new row's length. A subsequence kernel
adds up over too many parts for that, and is computed for each pair (kernels/subsequences.hpp).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.features.kernels import Array, Kernel, Points
from fenchel.settings import Configured, real, whole
from fenchel.tolerances import EPSILON

_MOST_NEIGHBOURS = 10_000  # k-mers within m mismatches of one


class ObjectKernel(Configured, ABC):
    """A kernel of things that are no rows of numbers: what it counts in each of them."""

    name: str
    normalize: bool = True

    @abstractmethod
    def checked(self, things: Any) -> list[Any]:
        """The things, if all of them are of the right kind."""

    def fitted(self, things: Any) -> Embedded:
        """The features of these things, and of others by them."""
        counted = [self.parts(each) for each in self.checked(things)]
        vocabulary = {part: j for j, part in enumerate(_in_order(counted))}
        return Embedded(self, vocabulary, _points(counted, vocabulary, self.normalize))

    @abstractmethod
    def parts(self, thing: Any) -> Mapping[Hashable, float]:
        """How often each part occurs in a thing."""


def _in_order(counted: Iterable[Mapping[Hashable, float]]) -> dict[Hashable, None]:
    """All parts, in the order in which they are first seen."""
    return dict.fromkeys(part for each in counted for part in each)


def _points(
    counted: Sequence[Mapping[Hashable, float]], column: Mapping[Hashable, int], normalize: bool
) -> Points:
    """A sparse row of counts for each thing, of length 1 (or 0) if normalised."""
    found = [sorted((column[p], c) for p, c in each.items() if p in column) for each in counted]
    start = np.cumsum([0, *map(len, found)], dtype=np.int64)
    indices = np.fromiter((j for row in found for j, _ in row), np.int64, count=int(start[-1]))
    counts = np.fromiter((c for row in found for _, c in row), np.float64, count=int(start[-1]))
    squares = np.array([float(sum(c * c for c in each.values())) for each in counted])
    if normalize:
        counts /= np.repeat(np.sqrt(np.where(squares > 0, squares, 1.0)), np.diff(start))
        squares = np.where(squares > 0, 1.0, 0.0)
    shape = (len(counted), max(len(column), 1))
    return Points(sparse.csr_array((counts, indices, start), shape=shape), squares)


class Embedded(Kernel):
    """The kernel of things whose features are explicit: <x, x'>."""

    def __init__(self, of: ObjectKernel, vocabulary: dict[Hashable, int], points: Points):
        self.of, self.vocabulary, self.points = of, vocabulary, points

    def __repr__(self) -> str:
        return repr(self.of)

    def new(self, things: Any) -> Points:
        """The features of other things."""
        counted = [self.of.parts(each) for each in self.of.checked(things)]
        return _points(counted, self.vocabulary, self.of.normalize)

    def block(self, A: Points, B: Points) -> Array:
        return np.asarray((A.X @ B.X.T).toarray())

    def diagonal(self, A: Points) -> Array:
        return A.squares

    def doubt(self, A: Points) -> float:
        """Counts are exact; a sum of products of normalised ones is off by a unit for each term."""
        longest = int(np.max(np.diff(A.X.indptr), initial=0))
        return EPSILON * (longest + 8) * float(np.max(A.squares, initial=0.0))


def _texts(things: Any) -> list[str]:
    if isinstance(things, str):
        raise InvalidData("X must be a collection of texts; got a single one: give [text]")
    texts = list(things)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidData(
                f"X must hold texts; X[{i}] is {text!r:.80} of type {type(text).__name__}", row=i
            )
    return [str(text) for text in texts]


def _kmers(text: str, k: int) -> Counter[str]:
    return Counter(text[start : start + k] for start in range(len(text) - k + 1))


class SpectrumKernel(ObjectKernel):
    """The runs of k characters that two texts share (Leslie, Eskin and Noble 2002)."""

    name = "spectrum"

    def __init__(self, k: int = 3, normalize: bool = True):
        self.k, self.normalize = whole("k", k, least=1), bool(normalize)

    def checked(self, things: Any) -> list[Any]:
        return _texts(things)

    def parts(self, thing: Any) -> Mapping[Hashable, float]:
        """The k-mers of a text."""
        return _kmers(thing, self.k)  # type: ignore[return-value]


class MismatchKernel(ObjectKernel):
    """The same where a run counts for all that differ from it in at most m places (2004).

    The places may hold any character of `alphabet`.
    """

    name = "mismatch"

    def __init__(self, k: int = 4, m: int = 1, alphabet: str = "ACGT", normalize: bool = True):
        self.k, self.m = whole("k", k, least=1), whole("m", m, least=0)
        self.alphabet, self.normalize = "".join(sorted(set(alphabet))), bool(normalize)
        if not self.alphabet or self.m > self.k:
            raise InvalidData("a mismatch kernel needs an alphabet, and m <= k")
        if self._most() > _MOST_NEIGHBOURS:
            raise InvalidData(
                f"a run of {k} characters has up to {self._most()} others within {m} mismatches: "
                "lower k, m or the number of characters in the alphabet"
            )

    def _most(self) -> int:
        places = len(list(combinations(range(self.k), self.m)))
        return int(places * len(self.alphabet) ** self.m)

    def checked(self, things: Any) -> list[Any]:
        return _texts(things)

    def parts(self, thing: Any) -> Mapping[Hashable, float]:
        """The k-mers within m mismatches of those of a text."""
        found: Counter[Hashable] = Counter()
        for kmer, count in _kmers(thing, self.k).items():
            for near in self._near(kmer):
                found[near] += count
        return found

    def _near(self, kmer: str) -> set[str]:
        """All k-mers that differ from one in at most m places."""
        near = {kmer}
        for places in combinations(range(self.k), self.m):
            for letters in product(self.alphabet, repeat=self.m):
                changed = list(kmer)
                for place, letter in zip(places, letters, strict=True):
                    changed[place] = letter
                near.add("".join(changed))
        return near


class WeisfeilerLehman(ObjectKernel):
    """The subtree patterns that two graphs share (Shervashidze et al. 2011).

    A graph is a pair (edges, labels): pairs of node numbers 0, 1, 2 ..., and a label for each node,
    text or whole number. A node's pattern of depth d + 1 is that of depth d with those of its
    neighbours, in order; all patterns up to `depth` count.
    """

    name = "weisfeiler_lehman"

    def __init__(self, depth: int = 3, normalize: bool = True):
        self.depth, self.normalize = whole("depth", depth, least=0), bool(normalize)

    def checked(self, things: Any) -> list[Any]:
        return [_graph(i, each) for i, each in enumerate(things)]

    def parts(self, thing: Any) -> Mapping[Hashable, float]:
        """The patterns of all depths, by a digest that is the same in every graph."""
        edges, labels = thing
        around: list[list[int]] = [[] for _ in labels]
        for i, j in edges:
            around[i].append(j)
            if i != j:
                around[j].append(i)
        patterns = [_digest([repr(label).encode()]) for label in labels]
        found: Counter[Hashable] = Counter(patterns)
        for _ in range(self.depth):
            patterns = [
                _digest([patterns[i], *sorted(patterns[j] for j in near)])
                for i, near in enumerate(around)
            ]
            found.update(patterns)
        return found


def _digest(parts: Sequence[bytes]) -> bytes:
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).digest()


def _graph(i: int, thing: Any) -> tuple[list[tuple[int, int]], list[Any]]:
    """The edges and labels of a graph."""
    try:
        edges, labels = thing
        ends = np.asarray(edges if len(edges) else np.empty((0, 2)))
        names = [each.item() if isinstance(each, np.generic) else each for each in labels]
    except (TypeError, ValueError) as error:
        raise InvalidData(
            f"X must hold graphs, pairs (edges, labels); X[{i}] is {thing!r:.80}", row=i
        ) from error
    if ends.ndim != 2 or ends.shape[1] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise InvalidData(f"the edges of graph {i} must be pairs of node numbers", row=i)
    if ends.size and not (0 <= ends.min() and ends.max() < len(names)):
        raise InvalidData(f"graph {i} has an edge to a node without a label", row=i)
    if not all(isinstance(each, str | int) for each in names):
        raise InvalidData(f"the labels of graph {i} must be texts or whole numbers", row=i)
    return [(int(a), int(b)) for a, b in ends.astype(np.int64)], names


@dataclass(frozen=True)
class Subsequences(Kernel):
    """The kernel of texts by their common subsequences, for each pair; normalised or not."""

    k: int
    decay: float
    normalize: bool

    def block(self, A: Points, B: Points) -> Array:
        found = np.empty((len(A.squares), len(B.squares)))
        _kernels.subsequences(*_coded(A.X), *_coded(B.X), self.k, self.decay, found)
        if self.normalize:
            found /= np.outer(_lengths(A), _lengths(B))
        return found

    def diagonal(self, A: Points) -> Array:
        return np.where(A.squares > 0, 1.0, 0.0) if self.normalize else A.squares

    def doubt(self, A: Points) -> float:
        """All terms are >= 0, and each is a result of so many operations at most."""
        longest = max((len(text) for text in A.X), default=0)
        operations = 4 * self.k * (2 * longest + 8)
        return EPSILON * operations * float(np.max(self.diagonal(A), initial=0.0))


def _lengths(A: Points) -> Array:
    return np.sqrt(np.where(A.squares > 0, A.squares, 1.0))


def _coded(texts: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Texts as code points, one after the other, and where each begins."""
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.int32)
    return np.ascontiguousarray(codes), starts


class SubsequenceKernel(Configured):
    """Subsequences of k characters that two texts share, gaps allowed (Lodhi et al. 2002).

    One that spans a length of l in a text counts decay^l. The work is k times the product of the
    two lengths.
    """

    name = "subsequence"

    def __init__(self, k: int = 3, decay: float = 0.5, normalize: bool = True):
        self.k, self.decay = whole("k", k, least=1), real("decay", decay)
        self.normalize = bool(normalize)
        if not 0 < self.decay <= 1:
            raise InvalidData(f"decay must be > 0 and <= 1; got {decay!r}")

    def fitted(self, things: Any) -> PairwiseTexts:
        """The texts, with their products with themselves."""
        kernel = Subsequences(self.k, self.decay, self.normalize)
        return PairwiseTexts(kernel, text_points(kernel, things))

    checked = staticmethod(_texts)


def text_points(kernel: Subsequences, things: Any) -> Points:
    """Texts with their own k(x, x), which are computed one by one."""
    texts = np.array([*_texts(things), None], dtype=object)[:-1]
    plain = Subsequences(kernel.k, kernel.decay, False)
    ones = (Points(texts[i : i + 1], np.zeros(1)) for i in range(len(texts)))
    return Points(texts, np.array([plain.block(one, one)[0, 0] for one in ones]))


@dataclass(frozen=True)
class PairwiseTexts:
    """Texts of a fit, and others."""

    kernel: Subsequences
    points: Points

    def new(self, things: Any) -> Points:
        """Other texts."""
        return text_points(self.kernel, things)


OBJECT_KERNELS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (SpectrumKernel, MismatchKernel, SubsequenceKernel, WeisfeilerLehman)
}
