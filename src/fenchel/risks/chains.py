"""The risk of linear chains: the mean loss of sequences whose labels depend on their neighbours.

w has a weight for each pair of a feature and a label and for each pair of labels in a row
(data/sequences.py), and a sequence's score is the sum of those that occur in it. A loss compares
the score of the right labels with those of all others (losses/chains.py), which kernels sum up or
search by dynamic programming. Nothing is kept between points: each costs a sweep over all
sequences.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel._system.memory import require
from fenchel.data.blocks import Blocks
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.sequences import (
    MOST_LABELS,
    Sequences,
    all_pairs,
    compressed,
    cut_sequences,
    observed_pairs,
)
from fenchel.data.shards import fingerprint
from fenchel.engines import Engine, PerShard
from fenchel.errors import Incompatible, InvalidData
from fenchel.losses import CRF, M3N, ChainLoss, SoftM3N
from fenchel.losses.chains import CostedChainLoss
from fenchel.losses.multivariate import group_weights
from fenchel.risks.base import Array
from fenchel.risks.digests import digest_of
from fenchel.risks.structured import Evaluation, Rows, StructuredRisk


class ChainRisk(StructuredRisk):
    """The mean loss of sequences; `classes` are the labels that codes stand for."""

    def __init__(self, loss: ChainLoss, engine: Engine, classes: npt.NDArray[Any]):
        shards = [shard for shard in engine.shards if isinstance(shard, Sequences)]
        self.loss, self.classes, self.pairs = loss, classes, shards[0].pairs
        sizes = [shard.n_sequences for shard in shards]
        n_numbers = sum(shard.rows.n_numbers for shard in shards)
        super().__init__(
            engine,
            len(self.pairs.label),
            sizes,
            n_numbers,
            nonnegative=True,
            differentiable=loss.differentiable,
        )
        self.weight = sum(shard.weight for shard in shards)
        if self._slack:
            engine.total(engine.map(_room))  # refuses what would not fit, where it is needed

    @property
    def _slack(self) -> bool:
        return isinstance(self.loss, M3N) and self.loss.rescaling == "slack"

    def evaluated(self, w: Array, rows: PerShard[Rows] | None = None) -> PerShard[Evaluation]:
        """Losses and slopes of some sequences by forward-backward, or by Viterbi for a hinge."""
        return self.engine.map(_evaluate, self.loss, w, rows)

    @functools.cached_property
    def length(self) -> float:
        """Twice the sum of its tokens' lengths and of its transitions; a slack multiplies it."""
        return float(self.engine.total(self.engine.map(_length, self._slack))) / self.weight

    def curvature(self) -> Array:
        """Mean squares, as if all labels were as likely as those of the data."""
        squares: Array = self.engine.total(self.engine.map(_squares))
        return squares[self.pairs.feature] / (self.weight * self.pairs.n_labels)

    def fingerprint(self) -> bytes:
        """A digest of the loss, the labels and every shard."""
        return digest_of(self.engine, _fingerprint, self.loss, self.classes)


def chain_risk(
    loss: ChainLoss,
    rows: SparseRows | DenseRows | Blocks,
    targets: Targets,
    s: Array | None,
    groups: npt.NDArray[np.int64] | None,
    engine: Engine,
) -> ChainRisk:
    """The risk of rows that are tokens, and of groups that are their sequences.

    Weights are those of sequences, and so the same for all tokens of one.
    """
    if isinstance(rows, Blocks):
        raise Incompatible(
            f"{type(loss).__name__} needs its tokens in memory, not in a store or on a device"
        )
    if groups is None:
        raise Incompatible(
            f"{type(loss).__name__} labels the tokens of each sequence: give groups=, with the "
            "sequence of each row (the same for all rows if there is one sequence only)"
        )
    K = len(targets.classes)
    if K > MOST_LABELS:
        raise InvalidData(f"chains take up to {MOST_LABELS} labels; y has {K}")
    if isinstance(loss, CostedChainLoss):
        loss.costs(K)  # refuses a matrix of the wrong size
    inner = np.flatnonzero(np.diff(groups)) + 1
    starts = np.concatenate([[0], inner, [rows.n_rows]]).astype(np.int64)
    tokens = compressed(rows)
    pairs = (
        all_pairs(rows.n_columns, K)
        if loss.pairs == "all"
        else observed_pairs(tokens, targets.y, starts, K)
    )
    s = None if s is None else group_weights(s, starts)
    shards = cut_sequences(tokens, targets.y, s, starts, pairs)
    return ChainRisk(loss, engine.place(shards), targets.classes)


def _evaluate(shard: Sequences, loss: ChainLoss, w: Array, rows: Rows | None) -> Evaluation:
    gradient, L = np.zeros(len(w)), shard.pairs.n_labels
    if isinstance(loss, M3N):
        labels = np.zeros(len(shard.y), dtype=np.int64)
        slack = loss.rescaling == "slack"
        cost = None if slack else loss.costs(L)
        value = shard.chains.hinge(shard.y, shard.s, cost, slack, rows, w, labels, gradient)
        return Evaluation(value, gradient, labels)
    assert isinstance(loss, CRF | SoftM3N)
    cost, temperature = (None, 1.0) if isinstance(loss, CRF) else (loss.costs(L), loss.temperature)
    value = shard.chains.log_loss(shard.y, shard.s, cost, temperature, rows, w, gradient)
    return Evaluation(value, gradient)


def _room(shard: Sequences) -> int:
    """Bytes for the best scores by token, number of wrong labels and label (chain_paths.hpp)."""
    longest = int(np.diff(shard.starts).max())
    n_bytes = 8 * longest * (longest + 1) * shard.pairs.n_labels
    what = f"rescaling='slack' with a sequence of {longest} tokens"
    require(n_bytes, what, "part such sequences, or use rescaling='margin'")
    return n_bytes


def _length(shard: Sequences, slack: bool) -> float:
    """The most that phi(y') - phi(y) can be long, times wrong labels if `slack`, over all."""
    # A name may occur twice in a token: its values then add up.
    X = shard.rows.matrix()  # of the shard's own arrays, which SciPy's abs would put in order
    sizes = sparse.csr_array((np.abs(X.data), X.indices, X.indptr), shape=X.shape)
    lengths = sizes @ np.ones(X.shape[1]) + 1.0
    times = np.ones(len(shard.starts) - 1) if shard.s is None else shard.s
    if slack:
        times = times * np.diff(shard.starts)
    return 2.0 * float(shard.of_tokens(times) @ lengths)


def _squares(shard: Sequences) -> Array:
    """sum_t s_t x_tf^2 for each feature, the labels before last."""
    s = None if shard.s is None else shard.of_tokens(shard.s)
    before = np.bincount(shard.y, s, minlength=shard.pairs.n_labels).astype(np.float64)
    return np.concatenate([shard.rows.squares(s), before])


def _fingerprint(shard: Sequences) -> bytes:
    digest = hashlib.blake2b(fingerprint(shard), digest_size=16)
    digest.update(shard.starts.data)
    return digest.digest()
