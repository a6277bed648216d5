"""What a witness proves of a risk that is known by its cuts.

An oracle of a user and owners of data are asked once more where the witness says; what they answer
is taken on trust. Chains are in chain_cuts.py.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fenchel.errors import InvalidCertificate, InvalidData
from fenchel.result import Result
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.function import FunctionRisk
from fenchel.risks.oracle import Examples, OracleRisk
from fenchel.risks.owners import OwnersRisk
from fenchel.tolerances import AGREEMENT, ROUND_OFF, SCORES, VERIFIED_ZERO
from fenchel.verification import penalties
from fenchel.verification.checked_cut import CheckedCut
from fenchel.verification.evidence import Evidence
from fenchel.witness import Tangency, Witness


def cuts_of(risk: Risk) -> Evidence | None:
    """A risk's cuts; None where others are not asked for them."""
    if isinstance(risk, OracleRisk):
        return _Oracle(risk)
    if isinstance(risk, FunctionRisk):
        return _Function(risk)
    return _Owners(risk) if isinstance(risk, OwnersRisk) else None


class Cuts(Evidence):
    """R and its cuts, R(v) >= <a, v> + b."""

    enclosed = False  # whether cuts come with all of their errors
    size: float  # what was added up to a, at most, of all cuts so far
    shape: tuple[int, ...]  # of the result's w

    @abstractmethod
    def mixture(self, witness: Witness) -> CheckedCut:
        """The weighted sum of the witness's cuts, whose weights are in order."""

    def parameters(self, result: Result) -> tuple[Array, float]:
        w = np.asarray(result.w, dtype=np.float64)
        if w.shape != self.shape or not np.isfinite(w).all():
            raise InvalidCertificate(f"w must hold {self.shape[0]} finite numbers")
        return w, 0.0

    def blur(self, w: Array, b: float | Array) -> float:
        return AGREEMENT * abs(self.value(w, b)) + SCORES * self.size * float(np.linalg.norm(w))

    def cut(
        self,
        witness: Witness,
        problem: Problem,
        w: Array,
        b: float | Array,
        *,
        blurred: bool = False,
    ) -> CheckedCut:
        """The weighted sum of the witness's cuts.

        Unless it is enclosed, its slope, of terms whose lengths add up to `size`, is off by
        `ROUND_OFF` of that, which counts as often as the w is long that attains the bound.
        """
        self._check_weights(witness)
        a, c, a_error, c_error, _ = self.mixture(witness)
        free = penalties.free(problem.regularizer, len(a))
        if np.any(np.abs(a[free]) > VERIFIED_ZERO * self.size):
            raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
        doubt = c_error + 2 * float(np.sum((np.abs(a) + a_error)[free] * np.abs(w[free])))
        a[free] = a_error[free] = 0.0
        if blurred or not self.enclosed:
            reach = 0.0
            if problem.strength > 0:
                reach = problem.regularizer.reach(-a / problem.strength, c / problem.strength)
            doubt += (SCORES if blurred else ROUND_OFF) * (abs(c) + self.size * reach)
        return CheckedCut(a, c, a_error, doubt + AGREEMENT * abs(c) * blurred)

    def _check_weights(self, witness: Witness) -> None:
        weights = np.asarray(witness.weights, dtype=np.float64)
        if witness.alpha is not None or len(weights) != len(witness.tangencies):
            raise InvalidCertificate(
                "the witness needs a weight for each tangent, and nothing else"
            )
        total = float(np.sum(weights))
        short = total < 1 - VERIFIED_ZERO and not self.nonnegative
        if not np.all(weights >= 0) or total > 1 + VERIFIED_ZERO or short:
            raise InvalidCertificate(f"the tangents' weights add up to {total}, not to 1")


class _Asked(Cuts):
    """Cuts that others are asked for; a point is asked for its value and subgradient."""

    n_parameters: int

    @abstractmethod
    def asked(self, w: Array) -> tuple[float, Array]:
        """R(w) and one of its subgradients there."""

    def value(self, w: Array, b: float | Array) -> float:
        return self.asked(w)[0]

    def mixture(self, witness: Witness) -> CheckedCut:
        a, c = np.zeros(self.n_parameters), 0.0
        for touch, weight in zip(witness.tangencies, witness.weights, strict=True):
            slope, constant = self.at(touch)
            a += weight * slope
            c += weight * constant
        return CheckedCut(a, c, np.zeros_like(a), 0.0)

    def at(self, touch: Tangency) -> tuple[Array, float]:
        """The cut (a, b) that touches R there."""
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


class _Function(_Asked):
    """A function of a user's; what it takes values from is as large as its tangents are at w."""

    def __init__(self, risk: FunctionRisk):
        self.function, self.nonnegative = risk.function, risk.function.nonnegative
        self.n_parameters, self.size = risk.n_parameters, 1.0
        self.shape = (self.n_parameters,)

    def mixture(self, witness: Witness) -> CheckedCut:
        """With the round-off in the tangents' heights, which may cancel in the sum."""
        sizes = [self._size(touch) for touch in witness.tangencies]
        error = ROUND_OFF * float(np.dot(sizes, witness.weights))
        return super().mixture(witness)._replace(c_error=error)

    def _size(self, touch: Tangency) -> float:
        a, constant = self.at(touch)
        return abs(constant) + 2 * float(np.linalg.norm(a) * np.linalg.norm(touch.w))

    def asked(self, w: Array) -> tuple[float, Array]:
        value, slope = self.function.at(w)
        self.size = max(self.size, float(np.linalg.norm(slope)))
        return value, slope

    def at(self, touch: Tangency) -> tuple[Array, float]:
        """The tangent of the steepest slope along a direction, where the witness has one."""
        slope, constant = super().at(touch)
        if touch.ties is None:
            return slope, constant
        p = np.asarray(touch.ties.slopes, dtype=np.float64)
        if self.function.steepest is None or p.shape != slope.shape:
            raise InvalidCertificate("a tangent of the witness belongs to another problem")
        w = np.asarray(touch.w, dtype=np.float64)
        height, steepest = self.function.steepest_at(w, p)
        self.size = max(self.size, float(np.linalg.norm(steepest)))
        return steepest, height - float(steepest @ w)


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

    def value(self, w: Array, b: float | Array) -> float:
        return self.owners.evaluate(w, "value").value / self.n_rows
