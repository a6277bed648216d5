"""Losses of linear chains: a label for each token of a sequence.

See [Teo07] section 3.3 and [Zhang11] example 4.


Here s(y) is the score of a labelling, a sum over its tokens and transitions, and Delta(y', y) the
cost of y' where y is right, a sum over tokens:

    crf       log sum_y' exp(s(y')) - s(y)
    m3n       max_y' Delta(y', y) + s(y') - s(y)
    soft_m3n  tau log sum_y' exp((Delta(y', y) + s(y') - s(y)) / tau)

All are >= 0, as y is one of the y'. [Zhang11] eq. 45 calls the last one, with tau = 1, a CRF: the
usual one has no costs. It lies above m3n, by at most tau log |Y|.

The formulas here are plain NumPy, over tokens as chain_formulas.py has them. y holds a code for
each token, `transitions` is T and `starts` has the first token of each sequence and their number.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.losses import chain_formulas
from fenchel.losses.base import Array, Labels, Loss
from fenchel.losses.chain_formulas import Indices
from fenchel.losses.table import PAIRS, RESCALING, TEMPERATURE
from fenchel.losses.vector import checked_cost


class ChainSlopes(NamedTuple):
    """The loss of each sequence; the slopes of their sum in the scores of tokens and transitions.

    In that sum each counts as often as its weight says.
    """

    value: Array
    tokens: Array
    transitions: Array


class ChainLoss(Loss):
    """A convex function of the scores of one sequence.

    `pairs` says which weights a model has: "observed" for the pairs (feature, label) and (label,
    next label) that occur in the training data, as crfsuite has them, or "all".
    """

    labels = Labels.TAGS
    nonnegative = True
    intercept = False
    pairs: str

    @abstractmethod
    def tangent(
        self, Z: Array, T: Array, y: Indices, starts: Indices, s: Array | None = None
    ) -> ChainSlopes:
        """The loss and its slopes at these scores; s has the weights of sequences, if any."""

    def value(
        self,
        z: Array,
        y: Any,
        *,
        transitions: npt.ArrayLike | None = None,
        starts: npt.ArrayLike | None = None,
    ) -> Array:
        """The loss of each sequence; without `starts` all tokens are one."""
        return self.tangent(*_given(z, y, transitions, starts)).value

    def slope(
        self,
        z: Array,
        y: Any,
        *,
        transitions: npt.ArrayLike | None = None,
        starts: npt.ArrayLike | None = None,
    ) -> Array:
        """Its slopes in the scores of tokens."""
        return self.tangent(*_given(z, y, transitions, starts)).tokens


class CostedChainLoss(ChainLoss):
    """A chain loss with a cost of each wrong label; see MulticlassHinge for `cost`."""

    cost: float | Array

    def costs(self, L: int) -> Array:
        """Delta(k, l) for one token, k in place of l."""
        if not isinstance(self.cost, np.ndarray):
            return self.cost * (1.0 - np.eye(L))
        if self.cost.shape != (L, L):
            raise InvalidData(f"cost has shape {self.cost.shape}, but there are {L} labels in y")
        return self.cost

    def augmented(self, Z: Array, y: Indices) -> Array:
        """The scores plus the costs of labels that are not y."""
        return Z + self.costs(Z.shape[1]).T[y]


class CRF(ChainLoss):
    """The conditional log-likelihood of a sequence: log sum_y' exp(s(y')) - s(y)."""

    differentiable = True

    def __init__(self, pairs: str = "observed"):
        self.pairs = PAIRS.checked(pairs)

    def tangent(
        self, Z: Array, T: Array, y: Indices, starts: Indices, s: Array | None = None
    ) -> ChainSlopes:
        """Expectations less what y has."""
        return _soft(Z, T, y, starts, s, 1.0)


class SoftM3N(CostedChainLoss):
    """The softened margin: tau log sum_y' exp((Delta(y', y) + s(y') - s(y)) / tau)."""

    differentiable = True

    def __init__(
        self, temperature: float = 1.0, cost: npt.ArrayLike = 1.0, pairs: str = "observed"
    ):
        self.temperature = TEMPERATURE.checked(temperature)
        self.cost = checked_cost(cost)
        self.pairs = PAIRS.checked(pairs)

    def tangent(
        self, Z: Array, T: Array, y: Indices, starts: Indices, s: Array | None = None
    ) -> ChainSlopes:
        """Expectations, with the costs in the scores, less what y has."""
        return _soft(self.augmented(Z, y), T, y, starts, s, self.temperature)


class M3N(CostedChainLoss):
    """The max-margin Markov network: max_y' Delta(y', y) + s(y') - s(y).

    With rescaling="slack" it is max_y' Delta(y', y) (1 + s(y') - s(y)), Delta being the number of
    wrong labels: no other cost, as the maximum is found by that number.
    """

    def __init__(
        self, cost: npt.ArrayLike = 1.0, rescaling: str = "margin", pairs: str = "observed"
    ):
        self.cost = checked_cost(cost)
        self.rescaling = RESCALING.checked(rescaling)
        self.pairs = PAIRS.checked(pairs)
        if rescaling == "slack" and not (np.ndim(cost) == 0 and cost == 1):
            raise Incompatible(
                "with ",
                Setting("rescaling", "slack"),
                " the cost is the number of wrong labels, cost=1; use ",
                Setting("rescaling", "margin"),
                " for others",
            )

    def tangent(
        self, Z: Array, T: Array, y: Indices, starts: Indices, s: Array | None = None
    ) -> ChainSlopes:
        """What the worst labelling has, less what y has."""
        L, right = Z.shape[1], chain_formulas.gold_scores(Z, T, starts, y)
        if self.rescaling == "margin":
            most, labels = chain_formulas.best(self.augmented(Z, y), T, starts)
            return self.line(labels, y, starts, L, s)._replace(value=most - right)
        parts = [np.split(each, starts[1:-1]) for each in (Z, y)]
        found = [
            chain_formulas.most_violating(z, T, codes) for z, codes in zip(*parts, strict=True)
        ]
        labels = np.concatenate([labels for _, labels in found])
        value = np.array([value for value, _ in found])
        return self.line(labels, y, starts, L, s)._replace(value=value)

    def line(
        self, labels: Indices, y: Indices, starts: Indices, L: int, s: Array | None = None
    ) -> ChainSlopes:
        """What any labelling proves: the loss of each sequence is at least value + slopes."""
        cost = self.costs(L)
        constant = np.add.reduceat(cost[labels, y], starts[:-1])
        each = _of_tokens(s, starts)
        if self.rescaling == "slack":
            each = each * np.repeat(constant, np.diff(starts))
        ours, theirs = (chain_formulas.counted(codes, starts, each, L) for codes in (labels, y))
        return ChainSlopes(constant, ours[0] - theirs[0], ours[1] - theirs[1])


def _soft(
    Z: Array, T: Array, y: Indices, starts: Indices, s: Array | None, temperature: float
) -> ChainSlopes:
    each = _of_tokens(s, starts)
    total, labels, transitions = chain_formulas.expected(
        Z / temperature, T / temperature, starts, each
    )
    ours, theirs = chain_formulas.counted(y, starts, each, Z.shape[1])
    right = chain_formulas.gold_scores(Z, T, starts, y)  # y costs nothing
    return ChainSlopes(temperature * total - right, labels - ours, transitions - theirs)


def _of_tokens(s: Array | None, starts: Indices) -> Array:
    """For each token the weight of its sequence."""
    return np.ones(starts[-1]) if s is None else np.repeat(s, np.diff(starts))


def _given(
    z: Any, y: Any, transitions: npt.ArrayLike | None, starts: npt.ArrayLike | None
) -> tuple[Array, Array, Indices, Indices]:
    """What a caller gave, checked: indices out of range would be read from the other end."""
    Z, given = np.asarray(z, dtype=np.float64), np.asarray(y)
    if Z.ndim != 2 or given.shape != Z.shape[:1]:
        raise InvalidData(f"there are scores of shape {Z.shape}, but y has shape {given.shape}")
    n, L = Z.shape
    if not np.isin(given, np.arange(L)).all():
        raise InvalidData(f"y must hold whole numbers from 0 to {L - 1}, as there are {L} labels")
    T = np.asarray(np.zeros((L, L)) if transitions is None else transitions, dtype=np.float64)
    if T.shape != (L, L):
        raise InvalidData(f"transitions have shape {T.shape}, but there are {L} labels")
    first = np.asarray([0, n] if starts is None else starts)
    rising = np.intersect1d(np.append(first, [0, n]), np.arange(n + 1))  # distinct and in order
    if not np.array_equal(first, rising):
        raise InvalidData(
            f"starts must be whole numbers that rise from 0 to {n}, the number of tokens; got "
            f"{starts!r:.80}"
        )
    return Z, T, given.astype(np.int64), first.astype(np.int64)
