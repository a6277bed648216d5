"""Checking results of risks that are known by their cuts, as verification.py does for linear ones.

A chain's cuts are recomputed from NumPy's sums over labellings (losses/chain_formulas.py), or from
the labels that the witness names: any labels make a valid cut of a max-margin network. An oracle of
a user and owners of data are asked once more where the witness says; what they answer is taken on
trust.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from fenchel.data.sequences import Sequences
from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.losses import M3N
from fenchel.losses.chains import Tangent
from fenchel.result import Certificate, Result
from fenchel.risks.base import Array, Problem
from fenchel.risks.chains import ChainRisk
from fenchel.risks.oracle import OracleRisk
from fenchel.risks.owners import OwnersRisk
from fenchel.risks.structured import StructuredRisk
from fenchel.witness import Tangency, Witness

_AGREEMENT = 1e-9  # how far recomputed and claimed bounds may differ, relative to the objective
_ROUND_OFF = 1e-13  # of a mean loss, relative to the scores it is computed from
_ZERO = 1e-10


def verify_cuts(result: Result, problem: Problem) -> Certificate:
    """The certificate recomputed; InvalidCertificate if it proves less than the result claims."""
    risk = problem.risk
    assert isinstance(risk, StructuredRisk | OwnersRisk)
    cuts = _Chains(risk) if isinstance(risk, ChainRisk) else _Asked(risk)
    w = np.asarray(result.w, dtype=np.float64)
    if w.shape != risk.shape or not np.isfinite(w).all():
        raise InvalidCertificate(f"w must hold {risk.shape[0]} finite numbers")
    w = risk.flattened(w, result.intercept)
    upper = problem.strength * problem.regularizer.value(w) + cuts.value(w)
    if result.witness is None:
        lower = _tangent_bound(problem, cuts, w)
        return Certificate(lower, upper, "tangent at w, as the result has no witness")
    lower = _bound(problem, *_mixed(cuts, risk, result.witness), cuts.size)
    if risk.facts.nonnegative:
        lower = max(lower, 0.0)  # J >= 0 needs no proof
    allowed = _AGREEMENT * abs(upper) + _ROUND_OFF * risk.length * float(np.linalg.norm(w))
    if not (np.isfinite(upper) and abs(upper - result.objective) <= allowed):
        raise InvalidCertificate(
            f"the objective at w is {upper!r}, but the result claims {result.objective!r}"
        )
    if not lower >= result.lower_bound - allowed:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but the result claims {result.lower_bound!r}"
        )
    if lower > upper + allowed:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but J is {upper!r} at w: the loss is not "
            "convex, or its argmax not the largest"
        )
    return Certificate(min(lower, upper), upper, "witness")


class _Cuts(ABC):
    """R and its cuts, R(v) >= <a, v> + b."""

    size = 0.0  # what was added up to a, at most, of all cuts so far

    @abstractmethod
    def value(self, w: Array) -> float:
        """R(w)."""

    @abstractmethod
    def cut(self, touch: Tangency) -> tuple[Array, float]:
        """(a, b)."""


class _Chains(_Cuts):
    def __init__(self, risk: ChainRisk):
        shards = [shard for shard in risk.engine.shards if isinstance(shard, Sequences)]
        self.risk, self.pairs, self.loss, self.size = risk, risk.pairs, risk.loss, risk.length
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

    def _tangent(self, w: Array) -> tuple[Tangent, float]:
        """The losses and slopes at w, and what the slopes are worth there."""
        W, T = self.pairs.states(w), self.pairs.transitions(w)
        Z = np.concatenate([np.asarray((block @ W).todense()) for block in self.blocks])
        at = self.loss.tangent(Z, T, self.y, self.starts, self.share)
        return at, float(np.sum(at.tokens * Z) + np.sum(at.transitions * T))

    def value(self, w: Array) -> float:
        return float(self.share @ self._tangent(w)[0].value)

    def cut(self, touch: Tangency) -> tuple[Array, float]:
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
    def __init__(self, risk: StructuredRisk | OwnersRisk):
        assert isinstance(risk, OracleRisk | OwnersRisk)
        if isinstance(risk, OwnersRisk) and risk.noisy:
            raise InvalidData("the owners add noise to what they answer: nothing can be verified")
        self.risk = risk

    def value(self, w: Array) -> float:
        return self.risk.at(w).value

    def cut(self, touch: Tangency) -> tuple[Array, float]:
        if np.shape(touch.w) != (self.risk.n_parameters,):
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
        point = self.risk.at(np.asarray(touch.w, dtype=np.float64))
        self.size = max(self.size, point.sizes[0])
        return point.subgradient, point.constant


def _mixed(cuts: _Cuts, risk: StructuredRisk | OwnersRisk, witness: Witness) -> tuple[Array, float]:
    """The weighted sum of the witness's cuts."""
    weights = np.asarray(witness.weights, dtype=np.float64)
    if witness.alpha is not None or len(weights) != len(witness.tangencies):
        raise InvalidCertificate("the witness needs a weight for each tangent, and nothing else")
    total = float(np.sum(weights))
    short = total < 1 - _ZERO and not risk.facts.nonnegative
    if not np.all(weights >= 0) or total > 1 + _ZERO or short:
        raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")
    a, b = np.zeros(risk.n_parameters), 0.0
    for touch, weight in zip(witness.tangencies, weights.tolist(), strict=True):
        slope, constant = cuts.cut(touch)
        a += weight * slope
        b += weight * constant
    return a, b


def _tangent_bound(problem: Problem, cuts: _Cuts, w: Array) -> float:
    """What the cut at w proves by itself, nothing included."""
    a, b = cuts.cut(Tangency(w))
    least = 0.0 if problem.risk.facts.nonnegative else -np.inf
    try:
        return max(_bound(problem, a, b, cuts.size), least)
    except InvalidCertificate:
        return least


def _bound(problem: Problem, a: Array, b: float, size: float) -> float:
    """What the cut proves, nothing of it lying in a free coordinate."""
    free = problem.regularizer.free(len(a))
    if np.any(np.abs(a[free]) > _ZERO * size):
        raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
    a = a.copy()
    a[free] = 0.0
    return penalised(problem, a, b, problem.risk.facts.nonnegative)


def penalised(problem: Problem, a: Array, b: float, nonnegative: bool) -> float:
    """b - lambda Omega*(-a / lambda), the cut shrunk into the domain of Omega* where R >= 0.

    Mixing with the cut R >= 0 stays valid: l*(s alpha) <= s l*(alpha), as l*(0) <= 0.
    """
    if problem.strength == 0:
        return b if not a.any() else -np.inf
    u = -a / problem.strength
    scale = problem.regularizer.dual_scale(u)
    if scale < 1:
        if not nonnegative:
            return -np.inf
        u, b = scale * u, scale * b
    return b - problem.strength * problem.regularizer.conjugate(u)
