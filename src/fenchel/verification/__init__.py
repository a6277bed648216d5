"""Checks of a certificate, by code that shares nothing with solvers, kernels or risks.

What is minimised is taken from the problem: its rows, labels and weights, the loss's formula in
NumPy (which solvers do not run on: they have kernels) and the regulariser's settings. All that is
computed from these, is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fenchel.errors import InvalidCertificate, InvalidData, Phrase, Setting
from fenchel.losses import Softmax
from fenchel.result import Certificate, Result
from fenchel.risks.base import Problem, Risk
from fenchel.risks.chains import ChainRisk
from fenchel.risks.function import FunctionRisk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.oracle import OracleRisk
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.verification.check import Recomputed, judged, recomputed, touching
from fenchel.verification.curvature import is_curved
from fenchel.verification.cuts import cuts_of
from fenchel.verification.dependence import nearly_dependent
from fenchel.verification.evidence import Evidence
from fenchel.verification.rigorous import proved
from fenchel.verification.row_data import RowEvidence
from fenchel.verification.rows import rows_of
from fenchel.verification.together import recomputed_together
from fenchel.witness import Witness

__all__ = [
    "Recomputed",
    "can_recompute",
    "recompute",
    "recompute_all",
    "refuted",
    "unprovable",
    "verify",
]


def verify(result: Result, problem: Problem, *, rigorous: bool = False) -> Certificate:
    """The certificate recomputed from the result's witness and the data.

    Raises InvalidCertificate if the witness is not a dual point, or if it proves less than the
    result claims. A result without a witness gets the tangent bound at its w, and says so.

    With `rigorous` both bounds of the certificate that is returned hold in exact arithmetic for the
    numbers given: no round-off is taken on trust (docs/explanation/certificates.md). Raises
    Incompatible where there is no such bound: for losses of a user, losses without a conjugate but
    those of sequences, and other regularisers than l2, l1 and elastic_net.
    """
    evidence = _evidence(problem.risk)
    certificate = judged(result, problem, evidence)
    if not rigorous:
        return certificate
    return proved(*evidence.parameters(result), result.witness, problem, evidence)


def recompute(result: Result, problem: Problem) -> Recomputed:
    """The same without a judgement: both bounds, as the driver takes them over."""
    return recomputed(result, problem, _evidence(problem.risk))


def recompute_all(
    results: Sequence[Result], problems: Sequence[Problem]
) -> Iterator[Recomputed | None]:
    """The same for several problems, at once where they share their rows; None where that fails."""
    return recomputed_together(results, problems)


def can_recompute(risk: Risk) -> bool:
    """Whether bounds can be had without asking others, who count what they are asked."""
    return isinstance(risk, LinearRisk | ChainRisk | OracleRisk | FunctionRisk)


def unprovable(problem: Problem) -> Phrase | None:
    """Why nothing is proved of a problem without a penalty: its loss, or columns that depend."""
    risk = problem.risk
    if problem.strength > 0 or not isinstance(risk, LinearRisk):
        return None
    if not is_curved(risk.loss) and type(risk.loss) is not Softmax:
        why = f"{type(risk.loss).__name__} has no curvature to prove a bound from"
        return Phrase(f"Without a penalty {why}: use ", Setting("strength"), " > 0")
    return nearly_dependent(RowEvidence(risk)) if type(risk) is LinearRisk else None


def refuted(result: Result, problem: Problem) -> str | None:
    """Where the tangent at a result's w is seen above the loss; None where it is not."""
    if not can_recompute(problem.risk):
        return None
    evidence = _evidence(problem.risk)
    w, b = evidence.parameters(result)
    try:
        evidence.bound(Witness([touching(w, b)], [1.0]), problem, w, b)
    except InvalidCertificate as error:
        return str(error)
    return None


def _evidence(risk: Risk) -> Evidence:
    if isinstance(risk, ChainRisk):
        return ChainEvidence(risk)
    evidence = rows_of(risk) or cuts_of(risk)
    if evidence is None:
        raise InvalidData(f"verify does not know risks of type {type(risk).__name__}")
    return evidence
