"""What is proved of a run: its bounds, recomputed from the data and the evidence alone.

A solver claims a lower bound and hands over its evidence. What a `Result` says is not the claim but
what `fenchel.verify` makes of that evidence, by code that shares nothing with the solver. A claim
may exceed its proof by round-off, or by a fault; by how much it did the last time is taken off the
claims that follow, so that a proof is only tried when it may succeed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from fenchel.errors import InvalidCertificate
from fenchel.regularizers import Boxed
from fenchel.result import Certificate, Record, Result, Status, relative_gap
from fenchel.risks.base import Array, Problem
from fenchel.settings import user_written
from fenchel.solvers import Solver
from fenchel.tolerances import CONTRADICTION, ROUND_OFF
from fenchel.verification import Recomputed, can_recompute, recompute, recompute_all, verify
from fenchel.witness import Witness


class Prover:
    """Recomputes the bounds of one run.

    A solver that a user wrote has its claims checked in any case, and is told where they fail;
    others only if it is asked for, or if their claims contradict each other.
    """

    def __init__(self, problem: Problem, method: Solver, asked: bool):
        self.problem, self.solver = problem, method.name
        self.strict = user_written(method)
        self.able = can_recompute(problem.risk)
        self.asked = self.able and (asked or self.strict)
        self.shortfall = 0.0  # by how much the last claim that was tried exceeded its proof
        self.passes = 0
        self.refused = False  # the last evidence proved nothing

    def proved(self, claim: Result) -> Certificate:
        """The bounds that a result's evidence proves, which are no better than those it claims.

        Raises InvalidCertificate where they contradict each other, or a user's solver its claim.
        """
        self.refused = False
        proof = self._recomputed(claim)
        self.passes += proof.passes
        if proof.lower_bound > proof.objective + proof.doubt:
            bounds = proof.lower_bound, proof.objective
            raise InvalidCertificate(contradiction(self.problem, *bounds, self.suspect))
        excess = claim.lower_bound - proof.lower_bound
        self.shortfall = max(excess, 0.0) if excess < math.inf else self.shortfall
        return _agreed(claim, proof)

    @property
    def suspect(self) -> str | None:
        """The solver's name, if a user wrote it."""
        return self.solver if self.strict else None

    def _recomputed(self, claim: Result) -> Recomputed:
        if self.strict and not isinstance(claim.witness, Witness):
            raise self._unproved(f"its witness is {claim.witness!r}, not a fenchel.Witness")
        try:
            if self.strict:
                verify(claim, self.problem)
            return recompute(claim, self.problem)
        except InvalidCertificate as error:
            if self.strict:
                raise self._unproved(str(error)) from error
            if self.problem.risk.facts.user_written:
                raise  # the loss is not what its user says
            # A fault of ours: what is left is what needs no evidence.
            self.refused = True
            return recompute(dataclasses.replace(claim, witness=Witness()), self.problem)

    def _unproved(self, why: str) -> InvalidCertificate:
        return InvalidCertificate(
            f"{self.solver} has not proved what its last Step claims: {why}; a Step's witness= "
            "must prove its lower_bound, as problem.tangent_bound(point) is by point.witness"
        )


def _agreed(claim: Result, proof: Recomputed) -> Certificate:
    """The bounds that are claimed, as far as they are proved."""
    # Scores that are carried along drift: where J is far smaller than they are, what is left of
    # it is the J that the data say.
    agrees = abs(proof.objective - claim.objective) <= ROUND_OFF * abs(claim.objective)
    objective = claim.objective if agrees else proof.objective
    # Above its own J a bound is not known: verify, which has no other, returns that instead.
    lower_bound = min(claim.lower_bound, proof.lower_bound, objective, proof.objective)
    return Certificate(lower_bound, objective, "witness")


def proved_together(
    claims: Sequence[Result], problems: Sequence[Problem], gap: float
) -> list[Result | None]:
    """The claims whose evidence proves the gap, with what it proves; None for others.

    Problems on the same rows are proved together: a few products with many columns.
    """
    known: list[Result | None] = []
    with np.errstate(all="ignore"):
        for claim, problem, proof in zip(
            claims, problems, recompute_all(claims, problems), strict=True
        ):
            known.append(_proved(claim, proof or _alone(claim, problem), gap))
    return known


def _alone(claim: Result, problem: Problem) -> Recomputed | None:
    """What a claim of several scores proves, whose formulas are not those of one."""
    if not isinstance(claim.intercept, np.ndarray) or claim.witness is None:
        return None
    try:
        proof = recompute(claim, problem)
    except InvalidCertificate:
        return None
    return proof if proof.lower_bound <= proof.objective + proof.doubt else None


def _proved(claim: Result, proof: Recomputed | None, gap: float) -> Result | None:
    if proof is None:
        return None
    certificate = _agreed(claim, proof)
    proved = certificate.gap
    if not proved <= gap:
        return None
    *before, last = claim.history
    lower, upper = certificate.lower_bound, certificate.upper_bound
    last = last._replace(objective=upper, lower_bound=lower, gap=proved)
    return dataclasses.replace(
        claim,
        certificate=certificate,
        status=Status.CONVERGED,
        history=[*before, last],
        proof_passes=proof.passes,
    )


def lower(history: list[Record], bound: float) -> None:
    """Takes back what the last records claim beyond a bound that was proved."""
    for k in reversed(range(len(history))):
        record = history[k]
        known = min(record.lower_bound, bound)
        gap = relative_gap(record.objective, known)
        if (known, gap) == (record.lower_bound, record.gap):
            break  # and so all before it
        history[k] = record._replace(lower_bound=known, gap=gap)


def contradicts(problem: Problem, w: Array, objective: float, excess: float) -> bool:
    """Whether a bound is so far above J(w) that round-off does not explain it.

    J may be small as a difference of large terms, whose round-off it has; looking costs two passes,
    which only a run that is about to fail makes.
    """
    if not excess > CONTRADICTION * abs(objective):
        return False
    point = problem.risk.at(w)
    penalty = problem.strength * problem.regularizer.value(point.w)
    return excess > CONTRADICTION * (abs(penalty) + point.sizes[1])


def contradiction(
    problem: Problem, lower_bound: float, objective: float, solver: str | None = None
) -> str:
    """What it means that a lower bound is above the objective.

    What a user wrote is suspected: the loss, the regulariser, the solver if it is named; if all of
    them are ours, so is the fault.
    """
    penalty = problem.regularizer
    penalty = penalty.inner if isinstance(penalty, Boxed) else penalty
    suspects = []
    if problem.risk.facts.user_written:
        suspects.append(
            "the loss is not convex, or its slopes (an oracle's argmax) are no subgradients: check "
            "that l(u) >= l(z) + slope(z) (u - z) for all scores u and z, that the loss is nowhere "
            "negative if it says nonnegative = True, and its conjugate if it has one"
        )
    if user_written(penalty):
        name = type(penalty).__name__
        suspects.append(
            f"{name}.conjugate is too low, or {name} is not convex: check that Omega(w) + "
            "Omega*(u) >= <u, w> for all w and u, with equality at its subgradient and "
            "conjugate_argmax"
        )
    if solver is not None:
        suspects.append(
            f"{solver} gives a Step an objective that is not J at its point, or a lower bound that "
            "its witness does not prove"
        )
    why = f"So {'; or '.join(suspects)}" if suspects else "The fault is ours: please report it"
    return (
        f"the bounds contradict each other: cuts prove min J >= {lower_bound:.9g} for a convex "
        f"loss, but J is {objective:.9g} at one point. {why}"
    )
