"""A taxonomy: a tree whose leaves are the classes, in the forms in which people write one down.

    parent pointers   {"cat": "animal", "dog": "animal", "fern": "life", "animal": "life"}, or an
                      array with the parent of node 0, 1, ... and -1 for the root
    paths             [("animal", "cat"), ("animal", "dog"), ("fern",)], without the root
    a nested dict     {"animal": ["cat", "dog"], "fern": None}, whose outermost dict is the root

A node has one name, which no other has; the root may have none, as no score belongs to it.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import _kernels
from fenchel.errors import InvalidData
from fenchel.losses.base import Array
from fenchel.tolerances import ROUND_OFF

Places = npt.NDArray[np.int64]
Edge = tuple[Any, Any]  # a node and its parent


class _Root:
    """The parent of what is below no other node."""

    def __repr__(self) -> str:
        return "the root"


_ROOT = _Root()


@dataclass(frozen=True)
class Taxonomy:
    """The nodes below the root, parents first, and the place of each one's parent, -1: the root."""

    nodes: tuple[Any, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.nodes) != len(self.parents) or len(set(self.nodes)) < len(self.nodes):
            raise InvalidData("a taxonomy needs a parent for each node, and names that differ")
        if not all(-1 <= parent < k for k, parent in enumerate(self.parents)):
            raise InvalidData("the parents in a taxonomy must come before their children")
        if len(self.leaf) < 2:
            raise InvalidData(f"the taxonomy has {len(self.leaf)} leaf; classes need two or more")

    @classmethod
    def flat(cls, classes: Iterable[Any]) -> Taxonomy:
        """All classes below the root."""
        nodes = tuple(classes)
        return cls(nodes, (-1,) * len(nodes))

    @functools.cached_property
    def parent(self) -> Places:
        """The places of the parents, as an array."""
        return np.array(self.parents, dtype=np.int64)

    @functools.cached_property
    def leaf(self) -> Places:
        """The places of the leaves, sorted by name."""
        leaves = sorted(set(range(len(self.nodes))) - set(self.parents))
        try:
            leaves.sort(key=lambda k: self.nodes[k])
        except TypeError as error:
            raise InvalidData(f"leaves of types that cannot be compared: {error}") from error
        return np.array(leaves, dtype=np.int64)

    @functools.cached_property
    def classes(self) -> npt.NDArray[Any]:
        """The names of the leaves."""
        return np.array([self.nodes[k] for k in self.leaf])

    @functools.cached_property
    def names(self) -> npt.NDArray[Any]:
        """The names of the nodes; an array of objects where they are not all of one type."""
        if len({type(name) for name in self.nodes}) == 1 and np.ndim(self.nodes[0]) == 0:
            return np.array(self.nodes)
        names = np.empty(len(self.nodes), dtype=object)
        names[:] = self.nodes
        return names

    @functools.cached_property
    def paths(self) -> Array:
        """P: a row for each leaf, with ones at the nodes of its path."""
        paths = np.zeros((len(self.leaf), len(self.nodes)))
        paths[np.arange(len(self.leaf)), self.leaf] = 1.0
        for k in reversed(range(len(self.nodes))):
            if self.parents[k] >= 0:
                paths[:, self.parents[k]] += paths[:, k]
        return paths

    @functools.cached_property
    def distances(self) -> Array:
        """The number of edges between each two leaves."""
        common, depth = self.paths @ self.paths.T, np.sum(self.paths, axis=1)
        distances: Array = depth[:, np.newaxis] + depth - 2 * common
        return distances

    @functools.cached_property
    def stretch(self) -> float:
        """The most that |P'd|^2 can be of |d|^2, for d of the leaves that sum to 0; 1 at least."""
        centred = self.paths - np.mean(self.paths, axis=0)
        return max(1.0, float(np.linalg.norm(centred, 2)) ** 2 * (1 + ROUND_OFF))

    def leaf_scores(self, Z: Array) -> Array:
        """F = Z P', in C++."""
        F = np.empty((len(Z), len(self.leaf)))
        _kernels.leaf_scores(self.parent, self.leaf, np.ascontiguousarray(Z), F)
        return F

    def node_slopes(self, B: Array, y: Places) -> Array:
        """A = B P, in C++, for slopes B of the leaves with y as the right ones."""
        A = np.empty((len(B), len(self.nodes)))
        _kernels.node_slopes(self.parent, self.leaf, B, y, A)
        return A

    def codes(self, labels: npt.NDArray[Any], rows: npt.NDArray[np.integer[Any]]) -> Places:
        """The place among the sorted leaves of each row's label, which is labels[rows[i]]."""
        places = {self.nodes[k]: j for j, k in enumerate(self.leaf)}
        found = np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.int64)
        codes: Places = found[rows]
        if (codes < 0).any():
            i = int(np.argmax(codes < 0))
            raise InvalidData(self._unknown(f"y[{i}]", labels[rows[i : i + 1]].tolist()[0]))
        return codes

    def _unknown(self, where: str, label: Any) -> str:
        if label in self.nodes:
            k = self.nodes.index(label)
            child = self.nodes[self.parents.index(k)]
            return (
                f"{where} is {label!r}, an inner node of the taxonomy; a row's label must be a "
                f"leaf, below {label!r} for instance {child!r} or a leaf below that"
            )
        names = [str(name) for name in self.classes.tolist()]
        close = difflib.get_close_matches(str(label), names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"{where} is {label!r}, which is no leaf of the taxonomy{hint}"


def taxonomy_of(given: Any) -> Taxonomy:
    """The taxonomy in any of its forms."""
    if isinstance(given, Taxonomy):
        return given
    try:
        return _tree(_edges(given))
    except TypeError as error:
        raise InvalidData(f"a name in the taxonomy cannot be one: {error}") from error


def _edges(given: Any) -> Iterator[Edge]:
    if isinstance(given, Mapping):
        nested = any(isinstance(value, Mapping | Set | list) for value in given.values())
        return _nested(given) if nested else _pointers(given.items())
    if isinstance(given, np.ndarray | Sequence) and not isinstance(given, str | bytes):
        if all(isinstance(each, tuple | list) for each in given):
            return _paths(given)
        if np.ndim(given) == 1 and np.asarray(given).dtype.kind in "iu":
            parents = np.asarray(given).tolist()
            if max(parents) >= len(parents) or min(parents) < -1:
                raise InvalidData(
                    f"the parents in the taxonomy's array must lie between -1, for the root, and "
                    f"{len(parents) - 1}, its last node; got {min(parents)} to {max(parents)}"
                )
            return _pointers((k, None if up < 0 else up) for k, up in enumerate(parents))
    raise InvalidData(
        "a taxonomy is a dict from child to parent, an array of parents, a list of paths from "
        f"below the root to each leaf, or a nested dict; got {given!r:.200}"
    )


def _pointers(pairs: Iterable[Edge]) -> Iterator[Edge]:
    parents = dict(pairs)
    roots = [name for name, parent in parents.items() if parent is None]
    roots += [name for name in dict.fromkeys(parents.values()) if name not in (None, *parents)]
    if len(roots) > 1:
        raise InvalidData(
            f"the taxonomy has {len(roots)} roots, {roots[0]!r} and {roots[1]!r}; it needs one: "
            "give them a parent in common"
        )
    for child, parent in parents.items():
        if parent is not None:
            yield child, _ROOT if parent in roots else parent


def _paths(given: Iterable[Sequence[Any]]) -> Iterator[Edge]:
    paths = [tuple(path) for path in given]
    inner = {name: path for path in paths for name in path[:-1]}
    for path in paths:
        if not path:
            raise InvalidData("a path of the taxonomy is empty; it ends at a leaf")
        if path[-1] in inner:
            raise InvalidData(
                f"the path {path!r} of the taxonomy ends at {path[-1]!r}, which is no leaf: the "
                f"path {inner[path[-1]]!r} goes on from there"
            )
        yield from zip(path, (_ROOT, *path), strict=False)


def _nested(given: Mapping[Any, Any]) -> Iterator[Edge]:
    pending: list[Edge] = [(_ROOT, given)]
    while pending:
        parent, children = pending.pop()
        for child in () if children is None else children:
            yield child, parent
            if isinstance(children, Mapping):
                pending.append((child, children[child]))


def _tree(edges: Iterator[Edge]) -> Taxonomy:
    """The nodes in preorder, children in the order in which they were given."""
    parents: dict[Any, Any] = {}
    children: dict[Any, list[Any]] = {}
    for child, parent in edges:
        if parents.get(child, parent) is not parent and parents[child] != parent:
            raise InvalidData(
                f"{child!r} has two parents in the taxonomy, {parents[child]!r} and {parent!r}; "
                "every node needs a name of its own, and one parent"
            )
        if child not in parents:
            parents[child] = parent
            children.setdefault(parent, []).append(child)
    nodes: dict[Any, int] = {_ROOT: -1}
    pending = children.get(_ROOT, [])[::-1]
    while pending:
        nodes[node := pending.pop()] = len(nodes) - 1
        pending += children.get(node, [])[::-1]
    if len(nodes) <= len(parents):
        raise InvalidData(f"the taxonomy is cyclic: {_cycle(parents, nodes)}")
    below = list(nodes)[1:]
    return Taxonomy(tuple(below), tuple(nodes[parents[node]] for node in below))


def _cycle(parents: Mapping[Any, Any], reached: Mapping[Any, int]) -> str:
    """A walk from a node that the root does not reach up to where it closes."""
    walk = [next(node for node in parents if node not in reached)]
    while (above := parents[walk[-1]]) not in walk:
        walk.append(above)
    return " is below ".join(repr(name) for name in [*walk[walk.index(above) :], above])
