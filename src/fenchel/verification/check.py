"""Checking a result from its witness and the data alone: what is claimed and what is proved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidCertificate
from fenchel.result import Certificate, Result, Status
from fenchel.risks.base import Problem
from fenchel.tolerances import AGREEMENT, SCORES
from fenchel.verification import penalties
from fenchel.witness import Bracket, Tangency, Witness

Array = npt.NDArray[np.float64]


class Evidence(ABC):
    """A risk R as verification computes it, and the cuts of it that a witness stands for."""

    nonnegative: bool
    passes: int = 0  # products with X or X' so far

    @abstractmethod
    def parameters(self, result: Result) -> tuple[Array, float]:
        """(w as one vector, the intercept that is not part of it)."""

    @abstractmethod
    def value(self, w: Array, b: float) -> float:
        """R at these parameters."""

    @abstractmethod
    def scale(self, w: Array, b: float) -> float:
        """The magnitude of what R was computed from, with which its round-off goes."""

    @abstractmethod
    def cut(self, witness: Witness, problem: Problem) -> tuple[Array, float]:
        """(a, c) with R(v) >= <a, v> + c for all v, a being 0 in unpenalised coordinates.

        Raises InvalidCertificate where the witness proves no such thing.
        """


class Proof(NamedTuple):
    """What a result's w and witness come to."""

    lower_bound: float  # that the witness proves
    objective: float  # at w
    doubt: float  # by how much two computations of either may differ
    passes: int


def recomputed(result: Result, problem: Problem, evidence: Evidence) -> Proof:
    """Both bounds from the data; InvalidCertificate where the witness proves none at all."""
    w, b = evidence.parameters(result)
    upper = problem.strength * penalties.value(problem.regularizer, w) + evidence.value(w, b)
    lower = _proved(evidence, problem, result.witness or Witness())
    doubt = AGREEMENT * abs(upper) + SCORES * evidence.scale(w, b)
    return Proof(lower, upper, doubt, evidence.passes)


def judged(result: Result, problem: Problem, evidence: Evidence) -> Certificate:
    """The certificate recomputed; InvalidCertificate if it proves less than the result claims."""
    if result.status is Status.NONFINITE:
        raise InvalidCertificate(
            "there is nothing to verify: the run ended NONFINITE, without a w at which J is finite"
        )
    if result.witness is None:
        return _touching(result, problem, evidence)
    lower, upper, doubt, _ = recomputed(result, problem, evidence)
    if not (np.isfinite(upper) and abs(upper - result.objective) <= doubt):
        raise InvalidCertificate(
            f"the objective at w is {upper!r}, but the result claims {result.objective!r}"
        )
    if not lower >= result.lower_bound - doubt:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but the result claims {result.lower_bound!r}"
        )
    if lower > upper + doubt:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but J is {upper!r} at w: the loss is not "
            "convex, or its slopes (an oracle's argmax) are no subgradients"
        )
    return Certificate(min(lower, upper), upper, "witness")


def _touching(result: Result, problem: Problem, evidence: Evidence) -> Certificate:
    """What the tangent at w proves."""
    w, b = evidence.parameters(result)
    upper = problem.strength * penalties.value(problem.regularizer, w) + evidence.value(w, b)
    touch = Witness([Tangency(w, Bracket(b, b))], [1.0])
    try:
        lower = min(_proved(evidence, problem, touch), upper)  # they touch, but for round-off
    except InvalidCertificate:
        lower = 0.0 if evidence.nonnegative else -np.inf
    return Certificate(lower, upper, "tangent at w, as the result has no witness")


def _proved(evidence: Evidence, problem: Problem, witness: Witness) -> float:
    """The lower bound that the witness proves; J >= 0 needs none, and round-off may cost it."""
    a, c = evidence.cut(witness, problem)
    lower = penalties.bound(problem, a, c, evidence.nonnegative)
    return max(lower, 0.0) if evidence.nonnegative else lower
