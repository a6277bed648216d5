"""The penalty of columns that have K numbers each: of single numbers, or of groups of columns.

Columns are in the order of their groups, so that the numbers of a group are next to each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fenchel.regularizers import GroupL1
from fenchel.risks.base import Array, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.grams import Penalty, Which


@dataclass(frozen=True)
class BlockPenalty:
    """sum t |w| + m/2 w^2 over all numbers, or sum_g c_g ||w_g|| where `c` says so.

    Group g is the columns start[g] .. start[g + 1] - 1, of K numbers each. Violations of optimality
    are counted in units.
    """

    start: Which
    K: int
    numbers: Penalty | None
    c: Array | None
    unit: Array  # of groups

    def value(self, w: Array) -> float:
        """The penalty of w."""
        if self.numbers is not None:
            return self.numbers.value(w)
        assert self.c is not None
        return float(self.c @ self._norms(w))

    def linear(self, w: Array) -> float:
        """The part of it that grows with the length of w."""
        return self.value(w) if self.numbers is None else float(self.numbers.t @ np.abs(w))

    def slope(self, w: Array, p: Array) -> float:
        """How fast it grows at w along p, a direction in which nothing leaves 0."""
        if self.numbers is not None:
            return float((self.numbers.t * np.sign(w) + self.numbers.m * w) @ p)
        assert self.c is not None
        norms = self._norms(w)
        each = np.add.reduceat(w * p, self._first) / np.where(norms > 0, norms, 1.0)
        return float(self.c @ each)

    def violation(self, w: Array, v: Array) -> Array:
        """How far each group is from its optimality, given the risk's slopes v."""
        if self.numbers is not None:
            return self._largest(self.numbers.violation(w, v))
        assert self.c is not None
        norms = self._norms(w)
        pull = np.repeat(self.c / np.where(norms > 0, norms, 1.0), self._sizes) * w
        off_zero = self._norms(v + pull)
        return np.where(norms > 0, off_zero, np.maximum(0.0, off_zero - self.c)) / self.unit

    def excess(self, v: Array) -> Array:
        """How far the slopes of each group are beyond what holds it at 0."""
        if self.numbers is not None:
            return self._largest(np.abs(v) - self.numbers.t)
        assert self.c is not None
        return np.asarray(self._norms(v) - self.c)

    def of(self, groups: npt.NDArray[np.intp]) -> tuple[BlockPenalty, npt.NDArray[np.intp]]:
        """The penalty of some groups, and the places of their columns."""
        sizes = np.diff(self.start)[groups]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        within = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
        places = np.repeat(self.start[groups], sizes) + within
        numbers = None
        if self.numbers is not None:
            one = (each.reshape(-1, self.K)[places].ravel() for each in self.numbers)
            numbers = Penalty(*one)
        c = None if self.c is None else self.c[groups]
        return BlockPenalty(start, self.K, numbers, c, self.unit[groups]), places

    @property
    def arrays(self) -> tuple[Array | None, Array, Array, Array]:
        """c, t, m and the units, as the kernel takes them."""
        if self.numbers is not None:
            return None, *self.numbers
        return self.c, self.unit, self.unit, self.unit

    @property
    def _first(self) -> npt.NDArray[np.intp]:
        return self.start[:-1].astype(np.intp) * self.K

    @property
    def _sizes(self) -> npt.NDArray[np.intp]:
        return np.diff(self.start).astype(np.intp) * self.K

    def _norms(self, x: Array) -> Array:
        return np.asarray(np.sqrt(np.add.reduceat(x * x, self._first)))

    def _largest(self, each: Array) -> Array:
        return np.asarray(np.max(each.reshape(-1, self.K), axis=1))


def block_penalty(problem: Problem, K: int) -> tuple[BlockPenalty, npt.NDArray[np.intp]]:
    """The penalty of a problem, and the columns in the order of their groups."""
    regularizer, strength, size = problem.regularizer, problem.strength, problem.risk.n_parameters
    d = size // K
    if isinstance(regularizer, GroupL1):
        index = regularizer.groups.reshape(d, K)[:, 0]
        present, index = np.unique(index, return_inverse=True)
        order = np.argsort(index, kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(index))]).astype(np.int32)
        c = strength * regularizer.penalties[present]
        return BlockPenalty(start, K, None, c, c), order
    t = strength * regularizer.support(np.zeros(size), np.ones(size))
    m = strength * regularizer.orthant_curvature(size)
    unit = np.where(t > 0, t, strength)
    start = np.arange(d + 1, dtype=np.int32)
    of_groups = np.min(unit.reshape(d, K), axis=1)
    return BlockPenalty(start, K, Penalty(t, m, unit), None, of_groups), np.arange(d)


def most_columns(problem: Problem) -> int:
    """The most columns that a group has."""
    regularizer, risk = problem.regularizer, problem.risk
    if not isinstance(regularizer, GroupL1):
        return 1
    assert isinstance(risk, LinearRisk)
    return int(np.max(np.bincount(regularizer.groups))) // risk.n_outputs


def obstacle(problem: Problem) -> str | None:
    """Why the regulariser is not of this kind, or None."""
    regularizer = problem.regularizer
    if isinstance(regularizer, GroupL1):
        return None
    if (
        regularizer.separable
        and regularizer.has("support")
        and regularizer.has("orthant_curvature")
    ):
        return None
    return "it knows penalties of single numbers, as l1 and elastic_net, and of groups, group_l1"
