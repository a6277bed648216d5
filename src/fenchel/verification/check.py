"""Checking a result from its witness and the data alone: what is claimed and what is proved.

A cut that is computed in floating point is below R but for round-off. How much that is at most is
computed with it, from the magnitudes of what was added up, and taken off the bound: so the bound
that is returned is not above the minimum. Whoever claims a bound has computed the same cut with
round-off of his own, in the scores at a tangency to begin with. A claim is accepted if it is not
above what the witness would prove if all of that, within bounds that are computed too, had been to
its disadvantage here (`blurred`). No more than what was proved here is returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.errors import InvalidCertificate
from fenchel.losses import Softmax
from fenchel.result import Certificate, Result, Status
from fenchel.risks.base import Problem
from fenchel.tolerances import ROUND_OFF
from fenchel.verification.curvature import curvature_bound
from fenchel.verification.evidence import Array, Evidence
from fenchel.verification.row_data import RowEvidence
from fenchel.verification.softmax_curvature import softmax_bound
from fenchel.witness import Bracket, Tangency, Tilted, Witness


class Recomputed(NamedTuple):
    """What a result's w and witness come to."""

    lower_bound: float  # that the witness proves
    objective: float  # at w
    doubt: float  # by how much the objective may differ from another computation of it
    passes: int


def recomputed(result: Result, problem: Problem, evidence: Evidence) -> Recomputed:
    """Both bounds from the data; InvalidCertificate where the witness proves none at all."""
    w, b = evidence.parameters(result)
    penalty, size = evidence.penalty(problem, w)
    upper = problem.strength * penalty + evidence.value(w, b)
    lower = _proved(evidence, problem, result.witness or Witness(), w, b)
    doubt = ROUND_OFF * (abs(upper) + problem.strength * size)
    if not lower <= upper + doubt:
        doubt += evidence.blur(w, b)  # for passes that are only worth it where something is odd
    if evidence.nonnegative and -doubt <= upper < 0:
        upper = 0.0  # J is not negative; beyond the doubt that is refuted
    return Recomputed(lower, upper, doubt, evidence.passes)


def judged(result: Result, problem: Problem, evidence: Evidence) -> Certificate:
    """The certificate recomputed; InvalidCertificate if it proves less than the result claims."""
    if result.status is Status.NONFINITE:
        raise InvalidCertificate(
            "there is nothing to verify: the run ended NONFINITE, without a w at which J is finite"
        )
    if result.witness is None:
        return _touching(result, problem, evidence)
    try:
        lower, upper, doubt, _ = recomputed(result, problem, evidence)
        if not abs(upper - result.objective) <= doubt:
            doubt += evidence.blur(*evidence.parameters(result))
    except InvalidCertificate as error:
        _check_objective(result, *_objective(result, problem, evidence))
        raise InvalidCertificate(
            f"{error}: these are not the rows of the fit in their order, or its solver is wrong"
        ) from error
    _check_objective(result, upper, doubt)
    if not lower >= result.lower_bound - (doubt if problem.strength == 0 else 0.0):
        parameters = evidence.parameters(result)
        most = evidence.bound(result.witness, problem, *parameters, blurred=True, side=-1)
        if not most >= result.lower_bound:
            raise InvalidCertificate(
                f"the witness proves min J >= {lower!r}, but the result claims "
                f"{result.lower_bound!r}: it is the result of another problem, such as one with "
                "other weights or without the intercept, or its solver is wrong"
            )
    if lower > upper + doubt:
        raise InvalidCertificate(
            f"the witness proves min J >= {lower!r}, but J is {upper!r} at w: the loss is not "
            "convex, or its slopes (an oracle's argmax) are no subgradients"
        )
    return Certificate(min(lower, upper), upper, "witness")


def _objective(result: Result, problem: Problem, evidence: Evidence) -> tuple[float, float]:
    """J at the result's w, and how far another computation of it may be off."""
    w, b = evidence.parameters(result)
    penalty, size = evidence.penalty(problem, w)
    upper = problem.strength * penalty + evidence.value(w, b)
    return upper, ROUND_OFF * (abs(upper) + problem.strength * size) + evidence.blur(w, b)


def _check_objective(result: Result, upper: float, doubt: float) -> None:
    """Refuses a result whose w has another J here: that is the first sign of other data."""
    if not (np.isfinite(upper) and abs(upper - result.objective) <= doubt):
        raise InvalidCertificate(
            f"the objective at w is {upper!r}, but the result claims {result.objective!r}: it is "
            "the result of other data, another loss or another strength, or its solver is wrong"
        )


def _touching(result: Result, problem: Problem, evidence: Evidence) -> Certificate:
    """What the tangent at w proves."""
    w, b = evidence.parameters(result)
    upper = problem.strength * evidence.penalty(problem, w)[0] + evidence.value(w, b)
    touch = Witness([touching(w, b)], [1.0])
    try:
        lower = min(_proved(evidence, problem, touch, w, b), upper)
    except InvalidCertificate:
        lower = 0.0 if evidence.nonnegative else -np.inf
    return Certificate(lower, upper, "tangent at w, as the result has no witness")


def touching(w: Array, b: float | Array) -> Tangency:
    """The tangency at parameters and intercept, or intercepts."""
    if isinstance(b, np.ndarray):
        return Tangency(w, offsets=Tilted(b, 1.0, np.zeros_like(b)))
    return Tangency(w, Bracket(b, b))


def _around(evidence: RowEvidence, w: Array, b: float | Array) -> float:
    """What the curvature around w proves of min R, if anything is known of it."""
    if evidence.K is None:
        return curvature_bound(evidence, w, float(b))
    return softmax_bound(evidence, w, b) if type(evidence.loss) is Softmax else -np.inf


def _proved(
    evidence: Evidence, problem: Problem, witness: Witness, w: Array, b: float | Array
) -> float:
    """The lower bound that the witness proves; J >= 0 needs none, and round-off may cost it.

    Where nothing is penalised the curvature around w may prove one, for which it needs no witness.
    """
    least = 0.0 if evidence.nonnegative else -np.inf
    if problem.strength == 0 and type(evidence) is RowEvidence:
        lower = _around(evidence, w, b)
        if lower > -np.inf:
            return max(least, lower)
    lower = evidence.bound(witness, problem, w, b)
    return max(least, lower)  # in this order not nan
