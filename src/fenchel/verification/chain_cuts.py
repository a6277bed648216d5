"""What a witness proves of a risk of chains: enclosed cuts, from the data and any labellings.

A max-margin network has a cut for any labels, l(v) >= Delta(y', y) + <phi(y') - phi(y), v>, or
Delta times (1 + <...>) if slacks are rescaled: those that the witness names, or the worst ones at
its w. A softened loss has one for any distribution of labels (walks.py): the one at the witness's w
as floating point has it, made exact. The weights of sequences are rounded down to whole numbers of
a unit, which is allowed as losses are not negative, so that all slopes in scores are whole numbers;
X' of them is enclosed (exact_products.py), and so the cut lies below the risk whatever the
round-off. A mixture's weights are made to add up to at most 1, for the same reason.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.sequences import Sequences
from fenchel.errors import InvalidCertificate
from fenchel.losses import CRF, M3N, SoftM3N, chain_formulas
from fenchel.risks.base import Array
from fenchel.risks.chains import ChainRisk
from fenchel.tolerances import VERIFIED_ZERO
from fenchel.verification.chain_losses import losses_above
from fenchel.verification.checked_cut import CheckedCut
from fenchel.verification.cuts import Cuts
from fenchel.verification.exact_products import SlicedMatrix
from fenchel.verification.grid import Grid, grid_of
from fenchel.verification.intervals import Interval, down, exact, sum_above, sum_below, summed, up
from fenchel.verification.walks import Indices, WholeSums, paths, walks
from fenchel.witness import Tangency, Ties, Witness


class _Slopes(NamedTuple):
    """A cut of the sum of all losses in the scores, in units."""

    tokens: Array
    transitions: WholeSums
    constant: float  # or less


class _Named(NamedTuple):
    """Labellings of whole sequences, one after the other, and how many units each counts."""

    rows: Indices  # the tokens that labels are those of
    labels: Indices
    starts: Indices
    units: Array


_LABELS = 4  # whose exact products are computed together
_WITHIN = 1 - 1e-12  # what shares add up to at most: sums of fewer than 1,000 are off by less


class ChainEvidence(Cuts):
    """The sequences of all shards, and the loss."""

    nonnegative = True
    enclosed = True

    def __init__(self, risk: ChainRisk):
        shards = [shard for shard in risk.engine.shards if isinstance(shard, Sequences)]
        self.pairs, self.loss = risk.pairs, risk.loss
        self.blocks = [shard.rows.matrix() for shard in shards]
        self.sequences = [(shard.y, shard.starts) for shard in shards]  # of each block
        self.y = np.concatenate([shard.y for shard in shards])
        firsts = np.cumsum([0, *(len(shard.y) for shard in shards)])
        inner = [shard.starts[:-1] + k for shard, k in zip(shards, firsts, strict=False)]
        self.starts: Indices = np.concatenate([*inner, firsts[-1:]])
        weights = [
            np.ones(len(shard.starts) - 1) if shard.s is None else shard.s for shard in shards
        ]
        self.s: Array = np.concatenate(weights)
        self.S = summed(exact(self.s))
        self.share: Array = self.s / np.sum(self.s)  # s_i / S
        self.slack = isinstance(self.loss, M3N) and self.loss.rescaling == "slack"
        self.shape, self.size = (len(risk.pairs.label),), self._length()
        self._last: tuple[Witness, tuple[Interval, float]] | None = (
            None  # plain and rigorous use it
        )

    def _length(self) -> float:
        """The mean length of phi(y') - phi(y) at most, times the wrong labels of a slack."""
        tokens = np.diff(self.starts)
        each = np.repeat(self.share * (tokens if self.slack else 1), tokens)
        parts = zip(self.blocks, self._parts(each), strict=True)
        sizes = sum(float(np.repeat(part, np.diff(X.indptr)) @ np.abs(X.data)) for X, part in parts)
        return 2.0 * (sizes + float(np.sum(each)))

    @functools.cached_property
    def grid(self) -> Grid:
        """The unit of weights: with the wrong labels of a slack they have 52 bits, too."""
        grid, longest = grid_of(self.s), int(np.max(np.diff(self.starts)))
        return Grid(grid.exponent + longest.bit_length()) if self.slack else grid

    def _parts(self, tokens: Array) -> list[Array]:
        """What the tokens of each block have."""
        ends = np.cumsum([block.shape[0] for block in self.blocks])
        return np.split(tokens, ends[:-1])

    def _scores(self, w: Array) -> tuple[Array, Array]:
        """Those of tokens and transitions."""
        self.passes += 1
        W, T = self.pairs.states(w), self.pairs.transitions(w)
        Z = np.empty((len(self.y), len(T)))
        for block, part in zip(self.blocks, self._parts(Z), strict=True):
            (block @ W).toarray(out=part)
        return Z, T

    def _scores_at(self, touch: Tangency) -> tuple[Array, Array]:
        w = np.asarray(touch.w, dtype=np.float64)
        if w.shape != self.shape:
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
        return self._scores(w)

    def value(self, w: Array, b: float | Array) -> float:
        """From scores as float64 has them."""
        self.passes += 1
        W, T = self.pairs.states(w), self.pairs.transitions(w)
        each = np.concatenate(
            [  # block by block: enclosures are several times as large as the scores
                losses_above(self.loss, exact((block @ W).toarray()), T, y, starts)
                for block, (y, starts) in zip(self.blocks, self.sequences, strict=True)
            ]
        )
        return float(np.sum(self.share * np.where(self.share > 0, each, 0.0)))

    def at(self, touch: Tangency) -> tuple[Interval, float]:
        """(S a, no more than S c)."""
        self.passes += 1
        units = self.grid.units(self.s).astype(np.float64)
        by_path = isinstance(self.loss, M3N) and touch.offsets is None
        of = self._path if by_path else self._walk
        slopes = of(touch, units)
        pairs, n, unit = self.pairs, self.pairs.n_states, 2.0**self.grid.exponent
        before, now = pairs.feature[n:] - pairs.n_features, pairs.label[n:]
        steps = slopes.transitions.numbers.times(exact(unit))
        ends = [
            np.concatenate([state, step[before, now]])
            for state, step in zip(self._adjoint(slopes.tokens, unit), steps, strict=True)
        ]
        return Interval(*ends), float(exact(slopes.constant).times(exact(unit)).lo)

    def _adjoint(self, tokens: Array, unit: float) -> Interval:
        """X' of so many units, for the pairs of features and labels.

        Exact products have several arrays of the size of what is multiplied and of what is found:
        so they are those of a block, and of few labels, at a time.
        """
        n = self.pairs.n_states
        features, labels = self.pairs.feature[:n], self.pairs.label[:n]
        groups = np.split(np.argsort(labels, kind="stable"), self._group_edges(labels))
        total = exact(np.zeros(n))
        for block, part in zip(self.blocks, self._parts(tokens), strict=True):
            matrix, (lo, hi) = SlicedMatrix(block), np.empty((2, n))
            for k, here in enumerate(groups):
                those = slice(k * _LABELS, (k + 1) * _LABELS)
                places = features[here], labels[here] - those.start
                lo[here], hi[here] = matrix.adjoint(unit * part[:, those], places)
            total = total.plus(Interval(lo, hi))
        return total

    def _group_edges(self, labels: npt.NDArray[Any]) -> Indices:
        """Where each group of `_LABELS` labels but the first begins, of labels in order."""
        counts = np.bincount(labels // _LABELS, minlength=-(-self.pairs.n_labels // _LABELS))
        return np.cumsum(counts)[:-1]

    def _walk(self, touch: Tangency, units: Array) -> _Slopes:
        """Of the distribution at the tangency; for a maximum, at the level that it names.

        E h is no more than the largest h: of a maximum any distribution proves a cut, without its
        entropy.
        """
        (Z, T), L, tau = self._scores_at(touch), self.pairs.n_labels, self._temperature(touch)
        if not isinstance(self.loss, CRF):
            assert isinstance(self.loss, SoftM3N | M3N)
            Z = self.loss.augmented(Z, self.y)
        found = walks(Z if tau == 1 else Z / tau, T / tau, self.starts, units)
        constant = 0.0
        if not isinstance(self.loss, M3N):
            constant = float(exact(tau).times(exact(found.entropy)).lo)
        if isinstance(self.loss, SoftM3N | M3N):
            costs = sum_below(down(found.labels * self.loss.costs(L).T[self.y]))
            constant = float(exact(constant).plus(exact(costs)).lo)
        each = np.repeat(units, np.diff(self.starts))
        found.labels[np.arange(len(self.y)), self.y] -= each
        steps = found.transitions.minus(paths(self.y, self.starts, units, L))
        return _Slopes(found.labels, steps, constant)

    def _temperature(self, touch: Tangency) -> float:
        """That of the loss, or the level of a tangency of a maximum."""
        if touch.offsets is None:
            return self.loss.temperature if isinstance(self.loss, SoftM3N) else 1.0
        level = float(touch.offsets.mu)
        if not isinstance(self.loss, M3N) or self.slack or not 0 < level < np.inf:
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
        return level

    def _path(self, touch: Tangency, units: Array) -> _Slopes:
        """Of labels."""
        assert isinstance(self.loss, M3N)
        named, L = self._named(touch, units), self.pairs.n_labels
        y, each = self.y[named.rows], np.repeat(named.units, np.diff(named.starts))
        cost = down(self.loss.costs(L)[named.labels, y] * each)
        some = named.units
        if self.slack:
            wrong = np.add.reduceat((named.labels != y).astype(np.float64), named.starts[:-1])
            cost = some = some * wrong
            each = np.repeat(some, np.diff(named.starts))
        tokens = np.zeros((len(self.y), L))
        np.add.at(tokens, (named.rows, named.labels), each)
        np.subtract.at(tokens, (named.rows, y), each)
        ours, theirs = (paths(codes, named.starts, some, L) for codes in (named.labels, y))
        return _Slopes(tokens, ours.minus(theirs), sum_below(cost))

    def _named(self, touch: Tangency, units: Array) -> _Named:
        """The labellings that the witness names, or the worst ones at its w."""
        assert isinstance(self.loss, M3N)
        rows = np.arange(len(self.y))
        if touch.ties is not None and touch.ties.slopes.ndim == 2:
            return self._shared(touch.ties, units)
        if touch.ties is not None:
            return _Named(rows, self._labels(touch.ties.slopes, self.y), self.starts, units)
        Z, T = self._scores_at(touch)
        if not self.slack:
            labels = chain_formulas.best(self.loss.augmented(Z, self.y), T, self.starts)[1]
            return _Named(rows, labels, self.starts, units)
        parts = [np.split(each, self.starts[1:-1]) for each in (Z, self.y)]
        found = (chain_formulas.most_violating(z, T, y)[1] for z, y in zip(*parts, strict=True))
        return _Named(rows, np.concatenate(list(found)), self.starts, units)

    def _shared(self, ties: Ties, units: Array) -> _Named:
        """Labellings with shares: a line (label, share) for each token of each of them.

        Shares are scaled so that those of a sequence add up to less than 1, and times its weight
        rounded down to whole units, which is allowed as losses are not negative.
        """
        rows, labels = ties.rows, self._labels(ties.slopes[:, 0], ties.rows)
        sequence = np.searchsorted(self.starts[:-1], rows[: len(labels)], side="right") - 1
        known = bool(np.all((rows >= 0) & (rows < len(self.y))))
        first = np.flatnonzero(rows == self.starts[sequence]) if known else np.empty(0, dtype=int)
        starts, which = np.append(first, len(rows)), sequence[first]
        whole = np.array_equal(np.diff(starts), np.diff(self.starts)[which])
        inside = np.arange(len(rows)) - np.repeat(first, np.diff(starts)) if whole else rows
        share = ties.slopes[first, 1]
        in_order = len(first) > 0 and first[0] == 0 and whole
        in_order = in_order and np.array_equal(rows, self.starts[sequence] + inside)
        if not in_order or not np.all((share >= 0) & (share <= 1 + VERIFIED_ZERO)):
            raise InvalidCertificate("the witness's labellings belong to another problem")
        total = np.bincount(which, share, minlength=len(self.s))
        if np.any(total > 1 + VERIFIED_ZERO):
            raise InvalidCertificate("the witness's shares of labellings add up to more than 1")
        less = np.where(total[which] > _WITHIN, _WITHIN / np.maximum(total[which], _WITHIN), 1.0)
        each = np.floor(down(down(share * less) * units[which]))
        return _Named(rows, labels, starts, np.maximum(each, 0.0))  # a share of 0 was rounded, too

    def _labels(self, given: Array, rows: npt.NDArray[Any]) -> Indices:
        """Labels as a witness has them, one for each of these."""
        labels = given.astype(np.int64)
        if labels.shape != rows.shape or np.any((labels < 0) | (labels >= self.pairs.n_labels)):
            raise InvalidCertificate("the witness's labels belong to another problem")
        return labels

    def mixed(self, witness: Witness) -> tuple[Interval, float]:
        """(S a, no more than S c) of the cuts together, with weights that add up to 1 or less."""
        if self._last is not None and self._last[0] is witness:
            return self._last[1]
        weights = np.asarray(witness.weights, dtype=np.float64)
        total = sum_above(weights)
        if total > 1:
            weights = np.maximum(down(weights / total), 0.0)
        a, constants = exact(np.zeros(self.shape)), exact(0.0)
        for touch, weight in zip(witness.tangencies, weights.tolist(), strict=True):
            slope, constant = self.at(touch)
            a = a.plus(slope.times(exact(weight)) if weight != 1 else slope)
            constants = constants.plus(exact(constant).times(exact(weight)))
        self._last = witness, (a, float(constants.lo))
        return self._last[1]

    def mixture(self, witness: Witness) -> CheckedCut:
        """Its middle and how far from that it may be."""
        a, constant = self.mixed(witness)
        lo, hi = a.over(self.S)
        middle = 0.5 * lo + 0.5 * hi
        error = np.maximum(up(hi - middle), up(middle - lo))
        return CheckedCut(middle, float(exact(constant).over(self.S).lo), error, 0.0)
