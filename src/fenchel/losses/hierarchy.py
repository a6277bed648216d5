"""Losses of one right leaf of a taxonomy ([Teo07] section 3.2, 'Ontologies').

Letters: z a score for each node, and F = P z those of the leaves, each the sum over its path (P has
a row for each leaf, with ones at the nodes of its path). A loss f(F, y) of the leaves' scores, y
the place of the right leaf, is one of the nodes' scores, l(z, y) = f(P z, y). Its slopes are P'b
with b a slope of f, and its conjugate is

    l*(alpha) = min of f*(b) over b with P'b = alpha.

Leaves are nodes: b is alpha at the leaves, and l* is inf unless alpha at each inner node is the sum
of what is below it. In C++ the sums are done by kernels/hierarchy.hpp, and f by its own twin.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.losses.base import Array, Labels
from fenchel.losses.multiclass import Codes, MulticlassHinge, Softmax
from fenchel.losses.taxonomy import Taxonomy, taxonomy_of
from fenchel.losses.vector import ConjugableVector, Cost, Softened
from fenchel.tolerances import ZERO_SUM


class Hierarchical(ConjugableVector):
    """f(P z, y), `taxonomy` in any of the forms of taxonomy.py; None puts all classes side by side.

    y holds places among the leaves, sorted by name; Z has a column for each node, in the taxonomy's
    order.
    """

    labels = Labels.LEAVES
    nonnegative = True

    def __init__(self, taxonomy: Any = None):
        self.taxonomy = None if taxonomy is None else taxonomy_of(taxonomy)

    @property
    @abstractmethod
    def of_leaves(self) -> ConjugableVector:
        """The loss f of the leaves' scores, each of which is the sum of the scores on its path."""

    @property
    def tree(self) -> Taxonomy:
        """The taxonomy, which is known once the classes are."""
        assert self.taxonomy is not None
        return self.taxonomy

    def for_classes(self, classes: npt.NDArray[Any]) -> Self:
        """With the classes side by side where there was no taxonomy; `classes` are its nodes."""
        if self.taxonomy is None:
            flat = Taxonomy.flat(classes.tolist())
            return type(self)(**{**self.settings(), "taxonomy": flat})
        if len(classes) != len(self.tree.nodes):
            raise InvalidData(
                f"the taxonomy has {len(self.tree.nodes)} nodes, but a row {len(classes)} scores"
            )
        return self

    def _sized(self, Z: Array) -> Self:
        return self.for_classes(np.arange(Z.shape[1]))

    def pieces(self, Z: Array, y: Codes) -> Array | None:
        on = self._sized(Z)
        return on.of_leaves.pieces(Z @ on.tree.paths.T, y)

    def value(self, Z: Array, y: Codes) -> Array:
        on = self._sized(Z)
        each: Array = on.of_leaves.value(Z @ on.tree.paths.T, y)
        return each

    def slope(self, Z: Array, y: Codes) -> Array:
        on = self._sized(Z)
        return on._at_nodes(on.of_leaves.slope(Z @ on.tree.paths.T, y), y)

    def conjugate(self, alpha: Array, y: Codes) -> Array:
        """f* of the leaves' dual variables, where the inner nodes' are their sums."""
        on = self._sized(alpha)
        b = alpha[:, on.tree.leaf]
        off = np.abs(b @ on.tree.paths - alpha)
        agree = np.all(off <= ZERO_SUM * max(1.0, on.largest_slope(y)), axis=1)
        return np.where(agree, on.of_leaves.conjugate(b, y), np.inf)

    def feasible(self, alpha: Array, y: Codes) -> Array:
        """The leaves' moved into the domain of f*, the inner nodes' summed anew."""
        on = self._sized(alpha)
        return on._at_nodes(on.of_leaves.feasible(alpha[:, on.tree.leaf], y), y)

    def largest_slope(self, y: Any) -> float:
        """The nodes on the longest way between leaves go up or down by 1."""
        return float(np.sqrt(self._longest))

    @property
    def _longest(self) -> float:
        return 2.0 if self.taxonomy is None else float(np.max(self.tree.distances))

    def _at_nodes(self, b: Array, y: Codes) -> Array:
        """P'b; above y from the leaves that are not below, as b sums to 0 and the others cancel."""
        paths = self.tree.paths
        return np.where(paths[y] > 0, -(b @ (1 - paths)), b @ paths)


class HierarchicalHinge(Softened, Hierarchical):
    """l(z, y) = max over leaves k of Delta(k, y) + F_k - F_y, F the sums over paths.

    `cost` is "distance", the number of edges between two leaves; "relative", the same over the
    largest; or what a multiclass hinge takes: a number, a matrix with a row and a column for each
    leaf, sorted by name, or a function of two leaves.
    """

    def __init__(self, taxonomy: Any = None, cost: Cost | str = "distance"):
        super().__init__(taxonomy)
        if isinstance(cost, str):
            if cost not in ("distance", "relative"):
                raise InvalidData(
                    f"cost must be 'distance', 'relative', a number, a matrix or a function; got "
                    f"{cost!r}"
                )
            self.cost: Any = cost
        else:
            self.cost = MulticlassHinge(cost).cost

    def for_classes(self, classes: npt.NDArray[Any]) -> Self:
        """A function as its matrix, too."""
        on = super().for_classes(classes)
        cost = on.of_leaves.cost  # refuses a matrix of the wrong size
        return type(on)(**{**on.settings(), "cost": cost}) if callable(self.cost) else on

    @functools.cached_property
    def of_leaves(self) -> MulticlassHinge:
        cost = self.cost
        if isinstance(cost, str):
            distances = self.tree.distances
            cost = distances / np.max(distances) if cost == "relative" else distances
        loss = MulticlassHinge(cost).for_classes(self.tree.classes)
        assert isinstance(loss, MulticlassHinge)
        return loss

    def n_pieces(self, y: Codes, K: int) -> Array:
        """One for each leaf."""
        return np.full(len(y), float(len(self.for_classes(np.arange(K)).tree.leaf)))

    def entropy(self, alpha: Array, y: Codes) -> Array:
        """That of the leaves' shares."""
        on = self._sized(alpha)
        return on.of_leaves.entropy(alpha[:, on.tree.leaf], y)

    @property
    def spread(self) -> float:
        """The nodes on the longest way between leaves go up or down by 1."""
        return self._longest


class HierarchicalSoftmax(Hierarchical):
    """l(z, y) = log sum over leaves k of exp(F_k) - F_y, F the sums over paths."""

    differentiable = True

    @property
    def of_leaves(self) -> Softmax:
        return Softmax()

    @property
    def smoothness(self) -> float:
        """A quarter of the longest way between two leaves.

        u'Hu is a variance of (Pu)_k, at most a quarter of its largest difference squared, and that
        is the product of u with a vector of as many +-1 as there are edges between two leaves.
        """
        return self._longest / 4
