"""What a multivariate loss is: a convex function L(z) of the scores of all rows at once.

The classes in labeling.py, ordinal.py and ranking.py are formulas in plain NumPy, which `verify`
relies on; each has a twin in C++, which solvers run on (multivariate_twins.py).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import Incompatible, InvalidData
from fenchel.losses.base import Array, Loss
from fenchel.losses.soft_counts import SoftTangent

Indices = npt.NDArray[np.int64]


class Sample(NamedTuple):
    """What a loss knows of the rows: labels, weights (None: all 1), and the groups' starts.

    starts[q] is the first row of group q, and the last entry the number of rows; without groups
    all rows are one.
    """

    y: npt.NDArray[Any]
    s: Array | None
    starts: Indices

    @property
    def weights(self) -> Array:
        """The weights in full."""
        return np.ones(len(self.y)) if self.s is None else self.s

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    @property
    def groups(self) -> Indices:
        """The number of each row's group, from 0."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.starts))


class Tangent(NamedTuple):
    """An affine function c + <g, v> that lies below L everywhere and meets it at some z."""

    c: float
    g: Array


class MultivariateLoss(Loss):
    """A convex function L(z) of all scores, given by its tangents.

    A subclass writes `tangent`, and `check` where it cannot do with every sample. Where it is
    `grouped` the loss is a mean over groups of rows that stand together, the queries, and belongs
    to one group alone if it is given one alone.
    """

    grouped: ClassVar[bool] = False
    weighted: ClassVar[bool] = False  # sample weights have a meaning
    soft: ClassVar[bool] = False  # it has soft tangents
    intercept = False  # most do not change when all scores are shifted

    @abstractmethod
    def tangent(self, z: Array, sample: Sample) -> Tangent:
        """The tangent at z."""

    def check(self, sample: Sample) -> None:
        """Raises InvalidData where the loss makes no sense for these rows."""
        return None

    def soft_tangent(self, z: Array, sample: Sample, mu: float) -> SoftTangent:
        """The same of L_mu, in which the maxima that L is made of are soft, where it is `soft`.

        L_mu has a gradient, and lies below L by about mu at most.
        """
        raise NotImplementedError(f"{type(self).__name__} has no soft tangents")

    def mass(self, sample: Sample) -> float:
        """What a mean over these groups divides by; where the loss is `grouped`."""
        return sample.n_groups

    def value(
        self, z: Array, y: Any, *, sample_weight: Any = None, groups: npt.ArrayLike | None = None
    ) -> float:
        """L(z), one number; `groups` holds the query of each row where the loss is `grouped`."""
        z, sample = np.asarray(z, dtype=np.float64), self.sample(y, sample_weight, groups)
        c, g = self.tangent(_one_each(z, sample), sample)
        return c + float(g @ z)

    def slope(
        self, z: Array, y: Any, *, sample_weight: Any = None, groups: npt.ArrayLike | None = None
    ) -> Array:
        """One element of the subdifferential of L, one number for each score."""
        z, sample = np.asarray(z, dtype=np.float64), self.sample(y, sample_weight, groups)
        return self.tangent(_one_each(z, sample), sample).g

    def sample(
        self, y: Any, sample_weight: Any = None, groups: npt.ArrayLike | None = None
    ) -> Sample:
        """The rows as the loss takes them, checked."""
        if groups is None and self.grouped:
            raise Incompatible(
                f"{type(self).__name__} orders the rows of each query: give groups=, with the "
                "query of each row (the same for all rows if there is one query only)"
            )
        if groups is not None and not self.grouped:
            raise Incompatible(f"{type(self).__name__} is about all rows at once: it has no groups")
        if sample_weight is not None and not self.weighted:
            raise Incompatible(
                f"{type(self).__name__} has no meaning for sample_weight: a row counts or does "
                "not; drop the rows you do not want, or use roc, ordinal or rank_hinge"
            )
        y = np.asarray(y)
        s = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        starts = _starts(np.zeros(len(y)) if groups is None else np.asarray(groups))
        sample = Sample(y, s, starts)
        for name, n in (("groups", starts[-1]), ("sample_weight", len(y if s is None else s))):
            if n != len(y):
                raise InvalidData(f"y has {len(y)} entries but {name} has {n}")
        self.check(sample)
        return sample


def _starts(groups: npt.NDArray[Any]) -> Indices:
    """Where each group of equal neighbours starts, and the number of rows."""
    inner = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    if len(np.unique(groups)) < len(inner) + 1:
        raise InvalidData("the rows of each group must stand together: sort them by groups")
    return np.concatenate([[0], inner, [len(groups)]]).astype(np.int64)


def group_weights(s: Array, starts: Indices) -> Array:
    """The weight of each group, which its rows must agree on."""
    of_groups = s[starts[:-1]]
    wrong = np.flatnonzero(s != np.repeat(of_groups, np.diff(starts)))
    if len(wrong):
        row = int(wrong[0])
        i = int(np.searchsorted(starts, row, side="right")) - 1
        raise InvalidData(
            f"sample_weight is {s[row]:g} in row {row} but {of_groups[i]:g} in the first row of "
            f"its group, number {i}: a group has one weight",
            row=row,
        )
    return of_groups


def _one_each(z: Array, sample: Sample) -> Array:
    if z.shape != sample.y.shape:
        raise InvalidData(f"there are scores of shape {z.shape}, but y has shape {sample.y.shape}")
    return z


def descending(keys: Array) -> npt.NDArray[np.intp]:
    """The rows in falling order of their keys, of equal ones the first row first."""
    return np.argsort(-keys, kind="stable")


def both_classes(sample: Sample) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The rows of the positives and those of the negatives, neither without one."""
    positive = sample.y > 0
    if not positive.any() or positive.all():
        kind = "negatives" if positive.any() else "positives"
        raise InvalidData(f"y holds no {kind}: the loss compares both classes")
    return np.flatnonzero(positive), np.flatnonzero(~positive)
