"""The group lasso: whole groups of coefficients are 0 or are not."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.regularizers.base import Array, Indices, Regularizer, checked_weights
from fenchel.tolerances import GROUP_NORM, INSIDE


class GroupL1(Regularizer):
    """Omega(w) = sum over groups g of c_g ||w_g||.

    `feature_groups` is the number of each column's group, 0, 1, 2 ..., or a list of groups, each a
    list of column names of a table; columns that are in none are groups of their own.
    `group_weights` are the c_g > 0, by default the roots of the groups' sizes.
    """

    def __init__(
        self,
        feature_groups: npt.ArrayLike | Sequence[Sequence[str]] | None = None,
        group_weights: npt.ArrayLike | None = None,
    ):
        if feature_groups is None:
            raise InvalidData(
                "group_l1 needs feature_groups: the number of each column's group, or lists of "
                "column names"
            )
        self.group_weights: Array | None = None
        if group_weights is not None:
            self.group_weights = checked_weights("group_weights", group_weights, "group")
            if not np.all(self.group_weights):
                raise InvalidData(
                    f"group_weights must be > 0; group_weights[{int(np.argmin(self.group_weights))}"
                    "] is 0.0, and no solver takes a group lasso with unpenalised columns"
                )
        names = _names(feature_groups)
        self.feature_groups: tuple[tuple[str, ...], ...] | Indices
        self.feature_groups = _numbers(feature_groups) if names is None else names
        if isinstance(self.feature_groups, np.ndarray):
            self._index = self.feature_groups
            self.penalties = self._weighted(self._index)  # the c_g

    def _weighted(self, index: Indices) -> Array:
        sizes = np.bincount(index)
        if self.group_weights is None:
            return np.asarray(np.sqrt(sizes))
        if len(self.group_weights) != len(sizes):
            raise InvalidData(
                f"there are {len(sizes)} groups of columns but {len(self.group_weights)} "
                "group_weights; give one weight per group"
            )
        return self.group_weights

    def resolved(self, names: Sequence[str] | None) -> Regularizer:
        """Groups of names as numbers."""
        if not isinstance(self.feature_groups, tuple):
            return self
        if names is None:
            raise InvalidData(
                "feature_groups are lists of column names, but X has none: give a table with named "
                "columns, or the number of each column's group"
            )
        place = {name: j for j, name in enumerate(names)}
        index = np.full(len(place), -1, dtype=np.intp)
        for g, group in enumerate(self.feature_groups):
            for name in group:
                if name not in place:
                    raise InvalidData(f"feature_groups name a column {name!r}, which X has not")
                if index[place[name]] >= 0:
                    raise InvalidData(f"column {name!r} is in two of the feature_groups")
                index[place[name]] = g
        alone = np.flatnonzero(index < 0)
        index[alone] = len(self.feature_groups) + np.arange(len(alone))
        weights = self.group_weights
        if weights is not None and len(weights) == len(self.feature_groups):
            weights = np.append(weights, np.ones(len(alone)))
        return GroupL1(index, weights)

    @property
    def groups(self) -> Indices:
        """The number of each coordinate's group."""
        if isinstance(self.feature_groups, tuple):
            raise InvalidData("feature_groups are names, which belong to the columns of a table")
        return self._index

    def free(self, n_parameters: int) -> npt.NDArray[np.intp]:
        """The coordinates of groups with c_g = 0."""
        if len(self.groups) != n_parameters:
            raise InvalidData(
                f"feature_groups holds {len(self.groups)} numbers but X has {n_parameters} "
                "columns; give the number of each column's group"
            )
        return np.flatnonzero(self.penalties[self.groups] == 0)

    def spread(self, columns: Indices, n_columns: int) -> Regularizer:
        """A column's parameters are in its group; those of no column are alone, intercepts free."""
        if np.array_equal(columns, np.arange(n_columns)):
            return self
        n_groups, outside = len(self.penalties), np.flatnonzero(columns >= n_columns)
        index = np.append(self.groups, n_groups)[np.minimum(columns, n_columns)]  # -1 is the last
        index[outside] = n_groups + 1 + np.arange(len(outside))
        spread = copy.copy(self)
        spread._index = index
        spread.penalties = np.concatenate([self.penalties, [0.0], np.ones(len(outside))])
        return spread

    def _norms(self, w: Array) -> Array:
        """||w_g|| for all groups, whatever the size of w."""
        top = float(np.max(np.abs(w), initial=0.0)) or 1.0
        squares = np.bincount(self.groups, (w / top) ** 2, minlength=len(self.penalties))
        return top * np.sqrt(squares)

    def _directions(self, w: Array) -> Array:
        """w_g / ||w_g||, and 0 where w_g = 0."""
        norms = self._norms(w)
        return w / np.where(norms > 0, norms, 1.0)[self.groups]

    def value(self, w: Array) -> float:
        return float(self.penalties @ self._norms(w))

    def subgradient(self, w: Array) -> Array:
        """c_g w_g / ||w_g||, and 0 where w_g = 0."""
        return self.penalties[self.groups] * self._directions(w)

    def support(self, w: Array, p: Array) -> Array:
        """The same, and c_g p_g / ||p_g|| where w_g = 0."""
        at_zero = (self._norms(w) == 0)[self.groups]
        direction = np.where(at_zero, self._directions(p), self._directions(w))
        return self.penalties[self.groups] * direction

    def prox(self, v: Array, step: float) -> Array:
        """v_g max(0, 1 - step c_g / ||v_g||)."""
        norms = self._norms(v)
        shrunk = np.maximum(norms - step * self.penalties, 0.0)
        return v * (shrunk / np.where(norms > 0, norms, 1.0))[self.groups]

    def conjugate(self, u: Array) -> float:
        """0 where ||u_g|| <= c_g for all g, else inf."""
        return 0.0 if np.all(self._norms(u) <= (1 + GROUP_NORM) * self.penalties) else math.inf

    def reach(self, u: Array, value: float) -> float:
        """||w|| <= sum_g ||w_g|| <= value over the least penalty."""
        return abs(value) / float(np.min(self.penalties[self.penalties > 0], initial=np.inf))

    def dual_scale(self, u: Array) -> float:
        """min_g c_g / ||u_g|| where some ||u_g|| > c_g, else 1; a hair less, to be inside."""
        norms = self._norms(u)
        outside = norms > (1 + GROUP_NORM) * self.penalties
        if not outside.any():
            return 1.0
        return float(np.min(self.penalties[outside] / norms[outside])) * (1 - INSIDE)

    def settings(self) -> dict[str, object]:
        """The constructor's arguments and their values."""
        return {"feature_groups": self.feature_groups, "group_weights": self.group_weights}


