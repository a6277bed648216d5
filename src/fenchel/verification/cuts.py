"""What a witness proves of a risk that is known by its cuts.

A chain's cuts are recomputed from NumPy's sums over labellings (losses/chain_formulas.py), or from
the labels that the witness names: any labels make a valid cut of a max-margin network. An oracle of
a user and owners of data are asked once more where the witness says; what they answer is taken on
trust.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fenchel.data.sequences import Sequences
from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.losses import M3N
from fenchel.losses.chains import ChainSlopes
from fenchel.result import Result
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.chains import ChainRisk
from fenchel.risks.oracle import Examples, OracleRisk
from fenchel.risks.owners import OwnersRisk
from fenchel.tolerances import AGREEMENT, ROUND_OFF, SCORES, VERIFIED_ZERO
from fenchel.verification import penalties
from fenchel.verification.evidence import CheckedCut, Evidence
from fenchel.witness import Tangency, Witness


def cuts_of(risk: Risk) -> Evidence | None:
    """A risk's cuts; None where it is none that is known by them."""
    if isinstance(risk, ChainRisk):
        return _Chains(risk)
    if isinstance(risk, OracleRisk):
        return _Oracle(risk)
    return _Owners(risk) if isinstance(risk, OwnersRisk) else None


class _Cuts(Evidence):
    """R and its cuts, R(v) >= <a, v> + b."""

    size: float  # what was added up to a, at most, of all cuts so far
    shape: tuple[int, ...]  # of the result's w

    @abstractmethod
    def at(self, touch: Tangency) -> tuple[Array, float]:
        """The cut (a, b) that touches R there."""

    def parameters(self, result: Result) -> tuple[Array, float]:
        w = np.asarray(result.w, dtype=np.float64)
        if w.shape != self.shape or not np.isfinite(w).all():
            raise InvalidCertificate(f"w must hold {self.shape[0]} finite numbers")
        return w, 0.0

    def blur(self, w: Array, b: float) -> float:
        return AGREEMENT * abs(self.value(w, b)) + SCORES * self.size * float(np.linalg.norm(w))

    def cut(
        self, witness: Witness, problem: Problem, w: Array, b: float, *, blurred: bool = False
    ) -> CheckedCut:
        """The weighted sum of the witness's cuts.

        Its slope, of terms whose lengths add up to `size`, is off by `ROUND_OFF` of that, which
        counts as often as the w is long that attains the bound.
        """
        weights = np.asarray(witness.weights, dtype=np.float64)
        if witness.alpha is not None or len(weights) != len(witness.tangencies):
            raise InvalidCertificate(
                "the witness needs a weight for each tangent, and nothing else"
            )
        total = float(np.sum(weights))
        short = total < 1 - VERIFIED_ZERO and not self.nonnegative
        if not np.all(weights >= 0) or total > 1 + VERIFIED_ZERO or short:
            raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")
        a, c = np.zeros(problem.risk.n_parameters), 0.0
        for touch, weight in zip(witness.tangencies, weights.tolist(), strict=True):
            slope, constant = self.at(touch)
            a += weight * slope
            c += weight * constant
        free = penalties.free(problem.regularizer, len(a))
        if np.any(np.abs(a[free]) > VERIFIED_ZERO * self.size):
            raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
        doubt, reach = 2 * float(np.sum(np.abs(a[free] * w[free]))), 0.0
        a[free] = 0.0
        if problem.strength > 0:
            reach = problem.regularizer.reach(-a / problem.strength, c / problem.strength)
        doubt += (SCORES if blurred else ROUND_OFF) * (abs(c) + self.size * reach)
        return CheckedCut(a, c, np.zeros_like(a), doubt + AGREEMENT * abs(c) * blurred)


