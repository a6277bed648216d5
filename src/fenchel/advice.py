"""What else may be done about a run that fell short, from a look at the data."""

from __future__ import annotations

import numpy as np

from fenchel.errors import Phrase
from fenchel.regularizers.written import unhelpful
from fenchel.result import Result, Status
from fenchel.risks.base import Problem
from fenchel.risks.existence import separated
from fenchel.risks.scales import too_large
from fenchel.verification import refuted, unprovable


def advised(problem: Problem, result: Result) -> Phrase | None:
    """What is to be changed, where that can be told: columns, or what a user wrote; else None."""
    with np.errstate(all="ignore"):
        if result.status is Status.UNBOUNDED:
            return separated(problem, problem.risk.flattened(result.w, result.intercept))
        if result.status is Status.STALLED:
            return (
                too_large(problem, result.gap)
                or unprovable(problem)
                or _of_regularizer(problem, result)
                or _of_loss(problem, result)
            )
    return None


def _of_regularizer(problem: Problem, result: Result) -> Phrase | None:
    """What a user's regulariser lacks."""
    w = problem.risk.flattened(result.w, result.intercept)
    why = unhelpful(problem.regularizer, w)
    return Phrase(why) if why else None


def _of_loss(problem: Problem, result: Result) -> Phrase | None:
    """Why a user's loss is not what its user says."""
    why = refuted(result, problem) if problem.risk.facts.user_written else None
    return None if why is None else Phrase(why[0].upper() + why[1:])