def _names(groups: object) -> tuple[tuple[str, ...], ...] | None:
    """Groups that are lists of names; None if they are not."""
    if not isinstance(groups, list | tuple) or not groups:
        return None
    if not all(isinstance(group, list | tuple) for group in groups):
        return None
    if not all(isinstance(name, str) for group in groups for name in group):
        raise InvalidData(
            "feature_groups must be the number of each column's group, or lists of column names; "
            "got lists of other things"
        )
    return tuple(tuple(group) for group in groups)


def _numbers(groups: object) -> Indices:
    index = np.asarray(groups)
    if index.dtype.kind == "f" and np.all(index == np.rint(index)):  # as model files keep them
        index = index.astype(np.int64)
    if index.ndim != 1 or index.dtype.kind not in "iu" or not len(index):
        raise InvalidData(
            "feature_groups must be the number of each column's group, or lists of column names; "
            f"got an array of shape {index.shape} and type {index.dtype}"
        )
    missing = set(range(int(np.max(index)) + 1)) - set(index.tolist())
    if np.min(index) < 0 or missing:
        what = "a number below 0" if np.min(index) < 0 else f"no column in group {min(missing)}"
        raise InvalidData(f"feature_groups must number the groups 0, 1, 2 ...; there is {what}")
    index = index.astype(np.intp)
    index.setflags(write=False)
    return index