class _Chains(_Cuts):
    def __init__(self, risk: ChainRisk):
        shards = [shard for shard in risk.engine.shards if isinstance(shard, Sequences)]
        self.pairs, self.loss, self.nonnegative = risk.pairs, risk.loss, True
        self.blocks = [shard.rows.matrix() for shard in shards]
        self.y = np.concatenate([shard.y for shard in shards])
        firsts = np.cumsum([0, *(len(shard.y) for shard in shards)])
        inner = [shard.starts[:-1] + k for shard, k in zip(shards, firsts, strict=False)]
        self.starts = np.concatenate([*inner, firsts[-1:]])
        weights = [
            np.ones(len(shard.starts) - 1) if shard.s is None else shard.s for shard in shards
        ]
        s = np.concatenate(weights)
        self.share: Array = s / np.sum(s)  # s_i / S
        self.shape, self.size = (len(risk.pairs.label),), self._length()

    def _length(self) -> float:
        """The mean length of phi(y') - phi(y) at most, times the wrong labels of a slack."""
        tokens = np.diff(self.starts)
        slack = isinstance(self.loss, M3N) and self.loss.rescaling == "slack"
        each = np.repeat(self.share * (tokens if slack else 1), tokens)
        ends = np.cumsum([X.shape[0] for X in self.blocks])
        parts = zip(self.blocks, np.split(each, ends[:-1]), strict=True)
        sizes = sum(float(np.repeat(part, np.diff(X.indptr)) @ np.abs(X.data)) for X, part in parts)
        return 2.0 * (sizes + float(np.sum(each)))

    def _tangent(self, w: Array) -> tuple[ChainSlopes, float]:
        """The losses and slopes at w, and what the slopes are worth there."""
        W, T = self.pairs.states(w), self.pairs.transitions(w)
        Z = np.concatenate([np.asarray((block @ W).todense()) for block in self.blocks])
        at = self.loss.tangent(Z, T, self.y, self.starts, self.share)
        return at, float(np.sum(at.tokens * Z) + np.sum(at.transitions * T))

    def value(self, w: Array, b: float) -> float:
        return float(self.share @ self._tangent(w)[0].value)

    def at(self, touch: Tangency) -> tuple[Array, float]:
        if isinstance(self.loss, M3N) and touch.ties is not None:
            labels = touch.ties.slopes.astype(np.int64)
            L = self.pairs.n_labels
            if labels.shape != self.y.shape or np.any((labels < 0) | (labels >= L)):
                raise InvalidCertificate("the witness's labels belong to another problem")
            at = self.loss.line(labels, self.y, self.starts, L, self.share)
            constant = float(self.share @ at.value)
        else:
            at, product = self._tangent(np.asarray(touch.w, dtype=np.float64))
            constant = float(self.share @ at.value) - product
        ends = np.cumsum([block.shape[0] for block in self.blocks])
        parts = zip(self.blocks, np.split(at.tokens, ends[:-1]), strict=True)
        states = sum(np.asarray(block.T @ part) for block, part in parts)
        return self.pairs.gathered(np.asarray(states), at.transitions), constant


class _Asked(_Cuts):
    """Cuts that others are asked for; a point is asked for its value and subgradient."""

    n_parameters: int

    @abstractmethod
    def asked(self, w: Array) -> tuple[float, Array]:
        """R(w) and one of its subgradients there."""

    def value(self, w: Array, b: float) -> float:
        return self.asked(w)[0]

    def at(self, touch: Tangency) -> tuple[Array, float]:
        if np.shape(touch.w) != (self.n_parameters,):
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
        w = np.asarray(touch.w, dtype=np.float64)
        value, a = self.asked(w)
        return a, value - float(a @ w)


class _Oracle(_Asked):
    def __init__(self, risk: OracleRisk):
        self.oracle, self.nonnegative = risk.oracle, risk.oracle.nonnegative
        shards = [shard for shard in risk.engine.shards if isinstance(shard, Examples)]
        self.pairs = [pair for shard in shards for pair in shard.pairs]
        self.n_parameters, self.size = risk.oracle.n_parameters, 1.0
        self.shape = (self.n_parameters,)

    def asked(self, w: Array) -> tuple[float, Array]:
        """The mean over all examples, which also tells how long slopes are."""
        value, total, lengths = 0.0, np.zeros(self.n_parameters), 0.0
        for x, y in self.pairs:
            if self.oracle.differentiable:
                part, slope = self.oracle.expectation(w.copy(), x, y)
            else:
                slope, cost = self.oracle.argmax(w.copy(), x, y)
                part = float(np.dot(slope, w)) + cost
            value += float(part)
            total += slope
            lengths += float(np.linalg.norm(slope))
        n = len(self.pairs)
        self.size = max(self.size, 1.0 + lengths / n)
        return value / n, total / n


class _Owners(_Asked):
    def __init__(self, risk: OwnersRisk):
        if not risk.exact:
            raise InvalidData("the owners add noise to what they answer: nothing can be verified")
        self.owners, self.nonnegative = risk.owners, risk.loss.nonnegative
        self.n_parameters, self.n_rows = risk.n_parameters, risk.n_rows
        self.has_offset, self.shape = risk.n_offsets > 0, risk.shape
        self.size = risk.length

    def parameters(self, result: Result) -> tuple[Array, float]:
        """The intercept is the last parameter."""
        w, _ = super().parameters(result)
        return (np.append(w, result.intercept) if self.has_offset else w), 0.0

    def asked(self, w: Array) -> tuple[float, Array]:
        sums = self.owners.evaluate(w)
        if sums.gradient is None:
            raise InvalidData("the owners have not told their gradients, though they were asked to")
        return sums.value / self.n_rows, sums.gradient / self.n_rows

    def value(self, w: Array, b: float) -> float:
        return self.owners.evaluate(w, "value").value / self.n_rows
